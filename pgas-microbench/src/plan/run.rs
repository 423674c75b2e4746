//! A run: one program on a number of PEs.

use std::time::Duration;

/// A folder of programs, whose output has one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suite {
    /// `pgas-microbench/`: rows of CSV.
    Microbench,
    /// `pgas-microbench/stream/`: STREAM's table.
    Stream,
    /// `nas/`: the NPB's report.
    Nas,
    /// `pgas-microbench/graph500/`: the statistics of Graph500.
    Graph500,
    /// `pgas-microbench/overlap/`: a table of what transfers add to computing.
    Overlap,
    /// `pgas-microbench/python/`: rows of CSV.
    Python,
}

impl Suite {
    /// Its folder in the source tree.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Microbench => "pgas-microbench",
            Self::Stream => "pgas-microbench/stream",
            Self::Nas => "nas",
            Self::Graph500 => "pgas-microbench/graph500",
            Self::Overlap => "pgas-microbench/overlap",
            Self::Python => "pgas-microbench/python",
        }
    }
}

/// One run of one program.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The suite of its program.
    pub suite: Suite,
    /// File name of the program.
    pub program: String,
    /// Index of the implementation.
    pub implementation: usize,
    /// Number of PEs, processes or threads.
    pub pes: u32,
    /// Threads of each of them: PEs with several are not bound to a core.
    pub threads: u32,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Variables to set.
    pub variables: Vec<(String, String)>,
    /// How data moves, if the program's output does not say it.
    pub form: &'static str,
    /// The algorithm that is forced, or empty.
    pub algorithm: &'static str,
    /// The problem's class, if it has one.
    pub class: Option<Class>,
    /// Size of each PE's symmetric heap in bytes.
    pub heap: u64,
    /// Time after which it is ended.
    pub limit: Duration,
    /// Estimated seconds.
    pub expected: f64,
}

impl Run {
    /// Its name, which `--only` matches: `is-ptr/A/2-PEs` or `collectives/rd:ptr/4-PEs`.
    pub fn name(&self) -> String {
        let mut parts = vec![self.program.clone()];
        if let Some(class) = self.class {
            parts.push(class.letter().to_string());
        }
        if !self.algorithm.is_empty() {
            parts.push(format!("{}:{}", self.algorithm, self.form));
        }
        parts.push(format!("{}-PEs", self.pes));
        if self.threads > 1 {
            parts.push(format!("{}-threads", self.threads));
        }
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
