//! Colours, which differ for any colour vision (after Okabe and Ito), and marks.

use plotters::style::RGBColor;

use super::rows::{Rows, is_our_name};

/// Text.
pub(super) const INK: RGBColor = RGBColor(0x1A, 0x1A, 0x1A);
/// Secondary text, and axes.
pub(super) const MUTED: RGBColor = RGBColor(0x5A, 0x5A, 0x5A);
/// Grid lines.
pub(super) const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);
/// Background.
pub(super) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);

/// A colour and its deep shade, on light and on dark paper.
struct Hue {
    light: [RGBColor; 2],
    dark: [&'static str; 2],
}

const fn hue(base: u32, deep: u32, dark: [&'static str; 2]) -> Hue {
    Hue { light: [rgb(base), rgb(deep)], dark }
}

const fn rgb(colour: u32) -> RGBColor {
    let [_, red, green, blue] = colour.to_be_bytes();
    RGBColor(red, green, blue)
}

const HUES: [Hue; 8] = [
    hue(0x00_72_B2, 0x00_30_4D, ["#3FA2E8", "#CFE9FF"]),
    hue(0xD5_5E_00, 0x66_2C_00, ["#F2743A", "#FFD9C7"]),
    hue(0x00_9E_73, 0x00_48_34, ["#1FC597", "#C4F5E6"]),
    hue(0xCC_79_A7, 0x6B_28_4C, ["#E292BE", "#FBDDEB"]),
    hue(0xE6_9F_00, 0x6E_4B_00, ["#F2B632", "#FFEBC2"]),
    hue(0x56_B4_E9, 0x13_4F_73, ["#8FD3FF", "#E3F5FF"]),
    hue(0x7A_7A_7A, 0x2E_2E_2E, ["#A8A8A8", "#EDEDED"]),
    hue(0x8C_7A_3D, 0x42_39_1A, ["#C9B568", "#F2EBD0"]),
];

/// Hues for numbers of PEs where all lines belong to one library.
pub(super) const COUNT_HUES: [usize; 3] = [0, 4, 3];

/// The shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A filled circle.
    Circle,
    /// A filled square.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// Two crossing lines.
    Cross,
}

/// How a series looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Index of the colour.
    pub hue: usize,
    /// The kind of line.
    pub stroke: Stroke,
}

/// The kinds of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// For library calls.
    Solid,
    /// For loads and stores in the program. It has a deep shade and lies over the solid line of
    /// library calls: where they coincide, both are visible.
    Dashed,
    /// For two-sided messages, and calls from Python.
    Dotted,
}

impl Stroke {
    /// The line of a form.
    pub fn of(form: &str) -> Self {
        match form {
            "ptr" | "view" => Self::Dashed,
            "sendrecv" | "python" => Self::Dotted,
            _ => Self::Solid,
        }
    }
}

impl Style {
    /// Whether it is the style of loads and stores.
    pub fn is_dashed(self) -> bool {
        self.stroke == Stroke::Dashed
    }

    /// The colour on light paper.
    pub fn colour(self) -> RGBColor {
        HUES[self.hue % HUES.len()].light[usize::from(self.is_dashed())]
    }

    /// The colour of library calls of the same library.
    pub fn base_colour(self) -> RGBColor {
        HUES[self.hue % HUES.len()].light[0]
    }

    /// The shape of marks.
    pub fn mark(self) -> Mark {
        const MARKS: [Mark; 5] = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Cross];
        MARKS[self.hue % MARKS.len()]
    }
}

/// Which library has which colour, the same in all figures of a report.
#[derive(Debug, Clone)]
pub(super) struct Palette<'a>(Vec<&'a str>);

impl<'a> Palette<'a> {
    /// The first colour is this library's; others follow in the order of measurement.
    pub(super) fn new(rows: &Rows<'a>) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for row in rows.iter() {
            if !names.contains(&row.implementation.as_str()) {
                names.push(&row.implementation);
            }
        }
        names.sort_by_key(|name| !is_our_name(name));
        Self(names)
    }

    /// The colour of a library.
    pub(super) fn hue(&self, implementation: &str) -> usize {
        let place = self.0.iter().position(|name| *name == implementation);
        place.unwrap_or(self.0.len())
    }
}

/// Rules of a style sheet that give pictures within `scope` the colours of dark paper.
pub(super) fn dark_rules(scope: &str) -> String {
    let plain = [(INK, "#E8E8E8"), (MUTED, "#A9B0B7"), (GRID, "#363B41"), (PAPER, "#15181B")];
    let hues = HUES.iter().flat_map(|hue| std::iter::zip(hue.light, hue.dark));
    let rule = |(RGBColor(red, green, blue), dark): (RGBColor, &str)| {
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        format!("{scope} [fill=\"{light}\"]{{fill:{dark}}}{scope} [stroke=\"{light}\"]{{stroke:{dark}}}\n")
    };
    plain.into_iter().chain(hues).map(rule).collect()
}
