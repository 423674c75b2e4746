//! The page and the files of a report.

use std::fs;
use std::path::Path;

use pgas_microbench::report::{Beside, Conditions, Context, Standing, figures, page, write};
use roxmltree::{Document, Node};

use super::sample;

/// The page's body: it has no elements without an end, so that it is XML.
fn body(page: &str) -> Document<'_> {
    let start = page.find("<body>").unwrap();
    let end = page.find("</body>").unwrap() + "</body>".len();
    Document::parse(&page[start..end]).unwrap()
}

fn text(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text);
    texts.filter_map(|node| node.text()).collect()
}

#[test]
fn a_page_is_well_formed_and_complete() {
    let rows = sample::full();
    let page = page(&sample::context(), &rows).unwrap();
    let body = body(&page);
    let ids: Vec<&str> = body.descendants().filter_map(|node| node.attribute("id")).collect();
    let all: Vec<String> = (3..=43).map(|number| format!("figure-{number}")).collect();
    assert_eq!(ids, all);
    let words = text(body.root());
    for expected in [
        "31.3 GiB",
        "Open MPI OpenSHMEM",
        "4.0.2",
        "mode quick",
        "oshrun --bind-to core -n 2 latency -t 20",
        "ended after 60 s",
        "more than 2 PEs take turns",
        "3 runs, 2 min",
    ] {
        assert!(words.contains(expected), "{expected}");
    }
    assert!(!words.contains("left out"));
    let links: Vec<&str> = body.descendants().filter_map(|node| node.attribute("href")).collect();
    assert!(links.contains(&"results.csv"));
    for figure in figures(&rows) {
        let file = format!("figures/{}.svg", figure.file_stem());
        assert!(links.contains(&file.as_str()), "{file}");
        assert!(words.contains(&figure.title) && words.contains(&figure.caption), "{file}");
    }
    // The first screen is a picture in which each figure has a bar that leads to it.
    let main = body.descendants().find(|node| node.has_tag_name("main")).unwrap();
    let first = main.first_element_child().unwrap();
    let bars: Vec<String> = first
        .descendants()
        .filter(|node| node.tag_name().name() == "a")
        .filter_map(|node| node.attribute("href").map(str::to_owned))
        .collect();
    let compared = all.iter().filter(|id| *id != "figure-43");
    let targets: Vec<String> = compared.map(|id| format!("#{id}")).collect();
    assert_eq!(bars, targets);
    // Nothing loads another file or runs a script.
    for unwanted in ["<script", "<img", "<link", "@import", "url("] {
        assert!(!page.contains(unwanted), "{unwanted}");
    }
}

#[test]
fn pictures_contain_the_words_of_their_figures() {
    for figure in figures(&sample::full()) {
        let svg = figure.svg().unwrap();
        let words = text(Document::parse(&svg).unwrap().root());
        for panel in &figure.panels {
            assert!(words.contains(&panel.title), "{}", panel.title);
            let ticks = panel.x.ticks.iter().chain(&panel.y.ticks);
            let labels = [&panel.x.label, &panel.y.label];
            for label in labels.into_iter().chain(ticks.map(|tick| &tick.1)) {
                // Long names are split into lines.
                for part in label.split_inclusive(['_', ' ']) {
                    assert!(words.contains(part.trim()), "{}: {label}", panel.title);
                }
            }
        }
        for (label, _) in figure.legend() {
            assert!(words.contains(label), "{label}");
        }
    }
}

#[test]
fn nothing_is_drawn_outside_of_a_picture() {
    for figure in figures(&sample::full()) {
        let svg = figure.svg().unwrap();
        let document = Document::parse(&svg).unwrap();
        let number = |node: Node<'_, '_>, name: &str| -> Option<f64> {
            node.attribute(name).and_then(|value| value.parse().ok())
        };
        let root = document.root_element();
        let (width, height) = (number(root, "width").unwrap(), number(root, "height").unwrap());
        for node in document.descendants() {
            let mut places = vec![(number(node, "x"), number(node, "y"))];
            places.push((number(node, "cx"), number(node, "cy")));
            for point in node.attribute("points").unwrap_or_default().split_whitespace() {
                let (x, y) = point.split_once(',').unwrap();
                places.push((x.parse().ok(), y.parse().ok()));
            }
            for (x, y) in places {
                let inside =
                    x.is_none_or(|x| (0.0..=width).contains(&x)) && y.is_none_or(|y| (0.0..=height).contains(&y));
                assert!(inside, "figure {}: {node:?}", figure.number);
            }
        }
    }
}

/// Texts of one line of a picture have enough room.
#[test]
fn texts_do_not_overlap() {
    for figure in figures(&sample::full()) {
        let svg = figure.svg().unwrap();
        let document = Document::parse(&svg).unwrap();
        let mut texts: Vec<(i64, f64, f64, String)> = Vec::new();
        for node in document.descendants().filter(|node| node.has_tag_name("text")) {
            let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
            let words = text(node).trim().to_owned();
            let width = words.chars().count() as f64 * number("font-size") * 0.53;
            let left = match node.attribute("text-anchor") {
                Some("middle") => number("x") - width / 2.0,
                Some("end") => number("x") - width,
                _ => number("x"),
            };
            texts.push((number("y") as i64, left, left + width, words));
        }
        for (place, (y, left, right, words)) in texts.iter().enumerate() {
            for (other_y, other_left, other_right, other) in &texts[..place] {
                let apart = (y - other_y).abs() > 20 || left >= other_right || right <= other_left;
                assert!(apart, "figure {}: {words:?} over {other:?}", figure.number);
            }
        }
    }
}

/// The texts and the bars of the picture at the head of the page.
#[test]
fn the_first_picture_says_who_is_ahead() {
    let rows = sample::full();
    let page = page(&sample::context(), &rows).unwrap();
    let body = body(&page);
    let links = body
        .descendants()
        .filter(|node| node.tag_name().name() == "a" && node.parent().is_some_and(|it| it.tag_name().name() == "svg"));
    let links: Vec<_> = links.collect();
    let figures = figures(&rows);
    let compared: Vec<_> = figures.iter().filter_map(|figure| Some((figure, figure.comparison.as_ref()?))).collect();
    assert_eq!((links.len(), figures.len()), (compared.len(), compared.len() + 1));
    let verdict = "Of 39 figures with other libraries, FerroSHMEM is ahead of the best in ";
    assert!(text(body.root()).contains(verdict), "{}", text(body.root()));
    for (link, (figure, comparison)) in links.iter().zip(compared) {
        let words = text(*link);
        let expected = match (comparison.beside, comparison.standing()) {
            (Beside::Itself, _) => "× of ",
            (_, Standing::Ahead) => "× ahead",
            (_, Standing::Even) => "× even",
            (_, Standing::Behind) => "× behind",
        };
        assert!(words.contains(expected), "{words}");
        assert!(words.contains(&figure.subject) && words.contains(&figure.title), "{words}");
        // The bar reaches from 1 in the direction that the words name.
        let number = |node: &Node<'_, '_>, name: &str| -> f64 { node.attribute(name).unwrap().parse().unwrap() };
        let children: Vec<_> = link.children().collect();
        let one = children.iter().find(|node| node.tag_name().name() == "line").unwrap();
        let bar = children.iter().filter(|node| node.tag_name().name() == "rect").nth(1).unwrap();
        let (one, left, width) = (number(one, "x1"), number(bar, "x"), number(bar, "width"));
        match comparison.standing() {
            Standing::Ahead => assert!((left - one).abs() < 0.2 && width > 3.0, "{words}"),
            Standing::Behind => assert!((left + width - one).abs() < 0.2 && width > 3.0, "{words}"),
            Standing::Even => assert!(width < 40.0, "{words}"),
        }
    }
}

#[test]
fn a_page_says_which_runs_were_disturbed_and_by_what() {
    let mut context = sample::context();
    let conditions = |others: f64, disturbed: Option<&str>| Conditions {
        others,
        steal: 0.2,
        stalled: Some(1.0),
        load: 2.5,
        clock: 0.93,
        megahertz: None,
        disturbed: disturbed.map(str::to_owned),
    };
    for run in &mut context.runs {
        run.conditions = Some(conditions(0.4, None));
    }
    let words = |context: &Context| {
        let page = page(context, &sample::full()).unwrap();
        text(body(&page).root())
    };
    let quiet = words(&context);
    assert!(quiet.contains("No run of 3 was disturbed."), "{quiet}");
    assert!(quiet.contains("load average reached 2.5") && quiet.contains("at 93 to 100 %"));
    let why = "other processes took 31 % of the cores' time";
    context.runs[1].conditions = Some(conditions(31.0, Some(why)));
    let loud = words(&context);
    assert!(loud.contains("Of 3 runs, 1 was disturbed"));
    assert!(loud.contains(why));
}

#[test]
fn what_has_no_rows_is_named() {
    let mut rows = sample::full();
    rows.retain(|row| row.program == "stream");
    let some = page(&sample::context(), &rows).unwrap();
    let words = text(body(&some).root());
    assert!(words.contains("Figures left out"));
    assert!(words.contains("bandwidth of put by pairs") && words.contains("bandwidth: put"));
    let none = page(&sample::context(), &[]).unwrap();
    assert!(text(body(&none).root()).contains("Nothing was measured."));
}

#[test]
fn names_are_text_and_not_markup() {
    let name = "A <b>&\"library\"</b>";
    let mut rows = sample::full();
    for row in rows.iter_mut().filter(|row| row.implementation == sample::SHMEM_PEER) {
        name.clone_into(&mut row.implementation);
    }
    let mut context = sample::context();
    context.notes.push(name.to_owned());
    context.runs[0].failure = Some(name.to_owned());
    let page = page(&context, &rows).unwrap();
    let body = body(&page);
    assert!(!body.descendants().any(|node| node.has_tag_name("b")));
    assert!(text(body.root()).contains(name));
    let svg = figures(&rows)[0].svg().unwrap();
    assert!(text(Document::parse(&svg).unwrap().root()).contains(name));
}

#[test]
fn a_page_is_the_same_each_time() {
    let (context, rows) = (sample::context(), sample::full());
    assert_eq!(page(&context, &rows).unwrap(), page(&context, &rows).unwrap());
}

#[test]
fn a_report_is_a_page_and_each_figure_as_svg() {
    let mut rows = sample::full();
    rows.retain(|row| row.program == "is" || row.program == "sp");
    let folder = tempfile::tempdir().unwrap();
    // Missing folders are made.
    let folder = folder.path().join("new/report");
    let written = write(&folder, &sample::context(), &rows).unwrap();
    assert_eq!(written.figures, 2);
    assert_eq!(fs::read_to_string(&written.page).unwrap(), page(&sample::context(), &rows).unwrap());
    for figure in figures(&rows) {
        let path = folder.join(format!("figures/{}.svg", figure.file_stem()));
        assert_eq!(fs::read_to_string(path).unwrap(), figure.svg().unwrap());
        let overview = fs::read_to_string(folder.join("figures/00-overview.svg")).unwrap();
        let link = format!("href=\"{}.svg\"", figure.file_stem());
        assert!(overview.contains(&link), "{link}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let error = write(Path::new("/dev/null/report"), &sample::context(), &[]).unwrap_err();
    assert!(error.to_string().contains("/dev/null/report"), "{error}");
}
