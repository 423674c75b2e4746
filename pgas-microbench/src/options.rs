//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::plan::{Class, Mode};

/// Measures this library beside every other OpenSHMEM and MPI found, and writes a report
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "The folder gets index.html, results.csv, context.json and figures/. \
        FERROSHMEM_PREFIX names the installation to measure; the libraries beside it are those \
        whose oshcc or mpicc is on the path or below /opt or /usr/lib64."
)]
pub struct Options {
    /// Some sizes and few samples, in less than 5 minutes (the default)
    #[arg(long)]
    quick: bool,
    /// All sizes and numbers of PEs, each measured long enough; an hour or more
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Where the report goes; an earlier report there is replaced
    #[arg(long, short, value_name = "DIR", default_value = "report")]
    pub output: PathBuf,
    /// Runs only what has one of these in its name (--list shows the names)
    #[arg(long, value_name = "PART", num_args = 1..)]
    pub only: Vec<String>,
    /// Classes of NAS IS and SP, in place of those that there is time for
    #[arg(long, value_name = "CLASS", value_delimiter = ',', ignore_case = true)]
    pub classes: Vec<Class>,
    /// Leaves other libraries out
    #[arg(long)]
    pub alone: bool,
    /// Prints what would be run, and how long that is thought to take
    #[arg(long)]
    pub list: bool,
    /// Measures nothing: makes the page and the plots in DIR again from its results
    #[arg(long, value_name = "DIR", conflicts_with_all = ["only", "list", "full", "quick", "output", "classes", "alone"])]
    pub again: Option<PathBuf>,
}

impl Options {
    /// How thoroughly is measured.
    pub fn mode(&self) -> Mode {
        if self.full { Mode::Full } else { Mode::Quick }
    }

    /// Whether what is named so is to be run.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }
}
