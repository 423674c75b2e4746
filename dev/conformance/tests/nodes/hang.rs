//! A job on several hosts in which no PE makes progress: each host says what its PEs do, and the job ends.

use std::fs;

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
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
    }
}

/// The line of the program with this mark.
fn line(mark: &str) -> Result<String> {
    let text = fs::read_to_string(crate_folder().join("c").join(SOURCE))?;
    let mark = format!("/* @{mark} */");
    let at = text.lines().position(|line| line.contains(&mark));
    Ok(format!("apart.c:{}", at.context("no such mark")? + 1))
}

fn says_what_pes_do(s: &Setting, launch: Launch) -> Result<()> {
    let job = Job::new(launch.place.pes, &s.compile(SOURCE, &["-g", "-O0"])?);
    let job = job.env("SHMEM_HANG_TIMEOUT", "3");
    let outcome = s.stations.run(launch, &job)?;
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    ensure!(!outcome.status.success(), "{outcome}");
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    let has = |words: &[&str]| text.lines().any(|l| words.iter().all(|w| l.contains(w)));
    let (looped, barrier) = (line("loop")?, line("barrier")?);
    ensure!(
        has(&["no PE has made progress for", "ends the job"])
            && has(&["PEs 0-1 wait in shmem_barrier_all", &barrier])
            && has(&["PE 2 waits in shmem_barrier_all", &barrier, "PE 3 has not come"])
            && has(&["PE 3 computes", &looped]),
        "not said\n{outcome}"
    );
    ensure!(!has(&["has ended without"]), "an end is said, too\n{outcome}");
    Ok(())
}
