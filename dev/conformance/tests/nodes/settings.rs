//! Settings that one host's PEs are given alone, as by a shell's start-up file on it, or by a launcher
//! that hands no environment on: PE 0's hold for the job, another PE's own are refused.

use anyhow::{Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Outcome, Suite};

const PLACE: Placement = Placement { pes: 4, hosts: 2, distribution: Distribution::Block };

/// A setting, and what the program is to check.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("SHMEM_REPRODUCIBLE", "1", "exact"),
    ("SHMEM_CHECK", "1", "any"),
    ("SHMEM_REDUCE_ALGORITHM", "rsag:putget", "any"),
    ("SHMEM_BARRIER_ALGORITHM", "tree", "any"),
    ("SHMEM_SYMMETRIC_SIZE", "32m", "small"),
    ("SHMEM_FABRIC_TIMEOUT", "30", "any"),
];

/// How the last PE's allocation calls differ, and words of the line.
const ALLOCATIONS: &[(&str, &[&str])] = &[
    ("malloc", &["shmem_malloc", "size = 100", "size = 200"]),
    ("calloc", &["shmem_calloc", "count = 7", "count = 8"]),
    ("free", &["shmem_free", "ptr = 0x"]),
    ("realloc", &["shmem_realloc", "size = 300", "size = 400"]),
    ("order", &["shmem_malloc", "size = 1000", "size = 2000"]),
];

/// Adds the trials: each with one launcher, and with the others where all is asked for.
pub(crate) fn add(suite: &mut Suite) {
    for (v, &(name, value, holds)) in SETTINGS.iter().enumerate() {
        for (h, host) in ["a", "b"].into_iter().enumerate() {
            for (l, launcher) in Launcher::ALL.into_iter().enumerate() {
                let short = (v + h) % Launcher::ALL.len() == l;
                let launch = Launch { launcher, place: PLACE };
                let trial = format!("setting::{name}::host-{host}");
                suite.add_launch(&trial, launch, short, move |s, launch| {
                    let outcome = run(s, launch, &job(s, host, (name, value), holds)?)?;
                    match host {
                        "a" => succeeds(&outcome),
                        _ => refused(&outcome, name, value),
                    }
                });
            }
        }
    }
    for (a, &(way, words)) in ALLOCATIONS.iter().enumerate() {
        for (l, launcher) in Launcher::ALL.into_iter().enumerate() {
            let short = a % Launcher::ALL.len() == l;
            let launch = Launch { launcher, place: PLACE };
            suite.add_launch(&format!("allocation::{way}"), launch, short, move |s, launch| {
                let program = s.compile("faults/allocation.c", &[])?;
                let job = Job::new(PLACE.pes, &program).args(&[way, "late"]);
                let outcome = run(s, launch, &job)?;
                ensure!(!outcome.status.success(), "ends well\n{outcome}");
                // The other node may notice that PE 3 has ended, and say so first.
                let says = |line: &&str| words.iter().all(|word| line.contains(word));
                ensure!(lines(&outcome).iter().any(says), "no line\n{outcome}");
                Ok(())
            });
        }
    }
}

/// A job in which the PEs on `host` alone are given a setting; those on host b come late.
fn job(s: &Setting, host: &str, (name, value): (&str, &str), holds: &str) -> Result<Job> {
    let program = s.compile("faults/settings.c", &[])?;
    let script = format!(
        "host=$(uname -n); test $host = {host} && export {name}={value}; test $host = a || sleep 1; exec \"$@\""
    );
    let mut job = Job::new(PLACE.pes, &program).args(&[holds]);
    let wrapper = ["sh".to_owned(), "-c".into(), script, "sh".into()];
    job.command.splice(0..0, wrapper);
    Ok(job)
}

pub(crate) fn run(s: &Setting, launch: Launch, job: &Job) -> Result<Outcome> {
    let outcome = s.stations.run(launch, job)?;
    ensure!(!outcome.hung, "hangs\n{outcome}");
    Ok(outcome)
}

/// The library's lines.
fn lines(outcome: &Outcome) -> Vec<&str> {
    let lines = outcome.stderr.lines();
    lines.filter(|line| line.contains("ferroshmem: ")).collect()
}

pub(crate) fn succeeds(outcome: &Outcome) -> Result<()> {
    ensure!(outcome.status.success(), "{}\n{outcome}", outcome.status);
    ensure!(lines(outcome).is_empty(), "says something\n{outcome}");
    Ok(())
}

fn refused(outcome: &Outcome, name: &str, value: &str) -> Result<()> {
    ensure!(!outcome.status.success(), "ends well\n{outcome}");
    let lines = lines(outcome);
    ensure!(lines.len() == 1, "{} lines, not 1\n{outcome}", lines.len());
    let words = [
        "PE 2: shmem_init: ".to_owned(),
        format!("{name} is \"{value}\" on this PE (host b)"),
        "but unset on PE 0 (host a)".to_owned(),
    ];
    for word in &words {
        ensure!(lines[0].contains(word), "no \"{word}\"\n{outcome}");
    }
    Ok(())
}
