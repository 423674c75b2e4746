//! The picture at the head of the page: a bar for each figure, which leads to it.

use maud::{Markup, html};

use super::axis::{Axis, Scale, Unit};
use super::comparison::{Beside, Comparison, Standing};
use super::draw;
use super::figure::Figure;

const TEXT: f64 = 14.0;
/// Of the column of figures' numbers, of bars, and between columns.
const NUMBERS: f64 = 30.0;
const BARS: f64 = 404.0;
const GAP: f64 = 15.0;
/// Of the axis and its words.
const HEAD: f64 = 62.0;
const ROW: f64 = 21.0;
const FOOT: f64 = 10.0;

const INK: &str = "#1A1A1A";
const MUTED: &str = "#5A5A5A";
const GRID: &str = "#DDDDDD";

/// The factors that the axis includes at least, and at most: points beyond are drawn at its end.
const LEAST: (f64, f64) = (0.5, 2.0);
const MOST: (f64, f64) = (0.02, 50.0);

/// The picture; none if nothing was compared. `link` makes the target of a figure's link.
pub(super) fn picture(figures: &[Figure], link: impl Fn(&Figure) -> String) -> Option<Markup> {
    let compared = |figure| Some((figure, Figure::comparison(figure)?));
    let rows: Vec<(&Figure, &Comparison)> = figures.iter().filter_map(compared).collect();
    if rows.is_empty() {
        return None;
    }
    let axis = axis(rows.iter().map(|(_, comparison)| *comparison));
    let height = HEAD + rows.len() as f64 * ROW + FOOT;
    // Names and values have the room that they need.
    let names = rows.iter().map(|(figure, _)| width(&figure.subject)).fold(0.0, f64::max);
    let values = rows.iter().map(|(_, comparison)| width(&value(comparison))).fold(0.0, f64::max);
    let bars = names + NUMBERS + GAP;
    let width = bars + BARS + GAP + values;
    let x = |value: f64| bars + axis.position(value) * BARS;
    Some(html! {
        svg.overview xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox={ "0 0 " (width) " " (height) } font-family="sans-serif" font-size=(TEXT) {
            rect x="0" y="0" width=(width) height=(height) fill="#FFFFFF" {}
            (words(x(1.0) - 8.0, 18.0, "end", INK, "◀ behind"))
            (words(x(1.0) + 8.0, 18.0, "start", INK, "ahead ▶"))
            @for (value, label) in &axis.ticks {
                line x1=(tenth(x(*value))) x2=(tenth(x(*value))) y1=(HEAD - 12.0) y2=(height - FOOT)
                    stroke=(if *value == 1.0 { MUTED } else { GRID }) stroke-width="1.5" {}
                (words(x(*value), HEAD - 20.0, "middle", MUTED, label))
            }
            @for ((figure, comparison), place) in rows.iter().zip(0..) {
                a href=(link(figure)) {
                    title { (figure.title) }
                    (bar(figure, comparison, HEAD + f64::from(place) * ROW, [names, bars + BARS + GAP], &x))
                }
            }
        }
    })
}

/// One row, whose upper edge is at `y`, whose name ends at the first place and whose value begins at the second.
fn bar(figure: &Figure, comparison: &Comparison, y: f64, [names, values]: [f64; 2], x: &impl Fn(f64) -> f64) -> Markup {
    let middle = y + ROW / 2.0;
    let (from, to) = (x(1.0), x(comparison.speed.median));
    let (left, length) = (from.min(to), (from - to).abs().max(1.0));
    let (low, high) = (x(comparison.speed.low), x(comparison.speed.high));
    // Without another library there is nothing to be ahead of: a grey frame instead of a bar.
    let filled = comparison.beside == Beside::Others;
    let paint = if filled { colour(comparison.standing()) } else { MUTED };
    html! {
        // The whole row leads to the figure.
        rect x="0" y=(y) width="100%" height=(ROW) fill="none" pointer-events="all" {}
        line x1=(tenth(x(1.0))) x2=(tenth(x(1.0))) y1=(y) y2=(y + ROW) stroke=(MUTED) stroke-width="1.5" {}
        (words(names, middle + 5.0, "end", INK, &figure.subject))
        (words(names + NUMBERS, middle + 5.0, "end", MUTED, &figure.number.to_string()))
        rect x=(tenth(left)) y=(y + 4.0) width=(tenth(length)) height=(ROW - 8.0) stroke=(paint)
            fill=(if filled { paint } else { "none" }) stroke-width="1.5" {}
        line x1=(tenth(low)) x2=(tenth(high)) y1=(middle) y2=(middle) stroke=(INK) stroke-width="1.5" {}
        @for end in [low, high] {
            line x1=(tenth(end)) x2=(tenth(end)) y1=(middle - 4.0) y2=(middle + 4.0) stroke=(INK)
                stroke-width="1.5" {}
        }
        (words(values, middle + 5.0, "start", INK, &value(comparison)))
    }
}

/// The estimated width of a text.
fn width(text: &str) -> f64 {
    draw::text_width(text, TEXT).into()
}

fn words(x: f64, y: f64, anchor: &str, fill: &str, text: &str) -> Markup {
    html! { text x=(tenth(x)) y=(tenth(y)) text-anchor=(anchor) fill=(fill) { (text) } }
}

fn value(comparison: &Comparison) -> String {
    let factor = Unit::Ratio.text(comparison.speed.median);
    let words = match (comparison.beside, comparison.standing()) {
        (Beside::Itself, _) => format!("of {}", comparison.object),
        (_, Standing::Ahead) => "ahead".to_owned(),
        (_, Standing::Even) => "even".to_owned(),
        (_, Standing::Behind) => "behind".to_owned(),
    };
    let mark = if comparison.disturbed > 0 { " †" } else { "" };
    format!("{factor} {words}{mark}")
}

/// The verdict in a line: in how many figures this library is ahead of the best other one.
pub(super) fn verdict(figures: &[Figure]) -> Option<String> {
    let comparisons = figures.iter().filter_map(Figure::comparison);
    let others = comparisons.filter(|one| one.beside == Beside::Others);
    let standings: Vec<Standing> = others.map(Comparison::standing).collect();
    let number = |wanted| standings.iter().filter(|one| **one == wanted).count();
    let [ahead, even, behind] = [Standing::Ahead, Standing::Even, Standing::Behind].map(number);
    (!standings.is_empty()).then(|| {
        format!(
            "Of {} figures with other libraries, FerroSHMEM is ahead of the best in {ahead}, even in {even}, \
             behind in {behind}.",
            standings.len()
        )
    })
}

/// The explanation below the picture.
pub(super) fn caption(figures: &[Figure]) -> String {
    let comparisons = || figures.iter().filter_map(|figure| figure.comparison.as_ref());
    let mut text = "Speed of FerroSHMEM divided by that of the best other library: a bar to the right of 1× is \
                    ahead, to the left behind, within 5 % even. Bars are medians of a figure's points, lines \
                    reach from the lowest to the highest point; of a single point, the range of its samples."
        .to_owned();
    if comparisons().any(|one| one.beside == Beside::Itself) {
        text.push_str(" Frames have no other library beside them: they compare two ways to use FerroSHMEM.");
    }
    if comparisons().any(|one| one.disturbed > 0) {
        text.push_str(" †: a run of some of the points was disturbed.");
    }
    text
}

fn colour(standing: Standing) -> &'static str {
    match standing {
        Standing::Ahead => "#0072B2",
        Standing::Even => "#7A7A7A",
        Standing::Behind => "#D55E00",
    }
}

/// A logarithmic axis around 1, with the factors that people use as its ticks.
fn axis<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> Axis {
    const TICKS: [f64; 11] = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];
    let (mut low, mut high) = LEAST;
    for speed in comparisons.map(|one| one.speed) {
        low = low.min(speed.low.max(MOST.0));
        high = high.max(speed.high.min(MOST.1));
    }
    let range = low / 1.1..high * 1.1;
    let ticks = TICKS.into_iter().filter(|tick| range.contains(tick));
    Axis {
        label: String::new(),
        unit: Unit::Ratio,
        scale: Scale::Log,
        ticks: ticks.map(|tick| (tick, Unit::Ratio.text(tick))).collect(),
        range,
    }
}

/// A coordinate to a tenth.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
