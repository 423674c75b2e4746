//! The parts of a figure.

use super::axis::Axis;
use super::comparison::Comparison;
use super::palette::Style;
use crate::Spread;

/// A figure: a message, panels that show it, and its main numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its number, the same in every report; 3 to 17 are those of the paper.
    pub number: u32,
    /// Its name in files.
    pub slug: String,
    /// What it shows, in a few words.
    pub subject: String,
    /// The message: the comparisons as sentences, or the subject if there are none.
    pub title: String,
    /// This library beside the best other one, or else beside itself.
    pub comparison: Option<Comparison>,
    /// What is shown, what to look for, how it was measured.
    pub caption: String,
    /// The charts, small multiples.
    pub panels: Vec<Panel>,
    /// The main numbers, the most important first.
    pub findings: Vec<Finding>,
}

/// One chart: lines over numbers, or bars over names. On a logarithmic axis, which has no zero for
/// bars to begin at, marks replace bars.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What distinguishes it from the other panels.
    pub title: String,
    /// The horizontal axis: numbers or names.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines or bars.
    pub series: Vec<Series>,
    /// A value that is marked across the panel.
    pub reference: Option<f64>,
}

/// One line, or the bars of one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub label: String,
    /// Its colour and stroke.
    pub style: Style,
    /// Its points by ascending `x`, which is the index of a name on an axis of names.
    pub points: Vec<(f64, Spread)>,
}

impl Series {
    /// All values that an axis must include.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        let spreads = self.points.iter().map(|point| point.1);
        spreads.flat_map(|spread| [spread.median, spread.low, spread.high])
    }
}

/// One comparison in numbers and in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The point, such as "8 B, 1 pair".
    pub at: String,
    /// Value of this library.
    pub ours: String,
    /// Value that it is compared with, and its implementation.
    pub other: String,
    /// The comparison as a sentence.
    pub words: String,
}

impl Figure {
    /// The labels and styles of all series, each once.
    pub fn legend(&self) -> Vec<(&str, Style)> {
        let mut legend = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            let entry = (series.label.as_str(), series.style);
            if !legend.contains(&entry) {
                legend.push(entry);
            }
        }
        legend
    }

    /// This library beside the best other one, or else beside itself.
    pub(super) fn comparison(&self) -> Option<&Comparison> {
        self.comparison.as_ref()
    }

    /// Its name in files, without an extension.
    pub fn file_stem(&self) -> String {
        format!("{:02}-{}", self.number, self.slug)
    }
}
