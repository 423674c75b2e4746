//! The supervisor: the process that starts the PEs, watches them, and ends the processes that they
//! leave behind.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitStatus;
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use ferroshmem_core::constants::THREAD_MULTIPLE;
use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::region::{PeBlock, PeState};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{Pid, getpid, getppid};

use super::deadlock::{Deadlock, DeadlockDetector};
use super::descendants::{GRACE, Reaped, end_all, reap};
use super::exit_class::{ExitClass, classify};
use super::failure::Failure;
use super::job::Job;
use super::output::{Output, Transfer};
use super::program::cannot_run;
use super::shutdown::Shutdown;
use super::signals::{self, Signals};
use super::spawn::{Common, SpawnError, Spawner, Streams};
use super::waits;

/// Exit status after `--timeout`, as the command `timeout` has it.
const TIMED_OUT: u8 = 124;

/// Runs the job for the process `launcher`; the exit status of the job.
pub(super) fn run(job: Job, signals: Signals, launcher: Pid) -> u8 {
    let status = Supervisor::new(job, signals, launcher).and_then(|mut supervisor| {
        supervisor.start()?;
        Ok(supervisor.watch())
    });
    status.unwrap_or_else(|failure| {
        end_all(None);
        failure.report()
    })
}

struct Supervisor {
    job: Job,
    launcher: Pid,
    incoming: SignalFd,
    inherited_mask: nix::sys::signal::SigSet,
    memory: File,
    control: Control,
    output: Output,
    /// Living PEs.
    alive: HashMap<Pid, usize>,
    /// PEs that left with status 0 but without finalising.
    unfinalized: Vec<usize>,
    deadlocks: DeadlockDetector,
    /// Set once the job is to end.
    shutdown: Option<Shutdown>,
    timeout_at: Option<Instant>,
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
        let pid = getpid().as_raw() as u32;
        let (memory, control) = Control::create(
            &job.plan,
            job.n_pes(),
            job.n_pes(),
            job.machine.node_cores(),
            job.tuning,
            pid,
        )
        .map_err(|e| Failure::system(format!("cannot create the job's memory: {e}")))?;
        let output = Output::new(&job.options, job.n_pes())?;
        let timeout_at = job
            .options
            .timeout
            .and_then(|t| Instant::now().checked_add(t));
        Ok(Self {
            job,
            launcher,
            incoming,
            inherited_mask: signals.inherited,
            memory,
            control,
            output,
            alive: HashMap::new(),
            unfinalized: Vec::new(),
            deadlocks: DeadlockDetector::default(),
            shutdown: None,
            timeout_at,
        })
    }

    /// Starts all PEs, unless something ends the job meanwhile.
    fn start(&mut self) -> Result<(), Failure> {
        let n_pes = self.job.n_pes();
        if self.job.options.verbose {
            let (cores, heap) = (self.job.machine.cores, self.job.plan.heap_size >> 20);
            self.output.say(&format!(
                "{n_pes} PEs on {cores} cores, symmetric heap of up to {heap} MiB each"
            ));
        }
        if self.job.options.report_bindings {
            for line in self.job.bindings.report(n_pes) {
                self.output.say(&line);
            }
        }
        let system = |what: &str, e: std::io::Error| Failure::system(format!("{what}: {e}"));
        let files = getrlimit(Resource::RLIMIT_NOFILE)
            .map_err(|e| system("cannot read the limit on open files", e.into()))?;
        // A few descriptors beside those for output.
        if self.output.descriptors(n_pes) + 32 > files.0 {
            let _ = setrlimit(Resource::RLIMIT_NOFILE, files.1, files.1);
        }
        let null = File::open("/dev/null").map_err(|e| system("cannot open /dev/null", e))?;
        let memory = self.memory.as_raw_fd();
        let mut spawner = Spawner::new(Common {
            memory,
            mask: self.inherited_mask,
            files,
        });
        for pe in 0..n_pes {
            let [out, err] = self
                .output
                .streams(pe)
                .map_err(|e| system(&format!("cannot prepare the output of PE {pe}"), e))?;
            let input = (pe != 0).then(|| null.as_fd());
            let streams = Streams {
                fds: [
                    input,
                    out.as_ref().map(|f| f.as_fd()),
                    err.as_ref().map(|f| f.as_fd()),
                ],
            };
            let program = self.job.program(pe);
            let pid = spawner
                .spawn(
                    pe,
                    program,
                    &streams,
                    self.job.bindings.affinity(pe).as_ref(),
                )
                .map_err(|e| cannot_start(pe, n_pes, &program.name, e))?;
            self.alive.insert(pid, pe);
            if self.job.options.verbose {
                let bound = self.job.bindings.of_pe(pe);
                let bound = bound.map(|b| format!(", {b}")).unwrap_or_default();
                self.output.say(&format!(
                    "PE {pe}: \"{}\", process {pid}{bound}",
                    self.job.program(pe).name
                ));
            }
            self.take_signals();
            if self.shutdown.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Watches the job to its end; its exit status.
    fn watch(&mut self) -> u8 {
        while !self.alive.is_empty() {
            self.wait(true);
            self.act(Instant::now());
        }
        let status = self.shutdown.as_ref().map_or(0, |e| e.status);
        let stuck = end_all((status == 0).then_some(GRACE));
        if stuck > 0 {
            self.output.say(&format!(
                "{stuck} processes cannot be ended, not even by SIGKILL"
            ));
        }
        self.output.drain();
        if self.job.options.verbose {
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
        drop(fds);
        self.output.serve(transfers);
        self.take_signals();
    }

    fn next_deadline(&self) -> Option<Instant> {
        let next_check = || self.deadlocks.next_check().unwrap_or_else(Instant::now);
        let deadlock = || (!self.unfinalized.is_empty()).then(next_check);
        match &self.shutdown {
            Some(shutdown) => shutdown.next_deadline(),
            None => {
                let circles = self.deadlocks.next_check_of_circles(Instant::now());
                let others = self.timeout_at.into_iter().chain(deadlock());
                others.chain([circles]).min()
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
            let limit = self.job.options.timeout.unwrap_or_default().as_secs_f64();
            self.output.say(&format!(
                "not done after {limit} s (--timeout); ended the job"
            ));
            self.report();
            self.end(Shutdown::now(TIMED_OUT));
        } else if !self.unfinalized.is_empty()
            && self.deadlocks.next_check().is_none_or(|at| now >= at)
        {
            let living = self.living_pes();
            if let Some(found) =
                self.deadlocks
                    .check(now, &self.control, &self.unfinalized, &living)
            {
                let Deadlock {
                    exited,
                    waiting,
                    routine,
                } = found;
                let missing = match self.state(exited) {
                    PeState::Started => "shmem_init",
                    _ => "shmem_finalize",
                };
                self.output.say(&format!(
                    "PE {exited} exited with status 0 without {missing} while PE {waiting} waits in {routine}; ended the job"
                ));
                self.end(Shutdown::now(1));
            }
        } else if now >= self.deadlocks.next_check_of_circles(now) {
            let living = self.living_pes();
            let one_caller = |pe| has_one_caller(self.control.pe_block(pe));
            let found = self
                .deadlocks
                .check_circles(now, &self.control, &living, one_caller);
            if let Some(circle) = found {
                self.output.say(&circle.to_string());
                self.end(Shutdown::now(1));
            }
        }
    }

    /// The living PEs and their processes, by PE.
    fn living(&self) -> Vec<(usize, Pid)> {
        let mut living: Vec<_> = self.alive.iter().map(|(pid, pe)| (*pe, *pid)).collect();
        living.sort_unstable();
        living
    }

    /// The living PEs.
    fn living_pes(&self) -> Vec<usize> {
        self.living().into_iter().map(|(pe, _)| pe).collect()
    }

    fn state(&self, pe: usize) -> PeState {
        PeState::from_word(self.control.pe_block(pe).state.load(Acquire))
    }

    fn report(&mut self) {
        for line in waits::report(&self.control, &self.living()) {
            self.output.say(&line);
        }
    }

    fn signal_all(&self, signal: Signal) {
        for pid in self.alive.keys() {
            let _ = kill(*pid, signal);
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
            if let Some(pe) = self.alive.remove(&pid) {
                self.ended(pe, status);
            }
        }
    }

    fn ended(&mut self, pe: usize, status: ExitStatus) {
        if self.job.options.verbose {
            self.output.say(&format!("PE {pe} has ended: {status}"));
        }
        let global_status = self.control.pe_block(pe).status.load(Acquire);
        match classify(
            pe,
            &self.job.program(pe).name,
            status,
            self.state(pe),
            global_status,
        ) {
            // A PE that ends after the signal to end is not reported.
            _ if self.shutdown.as_ref().is_some_and(Shutdown::has_begun) => {}
            ExitClass::Done => {}
            ExitClass::Unfinalized => self.unfinalized.push(pe),
            ExitClass::EndsJob {
                status,
                line,
                others_leave,
            } => {
                if self.shutdown.is_none()
                    && let Some(line) = line
                {
                    self.output.say(&line);
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
                self.deadlocks.reset();
            }
            _ if signals::ends_job(signal) => {
                if self.shutdown.is_none() {
                    let hangs = || waits::is_hanging(&self.control, self.alive.values().copied());
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

/// The line for a PE that could not be started.
fn cannot_start(pe: usize, n_pes: usize, program: &str, error: SpawnError) -> Failure {
    match error {
        // The file exists: `Program::find` has checked it.
        SpawnError::Exec(Errno::ENOENT) => Failure::not_runnable(format!(
            "cannot run \"{program}\": the interpreter that it names does not exist"
        )),
        SpawnError::Exec(e) => cannot_run(program, e),
        SpawnError::NoProcess(e) => Failure::system(format!(
            "cannot start PE {pe} of {n_pes}: {}",
            if e == Errno::EAGAIN {
                "the limit on processes is reached (ulimit -u)"
            } else {
                e.desc()
            }
        )),
        SpawnError::Setup(e) => Failure::system(format!(
            "cannot prepare the process of PE {pe}: {}",
            e.desc()
        )),
    }
}

/// Whether one thread of a PE at a time calls the library: by the thread level that the program asked
/// for, or because there is one thread.
fn has_one_caller(block: &PeBlock) -> bool {
    if block.thread_level.load(Acquire) < THREAD_MULTIPLE {
        return true;
    }
    let pid = block.pid.load(Acquire);
    std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() == 1)
}
