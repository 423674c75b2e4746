//! Jobs that grow by other launchers than `oshrun`, on several hosts.

use anyhow::{Result, ensure};
use ferroshmem_cluster::hosts::{AGENT, Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::job::{Outcome, shell_status};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

const PLACE: Placement = Placement {
    pes: 4,
    hosts: 2,
    distribution: Distribution::Block,
};

/// How `remote.c` starts PEs, how many, and how these behave; the host of all, where it is given.
const WAYS: [(&str, &str, &str, Option<&str>); 5] = [
    ("accept-spawn", "3", "connect-child", None),
    ("accept-spawn-several", "5", "connect-child-finalize", None),
    ("accept-spawn-several-on-b", "2", "connect-child", Some("b")),
    ("accept-spawn-on-c", "2", "connect-child", Some("c")),
    ("accept-spawn-rounds", "2", "connect-child-brief-more", None),
];

/// How jobs end by which side's fault, and the status.
const FAILURES: [(&str, &str); 4] = [
    ("accept-spawn-fail-idle", "connect-child-fail-crash"),
    ("accept-spawn-fail-crash", "connect-child-fail"),
    ("accept-spawn-fail-exit-3", "connect-child-fail"),
    ("accept-spawn-fail-sync", "connect-child-fail-exit-3"),
];

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    let launch = Launch {
        launcher: Launcher::Hydra,
        place: PLACE,
    };
    for (way, children, child, host) in WAYS {
        suite.add_launch(&format!("spawn::{way}"), launch, true, move |s, launch| {
            let mut cluster = s.stations.take()?;
            let outcome = cluster.run(launch, &job(s, &[way, children, child])?)?;
            if !outcome.hung {
                s.stations.give(cluster);
            }
            well(&outcome, children.parse()?, host)
        });
    }
    for (way, child) in FAILURES {
        let name = format!("spawn::fails::{way}");
        suite.add_launch(&name, launch, true, move |s, launch| {
            let mut cluster = s.stations.take()?;
            let outcome = cluster.run(launch, &job(s, &[way, "2", child])?)?;
            ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
            s.stations.give(cluster);
            ensure!(shell_status(outcome.status) != 0, "{outcome}");
            let lines = outcome.stderr.matches("ferroshmem:").count();
            // One of each job on each host.
            ensure!(lines <= 2 * PLACE.hosts, "{lines} lines\n{outcome}");
            Ok(())
        });
    }
    for launcher in [Launcher::OpenMpi, Launcher::SlurmPmi2, Launcher::SlurmPmix] {
        let launch = Launch {
            launcher,
            place: PLACE,
        };
        suite.add_launch("spawn::refused", launch, true, |s, launch| {
            let mut cluster = s.stations.take()?;
            let outcome = cluster.run(launch, &job(s, &["refused-long"])?)?;
            if !outcome.hung {
                s.stations.give(cluster);
            }
            ensure!(
                shell_status(outcome.status) == 0
                    && outcome.left == 0
                    && outcome.stdout.matches("refused").count() == PLACE.pes
                    && outcome.stderr.lines().count() == 1
                    && outcome.stderr.contains(
                        "starts no PEs while the job runs: start the job by oshrun or mpiexec.hydra"
                    ),
                "{outcome}"
            );
            Ok(())
        });
    }
    // oshrun becomes Hydra.
    suite.add_launch("spawn::oshrun", launch, true, |s, _| {
        let cluster = s.stations.take()?;
        let oshrun = s.prefix.bin("oshrun");
        let words = [
            &oshrun.to_string_lossy(),
            "--launcher",
            "hydra",
            "--hosts",
            "a:2,b:2",
            "--launch-agent",
            AGENT,
        ];
        let words = words.map(str::to_owned);
        let job = job(s, &["accept-spawn-several", "4", "connect-child"])?;
        let process = cluster.command_on("a", &words, &job).spawn()?;
        let outcomes = cluster.finish(vec![process], job.watchdog)?;
        well(&outcomes[0], 4, None)?;
        s.stations.give(cluster);
        Ok(())
    });
}

fn job(s: &Setting, args: &[&str]) -> Result<Job> {
    let program = Build::new("spawn/remote.c", Compiler::Gcc).run(&s.prefix, &s.cache)?;
    Ok(Job::new(PLACE.pes, &program).args(args))
}

/// The job has ended well, and at least so many PEs were started: on the host, or on both of the job.
fn well(outcome: &Outcome, children: usize, host: Option<&str>) -> Result<()> {
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    ensure!(
        shell_status(outcome.status) == 0 && outcome.stderr.is_empty(),
        "{outcome}"
    );
    let on = |host: &str| {
        let line = format!("started on {host}");
        outcome.stdout.lines().filter(|l| *l == line).count()
    };
    let (all, here) = match host {
        Some(host) => (on(host), on(host)),
        None => (on("a") + on("b"), on("b")),
    };
    ensure!(all >= children && here > 0, "{all} PEs\n{outcome}");
    Ok(())
}
