//! A job on several hosts in which no PE makes progress: each host says what its PEs do, and the job ends.

use std::fs;

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::job::Outcome;
use ferroshmem_conformance::prefix::crate_folder;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

const SOURCE: &str = "diagnosis/apart.c";

const PLACE: Placement = Placement { pes: 4, hosts: 2, distribution: Distribution::Block };

/// Adds the trials: one by one launcher, the others where all is asked for.
pub(crate) fn add(suite: &mut Suite) {
    for launcher in Launcher::ALL {
        let launch = Launch { launcher, place: PLACE };
        suite.add_launch("hang", launch, launcher == Launcher::ALL[0], says_what_pes_do);
        suite.add_launch("hang::fetch", launch, launcher == Launcher::ALL[0], says_who_is_fetched_from);
    }
}

/// The line of the program with this mark.
fn line(mark: &str) -> Result<String> {
    let text = fs::read_to_string(crate_folder().join("c").join(SOURCE))?;
    let mark = format!("/* @{mark} */");
    let at = text.lines().position(|line| line.contains(&mark));
    Ok(format!("apart.c:{}", at.context("no such mark")? + 1))
}

/// Runs the program, whose job makes no progress; what is said of that.
fn hang(s: &Setting, launch: Launch, words: &[&str]) -> Result<Outcome> {
    let job = Job::new(launch.place.pes, &s.compile(SOURCE, &["-g", "-O0"])?).args(words);
    let job = job.env("SHMEM_HANG_TIMEOUT", "3").env("SHMEM_FABRIC_TIMEOUT", "60");
    let outcome = s.stations.run(launch, &job)?;
    ensure!(!outcome.hung && outcome.left == 0 && !outcome.status.success(), "{outcome}");
    ensure!(has(&outcome, &["no PE has made progress for", "ends the job"]), "not said\n{outcome}");
    ensure!(!has(&outcome, &["has ended without"]), "an end is said, too\n{outcome}");
    Ok(outcome)
}

/// Whether a line has all words.
fn has(outcome: &Outcome, words: &[&str]) -> bool {
    let mut lines = outcome.stdout.lines().chain(outcome.stderr.lines());
    lines.any(|line| words.iter().all(|word| line.contains(word)))
}

fn says_what_pes_do(s: &Setting, launch: Launch) -> Result<()> {
    let outcome = hang(s, launch, &[])?;
    let (looped, barrier) = (line("loop")?, line("barrier")?);
    ensure!(
        has(&outcome, &["PEs 0-1 wait in shmem_barrier_all", &barrier])
            && has(&outcome, &["PE 2 waits in shmem_barrier_all", &barrier, "PE 3 has not come"])
            && has(&outcome, &["PE 3 computes", &looped]),
        "not said\n{outcome}"
    );
    Ok(())
}

/// A PE waits for the answer of one that is stopped.
fn says_who_is_fetched_from(s: &Setting, launch: Launch) -> Result<()> {
    let outcome = hang(s, launch, &["stop"])?;
    let fetch = line("fetch")?;
    ensure!(
        has(&outcome, &["PE 3 waits in shmem_int_atomic_fetch for PE 1 of another node", &fetch])
            && has(&outcome, &["PE 1 is stopped"]),
        "not said\n{outcome}"
    );
    Ok(())
}
