//! The process that starts the PEs, watches them, and ends what they leave behind.

mod start;

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::region::PeState;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{Pid, getpid, getppid};

use super::descendants::{GRACE, Reaped, end_all, reap};
use super::ending::Ending;
use super::failure::Failure;
use super::job::Job;
use super::output::{Output, Task};
use super::signals::{self, Signals};
use super::stall::{self, Stall};
use super::verdict::{Verdict, judge};
use super::waits;

/// Exit status after `--timeout`, as the command `timeout` has it.
const TIMED_OUT: u8 = 124;

/// Runs the job for the process `launcher`; the exit status of the job.
pub(super) fn run(job: Job, signals: Signals, launcher: Pid) -> u8 {
    let kept = Keeper::new(job, signals, launcher).and_then(|mut keeper| {
        keeper.start()?;
        Ok(keeper.keep())
    });
    kept.unwrap_or_else(|failure| {
        end_all(None);
        failure.tell()
    })
}

struct Keeper {
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
    departed: Vec<usize>,
    stall: Stall,
    /// Set once the job is to end.
    ending: Option<Ending>,
    timeout_at: Option<Instant>,
}

impl Keeper {
    fn new(job: Job, signals: Signals, launcher: Pid) -> Result<Self, Failure> {
        let system = |what: &'static str| {
            move |e: nix::Error| Failure::system(format!("{what}: {}", e.desc()))
        };
        let _ = prctl::set_name(c"shmem-keeper");
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
            job.machine.cores,
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
            departed: Vec::new(),
            stall: Stall::default(),
            ending: None,
            timeout_at,
        })
    }

    /// Watches the job to its end; its exit status.
    fn keep(&mut self) -> u8 {
        while !self.alive.is_empty() {
            self.wait(true);
            self.act(Instant::now());
        }
        let status = self.ending.as_ref().map_or(0, |e| e.status);
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
        // Whoever wants to end a job whose output nobody takes can do so by a signal.
        let before = self.ending.is_some();
        while self.output.tasks().next().is_some() && self.ending.is_some() == before {
            self.wait(false);
        }
        status
    }

    /// Waits for signals, output, and (while PEs live) the next deadline; takes in the former.
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
        let (tasks, mut fds): (Vec<Task>, Vec<PollFd<'_>>) = self
            .output
            .tasks()
            .map(|(task, fd, events)| (task, PollFd::new(fd, events)))
            .unzip();
        fds.push(PollFd::new(self.incoming.as_fd(), PollFlags::POLLIN));
        if poll(&mut fds, timeout.unwrap_or(PollTimeout::NONE)).is_err() {
            return;
        }
        let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        let tasks: Vec<Task> = tasks
            .into_iter()
            .zip(&fds)
            .filter(|(_, fd)| ready(fd))
            .map(|(t, _)| t)
            .collect();
        drop(fds);
        self.output.serve(tasks);
        self.take_signals();
    }

    fn next_deadline(&self) -> Option<Instant> {
        let next_look = || self.stall.next_look().unwrap_or_else(Instant::now);
        let stall = || (!self.departed.is_empty()).then(next_look);
        match &self.ending {
            Some(ending) => ending.next_deadline(),
            None => self.timeout_at.into_iter().chain(stall()).min(),
        }
    }

    /// Does what is due.
    fn act(&mut self, now: Instant) {
        if let Some(ending) = &mut self.ending {
            if let Some(signal) = ending.due(now) {
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
            self.end(Ending::now(TIMED_OUT));
        } else if !self.departed.is_empty() && self.stall.next_look().is_none_or(|at| now >= at) {
            let living = self.living();
            if let Some(found) = self.stall.look(now, &self.control, &self.departed, &living) {
                let stall::Hopeless {
                    departed,
                    waiting,
                    routine,
                } = found;
                let missing = match self.state(departed) {
                    PeState::Started => "shmem_init",
                    _ => "shmem_finalize",
                };
                self.output.say(&format!(
                    "PE {departed} exited with status 0 without {missing} while PE {waiting} waits in {routine}; ended the job"
                ));
                self.end(Ending::now(1));
            }
        }
    }

    fn living(&self) -> Vec<usize> {
        let mut living: Vec<usize> = self.alive.values().copied().collect();
        living.sort_unstable();
        living
    }

    fn state(&self, pe: usize) -> PeState {
        PeState::from_word(self.control.pe_block(pe).state.load(Acquire))
    }

    fn report(&mut self) {
        for line in waits::report(&self.control, self.living().into_iter()) {
            self.output.say(&line);
        }
    }

    fn signal_all(&self, signal: Signal) {
        for pid in self.alive.keys() {
            let _ = kill(*pid, signal);
        }
    }

    /// Begins to end the job, or hastens an end begun: the first cause stays the cause.
    fn end(&mut self, ending: Ending) {
        match &mut self.ending {
            Some(begun) => begun.hasten(&ending),
            None => self.ending = Some(ending),
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
            // Others are orphans that PEs left to us.
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
        match judge(
            pe,
            &self.job.program(pe).name,
            status,
            self.state(pe),
            global_status,
        ) {
            // What a PE does once it was told to end is no news.
            _ if self.ending.as_ref().is_some_and(Ending::has_begun) => {}
            Verdict::Done => {}
            Verdict::Departed => self.departed.push(pe),
            Verdict::EndsJob {
                status,
                line,
                others_leave,
            } => {
                if self.ending.is_none()
                    && let Some(line) = line
                {
                    self.output.say(&line);
                }
                self.end(if others_leave {
                    Ending::soon(status)
                } else {
                    Ending::now(status)
                });
            }
        }
    }

    /// Takes a signal that the launcher passed on, or that came from the terminal: then
    /// the PEs have it already. From others, only those that end the job count, because
    /// one sent to the whole process group reaches the launcher as well.
    fn take(&mut self, signal: Signal, info: &siginfo) {
        let passed_on = info.ssi_pid == self.launcher.as_raw() as u32;
        let terminal = signals::from_terminal(info);
        match signal {
            signals::LAUNCHER_GONE if getppid() == self.launcher => {}
            signals::LAUNCHER_GONE => {
                self.output.say("oshrun was killed; ended the job");
                self.end(Ending::at_once(128 + Signal::SIGKILL as u8));
            }
            Signal::SIGTSTP | Signal::SIGCONT => {
                if passed_on {
                    self.signal_all(signal);
                }
                if signal == Signal::SIGTSTP && (passed_on || terminal) {
                    let _ = raise(Signal::SIGSTOP);
                }
                self.stall.reset();
            }
            _ if signals::ends_job(signal) => {
                if self.ending.is_none() {
                    if signal == Signal::SIGQUIT {
                        self.report();
                    }
                    if !terminal {
                        self.output
                            .say(&format!("got {}; ended the job", signal.as_str()));
                        self.signal_all(signal);
                    }
                }
                self.end(Ending::after_signal(128 + signal as u8));
            }
            _ if passed_on => self.signal_all(signal),
            _ => {}
        }
    }
}
