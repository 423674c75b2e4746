//! The microbenchmarks (`pgas-microbench/c`): they build, print every point that they promise in
//! the format that they promise, refuse what they cannot do, and notice wrong data. Where Open MPI
//! or MPICH is installed, they do the same there. No figure is judged.

mod peers;
mod points;
mod programs;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};
use peers::Peer;
use points::{HEADER, QUICK, holds, series};
use programs::{program, spoiled_program};

const PROGRAMS: [&str; 9] =
    ["latency", "bandwidth", "atomics", "collectives", "updates", "stencil", "packing", "puts", "halo"];

/// Those whose operations are not in pairs, so that any number of PEs will do.
const ANY_PES: [&str; 5] = ["collectives", "stencil", "packing", "puts", "halo"];

fn job(pes: usize, program: &Path) -> Job {
    // Not as many threads as cores.
    Job::new(pes, program).env("OMP_NUM_THREADS", "1")
}

fn prints_all(s: &Setting, name: &str, pes: usize, env: &[(&str, &str)]) -> Result<()> {
    let mut job = job(pes, &program(s, name)?).args(QUICK);
    for (variable, value) in env {
        job = job.env(variable, value);
    }
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    holds(&outcome, &series(name, true), pes)
}

/// Ends with status 1 and one line that holds all words, before any result.
fn refuses(s: &Setting, job: &Job, words: &[&str]) -> Result<()> {
    let outcome = job.run(&s.prefix, &s.scratch)?;
    let line = outcome.stderr.trim_end();
    ensure!(!outcome.hung && outcome.left == 0, "hangs\n{outcome}");
    ensure!(outcome.status.code() == Some(1), "{}\n{outcome}", outcome.status);
    ensure!(line.lines().count() == 1, "not one line\n{outcome}");
    let missing = words.iter().find(|w| !line.contains(**w));
    ensure!(missing.is_none(), "no {missing:?}\n{outcome}");
    let rows = outcome.stdout.lines().filter(|l| !l.starts_with('#'));
    ensure!(rows.filter(|l| *l != HEADER).count() == 0, "rows\n{outcome}");
    Ok(())
}

/// Arguments, and what is said of them.
const BAD_ARGUMENTS: &[(&[&str], &str)] = &[
    (&["-q"], "-q"),
    (&["--fast"], "--"),
    (&["-t"], "-t"),
    (&["-t", "0"], "'0'"),
    (&["-t", "-5"], "'-5'"),
    (&["-t", "5x"], "'5x'"),
    (&["-s", "4"], "from 5"),
    (&["-m", ""], "''"),
    (&["-M", "99999999999999999999"], "-M"),
    (&["-f", "1"], "from 2"),
    (&["-m", "65", "-M", "64"], "65"),
    (&["no_such_operation"], "'no_such_operation'"),
];

fn lists_operations(s: &Setting, name: &str) -> Result<()> {
    let job = job(2, &program(s, name)?).args(&["-h"]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let list = outcome.stdout.lines().find(|l| l.starts_with("Operations:"));
    let words: Vec<&str> = list.context("no list")?.split_whitespace().skip(1).collect();
    for (operation, ..) in series(name, true) {
        let times = words.iter().filter(|w| **w == operation).count();
        ensure!(times == 1, "{operation} {times} times\n{outcome}");
    }
    Ok(())
}

fn notices_wrong_data(s: &Setting, name: &str, operation: &str) -> Result<()> {
    let program = spoiled_program(s, name)?;
    let job = job(4, &program).args(&["-t", "1", operation]);
    refuses(s, &job, &[operation, "wrong data"])
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for name in PROGRAMS {
        for pes in [2, 4, 16] {
            // A point of these has 8 MiB or more on each PE.
            if (name == "packing" && pes > 2) || (name == "halo" && pes > 4) {
                continue;
            }
            suite.add(format!("{name}::{pes}pe"), move |s| prints_all(s, name, pes, &[]));
        }
        suite.add(format!("{name}::checked"), move |s| prints_all(s, name, 4, &[("SHMEM_CHECK", "1")]));
        suite.add(format!("{name}::help"), move |s| lists_operations(s, name));
        for (arguments, word) in BAD_ARGUMENTS {
            let arguments_name = arguments.join("_");
            suite.add(format!("{name}::bad::{arguments_name}"), move |s| {
                let job = job(2, &program(s, name)?).args(arguments);
                refuses(s, &job, &[name, word])
            });
        }
        if ANY_PES.contains(&name) {
            suite.add(format!("{name}::1pe"), move |s| prints_all(s, name, 1, &[]));
            continue;
        }
        for pes in [1, 3] {
            suite.add(format!("{name}::odd::{pes}pe"), move |s| {
                let job = job(pes, &program(s, name)?);
                refuses(s, &job, &[name, "even", &format!("not {pes}")])
            });
        }
    }
    for (name, operation) in [("stencil", "five_point"), ("halo", "halo")] {
        for check in ["0", "1"] {
            suite.add(format!("{name}::threads::check-{check}"), move |s| {
                let job = job(2, &program(s, name)?).args(QUICK);
                // Where threads share cores, those that wait in OpenMP's barriers leave them to others.
                let job = job.env("OMP_NUM_THREADS", "2").env("OMP_WAIT_POLICY", "passive").env("SHMEM_CHECK", check);
                let outcome = job.expect_success(&s.prefix, &s.scratch)?;
                let named = |form: &str| outcome.stdout.contains(&format!("{operation}_threads,{form},"));
                // A compiler without OpenMP makes PEs of one thread.
                let is_alone = outcome.stdout.contains(&format!("{operation},call,"));
                ensure!((named("call") && named("ptr")) || is_alone, "{outcome}");
                Ok(())
            });
        }
    }
    suite.add("latency::small-heap".into(), |s| {
        let job = job(2, &program(s, "latency")?).env("SHMEM_SYMMETRIC_SIZE", "1m");
        refuses(s, &job, &["latency", "16777216 bytes", "-M"])
    });
    for (name, operation) in [
        ("latency", "put"),
        ("bandwidth", "put"),
        ("atomics", "fetch_add"),
        ("atomics", "fetch_add_contended"),
        ("collectives", "reduce"),
        ("updates", "random_fetch_add"),
        ("latency", "exchange"),
        ("stencil", "five_point"),
        ("puts", "all_to_all"),
        ("packing", "pack"),
        ("halo", "halo"),
    ] {
        suite.add(format!("{name}::wrong-data::{operation}"), move |s| notices_wrong_data(s, name, operation));
    }
    for peer in Peer::installed() {
        for name in PROGRAMS.into_iter().filter(|name| peer.has(name)) {
            let peer = peer.clone();
            suite.add(format!("{}::{name}", peer.name()), move |s| peer.runs(s, name));
        }
    }
    suite.run();
}
