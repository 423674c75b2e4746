//! What the PEs of each host count is shown while the job runs, by a process that ends with them.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

const PLACE: Placement = Placement { pes: 5, hosts: 2, distribution: Distribution::Block };
/// After that the test gives up.
const LIMIT: Duration = Duration::from_secs(60);

/// Adds the trials: one by one launcher, the others where all is asked for.
pub(crate) fn add(suite: &mut Suite) {
    for launcher in Launcher::ALL {
        let launch = Launch { launcher, place: PLACE };
        suite.add_launch("status", launch, launcher == Launcher::ALL[0], is_shown);
    }
}

fn is_shown(s: &Setting, launch: Launch) -> Result<()> {
    fs::create_dir_all(&s.scratch)?;
    let end = s.scratch.join(format!("end-{}", launch.launcher.name()));
    let _ = fs::remove_file(&end);
    let job = Job::new(launch.place.pes, &s.compile("diagnosis/counters.c", &["-O2"])?)
        .args(&["long", &end.display().to_string()])
        .env("SHMEM_COUNTERS", "1")
        .env("SHMEM_STATUS", "1");
    let mut cluster = s.stations.take()?;
    let mut process = cluster.command(launch, &job)?.spawn()?;
    let begin = Instant::now();
    // PE 0 looks for the file, and the others wait for it: again and again, as long as it is not there.
    for words in ["2 of 3 PEs wait", "2 of 2 PEs wait"] {
        let is_said = |text: &str| text.matches(words).count() >= 2;
        while !is_said(&process.stderr()) && !is_said(&process.stdout()) {
            ensure!(begin.elapsed() < LIMIT, "no line with {words:?}\n{process}");
            sleep(Duration::from_millis(20));
        }
    }
    fs::write(&end, "")?;
    let status = process.wait(LIMIT)?;
    ensure!(status.is_some_and(|s| s.success()), "{status:?}\n{process}");
    let left = cluster.cluster.remaining_after(LIMIT)?;
    ensure!(left.is_empty(), "left: {left:?}\n{process}");
    drop(process);
    s.stations.give(cluster);
    Ok(())
}
