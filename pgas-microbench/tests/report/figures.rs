//! The contents of figures.

use pgas_microbench::report::{Beside, Comparison, Figure, Finding, Scale, Standing, Unit, figures};
use pgas_microbench::{Measurement, Quantity};

use super::sample;

fn figure(rows: &[Measurement], number: u32) -> Option<Figure> {
    figures(rows).into_iter().find(|figure| figure.number == number)
}

fn without(mut rows: Vec<Measurement>, left_out: impl Fn(&Measurement) -> bool) -> Vec<Measurement> {
    rows.retain(|row| !left_out(row));
    rows
}

#[test]
fn full_data_make_all_figures() {
    let numbers: Vec<u32> = figures(&sample::full()).iter().map(|figure| figure.number).collect();
    assert_eq!(numbers, (3..=43).collect::<Vec<_>>());
}

#[test]
fn panels_are_full_and_their_axes_have_labels_ticks_and_units() {
    for figure in figures(&sample::full()) {
        let at = format!("figure {}", figure.number);
        assert!(!figure.panels.is_empty() && !figure.findings.is_empty(), "{at}");
        assert!(!figure.title.is_empty() && !figure.caption.is_empty(), "{at}");
        for panel in &figure.panels {
            let at = format!("{at}, {}", panel.title);
            let (x, y) = (&panel.x, &panel.y);
            assert!(!x.label.is_empty() && !y.label.is_empty(), "{at}");
            assert!(x.ticks.len() >= 2 && y.ticks.len() >= 2, "{at}: {x:?}, {y:?}");
            let suffix: &[&str] = match y.unit {
                Unit::Time => &["s", "0"],
                Unit::Bandwidth => &["B/s", "0"],
                Unit::Rate => &["op/s", "0"],
                Unit::Ratio => &["×"],
                Unit::Bytes | Unit::Count => panic!("{at}: {y:?}"),
            };
            for (_, text) in &y.ticks {
                assert!(suffix.iter().any(|end| text.ends_with(end)), "{at}: {text}");
            }
            if x.unit == Unit::Bytes {
                assert!(x.ticks.iter().all(|(_, text)| text.ends_with('B')), "{at}: {x:?}");
            }
            let number = panel.series.len();
            assert!((1..=7).contains(&number), "{at}: {number} series");
            let filled = panel.series.iter().all(|series| !series.points.is_empty());
            assert!(filled, "{at}");
        }
    }
}

#[test]
fn the_legend_names_each_series_once_and_each_looks_different() {
    for figure in figures(&sample::full()) {
        let legend = figure.legend();
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            let entries = legend.iter().filter(|entry| entry.0 == series.label);
            let entries = entries.count();
            assert_eq!(entries, 1, "figure {}: {}", figure.number, series.label);
        }
        for (place, (label, style)) in legend.iter().enumerate() {
            let same = legend[..place].iter().find(|other| other.1 == *style);
            assert_eq!(same, None, "figure {}: {label}", figure.number);
        }
    }
}

#[test]
fn values_are_within_their_axes() {
    for figure in figures(&sample::full()) {
        for panel in &figure.panels {
            let at = format!("figure {}, {}", figure.number, panel.title);
            for (place, spread) in panel.series.iter().flat_map(|series| &series.points) {
                assert!(panel.x.range.contains(place), "{at}: {place}");
                assert!(panel.y.range.contains(&spread.median), "{at}");
            }
            let is_name = |place: &f64| place.fract() == 0.0;
            if panel.x.scale == Scale::Names {
                let mut points = panel.series.iter().flat_map(|series| &series.points);
                assert!(points.all(|point| is_name(&point.0)), "{at}");
            }
        }
    }
}

#[test]
fn a_figure_without_rows_is_left_out_and_no_other() {
    let rows = without(sample::full(), |row| row.program == "sp" || row.operation == "put");
    let numbers: Vec<u32> = figures(&rows).iter().map(|figure| figure.number).collect();
    let expected: Vec<u32> = (3..=43).filter(|n| ![3, 9, 17, 18, 22, 43].contains(n)).collect();
    assert_eq!(numbers, expected);
    assert_eq!(figures(&[]), []);
}

#[test]
fn this_library_alone_makes_all_figures_but_those_of_others() {
    let rows = without(sample::full(), |row| row.implementation != sample::OURS);
    let all = figures(&rows);
    let numbers: Vec<u32> = all.iter().map(|figure| figure.number).collect();
    assert_eq!(numbers, (3..=43).filter(|number| *number != 22).collect::<Vec<_>>());
    for figure in all {
        assert!(!figure.title.contains("other"), "{}", figure.title);
        let beside = figure.comparison.map(|comparison| comparison.beside);
        assert_eq!(
            beside,
            (![11, 14, 15, 39, 43].contains(&figure.number) && !(25..=35).contains(&figure.number))
                .then_some(Beside::Itself),
            "{}",
            figure.title
        );
    }
}

#[test]
fn rows_that_are_no_numbers_are_not_drawn() {
    let mut rows = sample::full();
    for row in rows.iter_mut().filter(|row| row.program == "is") {
        row.median = f64::NAN;
    }
    for row in rows.iter_mut().filter(|row| row.program == "sp") {
        row.median = 0.0;
    }
    assert_eq!(figure(&rows, 16), None);
    assert_eq!(figure(&rows, 17), None);
}

#[test]
fn messages_and_findings_say_what_the_rows_say() {
    let mut rows = sample::full();
    for row in &mut rows {
        let slow = row.implementation == sample::OURS && row.form == "call";
        (row.median, row.low, row.high) = if slow { (3.0, 2.9, 3.1) } else { (1.5, 1.4, 1.6) };
    }
    let put = figure(&rows, 3).unwrap();
    assert_eq!(
        put.title,
        "shmem_put is 0.5 times as fast as the fastest other library (median of 24 points, 0.5 to 0.5); \
         shmem_put is 0.5 times as fast as a store through shmem_ptr (median of 24 points, 0.5 to 0.5)"
    );
    let first = &put.findings[0];
    assert_eq!(first.at, "8 B, 1 pair");
    assert_eq!((first.ours.as_str(), first.other.as_str()), ("3 µs", "1.5 µs, FerroSHMEM, shmem_ptr"));
    assert_eq!(first.words, "shmem_put is 0.5 times as fast as a store through shmem_ptr (0.452 to 0.552)");
    let second = &put.findings[1];
    assert_eq!(second.other, "1.5 µs, Open MPI OpenSHMEM, call");
    assert_eq!(second.words, "shmem_put is 0.5 times as fast as Open MPI OpenSHMEM (0.452 to 0.552)");
    let sizes: Vec<&str> = put.findings.iter().map(|finding| finding.at.as_str()).collect();
    for size in ["4 KiB, 1 pair", "8 MiB, 1 pair"] {
        assert!(sizes.contains(&size), "{sizes:?}");
    }
    let bandwidth = figure(&rows, 7).unwrap();
    assert!(
        bandwidth
            .title
            .starts_with("shmem_put has 2 times the bandwidth of the best other library (median of 21 points, 2 to 2)"),
        "{}",
        bandwidth.title
    );
}

/// Whether more than 1 stands for a faster library.
fn ahead(comparison: &Comparison) -> bool {
    comparison.speed.median > 1.0
}

#[test]
fn bar_headline_and_rows_agree_in_direction() {
    // This library three times as fast as all others at everything, then three times as slow.
    for (ours, other, standing) in [(1.0, 3.0, Standing::Ahead), (3.0, 1.0, Standing::Behind)] {
        let mut rows = sample::full();
        for row in &mut rows {
            let time = if row.implementation == sample::OURS { ours } else { other };
            let value = match row.quantity {
                Quantity::Latency => time,
                Quantity::Bandwidth | Quantity::Rate => 12.0 / time,
            };
            (row.median, row.low, row.high) = (value, value, value);
        }
        for figure in figures(&rows) {
            let at = format!("figure {}: {}", figure.number, figure.title);
            let Some(comparison) = figure.comparison.as_ref() else {
                assert_eq!(figure.number, 43, "{at}");
                continue;
            };
            assert!(figure.title.starts_with(&comparison.words), "{at}");
            if comparison.beside == Beside::Itself {
                assert_eq!(comparison.standing(), Standing::Even, "{at}");
                continue;
            }
            assert_eq!(comparison.standing(), standing, "{at}");
            let factor = if ahead(comparison) { " 3 times " } else { " 0.333 times " };
            assert!(comparison.words.contains(factor), "{at}");
            let theirs = |finding: &&Finding| !finding.other.contains(sample::OURS);
            let findings: Vec<_> = figure.findings.iter().filter(theirs).collect();
            assert!(!findings.is_empty(), "{at}");
            for finding in findings {
                assert!(finding.words.contains(factor), "{at}: {}", finding.words);
            }
        }
    }
}

#[test]
fn what_was_disturbed_is_marked() {
    let mut rows = sample::full();
    let clean = figure(&rows, 17).unwrap();
    assert_eq!(clean.comparison.unwrap().disturbed, 0);
    for row in rows.iter_mut().filter(|row| row.program == "sp") {
        "other processes took 30 % of the cores' time".clone_into(&mut row.disturbed);
    }
    let sp = figure(&rows, 17).unwrap();
    let comparison = sp.comparison.unwrap();
    assert!(comparison.points > 1 && comparison.disturbed == comparison.points);
    assert!(sp.title.contains(&format!("; {} disturbed)", comparison.points)), "{}", sp.title);
    assert!(sp.findings.iter().all(|finding| finding.words.ends_with("; disturbed")));
}

#[test]
fn of_a_point_measured_twice_the_later_counts() {
    let mut rows = sample::full();
    let mut again =
        rows.iter().find(|row| row.program == "is" && row.class == "S" && row.form == "putget").unwrap().clone();
    again.median = 12_345.0;
    rows.push(again);
    let is = figure(&rows, 16).unwrap();
    assert_eq!(is.panels[0].x.scale, Scale::Names);
    assert_eq!(is.panels[0].series[0].points[0].1.median, 12_345.0);
}

#[test]
fn figures_are_the_same_each_time() {
    assert_eq!(figures(&sample::full()), figures(&sample::full()));
}
