//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::plan::{Class, Mode};

/// Measures this library beside every other OpenSHMEM and MPI found, and writes a report
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "The folder gets index.html, results.csv, context.json and figures/. \
        FERROSHMEM_PREFIX names the installation to measure. Other libraries are found by oshcc or \
        mpicc on the path and below /opt and /usr/lib64, or named by PEER_OSHCC and PEER_OSHRUN, \
        PEER_OPENMPI_CC and PEER_OPENMPI_RUN, PEER_MPICH_CC and PEER_MPICH_RUN, \
        or below the prefixes that PEER_PREFIXES lists, separated by colons."
)]
pub struct Options {
    /// Some sizes and few samples, in some 5 minutes (the default)
    #[arg(long)]
    quick: bool,
    /// All sizes and numbers of PEs, each measured long enough; an hour or more
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Folder of the report; an existing report there is replaced
    #[arg(long, short, value_name = "DIR", default_value = "report")]
    pub output: PathBuf,
    /// Runs only programs with one of these in their names (--list prints the names)
    #[arg(long, value_name = "PART", num_args = 1..)]
    pub only: Vec<String>,
    /// Classes of NAS IS and SP, instead of those that fit the time
    #[arg(long, value_name = "CLASS", value_delimiter = ',', ignore_case = true)]
    pub classes: Vec<Class>,
    /// Leaves out other libraries
    #[arg(long)]
    pub alone: bool,
    /// Prints the runs and their estimated time
    #[arg(long)]
    pub list: bool,
    /// Measures nothing: makes page and plots in DIR again from its results
    #[arg(
        long, value_name = "DIR",
        conflicts_with_all = ["only", "list", "full", "quick", "output", "classes", "alone"]
    )]
    pub again: Option<PathBuf>,
}

impl Options {
    /// How much is measured.
    pub fn mode(&self) -> Mode {
        if self.full { Mode::Full } else { Mode::Quick }
    }

    /// Whether a run of this name is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }
}
