//! Jobs across hosts: in rigs of hosts made of namespaces, by the launchers that are installed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_cluster::hosts::{Command, Launcher, MOST_HOSTS, Order, Placement, Rig, Slurm};
use ferroshmem_core::config::isolate;

use crate::job::{Job, Outcome, now_ms};

/// After a job has ended, its processes on all hosts may take this long to go: launchers
/// themselves end their daemons a while later.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Characters of the command lines of processes that are left, in reports.
const SHOWN: usize = 100;

/// When the watchdog ends a job: hosts that share few cores wait for each other.
const WATCHDOG: Duration = Duration::from_secs(180);

/// Where PEs are in tests: several on a host, in both orders and one host with fewer; all alone.
pub const PLACEMENTS: [Placement; 6] = [
    placement(2, 2, Order::Block),
    placement(3, 2, Order::Block),
    placement(4, 2, Order::Block),
    placement(4, 2, Order::RoundRobin),
    placement(3, 3, Order::Block),
    placement(4, 4, Order::Block),
];

const fn placement(pes: usize, hosts: usize, order: Order) -> Placement {
    Placement { pes, hosts, order }
}

/// A launcher and where it puts the PEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// What starts the job.
    pub launcher: Launcher,
    /// On which hosts.
    pub place: Placement,
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.place, self.launcher)
    }
}

/// The ways in which a program runs across hosts, each with whether it is the one of a short run.
pub fn ways(program: usize) -> impl Iterator<Item = (Way, bool)> {
    PLACEMENTS.into_iter().flat_map(move |place| {
        Launcher::ALL.into_iter().map(move |launcher| {
            let each = Way { launcher, place };
            (each, each == way(program))
        })
    })
}

/// One way in which a program runs across hosts; the next program has another.
pub fn way(program: usize) -> Way {
    Way {
        place: PLACEMENTS[program % PLACEMENTS.len()],
        launcher: Launcher::ALL[(program + program / PLACEMENTS.len()) % Launcher::ALL.len()],
    }
}

/// A rig in which jobs run one after the other.
#[derive(Debug)]
pub struct Station {
    /// Its hosts.
    pub rig: Rig,
    slurm: Option<Slurm>,
}

impl Station {
    /// A command, for the first host, that starts a job of one program; environment and
    /// arguments are the job's, its launcher's options and number of PEs are not.
    pub fn command(&mut self, way: Way, job: &Job) -> Result<Command<'_>> {
        if way.launcher.is_slurm() && self.slurm.is_none() {
            self.slurm = Some(Slurm::start(&self.rig)?);
        }
        let names: Vec<&str> = job.env.iter().map(|(name, _)| name.as_str()).collect();
        let words = way.launcher.words(&way.place, &names, &job.command);
        let own = way.launcher.variables();
        Ok(self.rig.command("a", words).change(|command| {
            command.envs(job.env.iter().map(|(name, value)| (name, value)));
            command.envs(own.iter().copied());
            isolate(command, &["FERROSHMEM_"]);
        }))
    }

    /// Runs a job to its end.
    pub fn run(&mut self, way: Way, job: &Job) -> Result<Outcome> {
        let mut process = self.command(way, job)?.spawn()?;
        let mut status = process.wait(job.watchdog.max(WATCHDOG))?;
        let hung = status.is_none();
        let ended_ms = now_ms();
        let limit = if hung { Duration::ZERO } else { GONE_WITHIN };
        let left = self.rig.left_after(limit)?;
        self.rig.sweep()?;
        if hung {
            status = process.wait(GONE_WITHIN)?;
        }
        let mut stderr = process.stderr();
        for process in &left {
            let start: String = process.chars().take(SHOWN).collect();
            stderr += &format!("left on {start}\n");
        }
        Ok(Outcome {
            status: status.unwrap_or_default(),
            stdout: process.stdout(),
            stderr,
            hung,
            left: left.len(),
            ended_ms,
        })
    }
}

/// Rigs that trials share, each of which has one for itself.
#[derive(Debug, Default)]
pub struct Stations(Mutex<Vec<Station>>);

impl Stations {
    /// Runs a job across hosts, which must end well.
    pub fn expect_success(&self, way: Way, job: &Job) -> Result<Outcome> {
        ensure!(job.options.is_empty(), "these options are oshrun's");
        let mut station = self.take()?;
        let outcome = station.run(way, job)?;
        // A launcher that was ended in the middle may have left more than processes.
        if !outcome.hung {
            self.give(station);
        }
        outcome.successful(job.watchdog.max(WATCHDOG))
    }

    /// A rig that nobody uses, or a new one.
    pub fn take(&self) -> Result<Station> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(station) = idle {
            return Ok(station);
        }
        Ok(Station {
            rig: Rig::new(MOST_HOSTS)?,
            slurm: None,
        })
    }

    /// Gives a rig back that is as good as a new one.
    pub fn give(&self, station: Station) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(station);
    }
}

/// The launchers by which jobs can run across hosts here; says what is missing.
pub fn launchers() -> Vec<Launcher> {
    if let Err(error) = Rig::new(1) {
        println!("note: nothing is run across hosts: {error:#}");
        return Vec::new();
    }
    let mut launchers = Launcher::ALL.to_vec();
    launchers.retain(|launcher| match launcher.check() {
        Ok(()) => true,
        Err(error) => {
            println!("note: nothing is run across hosts by {launcher}: {error:#}");
            false
        }
    });
    launchers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_have_every_way_once_in_a_while() {
        let short = |program| {
            ways(program)
                .filter(|(_, short)| *short)
                .map(|(way, _)| way)
        };
        let all = ways(0).count();
        let tried: Vec<Way> = (0..all).flat_map(short).collect();
        assert_eq!(tried.len(), all, "one way for each program");
        for (way, _) in ways(0) {
            assert!(tried.contains(&way), "{way} is never tried");
        }
    }
}
