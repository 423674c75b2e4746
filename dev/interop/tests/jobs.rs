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
        suite.add(format!("rust-first::{pes}pe"), move |s| run(s, job(pes), "stores"));
        suite.add(format!("c-first::{pes}pe"), move |s| run(s, job(pes).args(&["c-first"]), "stores"));
        suite.add(format!("threads::{pes}pe"), move |s| run(s, job(pes).args(&["threads"]), "stores"));
    }
    for (variable, value) in [("SHMEM_CHECK", "1"), ("SHMEM_FAST_PATH", "0")] {
        suite.add(format!("{variable}::4pe"), move |s| run(s, job(4).env(variable, value), "calls"));
    }
    suite.add("spans".to_owned(), spans);
    suite.run();
}

/// Spans of the crate `tracing` are in the trace of each PE, each time that they were entered.
fn spans(s: &Setting) -> Result<()> {
    std::fs::create_dir_all(&s.scratch)?;
    let file = s.scratch.join("spans.json");
    let traced = format!("--trace={}", file.display());
    let job = job(2).args(&["spans"]).options(&["-n", "2", &traced]);
    job.expect_success(&s.prefix, &s.scratch)?;
    let trace = std::fs::read_to_string(file)?;
    for (name, pe) in [("span_of_a_step", 0), ("span_of_a_step", 1), ("span_of_c", 0), ("span_of_c", 1)] {
        let of =
            |line: &&str| line.contains(&format!("\"name\":\"{name}\"")) && line.contains(&format!("\"pid\":{pe},"));
        let found = trace.lines().filter(of).count();
        ensure!(found == 3, "{name} of PE {pe}: {found}, not 3\n{trace}");
    }
    Ok(())
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
    ensure!(outcome.stdout.matches(&line).count() == job.pes.max(1), "C's puts should be {puts}\n{outcome}");
    Ok(())
}
