//! What a figure is made of.

use anyhow::Result;

use super::axis::Axis;
use super::palette::Style;
use super::sheet;
use crate::Spread;

/// A figure: a message, charts that show it, and its main numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its number, the same in every report; 3 to 17 are those of the paper.
    pub number: u32,
    /// Its name in files.
    pub slug: String,
    /// The message, as far as the data say one.
    pub title: String,
    /// What is shown, what to look for, how it was measured.
    pub caption: String,
    /// The charts, small multiples.
    pub panels: Vec<Panel>,
    /// The main numbers, the most telling first.
    pub findings: Vec<Finding>,
}

/// One chart of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What sets it apart from the others.
    pub title: String,
    /// What is drawn.
    pub chart: Chart,
}

/// The kinds of charts.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Lines over numbers.
    Lines(LineChart),
    /// Bars over names.
    Bars(BarChart),
}

/// Lines over numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, those drawn first below the others.
    pub lines: Vec<Line>,
    /// A value that is marked across the chart.
    pub reference: Option<f64>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Whose it is.
    pub series: Series,
    /// Its points by ascending `x`.
    pub points: Vec<(f64, Spread)>,
}

/// Groups of bars over names.
#[derive(Debug, Clone, PartialEq)]
pub struct BarChart {
    /// The names.
    pub x: Axis,
    /// The vertical axis. A logarithmic one has no foot for bars to stand on: marks take their
    /// place.
    pub y: Axis,
    /// The bars.
    pub bars: Vec<Bars>,
}

/// The bars of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Whose they are.
    pub series: Series,
    /// One value for each name, if it was measured.
    pub values: Vec<Option<Spread>>,
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// In words.
    pub label: String,
    /// How it looks.
    pub style: Style,
}

/// One comparison in numbers and in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where, such as "8 B, 1 pair".
    pub at: String,
    /// Value of this library.
    pub ours: String,
    /// Value beside it, and whose it is.
    pub other: String,
    /// The comparison as a sentence.
    pub words: String,
}

impl Figure {
    /// What the colours and dashes mean, each once.
    pub fn legend(&self) -> Vec<&Series> {
        let mut legend: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| panel.chart.series()) {
            if !legend.contains(&series) {
                legend.push(series);
            }
        }
        legend
    }

    /// Its picture, on a light ground.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        sheet::figure(self)
    }

    /// Its name in files, without an ending.
    pub fn file_stem(&self) -> String {
        format!("{:02}-{}", self.number, self.slug)
    }
}

impl Chart {
    /// Whose lines or bars there are.
    pub fn series(&self) -> Vec<&Series> {
        match self {
            Self::Lines(chart) => chart.lines.iter().map(|line| &line.series).collect(),
            Self::Bars(chart) => chart.bars.iter().map(|bars| &bars.series).collect(),
        }
    }

    /// The horizontal and the vertical axis.
    pub fn axes(&self) -> (&Axis, &Axis) {
        match self {
            Self::Lines(chart) => (&chart.x, &chart.y),
            Self::Bars(chart) => (&chart.x, &chart.y),
        }
    }
}
