//! What the PEs of a node must agree on: settings of the job, and allocation calls.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

use crate::ending::{Status, ended_rightly, expect};

/// A setting, and what the program is to check.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("SHMEM_REPRODUCIBLE", "1", "exact"),
    ("SHMEM_CHECK", "1", "any"),
    ("SHMEM_BARRIER_ALGORITHM", "tree", "any"),
    ("SHMEM_REDUCE_ALGORITHM", "rsag:putget", "any"),
    ("SHMEM_BROADCAST_ALGORITHM", "push", "any"),
];

/// How the last PE differs, and words of the line.
const ALLOCATIONS: &[(&str, &[&str])] = &[
    ("malloc", &["shmem_malloc", "size = 100", "size = 200"]),
    ("hints", &["shmem_malloc_with_hints", "hints = 0"]),
    ("calloc", &["shmem_calloc", "count = 7", "count = 8"]),
    ("align", &["shmem_align", "alignment = 1024", "alignment = 4096"]),
    ("align_size", &["shmem_align", "size = 2", "size = 1048576"]),
    ("free", &["shmem_free", "ptr = 0x"]),
    ("realloc", &["shmem_realloc", "size = 300", "size = 400"]),
    ("routine", &["shmem_free", "ptr = 0x", "shmem_malloc", "size = 100"]),
    ("order", &["shmem_malloc", "size = 1000", "size = 2000"]),
    ("space_size", &["shmemx_space_create", "creates another space"]),
    ("space_malloc", &["shmemx_space_malloc", "size = 100", "size = 200"]),
    ("space_destroy", &["shmemx_space_destroy", "space = 0x"]),
];

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    for &(name, value, holds) in SETTINGS {
        for pes in [4, 64] {
            suite.add_job(format!("setting::{name}::first-pe::{pes}"), move |s| {
                setting(s, (1, pes - 1), (name, value), holds, true)
            });
            suite.add(format!("setting::{name}::last-pe::{pes}"), move |s| {
                let job = setting(s, (pes - 1, 1), (name, value), holds, false)?;
                let outcome = job.run(&s.prefix, &s.scratch)?;
                let pe = format!("PE {}: ", pes - 1);
                let set = format!("{name} is \"{value}\" on this PE, but unset on PE 0");
                ended_rightly(&outcome, Status::NonZero, &[&pe, "shmem_init", &set])
            });
        }
        suite.add(format!("setting::{name}::second-program"), move |s| {
            let program = settings_program(s)?.display().to_string();
            let set = format!("{name}={value}");
            let options = ["-n", "1", &program, holds, ":", "-n", "1", "-x", &set];
            let job = Job::new(2, &settings_program(s)?).args(&[holds]);
            let outcome = job.options(&options).run(&s.prefix, &s.scratch)?;
            ended_rightly(&outcome, Status::Is(2), &["oshrun", name, "first program"])
        });
    }
    for &(way, words) in ALLOCATIONS {
        for (pes, when) in [(2, "early"), (3, "late"), (64, "early")] {
            suite.add(format!("allocation::{way}::{when}::{pes}"), move |s| {
                expect(s, &allocation(s, pes, way, when)?, Status::NonZero, words)
            });
        }
        suite.add(format!("allocation::{way}::checked"), move |s| {
            let job = allocation(s, 3, way, "early")?.env("SHMEM_CHECK", "1");
            expect(s, &job, Status::NonZero, &["shmem", "PE 2", "PE 0"])
        });
        for barrier in ["central", "dissemination", "tree"] {
            suite.add(format!("allocation::{way}::{barrier}"), move |s| {
                let job = allocation(s, 5, way, "early")?;
                let job = job.env("SHMEM_BARRIER_ALGORITHM", barrier);
                expect(s, &job, Status::NonZero, words)
            });
        }
    }
    for pes in [1, 2, 5, 64] {
        suite.add_job(format!("allocation::equal::{pes}"), move |s| allocation(s, pes, "equal", "late"));
    }
    suite.add("allocation::never".into(), never);
}

fn settings_program(s: &Setting) -> Result<PathBuf> {
    s.compile("faults/settings.c", &[])
}

/// A job whose first or last PEs are given a setting by a program in between, of which the
/// launcher does not know.
fn setting(
    s: &Setting,
    (first, last): (usize, usize),
    (name, value): (&str, &str),
    holds: &str,
    first_set: bool,
) -> Result<Job> {
    let program = settings_program(s)?.display().to_string();
    let set = format!("{name}={value}");
    let (first, last) = (first.to_string(), last.to_string());
    let given = |is_set: bool| if is_set { set.as_str() } else { "UNUSED=" };
    let options = ["-n", &first, "env", given(first_set), &program, holds, ":", "-n", &last, "env", given(!first_set)];
    Ok(Job::new(2, &settings_program(s)?).args(&[holds]).options(&options))
}

fn allocation(s: &Setting, pes: usize, way: &str, when: &str) -> Result<Job> {
    let program = s.compile("faults/allocation.c", &[])?;
    Ok(Job::new(pes, &program).args(&[way, when]))
}

/// Where a PE never comes, the report says who waits where.
fn never(s: &Setting) -> Result<()> {
    let mut job = allocation(s, 3, "never", "early")?;
    job.watchdog = Duration::from_secs(120);
    let job = job.options(&["-n", "3", "--timeout", "3"]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && outcome.left == 0, "hangs\n{outcome}");
    for line in
        ["PEs 0-1 wait in shmem_malloc on the world team", "PE 2 has not come", "PE 2 sleeps in the program, in pause"]
    {
        ensure!(outcome.stderr.contains(line), "no \"{line}\"\n{outcome}");
    }
    Ok(())
}
