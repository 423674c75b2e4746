//! Processes that have ended: PEs, their debuggers, and a program that was adopted.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferroshmem_layout::PeState;
use ferroshmem_platform::process;
use nix::unistd::Pid;

use super::Supervisor;
use crate::launch::core_file::Dumped;
use crate::launch::debugging;
use crate::launch::descendants::{Reaped, reap};
use crate::launch::exit_class::{ExitClass, Left, classify};
use crate::launch::program::Executable;
use crate::launch::running::RunningJob;
use crate::launch::shutdown::{LEAVE, Shutdown};

/// How long the others go on where races are looked for: what they are about to do may be why a PE has failed, as the
/// put of a value that it has read before.
const RACE: Duration = Duration::from_secs(1);

impl Supervisor {
    pub(super) fn reap(&mut self) {
        let mut ended: Vec<_> = all_ended().collect();
        if ended.iter().any(|(_, status)| status.code().is_some_and(|code| code != 0)) {
            self.await_ending(&mut ended);
        }
        put_causes_first(&mut ended);
        for (pid, status) in ended {
            // Other children are orphans of PEs.
            let of_pe = |(index, job): (usize, &mut RunningJob)| {
                let pe = job.alive.remove(&pid)?;
                Some((index, pe))
            };
            let found = self.jobs.iter_mut().enumerate().find_map(of_pe);
            if let Some((index, pe)) = found {
                self.ended(index, (pe, pid), status);
            } else if let Some(pe) = self.debuggers.ended(pid) {
                self.debugger_has_ended(pe, status);
            }
        }
    }

    /// Waits for PEs that have begun to end. The kernel closes the connections of a process first, so that another PE
    /// may have reported its end, and ended, before.
    fn await_ending(&self, ended: &mut Vec<(Pid, ExitStatus)>) {
        /// What a busy machine may need to take a process apart.
        const WITHIN: Duration = Duration::from_secs(2);

        let until = Instant::now() + WITHIN;
        let pes: Vec<Pid> = self.jobs.iter().flat_map(|job| job.alive.keys().copied()).collect();
        let is_awaited = |pid: &Pid, ended: &[(Pid, _)]| {
            !ended.iter().any(|(other, _)| other == pid) && process::is_ending(pid.as_raw())
        };
        while Instant::now() < until && pes.iter().any(|pid| is_awaited(pid, ended)) {
            sleep(Duration::from_millis(1));
            ended.extend(all_ended());
        }
    }

    /// The debugger of PE `pe` has ended: the PE need not wait for it.
    pub(super) fn debugger_has_ended(&mut self, pe: usize, status: ExitStatus) {
        let Some(job) = self.jobs.iter().find(|job| job.number == 0) else {
            return;
        };
        let is_waiting = job.state(pe) == PeState::Started && job.alive.values().any(|p| *p == pe);
        if is_waiting && !status.success() && self.shutdown.is_none() {
            let line = debugging::not_attached(pe, status);
            self.output.error(&line);
            return self.end(Shutdown::now(1), &line);
        }
        let block = job.control.pe_block(pe);
        block.debugger_has_ended.store(1, Release);
    }

    /// PE `pe` of the job at `index` has ended.
    pub(super) fn ended(&mut self, index: usize, (pe, pid): (usize, Pid), status: ExitStatus) {
        let job = &mut self.jobs[index];
        if self.verbose {
            job.print_line(&mut self.output, &format!("PE {pe} has ended: {status}"));
        }
        let how = status;
        let global_status = job.control.pe_block(pe).status.load(Acquire);
        let program = &job.job.program(pe).name;
        let state = match job.state(pe) {
            PeState::Started if job.control.is_refused() => PeState::Reported,
            state => state,
        };
        let left = Left { state, global_status, goes_on: job.goes_on(&self.connections) };
        match classify(pe, program, status, left) {
            // A PE that ends after the signal to end is not reported.
            _ if self.shutdown.as_ref().is_some_and(Shutdown::has_begun) => {}
            _ if job.shutdown.as_ref().is_some_and(Shutdown::has_begun) => {}
            ExitClass::Done => {}
            ExitClass::Unfinalized => {
                job.unfinalized.push(pe);
                self.gone.push((job.number, pe, job.missing(pe)));
                let number = job.number;
                let needing = self.connections.iter().filter(|c| c.needs(number, pe));
                needing.for_each(|c| c.fail(number));
            }
            ExitClass::Outlived(line) => {
                let line = with_core_file(line, job.job.program(pe), pid, how);
                job.print_line(&mut self.output, &line);
                job.note_failure(pe);
                let number = job.number;
                let needing = self.connections.iter().filter(|c| c.needs(number, pe));
                needing.for_each(|c| c.fail(number));
                self.meet(index);
            }
            ExitClass::EndsJob { status, line, others_leave } => {
                let line = line.map(|line| with_core_file(line, job.job.program(pe), pid, how));
                if self.shutdown.is_none()
                    && job.shutdown.is_none()
                    && let Some(line) = &line
                {
                    job.error(&mut self.output, line);
                }
                let line =
                    line.unwrap_or_else(|| format!("PE {pe} (\"{program}\") ended its job with status {status}"));
                let shutdown = match (self.finds_races, others_leave) {
                    (true, _) => Shutdown::soon(status, RACE),
                    (false, true) => Shutdown::soon(status, LEAVE),
                    (false, false) => Shutdown::now(status),
                };
                let number = job.number;
                self.end_job(number, shutdown, &line);
            }
        }
    }

    /// The program that another process has started has ended. How it did is known to that process alone.
    pub(super) fn adopted_has_ended(&mut self) {
        self.adopted = None;
        let Some(job) = self.jobs.iter_mut().find(|job| job.number == 0) else {
            return;
        };
        job.alive.clear();
        let status = job.control.pe_block(0).status.load(Acquire) as u8;
        let program = &job.job.program(0).name;
        let (status, line) = match job.state(0) {
            PeState::Finalized => return,
            PeState::GlobalExit => (status, format!("\"{program}\" ended its job with status {status}")),
            _ => (1, format!("\"{program}\" has ended without shmem_finalize; ended the jobs")),
        };
        if self.shutdown.is_none() {
            if matches!(job.state(0), PeState::Started | PeState::Initialized) {
                self.output.error(&line);
            }
            self.end_job(0, Shutdown::now(status), &line);
        }
    }
}

/// The children that have ended and were not waited for.
fn all_ended() -> impl Iterator<Item = (Pid, ExitStatus)> {
    std::iter::from_fn(|| match reap() {
        Reaped::Child(pid, status) => Some((pid, status)),
        Reaped::NoneYet | Reaped::NoneLeft => None,
    })
}

/// Processes that were found ended together: first those that a signal has killed, of which the end of others may be a
/// consequence.
fn put_causes_first(ended: &mut [(Pid, ExitStatus)]) {
    ended.sort_by_key(|(_, status)| status.signal().is_none());
}

/// The line for a process of `program` that has ended, with the place of its core file if there is one.
fn with_core_file(line: String, program: &Executable, pid: Pid, status: ExitStatus) -> String {
    let Some(signal) = status.signal().filter(|_| status.core_dumped()) else {
        return line;
    };
    let path = |name: &CString| PathBuf::from(OsStr::from_bytes(name.as_bytes()));
    let here = std::env::current_dir().unwrap_or_default();
    let directory = program.wdir.as_ref().map(path);
    let dumped =
        Dumped { pid, program: &path(&program.path), directory: &here.join(directory.unwrap_or_default()), signal };
    line.replacen("core dumped", &format!("core dumped{}", dumped.place()), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_the_cause_of_an_exit() {
        let ended = |pid, raw| (Pid::from_raw(pid), ExitStatus::from_raw(raw));
        let mut all = [ended(1, 1 << 8), ended(2, libc::SIGSEGV), ended(3, 0), ended(4, libc::SIGABRT)];
        put_causes_first(&mut all);
        assert_eq!(all.map(|(pid, _)| pid.as_raw()), [2, 4, 1, 3]);
    }
}
