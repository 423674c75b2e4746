//! The supervisor: the process that starts the PEs, watches them, and ends the processes that they
//! leave behind.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

use ferroshmem_core::job::region::PeState;
use ferroshmem_core::job::service::{self, JobRequest, Received, Reply, Request};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{Pid, getppid};

use super::adopted::Adopted;
use super::binding::Load;
use super::connected::{Connected, News};
use super::core_file::Dumped;
use super::debugging::{self, Debuggers};
use super::descendants::{GRACE, Reaped, end_all, reap};
use super::exit_class::{ExitClass, classify};
use super::failure::Failure;
use super::hang::{Hang, HangWatch};
use super::job::Job;
use super::output::{Output, Transfer};
use super::program::Program;
use super::report::Report;
use super::running::RunningJob;
use super::shutdown::Shutdown;
use super::signals::{self, Signals};
use super::status::{self, Counting, Status};

/// Exit status after `--timeout`, as the command `timeout` has it.
const TIMED_OUT: u8 = 124;

/// Runs the job for the process `launcher`; the exit status of the job.
pub(super) fn run(job: Job, signals: Signals, launcher: Pid) -> u8 {
    let supervisor = Supervisor::new(&job, signals, Some(launcher));
    conclude(supervisor.and_then(|mut this| {
        this.start(job, None, false)?;
        Ok(this.watch())
    }))
}

/// Watches a program that runs already, and starts PEs for it; the exit status.
pub(super) fn adopt(job: Job, signals: Signals, program: Adopted) -> u8 {
    let supervisor = Supervisor::new(&job, signals, None);
    conclude(supervisor.and_then(|mut this| {
        let process = program.process.try_clone();
        let process =
            process.map_err(|e| Failure::system(format!("cannot watch the program: {e}")))?;
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
        let system = |what: &'static str| {
            move |e: nix::Error| Failure::system(format!("{what}: {}", e.desc()))
        };
        let _ = prctl::set_name(c"shmem-supervise");
        if launcher.is_some() {
            prctl::set_pdeathsig(signals::LAUNCHER_GONE)
                .map_err(system("cannot watch the launcher"))?;
        }
        prctl::set_child_subreaper(true).map_err(system("cannot become a subreaper"))?;
        let incoming = SignalFd::with_flags(
            &signals.taken,
            SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
        )
        .map_err(system("cannot read signals"))?;
        let output = Output::new(&job.options, job.n_pes())?;
        let timeout = job.options.timeout;
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
            verbose: job.options.verbose,
            hangs: HangWatch::new(job.options.hang_hint, job.options.hang_timeout),
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
    fn start(
        &mut self,
        job: Job,
        parents: Option<[RawFd; 2]>,
        independent: bool,
    ) -> Result<(), Failure> {
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
                let started = self
                    .debuggers
                    .start(debugger, (pe, pid), &job.program(pe).name);
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

    fn answer(&mut self, index: usize, Received { request, reply }: Received) {
        match request {
            Request::Job(request) => match self.start_requested(index, &request) {
                Ok(number) => self.hand_over(index, number, reply),
                Err(failure) => reply.refused(&failure.to_string()),
            },
            Request::Memory { job_number } => self.hand_over(index, job_number, reply),
            Request::Watch(met) => match Connected::met(met, self.jobs[index].number) {
                Ok(connected) => {
                    self.connections.push(connected);
                    reply.done();
                }
                Err(e) => reply.refused(&e.to_string()),
            },
        }
    }

    /// Starts a job for PEs of the one at `index`; its number.
    fn start_requested(&mut self, index: usize, request: &JobRequest) -> Result<u32, Failure> {
        let by = &self.jobs[index];
        let mut load = Load::new();
        for running in &self.jobs {
            running.job.bindings.add_to(&mut load);
        }
        let job = Job::requested(&by.job, request, &load)?;
        let number = self.next_number;
        let (parents, independent) = (request.parents, request.independent);
        let connected = Connected::new(&job, number, by.number, parents, independent)?;
        let is_independent = independent || by.independent;
        let parents = [connected.memory.as_raw_fd(), by.memory.as_raw_fd()];
        // Before: PEs may fail while others are started.
        self.connections.push(connected);
        let started = self.start(job, Some(parents), is_independent);
        if let (Ok(()), Some(job)) = (&started, self.jobs.last_mut()) {
            job.watch_initialization();
            let memory = job.memory.try_clone().ok().filter(|_| independent);
            if let Some(connected) = self.connections.last_mut() {
                connected.started = memory;
            }
        } else if let Some(connected) = self.connections.pop() {
            connected.end();
        }
        started.map(|()| number)
    }

    /// Gives the memory of job `number`, or of the one that was met, and of the connection with it, to a PE of the
    /// job at `index` that is to be connected.
    fn hand_over(&self, index: usize, number: u32, reply: Reply) {
        let (by, is_it) = (self.jobs[index].number, |c: &&Connected| c.number == number);
        let connected = self.connections.iter().filter(is_it).find(|c| c.is_of(by));
        let memory = connected.and_then(|c| match &c.met {
            Some(met) => Some(&met.memory),
            None => {
                let job = self.jobs.iter().find(|job| job.number == number);
                job.map(|job| &job.memory).or(c.started.as_ref())
            }
        });
        match memory.zip(connected) {
            Some((memory, connected)) => {
                reply.started(number, memory.as_fd(), connected.memory.as_fd());
            }
            None => {
                let gone = self.gone.iter().find(|(job, ..)| *job == number);
                let why = gone.map(|(_, pe, missing)| {
                    format!("PE {pe} of it exited with status 0 without {missing}")
                });
                let why = why.unwrap_or_else(|| "it has ended".to_owned());
                reply.refused(&format!("job {number} cannot be reached: {why}"));
            }
        }
    }

    /// The number of a job and the line for a PE that waits for one of it that has exited, if there is such. An independent
    /// job waits for PEs of its own alone.
    fn deadlock_between_jobs(&self) -> Option<(u32, String)> {
        let all = self.gone.iter().flat_map(|gone| {
            let needed = move |c: &&Connected| c.needs(gone.0, gone.1);
            let connections = self.connections.iter().filter(needed);
            connections.map(move |connected| (gone, connected))
        });
        all.into_iter().find_map(|(&(number, exited, missing), c)| {
            let waits = |job: &RunningJob| Some((job.number, job.waits_for_connection(c.number)?));
            let may_wait = |job: &&RunningJob| {
                job.shutdown.is_none() && (!c.is_independent() || job.number == number)
            };
            let mut jobs = self.jobs.iter().filter(may_wait);
            let (waiting_job, (waiting, routine)) = jobs.find_map(waits)?;
            let line = format!(
                "PE {exited} of job {number} exited with status 0 without {missing} while PE {waiting} of job {waiting_job} waits in {routine}; ended the job{}",
                if c.is_independent() { "" } else { "s" }
            );
            Some((number, line))
        })
    }

    /// Watches the job to its end; its exit status.
    fn watch(&mut self) -> u8 {
        // A user may still look at what a debugger says of a PE that has ended well.
        while !self.jobs.is_empty() || self.shutdown.is_none() && self.debuggers.are_running() {
            self.wait(true);
            self.act(Instant::now());
            self.remove_ended();
        }
        let status = self.status;
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
        let met = self.connections.iter().enumerate();
        let (met, peers): (Vec<usize>, Vec<PollFd<'_>>) = met
            .filter_map(|(index, c)| Some((index, c.met.as_ref()?.peer.as_fd())))
            .map(|(index, peer)| (index, PollFd::new(peer, PollFlags::POLLIN)))
            .unzip();
        let streams = fds.len();
        fds.extend(services);
        fds.extend(peers);
        let listener = self.status_lines.listener();
        fds.extend(listener.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        let adopted = self.adopted.as_ref();
        fds.extend(adopted.map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN)));
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
        let mut events = fds[streams..].iter().map(|fd| fd.revents());
        let services: Vec<_> = jobs.into_iter().zip(events.by_ref()).collect();
        let peers: Vec<_> = met.into_iter().zip(events.by_ref()).collect();
        // In the order in which they were added, and only those that were.
        let has_readers = listener.and_then(|_| events.next().flatten());
        let has_readers = has_readers.is_some_and(|events| !events.is_empty());
        let adopted = adopted.and_then(|_| events.next().flatten());
        let adopted_has_ended = adopted.is_some_and(|events| !events.is_empty());
        drop(fds);
        self.output.serve(transfers);
        if has_readers {
            self.status_lines.serve(&counting(&self.jobs));
        }
        for (index, events) in peers {
            let events = events.unwrap_or(PollFlags::all());
            if !events.is_empty() {
                self.hear(index, events.contains(PollFlags::POLLHUP));
            }
        }
        for (index, events) in services {
            let events = events.unwrap_or(PollFlags::all());
            if events.contains(PollFlags::POLLIN) {
                self.serve(index);
            }
            if is_over(events) {
                self.jobs[index].service = None;
            }
        }
        if adopted_has_ended {
            self.adopted_has_ended();
        }
        self.take_signals();
    }

    /// Takes what the `oshrun` of a job says that was met; `closed`: its end of the socket is closed.
    fn hear(&mut self, index: usize, closed: bool) {
        let (status, line) = match self.connections[index].news(closed) {
            News::None => return,
            News::Over => {
                self.connections[index].met = None;
                return;
            }
            News::Ends(status, line) => (status, line),
            News::Gone => {
                let why = "it is gone, without shmemx_group_disconnect or shmem_finalize";
                (1, format!("{why}; ended the job"))
            }
        };
        // A job that has been notified ends, too.
        self.connections[index].met = None;
        if self.shutdown.is_none() {
            let job = self.connections[index].own_job();
            self.output
                .say(&format!("a connected job has failed: {line}"));
            self.end_job(job, Shutdown::now(status), &line);
        }
    }

    /// Forgets jobs that have no PEs any more.
    fn remove_ended(&mut self) {
        let (living, ended) = std::mem::take(&mut self.jobs)
            .into_iter()
            .partition(|job| !job.alive.is_empty());
        let ended: Vec<RunningJob> = ended;
        if !ended.is_empty() {
            self.status_lines.write(&counting(&ended));
        }
        self.jobs = living;
        ended.into_iter().for_each(RunningJob::end);
        let (over, lasting) =
            std::mem::take(&mut self.connections)
                .into_iter()
                .partition(|connected: &Connected| {
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
            self.output.say(&line);
            self.report();
            self.end(Shutdown::now(TIMED_OUT), &line);
            return;
        }
        if !self.gone.is_empty()
            && let Some((number, line)) = self.deadlock_between_jobs()
        {
            self.output.say(&line);
            self.end_job(number, Shutdown::now(1), &line);
            return;
        }
        let mut failed = None;
        for job in &mut self.jobs {
            if let Some(shutdown) = &mut job.shutdown {
                if let Some(signal) = shutdown.due(now) {
                    job.signal_all(signal);
                }
            } else if let Some(line) = job
                .uninitialized(now)
                .or_else(|| job.deadlock(now, &self.connections))
            {
                job.say(&mut self.output, &line);
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
                job.say(&mut self.output, &line);
            }
        }
        if let Some((hang, silent)) = self.check_progress(now) {
            self.hangs(hang, silent);
        }
    }

    fn check_progress(&mut self, now: Instant) -> Option<(Hang, Duration)> {
        let jobs = &self.jobs;
        let seen = || {
            let each = jobs.iter().map(RunningJob::progress);
            each.fold(jobs.len() as u64, |sum, word| sum.rotate_left(9) ^ word)
        };
        let longest_wait = || {
            let waits: Option<Vec<_>> = jobs.iter().map(RunningJob::waits).collect();
            waits?.into_iter().flatten().max()
        };
        self.hangs.check(now, seen, longest_wait)
    }

    /// No PE has made progress for `silent`.
    fn hangs(&mut self, hang: Hang, silent: Duration) {
        let seconds = silent.as_secs_f64();
        let reports: Vec<Report> = self.jobs.iter().map(RunningJob::report).collect();
        if reports.iter().any(Report::waits_for_user) {
            self.hangs.reset();
            return;
        }
        match hang {
            Hang::Hint => {
                self.output.say(&format!(
                    "no PE has made progress for {seconds:.0} s; the job goes on (--hang-timeout SECONDS ends such jobs, --hang-hint none says nothing)"
                ));
                self.say_reports(&reports);
            }
            Hang::End => {
                let line = format!(
                    "no PE has made progress for {seconds:.1} s (--hang-timeout); ended the job"
                );
                self.output.say(&line);
                self.say_reports(&reports);
                self.end(Shutdown::now(TIMED_OUT), &line);
            }
        }
    }

    fn report(&mut self) {
        let reports: Vec<Report> = self.jobs.iter().map(RunningJob::report).collect();
        self.say_reports(&reports);
    }

    /// Prints the reports of all jobs.
    fn say_reports(&mut self, reports: &[Report]) {
        for (job, report) in self.jobs.iter().zip(reports) {
            for line in report.lines() {
                job.say(&mut self.output, line);
            }
        }
    }

    /// Prints what the PEs have counted; false if they do not count.
    fn say_counted(&mut self) -> bool {
        let mut is_said = false;
        for job in &self.jobs {
            for line in status::counted(&job.control) {
                job.say(&mut self.output, &line);
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

    /// Begins to shut the job down, or hastens a shutdown begun: the first cause stays the cause.
    /// Jobs that these have met end, too, with the line `why`.
    fn end(&mut self, shutdown: Shutdown, why: &str) {
        if self.shutdown.is_none() {
            self.status = shutdown.status;
        }
        self.end_all(shutdown, why);
    }

    /// The same; the exit status is known.
    fn end_all(&mut self, shutdown: Shutdown, why: &str) {
        match &mut self.shutdown {
            Some(begun) => begun.hasten(&shutdown),
            None => {
                for connected in &self.connections {
                    connected.tell_end(shutdown.status, why);
                    self.jobs.iter().for_each(|job| connected.fail(job.number));
                }
                self.shutdown = Some(shutdown);
            }
        }
        self.act(Instant::now());
    }

    /// Ends the job of number `number`, and those that it is connected with and that are not independent.
    fn end_job(&mut self, number: u32, shutdown: Shutdown, why: &str) {
        let mut all = vec![number];
        let mut next = 0;
        while let Some(job) = all.get(next).copied() {
            let bound = self.connections.iter().filter_map(|c| c.bound_to(job));
            let new: Vec<u32> = bound.filter(|job| !all.contains(job)).collect();
            all.extend(new);
            next += 1;
        }
        let ends = |job: &&RunningJob| all.contains(&job.number);
        if self.jobs.iter().filter(ends).any(|job| !job.independent) {
            self.status = shutdown.status;
        }
        if self.shutdown.is_some() || self.jobs.iter().all(|job| all.contains(&job.number)) {
            return self.end_all(shutdown, why);
        }
        for connected in &self.connections {
            if all.iter().any(|job| connected.is_of(*job)) {
                connected.tell_end(shutdown.status, why);
                for job in &all {
                    connected.fail(*job);
                }
            }
        }
        for job in &mut self.jobs {
            if all.contains(&job.number) {
                match &mut job.shutdown {
                    Some(begun) => begun.hasten(&shutdown),
                    none => *none = Some(shutdown.clone()),
                }
            }
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
                self.ended(index, (pe, pid), status);
            } else if let Some(pe) = self.debuggers.ended(pid) {
                self.debugger_has_ended(pe, status);
            }
        }
    }

    /// The debugger of PE `pe` has ended: the PE need not wait for it.
    fn debugger_has_ended(&mut self, pe: usize, status: ExitStatus) {
        let Some(job) = self.jobs.iter().find(|job| job.number == 0) else {
            return;
        };
        let is_waiting = job.state(pe) == PeState::Started && job.alive.values().any(|p| *p == pe);
        if is_waiting && !status.success() && self.shutdown.is_none() {
            let line = debugging::not_attached(pe, status);
            self.output.say(&line);
            return self.end(Shutdown::now(1), &line);
        }
        let block = job.control.pe_block(pe);
        block.debugger_has_ended.store(1, Release);
    }

    /// PE `pe` of the job at `index` has ended.
    fn ended(&mut self, index: usize, (pe, pid): (usize, Pid), status: ExitStatus) {
        let job = &mut self.jobs[index];
        if self.verbose {
            job.say(&mut self.output, &format!("PE {pe} has ended: {status}"));
        }
        let how = status;
        let global_status = job.control.pe_block(pe).status.load(Acquire);
        let program = &job.job.program(pe).name;
        match classify(pe, program, status, job.state(pe), global_status) {
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
            ExitClass::EndsJob {
                status,
                line,
                others_leave,
            } => {
                let line = line.map(|line| with_core_file(line, job.job.program(pe), pid, how));
                if self.shutdown.is_none()
                    && job.shutdown.is_none()
                    && let Some(line) = &line
                {
                    job.say(&mut self.output, line);
                }
                let line = line.unwrap_or_else(|| {
                    format!("PE {pe} (\"{program}\") ended its job with status {status}")
                });
                let shutdown = match others_leave {
                    true => Shutdown::soon(status),
                    false => Shutdown::now(status),
                };
                let number = job.number;
                self.end_job(number, shutdown, &line);
            }
        }
    }

    /// The program that another process has started has ended. How it did is known to that process alone.
    fn adopted_has_ended(&mut self) {
        self.adopted = None;
        let Some(job) = self.jobs.iter_mut().find(|job| job.number == 0) else {
            return;
        };
        job.alive.clear();
        let status = job.control.pe_block(0).status.load(Acquire) as u8;
        let program = &job.job.program(0).name;
        let (status, line) = match job.state(0) {
            PeState::Finalized => return,
            PeState::GlobalExit => (
                status,
                format!("\"{program}\" ended its job with status {status}"),
            ),
            _ => (
                1,
                format!("\"{program}\" has ended without shmem_finalize; ended the jobs"),
            ),
        };
        if self.shutdown.is_none() {
            if matches!(job.state(0), PeState::Started | PeState::Initialized) {
                self.output.say(&line);
            }
            self.end_job(0, Shutdown::now(status), &line);
        }
    }

    /// Handles a signal that the launcher passed on, or that came from the terminal: then the PEs
    /// have it already. Of signals from other senders, only those that end the job count, because
    /// a signal to the whole process group reaches the launcher as well.
    fn take(&mut self, signal: Signal, info: &siginfo) {
        let launcher = self.launcher.map(|pid| pid.as_raw() as u32);
        let passed_on = launcher == Some(info.ssi_pid);
        let terminal = signals::from_terminal(info);
        match signal {
            signals::LAUNCHER_GONE if self.launcher.is_none_or(|pid| getppid() == pid) => {}
            signals::LAUNCHER_GONE => {
                let line = "oshrun was killed; ended the job";
                self.output.say(line);
                self.end(Shutdown::at_once(128 + Signal::SIGKILL as u8), line);
            }
            Signal::SIGTSTP | Signal::SIGCONT => {
                if passed_on {
                    self.signal_all(signal);
                }
                if signal == Signal::SIGTSTP && (passed_on || terminal) {
                    let _ = raise(Signal::SIGSTOP);
                }
                self.jobs.iter_mut().for_each(RunningJob::reset_deadlocks);
                self.hangs.reset();
            }
            _ if signals::ends_job(signal) => {
                let line = format!("got {}; ended the job", signal.as_str());
                if self.shutdown.is_none() {
                    let hangs = || self.jobs.iter().any(RunningJob::is_hanging);
                    if signal == Signal::SIGQUIT || signal == Signal::SIGINT && hangs() {
                        self.report();
                    }
                    if !terminal {
                        self.output.say(&line);
                        self.signal_all(signal);
                    }
                }
                self.end(Shutdown::after_signal(128 + signal as u8), &line);
            }
            Signal::SIGUSR1 if passed_on && self.say_counted() => {}
            _ if passed_on => self.signal_all(signal),
            _ => {}
        }
    }
}

/// The line for a process of `program` that has ended, with the place of its core file if there is one.
fn with_core_file(line: String, program: &Program, pid: Pid, status: ExitStatus) -> String {
    let Some(signal) = status.signal().filter(|_| status.core_dumped()) else {
        return line;
    };
    let path = |name: &CString| PathBuf::from(OsStr::from_bytes(name.as_bytes()));
    let here = std::env::current_dir().unwrap_or_default();
    let directory = program.wdir.as_ref().map(path);
    let dumped = Dumped {
        pid,
        program: &path(&program.path),
        directory: &here.join(directory.unwrap_or_default()),
        signal,
    };
    line.replacen("core dumped", &format!("core dumped{}", dumped.place()), 1)
}

/// Where the PEs of jobs count.
fn counting(jobs: &[RunningJob]) -> Vec<Counting<'_>> {
    jobs.iter().map(|job| (job.number, &job.control)).collect()
}

/// Whether all PEs have closed their end of a service. The end is readable then, too: a read finds no more requests.
fn is_over(events: PollFlags) -> bool {
    events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_ends_with_the_last_pe() {
        let (mine, of_pes) = service::open().unwrap();
        let other = of_pes.try_clone().unwrap();
        let is_over = || {
            let mut fds = [PollFd::new(mine.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).unwrap();
            is_over(fds[0].revents().unwrap())
        };
        assert!(!is_over());
        drop(of_pes);
        assert!(!is_over());
        drop(other);
        assert!(is_over());
        assert!(service::next(mine.as_fd()).unwrap().is_none());
    }
}
