//! Jobs on several hosts: on clusters of hosts made of namespaces, by the launchers that are installed.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{Cluster, Command, Distribution, Launcher, MOST_HOSTS, Placement, Process, Slurm};
use ferroshmem_config::isolate;
use nix::sys::signal::Signal;

use crate::job::{Job, Outcome, now_ms};
use crate::progress::{Signs, Watchdog};

/// Time within which the processes of an ended job must be gone from all hosts: launchers
/// end their daemons some time after the job.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Time within which what was printed on a host arrives that was cut off: TCP sends again after 6 and 13 s.
const HEARD_WITHIN: Duration = Duration::from_secs(20);

/// Characters of the command lines of processes that are left, in reports.
const SHOWN: usize = 100;

/// The watchdog's limit: links that are slow by intent let a job wait for long.
const WATCHDOG: Duration = Duration::from_secs(180);

/// The watchdog is asked this often.
const LOOK: Duration = Duration::from_millis(500);

/// Placements in tests: several PEs on a host, in both distributions, and one host with fewer; one PE on each.
pub const PLACEMENTS: [Placement; 6] = [
    placement(2, 2, Distribution::Block),
    placement(3, 2, Distribution::Block),
    placement(4, 2, Distribution::Block),
    placement(4, 2, Distribution::RoundRobin),
    placement(3, 3, Distribution::Block),
    placement(4, 4, Distribution::Block),
];

const fn placement(pes: usize, hosts: usize, distribution: Distribution) -> Placement {
    Placement { pes, hosts, distribution }
}

/// A launcher and the placement of the PEs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// What starts the job.
    pub launcher: Launcher,
    /// On which hosts.
    pub place: Placement,
}

impl std::fmt::Display for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.place, self.launcher)
    }
}

/// The launches of a program on several hosts, each with whether a short run has it.
pub fn launches(program: usize) -> impl Iterator<Item = (Launch, bool)> {
    PLACEMENTS.into_iter().flat_map(move |place| {
        Launcher::ALL.into_iter().map(move |launcher| {
            let each = Launch { launcher, place };
            (each, each == launch(program))
        })
    })
}

/// The launch of a program in a short run; the next program has another.
pub fn launch(program: usize) -> Launch {
    Launch {
        place: PLACEMENTS[program % PLACEMENTS.len()],
        launcher: Launcher::ALL[(program + program / PLACEMENTS.len()) % Launcher::ALL.len()],
    }
}

/// A cluster on which jobs run one after the other.
#[derive(Debug)]
pub struct TestCluster {
    /// Its hosts.
    pub cluster: Cluster,
    slurm: Option<Slurm>,
    /// Whether each host has a core.
    cores: bool,
}

impl TestCluster {
    /// A command, for the first host, that starts a job of one program; environment and
    /// arguments are the job's, its launcher's options and number of PEs are not.
    pub fn command(&mut self, launch: Launch, job: &Job) -> Result<Command<'_>> {
        self.command_within(&[], launch, job)
    }

    /// The same with words before the launcher's.
    fn command_within(&mut self, before: &[String], launch: Launch, job: &Job) -> Result<Command<'_>> {
        if launch.launcher.is_slurm() && self.slurm.is_none() {
            self.slurm = Some(Slurm::start(&self.cluster)?);
        }
        let names: Vec<&str> = job.env.iter().map(|(name, _)| name.as_str()).collect();
        let words = launch.launcher.words(&launch.place, &names, &job.command);
        let words: Vec<_> = before.iter().cloned().chain(words).collect();
        let own = launch.launcher.variables();
        Ok(self.cluster.command("a", words).change(|command| {
            command.envs(job.env.iter().map(|(name, value)| (name, value)));
            command.envs(own.iter().copied());
            isolate(command, &["FERROSHMEM_"]);
        }))
    }

    /// A command, for this host, that begins with `words` and goes on with the job's own.
    pub fn command_on(&self, host: &str, words: &[String], job: &Job) -> Command<'_> {
        let all = words.iter().chain(&job.command);
        self.cluster.command(host, all).change(|command| {
            command.envs(job.env.iter().map(|(name, value)| (name, value)));
            isolate(command, &["FERROSHMEM_"]);
        })
    }

    /// Runs a job to its end.
    pub fn run(&mut self, launch: Launch, job: &Job) -> Result<Outcome> {
        self.run_within(&[], launch, job)
    }

    /// The same where the launcher is started by the command `before`.
    pub fn run_within(&mut self, before: &[String], launch: Launch, job: &Job) -> Result<Outcome> {
        let process = self.command_within(before, launch, job)?.spawn()?;
        let outcomes = self.finish(vec![process], job.watchdog.max(WATCHDOG))?;
        outcomes.into_iter().next().context("one job has run")
    }

    /// Waits until jobs that were started end, all of which count as hung if one does. What is left of any is
    /// in the first outcome.
    pub fn finish(&self, mut jobs: Vec<Process>, watchdog: Duration) -> Result<Vec<Outcome>> {
        let mut watchdog = Watchdog::new(watchdog);
        let each = LOOK / jobs.len() as u32;
        loop {
            let mut running = false;
            for job in &mut jobs {
                running |= job.wait(each)?.is_none();
            }
            if !running || watchdog.expired(|| self.signs(&jobs)) {
                break;
            }
        }
        let mut hung = false;
        for job in &mut jobs {
            hung |= job.wait(Duration::ZERO)?.is_none();
        }
        let ended_ms = now_ms();
        let limit = if hung { Duration::ZERO } else { GONE_WITHIN };
        let mut left = self.cluster.remaining_after(limit)?;
        self.cluster.sweep()?;
        let outcome = |mut job: Process| {
            let status = job.wait(GONE_WITHIN)?;
            let mut stderr = without_warnings(&job.stderr());
            let left = std::mem::take(&mut left);
            for process in &left {
                let start: String = process.chars().take(SHOWN).collect();
                stderr += &format!("left on {start}\n");
            }
            Ok(Outcome {
                status: status.unwrap_or_default(),
                stdout: job.stdout(),
                stderr,
                hung,
                left: left.len(),
                ended_ms,
            })
        };
        jobs.into_iter().map(outcome).collect()
    }

    /// The PEs of a job on a host, by their ids there: launchers have the program in their command lines, too, but not
    /// first.
    pub fn pes_on(&self, host: &str, job: &Job) -> Result<Vec<i32>> {
        let all = self.cluster.processes(host)?.into_iter();
        Ok(all.filter(|process| process.command.starts_with(&job.command[0])).map(|pe| pe.pid_in_host).collect())
    }

    /// Sends a signal to all PEs of a job on a host.
    pub fn signal_pes(&self, host: &str, job: &Job, signal: Signal) -> Result<()> {
        self.pes_on(host, job)?.into_iter().try_for_each(|pid| self.cluster.kill(host, pid, signal))
    }

    /// Waits until hosts have no PE of a job any more.
    pub fn wait_until_over(&self, hosts: &[&str], job: &Job, process: &Process, within: Duration) -> Result<()> {
        let start = Instant::now();
        for host in hosts {
            while !self.pes_on(host, job)?.is_empty() {
                ensure!(start.elapsed() < within, "PEs on {host} live after {within:?}\n{process}");
                thread::sleep(LOOK / 5);
            }
        }
        Ok(())
    }

    /// Connects a host again whose PEs a job has lost, and ends the launcher of that job, which has no PE any more,
    /// unless it ends: one that could not be told so may wait for ever, and keeps the hosts from other jobs. What has
    /// become of the job, and whether the launcher has ended.
    pub fn finish_cut(&self, host: &str, mut process: Process, watchdog: Duration) -> Result<(Outcome, bool)> {
        self.cluster.link_up(host)?;
        let has_ended = process.wait(HEARD_WITHIN)?.is_some();
        self.cluster.sweep()?;
        let outcome = self.finish(vec![process], watchdog)?.remove(0);
        ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
        Ok((outcome, has_ended))
    }

    /// What jobs show of themselves: all their processes on all hosts, and what they have printed.
    fn signs(&self, jobs: &[Process]) -> Signs {
        let hosts = self.cluster.hosts();
        let processes = hosts.flat_map(|host| self.cluster.processes(host).unwrap_or_default());
        let printed = |job: &Process| (job.stdout().len() + job.stderr().len()) as u64;
        Signs { processes: processes.map(|process| process.pid).collect(), printed: jobs.iter().map(printed).sum() }
    }
}

/// Without what Open MPI 4 says if a process has begun to run its agent before `mpirun` has made it the first of a
/// group, which it has done itself then.
fn without_warnings(stderr: &str) -> String {
    const HARMLESS: &str = "plm:rsh: Warning: setpgid(";

    let lines = stderr.split_inclusive('\n');
    lines.filter(|line| !line.contains(HARMLESS)).collect()
}

/// Clusters that trials share; each trial has one exclusively while it runs.
#[derive(Debug, Default)]
pub struct Clusters(Mutex<Vec<TestCluster>>);

impl Clusters {
    /// Runs a job on several hosts, which must succeed.
    pub fn expect_success(&self, launch: Launch, job: &Job) -> Result<Outcome> {
        ensure!(job.options.is_empty(), "these options are oshrun's");
        self.run(launch, job)?.successful(job.watchdog.max(WATCHDOG))
    }

    /// Runs a job on several hosts.
    pub fn run(&self, launch: Launch, job: &Job) -> Result<Outcome> {
        // Jobs placed round robin share the cores: two PEs on a host then see enough of them to poll for each other,
        // which those of two hosts with a core each do not.
        let mut cluster = self.take_with(launch.place.distribution == Distribution::Block)?;
        let outcome = cluster.run(launch, job)?;
        // A launcher that was killed may have left more than processes.
        if !outcome.hung && outcome.left == 0 {
            self.give(cluster);
        }
        Ok(outcome)
    }

    /// An idle cluster whose hosts have a core each, or a new one.
    pub fn take(&self) -> Result<TestCluster> {
        self.take_with(true)
    }

    fn take_with(&self, cores: bool) -> Result<TestCluster> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = idle.iter().position(|cluster| cluster.cores == cores) {
            return Ok(idle.swap_remove(found));
        }
        drop(idle);
        let cluster = if cores { Cluster::with_cores(MOST_HOSTS)? } else { Cluster::new(MOST_HOSTS)? };
        Ok(TestCluster { cluster, slurm: None, cores })
    }

    /// Gives back a cluster for reuse; no process of a job may be left on it.
    pub fn give(&self, cluster: TestCluster) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(cluster);
    }
}

/// The launchers by which jobs can run on several hosts here; prints which are missing.
pub fn launchers() -> Vec<Launcher> {
    if let Err(error) = Cluster::new(1) {
        println!("note: no job is run on several hosts: {error:#}");
        return Vec::new();
    }
    let mut launchers = Launcher::ALL.to_vec();
    launchers.retain(|launcher| match launcher.check() {
        Ok(()) => true,
        Err(error) => {
            println!("note: no job is run on several hosts by {launcher}: {error:#}");
            false
        }
    });
    launchers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_warnings_are_left_out() {
        let warning = "[a:1] plm:rsh: Warning: setpgid(1,1) failed in parent with errno=Permission denied(13)\n";
        assert_eq!(without_warnings(&format!("one\n{warning}two")), "one\ntwo");
        assert_eq!(without_warnings(warning), "");
    }

    #[test]
    fn short_runs_have_every_launch() {
        let short = |program| launches(program).filter(|(_, short)| *short).map(|(launch, _)| launch);
        let all = launches(0).count();
        let tried: Vec<Launch> = (0..all).flat_map(short).collect();
        assert_eq!(tried.len(), all, "one launch for each program");
        for (launch, _) in launches(0) {
            assert!(tried.contains(&launch), "{launch} is never tried");
        }
    }
}
