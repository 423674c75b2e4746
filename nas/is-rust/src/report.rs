//! The report of the benchmark: a banner and one line for each value, in the format of the NAS
//! Parallel Benchmarks, which scripts read.

use std::fmt::{self, Display};

use crate::problem::{ITERATIONS, Problem};

/// The result of one run.
pub(crate) struct Report {
    pub problem: &'static Problem,
    pub n_pes: usize,
    /// Time of the timed iterations, on the slowest PE.
    pub seconds: f64,
    pub verified: bool,
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.problem.keys();
        let rate = 1e-6 * f64::from(ITERATIONS) * keys as f64 / self.seconds;
        let verification = match self.verified {
            true => "SUCCESSFUL",
            false => "UNSUCCESSFUL",
        };
        let facts: [(&str, &dyn Display); 10] = [
            ("Class", &self.problem.class),
            ("Size", &keys),
            ("Iterations", &ITERATIONS),
            ("Time in seconds", &format_args!("{:.4}", self.seconds)),
            ("Total processes", &self.n_pes),
            ("Mop/s total", &format_args!("{rate:.2}")),
            ("Mop/s/process", &format_args!("{:.2}", rate / self.n_pes as f64)),
            ("Operation type", &"keys ranked"),
            ("Verification", &verification),
            ("Version", &"Rust"),
        ];
        write!(f, "\n\n IS Benchmark Completed.")?;
        for (label, value) in facts {
            write!(f, "\n {label:<15} = {:>24}", value.to_string())?;
        }
        Ok(())
    }
}
