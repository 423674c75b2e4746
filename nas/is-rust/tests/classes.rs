//! IS on many numbers of PEs, with a time limit for each job. The program verifies its result.

use std::path::Path;

use anyhow::{Result, ensure};
use ferroshmem_conformance::{Job, Outcome, Suite};

/// Classes and numbers of PEs; 0 starts the program without launcher.
const RANKED: &[(&str, &[usize])] = &[("S", &[0, 1, 2, 4, 16, 32]), ("W", &[1, 4, 8])];

/// Arguments and numbers of PEs that are refused, and part of the error message.
const REFUSED: &[(&[&str], usize, &str)] = &[
    (&[], 2, "give the class, one of SWABC, as the only argument"),
    (&["S", "W"], 1, "as the only argument"),
    (&["X"], 2, "there is no class \"X\": give one of SWABC"),
    (&["S"], 3, "class S runs on a power of two of PEs, at most 128, not on 3"),
];

/// The error is one line for any number of PEs.
fn refused(outcome: &Outcome, message: &str) -> Result<()> {
    let status = outcome.status;
    ensure!(!outcome.hung && status.code() == Some(1), "{status:?}\n{outcome}");
    let lines = outcome.stderr.lines().filter(|l| l.starts_with("is-rust: "));
    let lines: Vec<&str> = lines.collect();
    ensure!(lines.len() == 1 && lines[0].contains(message), "{outcome}");
    Ok(())
}

fn main() {
    let program = Path::new(env!("CARGO_BIN_EXE_is-rust"));
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (class, pes) in RANKED {
        for pes in *pes {
            suite.add(format!("{class}::{pes}pe"), move |s| {
                let job = Job::new(*pes, program).args(&[class]);
                let report = job.expect_success(&s.prefix, &s.scratch)?.stdout;
                let class_line = format!(" Class           = {class:>24}");
                let verified = format!(" Verification    = {:>24}", "SUCCESSFUL");
                for line in [class_line, verified] {
                    ensure!(report.lines().any(|l| l == line), "no \"{line}\" in\n{report}");
                }
                Ok(())
            });
        }
    }
    for (args, pes, message) in REFUSED {
        suite.add(format!("{}::{pes}pe::refused", args.join(",")), move |s| {
            let job = Job::new(*pes, program).args(args);
            refused(&job.run(&s.prefix, &s.scratch)?, message)
        });
    }
    suite.add("no-room".to_owned(), move |s| {
        let job = Job::new(2, program).args(&["A"]).env("SHMEM_SYMMETRIC_SIZE", "8m");
        refused(&job.run(&s.prefix, &s.scratch)?, "set SHMEM_SYMMETRIC_SIZE to more")
    });
    suite.run();
}
