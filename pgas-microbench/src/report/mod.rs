//! Figures and one page of what was measured.

mod axis;
mod bar_chart;
mod comparison;
mod figure;
mod figures;
mod line_chart;
mod page;
mod palette;
#[cfg(feature = "png")]
mod png;
mod rows;
mod sheet;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

pub use axis::{Axis, Scale, Unit};
pub use figure::{BarChart, Bars, Chart, Figure, Finding, Line, LineChart, Panel, Series};
pub use palette::{Stroke, Style};

use crate::measurement::Measurement;

/// How measurements were made: the machine, the libraries and the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The page's title.
    pub title: String,
    /// Facts of the machine: name and value.
    pub machine: Vec<(String, String)>,
    /// Libraries: name and version.
    pub implementations: Vec<(String, String)>,
    /// What was run.
    pub runs: Vec<RunRecord>,
    /// The name of the set that was run.
    pub mode: String,
    /// When it was run.
    pub when: String,
    /// What to know when reading it, such as what this machine cannot show.
    pub notes: Vec<String>,
}

/// One run of one program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its command line.
    pub command: String,
    /// How long it took.
    pub seconds: f64,
    /// Why it failed, was ended or skipped; none if it succeeded.
    #[serde(rename = "outcome")]
    pub failure: Option<String>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// How many figures there are.
    pub figures: usize,
    /// Why there are no PNGs, if so: no fonts on this system, for one.
    pub without_png: Option<String>,
}

/// The figures that can be drawn from some measurements.
pub fn figures(measurements: &[Measurement]) -> Vec<Figure> {
    figures::all(measurements).0
}

/// The page, without the files that it links to.
///
/// # Errors
/// If a figure cannot be drawn.
pub fn page(context: &Context, measurements: &[Measurement]) -> Result<String> {
    let (figures, missing) = figures::all(measurements);
    page::render(context, &figures, &missing)
}

/// Writes `index.html`, and each figure as `figures/NN-slug.svg` and `.png`, to a folder, which
/// is made if need be. The page links to a file `results.csv` in the same folder.
///
/// # Errors
/// If a figure cannot be drawn or a file cannot be written; nothing is written before all is
/// drawn.
pub fn write(folder: &Path, context: &Context, measurements: &[Measurement]) -> Result<Written> {
    let (figures, missing) = figures::all(measurements);
    let page = page::render(context, &figures, &missing)?;
    let mut files = vec![(PathBuf::from("index.html"), page.into_bytes())];
    let pictures = figures
        .iter()
        .map(|figure| Ok((figure.file_stem(), figure.svg()?)))
        .collect::<Result<Vec<_>>>()?;
    let (images, without_png) = match images(&pictures) {
        Ok(images) => (images, None),
        Err(error) => (Vec::new(), Some(format!("{error:#}"))),
    };
    let below = |stem: &str, ending: &str| PathBuf::from(format!("figures/{stem}.{ending}"));
    files.extend(
        images
            .into_iter()
            .map(|(stem, image)| (below(&stem, "png"), image)),
    );
    files.extend(
        pictures
            .into_iter()
            .map(|(stem, svg)| (below(&stem, "svg"), svg.into_bytes())),
    );

    let make = |folder: &Path| {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
    };
    make(&folder.join("figures"))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Written {
        page: folder.join("index.html"),
        figures: figures.len(),
        without_png,
    })
}

/// All pictures as PNG, with their names.
#[cfg(feature = "png")]
fn images(pictures: &[(String, String)]) -> Result<Vec<(String, Vec<u8>)>> {
    let painter = png::Painter::new()?;
    let image = |(stem, svg): &(String, String)| Ok((stem.clone(), painter.png(svg)?));
    pictures.iter().map(image).collect()
}

#[cfg(not(feature = "png"))]
fn images(_: &[(String, String)]) -> Result<Vec<(String, Vec<u8>)>> {
    anyhow::bail!("built without the feature `png`")
}
