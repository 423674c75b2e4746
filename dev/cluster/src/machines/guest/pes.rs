//! The PEs on a machine.

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use super::Reports;
use crate::machines::End;
use crate::machines::message::{Report, Start};

/// Search path of programs.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The folder of the jobs' output, which the cluster reads.
const JOBS: &str = "/run/cluster";
/// Status of a PE that could not be started, as in shells.
const NOT_STARTED: i32 = 127;

/// The PEs that run.
pub(super) struct Pes {
    reports: Reports,
    /// Their process groups.
    groups: Arc<Mutex<BTreeSet<u32>>>,
}

impl Pes {
    pub(super) fn new(reports: Reports) -> Self {
        Self { reports, groups: Arc::default() }
    }

    /// Starts PEs, and reports the end of each.
    pub(super) fn start(&self, job: u64, starts: Vec<Start>) {
        for start in starts {
            let rank = start.rank;
            let child = {
                // `stop` reaches only PEs in this list.
                let mut groups = lock(&self.groups);
                spawn(job, &start).inspect(|child| {
                    groups.insert(child.id());
                })
            };
            match child {
                Ok(child) => self.wait_for(job, rank, child),
                Err(error) => {
                    let text = format!("cluster: {error:#}\n");
                    // The cluster reads the reason from the PE's standard error.
                    let _ = std::fs::write(output(job, rank, "err"), text);
                    let end = End::Exited(NOT_STARTED);
                    self.reports.send(&Report::Ended { job, rank, end });
                }
            }
        }
    }

    fn wait_for(&self, job: u64, rank: usize, mut child: Child) {
        let groups = self.groups.clone();
        let reports = self.reports.clone();
        thread::spawn(move || {
            let status = child.wait();
            lock(&groups).remove(&child.id());
            let end = status.map_or(End::Exited(NOT_STARTED), end);
            reports.send(&Report::Ended { job, rank, end });
        });
    }

    /// Ends the running PEs and all processes that they started.
    pub(super) fn stop(&self) {
        for group in lock(&self.groups).iter() {
            // A group whose processes have all ended needs no signal.
            let _ = killpg(Pid::from_raw(group.cast_signed()), Signal::SIGKILL);
        }
    }
}

fn spawn(job: u64, start: &Start) -> Result<Child> {
    let [program, arguments @ ..] = &start.command[..] else {
        bail!("the command is empty");
    };
    let file = |kind| -> Result<File> {
        let path = output(job, start.rank, kind);
        File::create(&path).with_context(|| format!("cannot write {path}"))
    };
    Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", "/root")
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(file("out")?)
        .stderr(file("err")?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))
}

fn output(job: u64, rank: usize, kind: &str) -> String {
    format!("{JOBS}/{job}/{rank}.{kind}")
}

fn end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Killed(signal.unwrap_or(0)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
