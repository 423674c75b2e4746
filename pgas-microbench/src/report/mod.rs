//! Figures of measurements, and one page that shows them.

mod axis;
mod comparison;
mod draw;
mod figure;
mod figures;
mod overview;
mod page;
mod palette;
mod rows;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

pub use axis::{Axis, Scale, Unit};
pub use comparison::{Beside, Comparison, Standing};
pub use figure::{Figure, Finding, Panel, Series};
pub use palette::{Stroke, Style};

use crate::measurement::Measurement;

/// How measurements were made: the machine, the libraries and the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The page's title.
    pub title: String,
    /// Properties of the machine: name and value.
    pub machine: Vec<(String, String)>,
    /// Libraries: name and version.
    pub implementations: Vec<(String, String)>,
    /// The runs.
    pub runs: Vec<RunRecord>,
    /// The mode: `quick` or `full`.
    pub mode: String,
    /// Date and time of the report.
    pub when: String,
    /// Notes for the reader, such as the limits of the machine.
    pub notes: Vec<String>,
}

/// One run of one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its command line.
    pub command: String,
    /// Its time.
    pub seconds: f64,
    /// Why it failed, was ended or skipped; none if it succeeded.
    #[serde(rename = "outcome")]
    pub failure: Option<String>,
    /// The state of the machine meanwhile, if it could be read.
    #[serde(default)]
    pub conditions: Option<Conditions>,
}

/// The state of the machine during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Percent of the cores' time that other processes took.
    pub others: f64,
    /// Percent of the cores' time that the hypervisor took.
    pub steal: f64,
    /// Percent of the time in which a thread waited for a core, if the kernel counts it.
    pub stalled: Option<f64>,
    /// The load average of the last minute.
    pub load: f64,
    /// Speed of a core, of which 1 is the highest of all runs.
    pub clock: f64,
    /// The cores' mean frequency, if the kernel tells it.
    pub megahertz: Option<f64>,
    /// What disturbed the run, if anything did.
    pub disturbed: Option<String>,
}

/// The files of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// Number of figures.
    pub figures: usize,
}

/// The figures of some measurements, without those that lack data.
pub fn figures(measurements: &[Measurement]) -> Vec<Figure> {
    figures::all(measurements).0
}

/// The picture of all figures as a file of its own, whose links lead to the figures' files.
fn overview(figures: &[Figure]) -> Option<String> {
    let link = |figure: &Figure| format!("{}.svg", figure.file_stem());
    overview::picture(figures, link).map(maud::Markup::into_string)
}

/// The page as text.
///
/// # Errors
/// If a figure cannot be drawn.
pub fn page(context: &Context, measurements: &[Measurement]) -> Result<String> {
    let (figures, missing) = figures::all(measurements);
    page::render(context, &figures, &missing)
}

/// Writes `index.html`, and the picture of all figures as `figures/00-overview.svg` and each figure as
/// `figures/NN-slug.svg`, to a folder, which is made if it does not exist. The page links to a file `results.csv` in
/// the same folder.
///
/// # Errors
/// If a figure cannot be drawn or a file cannot be written. All figures are drawn before the first
/// file is written.
pub fn write(folder: &Path, context: &Context, measurements: &[Measurement]) -> Result<Written> {
    let (figures, missing) = figures::all(measurements);
    let page = page::render(context, &figures, &missing)?;
    let mut files = vec![(PathBuf::from("index.html"), page.into_bytes())];
    let pictures = figures
        .iter()
        .map(|figure| Ok((figure.file_stem(), figure.svg()?)))
        .chain(overview(&figures).map(|picture| Ok(("00-overview".to_owned(), picture))))
        .collect::<Result<Vec<_>>>()?;
    files.extend(pictures.into_iter().map(|(stem, svg)| (format!("figures/{stem}.svg").into(), svg.into_bytes())));

    let make = |folder: &Path| fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()));
    make(&folder.join("figures"))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Written { page: folder.join("index.html"), figures: figures.len() })
}
