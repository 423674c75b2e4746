//! The supervisor: the process that starts the PEs, watches them, and ends the processes that they
//! leave behind.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::process::ExitStatus;
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use ferroshmem_core::job::service::{self, JobRequest, Received, Request};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{Pid, getppid};

use super::connected::Connected;
use super::descendants::{GRACE, Reaped, end_all, reap};
use super::exit_class::{ExitClass, classify};
use super::failure::Failure;
use super::job::Job;
use super::output::{Output, Transfer};
use super::running::RunningJob;
use super::shutdown::Shutdown;
use super::signals::{self, Signals};

/// Exit status after `--timeout`, as the command `timeout` has it.
const TIMED_OUT: u8 = 124;

/// Runs the job for the process `launcher`; the exit status of the job.
pub(super) fn run(job: Job, signals: Signals, launcher: Pid) -> u8 {
    let status = Supervisor::new(job, signals, launcher).map(|mut supervisor| supervisor.watch());
    status.unwrap_or_else(|failure| {
        end_all(None);
        failure.report()
    })
}

struct Supervisor {
    launcher: Pid,
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
    timeout: Option<Duration>,
    timeout_at: Option<Instant>,
    /// Set once all jobs are to end.
    shutdown: Option<Shutdown>,
}

impl Supervisor {
    fn new(job: Job, signals: Signals, launcher: Pid) -> Result<Self, Failure> {
        let system = |what: &'static str| {
            move |e: nix::Error| Failure::system(format!("{what}: {}", e.desc()))
        };
        let _ = prctl::set_name(c"shmem-supervise");
        prctl::set_pdeathsig(signals::LAUNCHER_GONE)
            .map_err(system("cannot watch the launcher"))?;
        prctl::set_child_subreaper(true).map_err(system("cannot become a subreaper"))?;
        let incoming = SignalFd::with_flags(
            &signals.taken,
            SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
        )
        .map_err(system("cannot read signals"))?;
        let output = Output::new(&job.options, job.n_pes())?;
        let timeout = job.options.timeout;
        let mut this = Self {
            launcher,
            incoming,
            inherited_mask: signals.inherited,
            output,
            jobs: Vec::new(),
            connections: Vec::new(),
            gone: Vec::new(),
            next_number: 0,
            verbose: job.options.verbose,
            timeout,
            timeout_at: timeout.and_then(|t| Instant::now().checked_add(t)),
            shutdown: None,
        };
        this.start(job, None)?;
        Ok(this)
    }

    /// Starts a job, which is the last one of `jobs` then, unless something ends all jobs meanwhile.
    /// `parents`: the memory of the connection with those that have asked for it, and of their job.
    fn start(&mut self, job: Job, parents: Option<[RawFd; 2]>) -> Result<(), Failure> {
        let running = RunningJob::new(job, self.next_number)?;
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
            self.jobs[index].start_pe(pe, &mut starter, &mut self.output)?;
            self.take_signals();
            if self.shutdown.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Answers the requests of a job's PEs.
    fn serve(&mut self, index: usize) {
        while let Some(service) = &self.jobs[index].service {
            match service::next(service.as_fd()) {
                Ok(Some(received)) => self.answer(index, received),
                Ok(None) => return,
                Err(e) => {
                    let line = format!("a request of a PE cannot be read: {e}");
                    self.jobs[index].say(&mut self.output, &line);
                }
            }
        }
    }

    fn answer(&mut self, index: usize, received: Received) {
        match &received.request {
            Request::Job(request) => match self.start_requested(index, request) {
                Ok(number) => self.hand_over(number, received),
                Err(failure) => received.refused(&failure.to_string()),
            },
            Request::Memory { job_number } => self.hand_over(*job_number, received),
        }
    }

    /// Starts a job for PEs of the one at `index`; its number.
    fn start_requested(&mut self, index: usize, request: &JobRequest) -> Result<u32, Failure> {
        let by = &self.jobs[index];
        let job = Job::requested(&by.job, request)?;
        let number = self.next_number;
        let connected = Connected::new(&job, number, by.number, request.parents)?;
        let parents = [connected.memory.as_raw_fd(), by.memory.as_raw_fd()];
        match self.start(job, Some(parents)) {
            Ok(()) => {
                if let Some(job) = self.jobs.last_mut() {
                    job.watch_initialization();
                }
                self.connections.push(connected);
                Ok(number)
            }
            Err(failure) => {
                connected.end();
                Err(failure)
            }
        }
    }

    /// Gives the memory of job `number`, and of the connection with it, to a PE that is to be connected.
    fn hand_over(&self, number: u32, received: Received) {
        let job = self.jobs.iter().find(|job| job.number == number);
        let connected = self.connections.iter().find(|c| c.job == number);
        match job.zip(connected) {
            Some((job, connected)) => {
                received.started(number, job.memory.as_fd(), connected.memory.as_fd());
            }
            None => {
                let gone = self.gone.iter().find(|(job, ..)| *job == number);
                let why = gone.map(|(_, pe, missing)| {
                    format!("PE {pe} of it exited with status 0 without {missing}")
                });
                let why = why.unwrap_or_else(|| "it has ended".to_owned());
                received.refused(&format!("job {number} cannot be reached: {why}"));
            }
        }
    }

    /// The line for a PE that waits for one of another job that has exited, if there is such.
    fn deadlock_between_jobs(&self) -> Option<String> {
        let all = self.gone.iter().flat_map(|gone| {
            let needed = move |c: &&Connected| c.needs(gone.0, gone.1);
            let connections = self.connections.iter().filter(needed);
            connections.map(move |connected| (gone, connected))
        });
        all.into_iter().find_map(|(&(number, exited, missing), c)| {
            let waits = |job: &RunningJob| Some((job.number, job.waits_for_connection(c.job)?));
            let (waiting_job, (waiting, routine)) = self.jobs.iter().find_map(waits)?;
            Some(format!(
                "PE {exited} of job {number} exited with status 0 without {missing} while PE {waiting} of job {waiting_job} waits in {routine}; ended the jobs"
            ))
        })
    }

    /// Watches the job to its end; its exit status.
    fn watch(&mut self) -> u8 {
        while !self.jobs.is_empty() {
            self.wait(true);
            self.act(Instant::now());
            self.remove_ended();
        }
        let status = self.shutdown.as_ref().map_or(0, |e| e.status);
        let stuck = end_all((status == 0).then_some(GRACE));
        if stuck > 0 {
            self.output.say(&format!(
                "{stuck} processes cannot be ended, not even by SIGKILL"
            ));
        }
        self.output.drain();
        if self.verbose {
            self.output
                .say(&format!("the job ends with status {status}"));
        }
        // A signal ends a job whose output no process reads.
        let before = self.shutdown.is_some();
        while self.output.transfers().next().is_some() && self.shutdown.is_some() == before {
            self.wait(false);
        }
        status
    }

    /// Waits for signals, output, and (while PEs live) the next deadline; handles signals and output.
    fn wait(&mut self, deadlines: bool) {
        let timeout = if deadlines {
            self.next_deadline()
        } else {
            None
        };
        let timeout = timeout.map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            // Rounded up, so as not to wake too early, and spin.
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
        });
        let (transfers, mut fds): (Vec<Transfer>, Vec<PollFd<'_>>) = self
            .output
            .transfers()
            .map(|(transfer, fd, events)| (transfer, PollFd::new(fd, events)))
            .unzip();
        let (jobs, services): (Vec<usize>, Vec<PollFd<'_>>) = self
            .jobs
            .iter()
            .enumerate()
            .filter_map(|(index, job)| Some((index, job.service.as_ref()?.as_fd())))
            .map(|(index, service)| (index, PollFd::new(service, PollFlags::POLLIN)))
            .unzip();
        let streams = fds.len();
        fds.extend(services);
        fds.push(PollFd::new(self.incoming.as_fd(), PollFlags::POLLIN));
        if poll(&mut fds, timeout.unwrap_or(PollTimeout::NONE)).is_err() {
            return;
        }
        let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let transfers: Vec<Transfer> = transfers
            .into_iter()
            .zip(&fds)
            .filter(|(_, fd)| ready(fd))
            .map(|(t, _)| t)
            .collect();
        let events = fds[streams..].iter().map(|fd| fd.revents());
        let events: Vec<_> = jobs.into_iter().zip(events).collect();
        drop(fds);
        self.output.serve(transfers);
        for (index, events) in events {
            let events = events.unwrap_or(PollFlags::all());
            if events.contains(PollFlags::POLLIN) {
                self.serve(index);
            } else if !events.is_empty() {
                // All PEs have closed their end.
                self.jobs[index].service = None;
            }
        }
        self.take_signals();
    }

    /// Forgets jobs that have no PEs any more.
    fn remove_ended(&mut self) {
        let (living, ended) = std::mem::take(&mut self.jobs)
            .into_iter()
            .partition(|job| !job.alive.is_empty());
        self.jobs = living;
        let ended: Vec<RunningJob> = ended;
        ended.into_iter().for_each(RunningJob::end);
        let (over, lasting) = std::mem::take(&mut self.connections)
            .into_iter()
            .partition(Connected::is_over);
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
                self.timeout_at.into_iter().chain(checks).min()
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
            self.output.say(&format!(
                "not done after {limit} s (--timeout); ended the job"
            ));
            self.report();
            self.end(Shutdown::now(TIMED_OUT));
            return;
        }
        if !self.gone.is_empty()
            && let Some(line) = self.deadlock_between_jobs()
        {
            self.output.say(&line);
            self.end(Shutdown::now(1));
            return;
        }
        for job in &mut self.jobs {
            if let Some(line) = job.uninitialized(now).or_else(|| job.deadlock(now)) {
                job.say(&mut self.output, &line);
                self.end(Shutdown::now(1));
                return;
            }
        }
    }

    fn report(&mut self) {
        for job in &self.jobs {
            job.report(&mut self.output);
        }
    }

    fn signal_all(&self, signal: Signal) {
        for job in &self.jobs {
            job.signal_all(signal);
        }
    }

    /// Begins to shut the job down, or hastens a shutdown begun: the first cause stays the cause.
    fn end(&mut self, shutdown: Shutdown) {
        match &mut self.shutdown {
            Some(begun) => begun.hasten(&shutdown),
            None => self.shutdown = Some(shutdown),
        }
        self.act(Instant::now());
    }

    fn take_signals(&mut self) {
        while let Ok(Some(info)) = self.incoming.read_signal() {
            match signals::signal_of(&info) {
                Some(Signal::SIGCHLD) => self.reap(),
                Some(signal) => self.take(signal, &info),
                None => {}
            }
        }
    }

    fn reap(&mut self) {
        while let Reaped::Child(pid, status) = reap() {
            // Other children are orphans of PEs.
            let of_pe = |(index, job): (usize, &mut RunningJob)| {
                let pe = job.alive.remove(&pid)?;
                Some((index, pe))
            };
            let found = self.jobs.iter_mut().enumerate().find_map(of_pe);
            if let Some((index, pe)) = found {
                self.ended(index, pe, status);
            }
        }
    }

    /// PE `pe` of the job at `index` has ended.
    fn ended(&mut self, index: usize, pe: usize, status: ExitStatus) {
        let job = &mut self.jobs[index];
        if self.verbose {
            job.say(&mut self.output, &format!("PE {pe} has ended: {status}"));
        }
        let global_status = job.control.pe_block(pe).status.load(Acquire);
        let program = &job.job.program(pe).name;
        match classify(pe, program, status, job.state(pe), global_status) {
            // A PE that ends after the signal to end is not reported.
            _ if self.shutdown.as_ref().is_some_and(Shutdown::has_begun) => {}
            ExitClass::Done => {}
            ExitClass::Unfinalized => {
                job.unfinalized.push(pe);
                self.gone.push((job.number, pe, job.missing(pe)));
            }
            ExitClass::EndsJob {
                status,
                line,
                others_leave,
            } => {
                if self.shutdown.is_none()
                    && let Some(line) = line
                {
                    job.say(&mut self.output, &line);
                }
                self.end(if others_leave {
                    Shutdown::soon(status)
                } else {
                    Shutdown::now(status)
                });
            }
        }
    }

    /// Handles a signal that the launcher passed on, or that came from the terminal: then the PEs
    /// have it already. Of signals from other senders, only those that end the job count, because
    /// a signal to the whole process group reaches the launcher as well.
    fn take(&mut self, signal: Signal, info: &siginfo) {
        let passed_on = info.ssi_pid == self.launcher.as_raw() as u32;
        let terminal = signals::from_terminal(info);
        match signal {
            signals::LAUNCHER_GONE if getppid() == self.launcher => {}
            signals::LAUNCHER_GONE => {
                self.output.say("oshrun was killed; ended the job");
                self.end(Shutdown::at_once(128 + Signal::SIGKILL as u8));
            }
            Signal::SIGTSTP | Signal::SIGCONT => {
                if passed_on {
                    self.signal_all(signal);
                }
                if signal == Signal::SIGTSTP && (passed_on || terminal) {
                    let _ = raise(Signal::SIGSTOP);
                }
                self.jobs.iter_mut().for_each(RunningJob::reset_deadlocks);
            }
            _ if signals::ends_job(signal) => {
                if self.shutdown.is_none() {
                    let hangs = || self.jobs.iter().any(RunningJob::is_hanging);
                    if signal == Signal::SIGQUIT || signal == Signal::SIGINT && hangs() {
                        self.report();
                    }
                    if !terminal {
                        self.output
                            .say(&format!("got {}; ended the job", signal.as_str()));
                        self.signal_all(signal);
                    }
                }
                self.end(Shutdown::after_signal(128 + signal as u8));
            }
            _ if passed_on => self.signal_all(signal),
            _ => {}
        }
    }
}
