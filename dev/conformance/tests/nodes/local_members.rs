//! Jobs that have PEs on the same hosts and on others: which PEs reach each other by loads and stores, that these and
//! the fabric reach one memory, and what is left of it.

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::Launcher;
use ferroshmem_conformance::Suite;
use ferroshmem_conformance::job::{Outcome, shell_status};
use ferroshmem_conformance::suite::Setting;

use crate::meet::{By, HYDRA, JobSpec, LOST, Meeting, OPENMPI, all_well, lost};

/// How many of a job's PEs reach how many PEs of the other job by loads and stores.
type Reach = &'static [(usize, usize)];

const B: By = By::Oshrun("b");

/// Jobs of which the first has PEs on several hosts.
struct Pair {
    name: &'static str,
    jobs: [JobSpec; 2],
    /// Which of their PEs are local to each other.
    reaches: [Reach; 2],
    env: &'static [(&'static str, &'static str)],
}

const PAIRS: [Pair; 8] = [
    Pair {
        name: "host",
        jobs: [(HYDRA, 4, "accept"), (B, 3, "connect")],
        reaches: [&[(2, 0), (2, 3)], &[(3, 2)]],
        env: &[],
    },
    Pair {
        name: "hosts",
        jobs: [(HYDRA, 4, "accept"), (OPENMPI, 4, "connect-late")],
        reaches: [&[(4, 2)], &[(4, 2)]],
        env: &[],
    },
    Pair {
        name: "uneven",
        jobs: [(By::Hosts("a:3,b:1"), 4, "accept-late"), (By::Hosts("b:4,c:1"), 5, "connect")],
        reaches: [&[(3, 0), (1, 4)], &[(4, 1), (1, 0)]],
        env: &[],
    },
    Pair {
        name: "none",
        jobs: [(By::Hosts("a:1,b:1"), 2, "accept"), (By::Oshrun("c"), 2, "connect-space")],
        reaches: [&[(2, 0)], &[(2, 0)]],
        env: &[("SHMEM_SYMMETRIC_SIZE", "8m")],
    },
    Pair {
        name: "many",
        jobs: [(By::Hosts("a:10,b:2"), 12, "accept"), (By::Oshrun("a"), 9, "connect")],
        reaches: [&[(10, 9), (2, 0)], &[(9, 10)]],
        env: &[],
    },
    Pair {
        name: "checked",
        jobs: [(HYDRA, 4, "accept"), (B, 2, "connect")],
        reaches: [&[(2, 0), (2, 2)], &[(2, 2)]],
        env: &[("SHMEM_CHECK", "1")],
    },
    Pair {
        name: "slow-path",
        jobs: [(HYDRA, 4, "accept"), (B, 2, "connect")],
        reaches: [&[(2, 0), (2, 2)], &[(2, 2)]],
        env: &[("SHMEM_FAST_PATH", "0")],
    },
    Pair {
        name: "rounds",
        jobs: [(HYDRA, 4, "accept-rounds"), (B, 2, "connect-rounds")],
        reaches: [&[], &[]],
        env: &[],
    },
];

/// Which job crashes, and how the other one behaves.
const CRASHES: [(&str, [&str; 2]); 2] =
    [("spread", ["accept-fail-crash", "connect-fail"]), ("local", ["accept-fail", "connect-fail-crash"])];

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    let launchers = suite.launchers().to_vec();
    for pair in PAIRS {
        let Pair { name, jobs, reaches, env } = pair;
        let is_there = |(by, ..): &JobSpec| match by {
            By::Launcher(launcher, _) => launchers.contains(launcher),
            _ => launchers.contains(&Launcher::Hydra),
        };
        if jobs.iter().all(is_there) {
            suite.add(format!("meet::local::{name}"), move |s| {
                let outcomes = meeting(s)?.run(jobs, env)?;
                all_well(&outcomes)?;
                outcomes.iter().zip(reaches).try_for_each(|(outcome, reach)| reaches_local(outcome, reach))
            });
        }
    }
    if !launchers.contains(&Launcher::Hydra) {
        return;
    }
    for (name, ways) in CRASHES {
        suite.add(format!("meet::local::crash-{name}"), move |s| crash(s, ways));
    }
}

fn meeting(s: &Setting) -> Result<Meeting<'_>> {
    Meeting::of(s, "spawn/same_node.c", [&[], &[]])
}

/// Each PE says how many PEs of the other job it reaches by loads and stores.
fn reaches_local(outcome: &Outcome, expected: Reach) -> Result<()> {
    let local = |line: &str| line.split_once(" of ")?.0.parse::<usize>().ok();
    for (pes, reached) in expected {
        let lines = outcome.stdout.lines().filter_map(local);
        let got = lines.filter(|n| n == reached).count();
        ensure!(got == *pes, "{got} PEs reach {reached}\n{outcome}");
    }
    Ok(())
}

/// A PE crashes whose memory PEs of the other job have mapped: that job ends with one line.
fn crash(s: &Setting, ways: [&'static str; 2]) -> Result<()> {
    let jobs = [(HYDRA, 4, ways[0]), (B, 2, ways[1])];
    let outcomes = meeting(s)?.run(jobs, &[])?;
    let [spread, local] = &outcomes[..] else {
        return Err(anyhow::anyhow!("{} jobs", outcomes.len()));
    };
    if ways[0].contains("crash") {
        return lost(local, 1, LOST);
    }
    ensure!(shell_status(local.status) == 139, "{local}\n{spread}");
    ensure!(shell_status(spread.status) != 0, "{spread}\n{local}");
    // Hydra adds lines of its own.
    let lines = spread.stderr.lines();
    let mut own = lines.filter(|line| line.contains("ferroshmem:"));
    let line = own.next().context("no line")?;
    ensure!(line.contains(LOST) && own.next().is_none(), "{spread}\n{local}");
    Ok(())
}
