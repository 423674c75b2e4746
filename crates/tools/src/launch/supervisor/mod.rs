//! The supervisor: the process that starts the PEs, watches them, and ends the processes that they
//! leave behind.

mod events;
mod exits;
mod hangs;
mod replacements;
mod requests;
mod shutdown;

use std::os::fd::{OwnedFd, RawFd};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getppid};

use super::adopted::Adopted;
use super::check_options::What;
use super::connected::Connected;
use super::debugging::Debuggers;
use super::descendants::{GRACE, end_all};
use super::failure::Failure;
use super::hang::HangWatch;
use super::job::Job;
use super::output::Output;
use super::running::RunningJob;
use super::shutdown::Shutdown;
use super::signals::{self, Signals};
use super::status::{self, Counting, Status};

/// Exit status after `--timeout`, as the command `timeout` has it.
const TIMED_OUT: u8 = 124;

/// Runs the job for the process `launcher`; the exit status of the job.
pub(super) fn run(job: Job, signals: Signals, launcher: Pid) -> u8 {
    let supervisor = Supervisor::new(&job, signals, Some(launcher));
    conclude(supervisor.and_then(|mut this| match this.start(job, None, false) {
        Ok(()) => Ok(this.watch()),
        Err(failure) => {
            // Else they could go on writing.
            end_all(None);
            this.write_rest();
            Err(failure)
        }
    }))
}

/// Watches a program that runs already, and starts PEs for it; the exit status.
pub(super) fn adopt(job: Job, signals: Signals, program: Adopted) -> u8 {
    let supervisor = Supervisor::new(&job, signals, None);
    conclude(supervisor.and_then(|mut this| {
        let process = program.process.try_clone();
        let process = process.map_err(|e| Failure::system(format!("cannot watch the program: {e}")))?;
        this.adopted = Some(process);
        this.jobs.push(RunningJob::adopted(job, program));
        this.next_number = 1;
        Ok(this.watch())
    }))
}

fn conclude(status: Result<u8, Failure>) -> u8 {
    status.unwrap_or_else(|failure| {
        end_all(None);
        failure.report()
    })
}

struct Supervisor {
    /// The process that passes signals on, and ends with this one.
    launcher: Option<Pid>,
    /// The process of a program that another has started: readable once it has ended.
    adopted: Option<OwnedFd>,
    incoming: SignalFd,
    inherited_mask: SigSet,
    output: Output,
    /// The job of the command line, and those that PEs have asked for.
    jobs: Vec<RunningJob>,
    /// The connections between them.
    connections: Vec<Connected>,
    /// PEs that have exited without finalising: number of the job, PE, and what they have not called.
    gone: Vec<(u32, usize, &'static str)>,
    /// The number of the job that is started next.
    next_number: u32,
    verbose: bool,
    finds_races: bool,
    hangs: HangWatch,
    debuggers: Debuggers,
    status_lines: Status,
    timeout: Option<Duration>,
    timeout_at: Option<Instant>,
    /// Set once all jobs are to end.
    shutdown: Option<Shutdown>,
    /// The exit status: not 0 once a job has failed that is not independent of the one of the command line.
    status: u8,
}

impl Supervisor {
    fn new(job: &Job, signals: Signals, launcher: Option<Pid>) -> Result<Self, Failure> {
        let system = |what: &'static str| move |e: nix::Error| Failure::system(format!("{what}: {}", e.desc()));
        let _ = prctl::set_name(c"shmem-supervise");
        if let Some(launcher) = launcher {
            prctl::set_pdeathsig(signals::LAUNCHER_GONE).map_err(system("cannot watch the launcher"))?;
            if getppid() != launcher {
                // It ended before. The signal is blocked, and read later.
                raise(signals::LAUNCHER_GONE).map_err(system("cannot watch the launcher"))?;
            }
        }
        prctl::set_child_subreaper(true).map_err(system("cannot become a subreaper"))?;
        let incoming = SignalFd::with_flags(&signals.taken, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(system("cannot read signals"))?;
        let output = Output::new(&job.options, job.n_pes())?;
        let timeout = job.options.times.timeout;
        Ok(Self {
            launcher,
            adopted: None,
            incoming,
            inherited_mask: signals.inherited,
            output,
            jobs: Vec::new(),
            connections: Vec::new(),
            gone: Vec::new(),
            next_number: 0,
            verbose: job.options.streams.verbose,
            finds_races: job.options.checks.as_ref().is_some_and(|checks| checks.0.contains(&What::Race)),
            hangs: HangWatch::new(job.options.times.hang_hint.0, job.options.times.hang_timeout),
            debuggers: Debuggers::default(),
            status_lines: Status::new(job.options.status.clone())?,
            timeout,
            timeout_at: timeout.and_then(|t| Instant::now().checked_add(t)),
            shutdown: None,
            status: 0,
        })
    }

    /// Starts a job, which is the last one of `jobs` then, unless something ends all jobs meanwhile.
    /// `parents`: the memory of the connection with those that have asked for it, and of their job.
    fn start(&mut self, job: Job, parents: Option<[RawFd; 2]>, independent: bool) -> Result<(), Failure> {
        let mut running = RunningJob::new(job, self.next_number)?;
        running.independent = independent;
        self.jobs.push(running);
        let index = self.jobs.len() - 1;
        self.start_pes(index, parents).inspect_err(|_| {
            let failed = self.jobs.remove(index);
            // They are no PEs of a job any more: how they end does not matter.
            failed.signal_all(Signal::SIGKILL);
            failed.end();
        })?;
        self.next_number += 1;
        Ok(())
    }

    fn start_pes(&mut self, index: usize, parents: Option<[RawFd; 2]>) -> Result<(), Failure> {
        let (job, output) = (&mut self.jobs[index], &mut self.output);
        let mut starter = job.starter(parents, output, self.inherited_mask)?;
        for pe in 0..self.jobs[index].job.n_pes() {
            let pid = self.jobs[index].start_pe(pe, &mut starter, &mut self.output)?;
            let job = &self.jobs[index].job;
            if let Some(debugger) = &job.options.debugger {
                let started = self.debuggers.start(debugger, (pe, pid), &job.program(pe).name);
                started.map_err(|e| Failure::system(format!("cannot start a debugger: {e}")))?;
            }
            self.take_signals();
            if self.shutdown.is_some() || self.jobs[index].shutdown.is_some() {
                break;
            }
        }
        self.jobs[index].keep_time_slices();
        Ok(())
    }

    /// Watches the job to its end; its exit status.
    fn watch(&mut self) -> u8 {
        // A user may still look at what a debugger says of a PE that has ended well.
        while !self.jobs.is_empty() || self.shutdown.is_none() && self.debuggers.are_running() {
            self.wait(true);
            self.act(Instant::now());
            self.remove_ended();
        }
        let stuck = end_all((self.status == 0).then_some(GRACE));
        if stuck > 0 {
            self.output.print_line(&format!("{stuck} processes cannot be ended, not even by SIGKILL"));
        }
        let is_written = self.write_rest();
        if self.output.is_lost() && self.status == 0 {
            self.status = 1;
        }
        if self.verbose && is_written {
            self.output.print_line(&format!("the job ends with status {}", self.status));
            self.write_rest();
        }
        self.status
    }

    /// Writes what is left of the output; false if a signal keeps it from that: one ends a job whose output no process
    /// reads, and a second one does where a first has ended the PEs.
    fn write_rest(&mut self) -> bool {
        self.output.drain();
        let (begin, was_ended) = (Instant::now(), self.shutdown.is_some());
        let is_over = |shutdown: &Shutdown| !was_ended || shutdown.is_hastened_since(begin);
        while self.output.transfers().next().is_some() {
            if self.shutdown.as_ref().is_some_and(is_over) {
                return false;
            }
            self.wait(false);
        }
        true
    }

    /// Forgets jobs that have no PEs any more.
    fn remove_ended(&mut self) {
        let (living, ended) = std::mem::take(&mut self.jobs).into_iter().partition(|job| !job.alive.is_empty());
        let ended: Vec<RunningJob> = ended;
        if !ended.is_empty() {
            self.status_lines.write(&counting(&ended));
        }
        self.jobs = living;
        ended.into_iter().for_each(RunningJob::end);
        let (over, lasting) = std::mem::take(&mut self.connections).into_iter().partition(|connected: &Connected| {
            let is_alive = |number| self.jobs.iter().any(|job| job.number == number);
            let has_members = || self.jobs.iter().any(|job| connected.is_of(job.number));
            connected.is_over() || !has_members() || connected.is_left(is_alive)
        });
        self.connections = lasting;
        let over: Vec<Connected> = over;
        over.into_iter().for_each(Connected::end);
    }

    fn next_deadline(&self) -> Option<Instant> {
        match &self.shutdown {
            Some(shutdown) => shutdown.next_deadline(),
            None => {
                let now = Instant::now();
                let checks = self.jobs.iter().map(|job| job.next_check(now));
                let hangs = self.hangs.next_check(now);
                let status = self.status_lines.next_deadline();
                let own = self.timeout_at.into_iter().chain(hangs).chain(status);
                own.chain(checks).min()
            }
        }
    }

    /// Does what is due.
    fn act(&mut self, now: Instant) {
        if let Some(shutdown) = &mut self.shutdown {
            if let Some(signal) = shutdown.due(now) {
                self.signal_all(signal);
            }
            return;
        }
        if self.timeout_at.is_some_and(|at| now >= at) {
            let limit = self.timeout.unwrap_or_default().as_secs_f64();
            let line = format!("not done after {limit} s (--timeout); ended the job");
            self.output.error(&line);
            self.report();
            self.end(Shutdown::now(TIMED_OUT), &line);
            return;
        }
        if !self.gone.is_empty()
            && let Some((number, line)) = self.deadlock_between_jobs()
        {
            self.output.error(&line);
            self.end_job(number, Shutdown::now(1), &line);
            return;
        }
        let mut failed = None;
        for job in &mut self.jobs {
            if let Some(shutdown) = &mut job.shutdown {
                if let Some(signal) = shutdown.due(now) {
                    job.signal_all(signal);
                }
            } else if let Some(line) = job.uninitialized(now).or_else(|| job.deadlock(now, &self.connections)) {
                job.error(&mut self.output, &line);
                failed = Some((job.number, line));
                break;
            }
        }
        if let Some((number, line)) = failed {
            self.end_job(number, Shutdown::now(1), &line);
            return;
        }
        for (number, line) in self.status_lines.act(now, &counting(&self.jobs)) {
            if let Some(job) = self.jobs.iter().find(|job| job.number == number) {
                job.print_line(&mut self.output, &line);
            }
        }
        if let Some((hang, silent)) = self.check_progress(now) {
            self.hangs(hang, silent);
        }
    }

    /// Prints what the PEs have counted; false if they do not count.
    fn print_counted(&mut self) -> bool {
        let mut is_said = false;
        for job in &self.jobs {
            for line in status::counted(&job.control) {
                job.print_line(&mut self.output, &line);
                is_said = true;
            }
        }
        is_said
    }

    fn signal_all(&self, signal: Signal) {
        for job in &self.jobs {
            job.signal_all(signal);
        }
    }
}

/// Where the PEs of jobs count.
fn counting(jobs: &[RunningJob]) -> Vec<Counting<'_>> {
    jobs.iter().map(|job| (job.number, &job.control)).collect()
}
