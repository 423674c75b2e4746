//! Collectives between groups, and contexts of groups.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

/// PEs in either group.
const SIZES: [(usize, &str); 9] =
    [(1, "1"), (2, "1"), (1, "2"), (2, "2"), (3, "5"), (7, "2"), (1, "16"), (16, "1"), (16, "16")];

/// Variables that change how collectives are made.
const VARIABLES: [(&str, &str, &str); 5] = [
    ("checked", "SHMEM_CHECK", "1"),
    ("slow-path", "SHMEM_FAST_PATH", "0"),
    ("reproducible", "SHMEM_REPRODUCIBLE", "1"),
    ("non-temporal", "SHMEM_NON_TEMPORAL_THRESHOLD", "1k"),
    ("small-heap", "SHMEM_SYMMETRIC_SIZE", "16m"),
];

/// What goes wrong, whether it is noticed with checks alone, and words of the one line that says so.
const FAULTS: [(&str, bool, &[&str]); 15] = [
    ("no-such-root", false, &["PE_root = 2", "0 to 1", "SHMEMX_ROOT"]),
    ("no-root-says-so", false, &["do not agree on the root"]),
    ("no-root-of-few-bytes", true, &["do not agree on the root"]),
    ("roots-differ", true, &["do not agree on the root"]),
    ("lengths", true, &["shmemx_group_alltoallmem", "16"]),
    ("counts", true, &["shmemx_long_group_sum_reduce", "32", "24"]),
    ("routines", true, &["shmemx_group_barrier", "shmemx_group_fcollectmem"]),
    ("stack", false, &["dest", "is not a symmetric address"]),
    ("beyond", false, &["dest", "reach past the end"]),
    ("overlap", true, &["overlap"]),
    ("asymmetric", true, &["dest is not that of PE", "of this group"]),
    ("context-pe", false, &["PE 2 is out of range", "group has PEs 0 to 1"]),
    ("context-after-disconnect", false, &["not a live context"]),
    ("after-disconnect", false, &["shmemx_group_barrier", "not a live group"]),
    ("none", true, &[]),
];

/// Routines that are given an address which PEs of the group do not have: compiled into the program, and calls of
/// the library.
const INLINED: [&str; 13] =
    ["p", "g", "put", "get", "put-many", "put-nbi", "get-nbi", "iput", "iget", "ibput", "add", "fetch-add", "next-pe"];
const CALLED: [&str; 3] = ["put-signal", "signal", "context"];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (parents, children) in SIZES {
        suite.add_job(format!("collectives::{parents}+{children}"), move |s| {
            collectives(s, parents, children, &program(s, "collectives", &[])?)
        });
    }
    for (name, variable, value) in VARIABLES {
        suite.add_job(format!("collectives::{name}"), move |s| {
            let other = program(s, "collectives", &["-DELSEWHERE"])?;
            Ok(collectives(s, 2, "3", &other)?.env(variable, value))
        });
    }
    for (way, checked, words) in FAULTS {
        suite.add(format!("misuse::{way}"), move |s| misuse(s, way, checked, words));
    }
    for (checked, ways) in [("0", &INLINED[..]), ("0", &CALLED), ("1", &INLINED), ("1", &CALLED)] {
        let name = if ways.len() == CALLED.len() { "called" } else { "inlined" };
        let faults = checked == "0" && name == "inlined";
        suite.add(format!("stray::{name}::check={checked}"), move |s| {
            ways.iter().try_for_each(|way| stray(s, way, checked, faults))
        });
    }
    for way in ["p", "put-many", "next-pe"] {
        suite.add(format!("stray::{way}::20-PEs"), move |s| stray_of_many(s, way));
    }
    suite.run();
}

fn program(s: &Setting, name: &str, flags: &[&str]) -> Result<PathBuf> {
    s.compile(&format!("spawn/{name}.c"), flags)
}

/// The address is between two windows of the other job, or behind the last one.
fn stray(s: &Setting, way: &str, checked: &str, faults: bool) -> Result<()> {
    for (index, pe) in [("0", 1), ("2", 3)] {
        let job = Job::new(1, &program(s, "stray", &[])?).args(&[way, index, "3"]);
        let job = job.env("SHMEM_CHECK", checked);
        let outcome = job.env("SHMEM_SYMMETRIC_SIZE", "8g").run(&s.prefix, &s.scratch)?;
        let line = outcome.stderr.trim_end();
        let status = if faults { 139 } else { 1 };
        let got = shell_status(outcome.status);
        ensure!(got == status && line.lines().count() == 1, "{way}: status {got}\n{outcome}");
        let of = format!("PE {}, which is of another job", pe + 1);
        ensure!(line.contains(&of), "{way} does not name {of}\n{outcome}");
    }
    Ok(())
}

/// The windows of so many PEs are one mapping: the PE whose memory was meant finds at its end what was written.
fn stray_of_many(s: &Setting, way: &str) -> Result<()> {
    let job = Job::new(1, &program(s, "stray", &[])?).args(&[way, "3", "20"]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    let line = outcome.stderr.trim_end();
    let words = "job 1, PE 3: shmem_finalize: another PE accessed this PE's memory";
    ensure!(shell_status(outcome.status) == 1 && line.lines().count() == 1 && line.contains(words), "{way}\n{outcome}");
    Ok(())
}

fn collectives(s: &Setting, parents: usize, children: &str, other: &Path) -> Result<Job> {
    Ok(Job::new(parents, &program(s, "collectives", &[])?).args(&[children, &other.to_string_lossy()]))
}

/// The job ends with one line, or none if nothing is wrong.
fn misuse(s: &Setting, way: &str, checked: bool, words: &[&str]) -> Result<()> {
    let job = Job::new(2, &program(s, "misuse", &[])?).args(&[way]);
    let job = job.env("SHMEM_CHECK", if checked { "1" } else { "0" });
    let outcome = job.run(&s.prefix, &s.scratch)?;
    outcome.ended_saying(Some(i32::from(!words.is_empty())), words)
}
