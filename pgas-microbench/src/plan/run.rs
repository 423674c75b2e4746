//! One program on some PEs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::implementation::Family;

/// Programs by the folder that they are built in, and what their output looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suite {
    /// `pgas-microbench/`: rows of CSV.
    Microbench,
    /// `pgas-microbench/stream/`: STREAM's table.
    Stream,
    /// `nas/`: the NPB's report.
    Nas,
}

impl Suite {
    /// Its folder in the source tree.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Microbench => "pgas-microbench",
            Self::Stream => "pgas-microbench/stream",
            Self::Nas => "nas",
        }
    }

    /// What `make` is asked for to have a family's programs in the folder `build`; none if there
    /// are no such programs.
    pub fn target(self, family: Family, build: &Path) -> Option<PathBuf> {
        match (self, family) {
            (Self::Stream, Family::OpenMp) => Some(build.join("stream-openmp")),
            (_, Family::OpenMp) => None,
            (Self::Microbench, family) if family.is_mpi() => Some(PathBuf::from("mpi")),
            (_, family) if family.is_mpi() => None,
            _ => Some(PathBuf::from("all")),
        }
    }
}

/// What is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Whose program it is.
    pub suite: Suite,
    /// File name of the program.
    pub program: String,
    /// Which of the implementations, by its place among them.
    pub implementation: usize,
    /// Number of PEs, processes or threads.
    pub pes: u32,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Variables to set.
    pub variables: Vec<(String, String)>,
    /// How data moves, where the program does not say it itself.
    pub form: &'static str,
    /// The algorithm that is forced, or nothing.
    pub algorithm: &'static str,
    /// The problem's class, or nothing.
    pub class: Option<Class>,
    /// Size of each PE's symmetric heap in bytes.
    pub heap: u64,
    /// When it is ended.
    pub limit: Duration,
    /// Seconds that it is thought to take.
    pub expected: f64,
}

impl Run {
    /// Its name, to choose it by: `is-ptr/A/2-PEs` or `collectives/rd:ptr/4-PEs`.
    pub fn name(&self) -> String {
        let mut parts = vec![self.program.clone()];
        if let Some(class) = self.class {
            parts.push(class.letter().to_string());
        }
        if !self.algorithm.is_empty() {
            parts.push(format!("{}:{}", self.algorithm, self.form));
        }
        parts.push(format!("{}-PEs", self.pes));
        parts.join("/")
    }
}

/// A size of the NAS benchmarks' problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum Class {
    /// Sample.
    S,
    /// Workstation.
    W,
    /// Standard sizes, each about four times the one before.
    A,
    /// See `A`.
    B,
    /// See `A`.
    C,
}

impl Class {
    /// The letter.
    pub fn letter(self) -> char {
        match self {
            Self::S => 'S',
            Self::W => 'W',
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
        }
    }
}
