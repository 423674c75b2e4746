//! The program of this crate as jobs, each under a watchdog.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    // 0: without launcher.
    for pes in [0, 1, 2, 4] {
        suite.add(format!("rust-first::{pes}pe"), move |s| {
            run(s, job(pes), "stores")
        });
        suite.add(format!("c-first::{pes}pe"), move |s| {
            run(s, job(pes).args(&["c-first"]), "stores")
        });
        suite.add(format!("threads::{pes}pe"), move |s| {
            run(s, job(pes).args(&["threads"]), "stores")
        });
    }
    for (variable, value) in [("SHMEM_CHECK", "1"), ("SHMEM_FAST_PATH", "0")] {
        suite.add(format!("{variable}::4pe"), move |s| {
            run(s, job(4).env(variable, value), "calls")
        });
    }
    suite.run();
}

fn job(pes: usize) -> Job {
    let program = Path::new(env!("CARGO_BIN_EXE_ferroshmem-interop"));
    let mut job = Job::new(pes, program);
    job.watchdog = Duration::from_secs(30);
    job
}

/// The job must end well, and C must have reached other PEs as it should.
fn run(s: &Setting, job: Job, puts: &str) -> Result<()> {
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let line = format!("C's puts are {puts}");
    ensure!(
        outcome.stdout.matches(&line).count() == job.pes.max(1),
        "C's puts should be {puts}\n{outcome}"
    );
    Ok(())
}
