//! Jobs that grow by other launchers than `oshrun`, on several hosts.

use anyhow::{Result, ensure};
use ferroshmem_cluster::hosts::{AGENT, Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::job::{Outcome, shell_status};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

const PLACE: Placement = Placement { pes: 4, hosts: 2, distribution: Distribution::Block };

/// How `remote.c` starts PEs, how many, and how these behave; the host of all, where it is given.
const WAYS: [(&str, &str, &str, Option<&str>); 5] = [
    ("accept-spawn", "3", "connect-child", None),
    ("accept-spawn-several", "5", "connect-child-finalize", None),
    ("accept-spawn-several-on-b", "2", "connect-child", Some("b")),
    ("accept-spawn-on-c", "2", "connect-child", Some("c")),
    ("accept-spawn-rounds", "2", "connect-child-brief-more", None),
];

/// How jobs end by which group's fault, and the status.
const FAILURES: [(&str, &str); 4] = [
    ("accept-spawn-fail-idle", "connect-child-fail-crash"),
    ("accept-spawn-fail-crash", "connect-child-fail"),
    ("accept-spawn-fail-exit-3", "connect-child-fail"),
    ("accept-spawn-fail-sync", "connect-child-fail-exit-3"),
];

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    let launch = Launch { launcher: Launcher::Hydra, place: PLACE };
    for (way, children, child, host) in WAYS {
        suite.add_launch(&format!("spawn::{way}"), launch, true, move |s, launch| {
            let outcome = s.stations.run(launch, &job(s, &[way, children, child])?)?;
            well(&outcome, children.parse()?, host)
        });
    }
    for (way, child) in FAILURES {
        let name = format!("spawn::fails::{way}");
        suite.add_launch(&name, launch, true, move |s, launch| fails(s, launch, &job(s, &[way, "2", child])?));
    }
    for launcher in [Launcher::OpenMpi, Launcher::SlurmPmi2, Launcher::SlurmPmix] {
        let launch = Launch { launcher, place: PLACE };
        // Slurm's two interfaces start PEs in one way.
        let is_second = launcher == Launcher::SlurmPmi2;
        for (way, children, child, host) in WAYS {
            // The hosts of the job alone.
            if host == Some("c") || is_second && way != "accept-spawn" {
                continue;
            }
            // A launcher matters for how PEs start, not for what they do then: each way of naming hosts runs by one
            // more.
            let short = match way {
                "accept-spawn-rounds" => false,
                "accept-spawn-several" => launcher == Launcher::OpenMpi,
                "accept-spawn-several-on-b" => launcher == Launcher::SlurmPmix,
                _ => true,
            };
            suite.add_launch(&format!("spawn::{way}"), launch, short, move |s, launch| {
                let outcome = s.stations.run(launch, &job(s, &[way, children, child])?)?;
                well(&outcome, children.parse()?, host)
            });
        }
        if is_second {
            continue;
        }
        for (way, child) in [FAILURES[1], FAILURES[3]] {
            let name = format!("spawn::fails::{way}");
            suite.add_launch(&name, launch, true, move |s, launch| fails(s, launch, &job(s, &[way, "2", child])?));
        }
        suite.add_launch("spawn::late", launch, true, move |s, launch| {
            let program = s.compile("spawn/faults.c", &[])?;
            let job = Job::new(PLACE.pes, &program).args(&["sleeps"]);
            fails(s, launch, &job.env("SHMEM_SPAWN_TIMEOUT", "3"))
        });
        if launcher == Launcher::SlurmPmix {
            suite.add_launch("spawn::never-initialises", launch, true, |s, launch| {
                let program = s.compile("spawn/faults.c", &[])?;
                let job = Job::new(PLACE.pes, &program).args(&["never-initialises"]);
                let words = "command has ended before the PEs have called shmem_init";
                refused(s, launch, &job, words)
            });
        }
        suite.add_launch("spawn::refused", launch, true, |s, launch| {
            let words = match launch.launcher {
                Launcher::OpenMpi => "on the hosts of this job alone, which are a,b",
                _ => "command has ended before the PEs have called shmem_init",
            };
            refused(s, launch, &job(s, &["refused-on-c"])?, words)
        });
    }
    for launcher in [Launcher::Hydra, Launcher::OpenMpi, Launcher::SlurmPmix] {
        let launch = Launch { launcher, place: PLACE };
        suite.add_launch("spawn::independent", launch, true, independent);
    }
    suite.add_launch("spawn::kernels", launch, true, |s, launch| {
        let program = s.compile("kernels/calls.c", &["-DHELD=2000"])?;
        s.stations.run(launch, &Job::new(PLACE.pes, &program).args(&["2"]))?.ended_saying(Some(0), &[])
    });
    // oshrun becomes Hydra.
    suite.add_launch("spawn::oshrun", launch, true, |s, _| {
        let cluster = s.stations.take()?;
        let oshrun = s.prefix.bin("oshrun");
        let words = [&oshrun.to_string_lossy(), "--launcher", "hydra", "--hosts", "a:2,b:2", "--launch-agent", AGENT];
        let words = words.map(str::to_owned);
        let job = job(s, &["accept-spawn-several", "4", "connect-child"])?;
        let process = cluster.command_on("a", &words, &job).spawn()?;
        let outcomes = cluster.finish(vec![process], job.watchdog)?;
        well(&outcomes[0], 4, None)?;
        s.stations.give(cluster);
        Ok(())
    });
}

/// The job ends with an error, and leaves nothing.
fn fails(s: &Setting, launch: Launch, job: &Job) -> Result<()> {
    let outcome = s.stations.run(launch, job)?;
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    ensure!(shell_status(outcome.status) != 0, "{outcome}");
    let lines = outcome.stderr.matches("ferroshmem:").count();
    // One of each job on each host.
    ensure!(lines <= 2 * PLACE.hosts, "{lines} lines\n{outcome}");
    Ok(())
}

/// The job goes on when PEs that it has started fail, where the launcher does not end it; elsewhere, none are started.
fn independent(s: &Setting, launch: Launch) -> Result<()> {
    let program = s.compile("spawn/independent.c", &[])?;
    let is_slurm = launch.launcher == Launcher::SlurmPmix;
    let args = match is_slurm {
        true => ["end-all", "variable"],
        false => ["never", "finalize"],
    };
    let outcome = s.stations.run(launch, &Job::new(PLACE.pes, &program).args(&args))?.ended(0)?;
    let lines = outcome.stderr.matches("ferroshmem:").count();
    ensure!(
        outcome.stdout.contains("failed")
            && !outcome.stderr.contains("not so")
            && lines == usize::from(!is_slurm)
            && (is_slurm || outcome.stderr.contains("connect them by shmemx_port_accept_independent")),
        "{outcome}"
    );
    Ok(())
}

/// The spawn fails with one line of words, after which the job goes on.
fn refused(s: &Setting, launch: Launch, job: &Job, words: &str) -> Result<()> {
    let outcome = s.stations.run(launch, job)?.ended(0)?;
    ensure!(
        outcome.stdout.matches("refused").count() == PLACE.pes
            && outcome.stderr.matches("ferroshmem:").count() == 1
            && outcome.stderr.contains(words),
        "{outcome}"
    );
    Ok(())
}

fn job(s: &Setting, args: &[&str]) -> Result<Job> {
    let program = s.compile("spawn/remote.c", &[])?;
    Ok(Job::new(PLACE.pes, &program).args(args))
}

/// The job has ended well, and at least so many PEs were started: on the host, or on both of the job.
fn well(outcome: &Outcome, children: usize, host: Option<&str>) -> Result<()> {
    outcome.ended_saying(Some(0), &[])?;
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
