//! A job under way on this node: its memory and its living PEs.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::time::{Duration, Instant};

use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::service;
use ferroshmem_layout::{PeBlock, PeState};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getpid};

use super::adopted::Adopted;
use super::connected::Connected;
use super::deadlock::{Cycle, Deadlock, DeadlockDetector, missed};
use super::exit_class::missing;
use super::failure::Failure;
use super::initialization::Initialization;
use super::job::Job;
use super::meeting::Meeting;
use super::options::Input;
use super::output::Output;
use super::program::cannot_run;
use super::report::{NodePes, Report};
use super::shutdown::Shutdown;
use super::spawn::{Common, SpawnError, Spawner, Streams};
use super::time_slices::TimeSlices;
use super::waits::{self, Wait, WaitReason};
use crate::inspect::Inspector;

/// Starts the PEs of a job, one after the other.
pub(super) struct Starter {
    spawner: Spawner,
    null: File,
    /// The PEs' end of the service, open as long as PEs are started, where they get a new one.
    _service: Option<OwnedFd>,
}

/// A job that has been started.
pub(super) struct RunningJob {
    /// Its number among those of this `oshrun`: 0 is that of the command line.
    pub number: u32,
    /// What was to be run.
    pub job: Job,
    /// Its memory.
    pub memory: File,
    /// The control part of its memory.
    pub control: Control,
    /// What its PEs ask for; None once all have closed their end.
    pub service: Option<OwnedFd>,
    /// PEs that wait for replacements of others.
    pub meeting: Meeting,
    /// Living PEs.
    pub alive: HashMap<Pid, usize>,
    /// PEs that left with status 0 but without finalising.
    pub unfinalized: Vec<usize>,
    deadlocks: DeadlockDetector,
    /// Watches PEs that others wait for until all are in `shmem_init`.
    initialization: Option<Initialization>,
    /// Whether its end is not that of the job of the command line.
    pub independent: bool,
    /// Set once this job is to end, and others are not.
    pub shutdown: Option<Shutdown>,
    /// What keeps its time slices short, if that is asked for.
    time_slices: Option<TimeSlices>,
}

impl RunningJob {
    /// Makes the memory of a job, of which no PE is started yet.
    pub(super) fn new(job: Job, number: u32) -> Result<Self, Failure> {
        let pid = getpid().as_raw() as u32;
        let n_pes = job.n_pes();
        let cores = job.bindings.node_cores(&job.machine);
        let (memory, control) = Control::create(&job.plan, n_pes, n_pes, cores, job.tuning, pid)
            .map_err(|e| Failure::system(format!("cannot create the job's memory: {e}")))?;
        control.header().job_number.store(number, Relaxed);
        Ok(Self::of(job, number, memory, control))
    }

    /// A program that runs already.
    pub(super) fn adopted(job: Job, program: Adopted) -> Self {
        let mut this = Self::of(job, 0, program.memory, program.control);
        this.service = Some(program.service);
        this.alive.insert(program.pid, 0);
        this
    }

    fn of(job: Job, number: u32, memory: File, control: Control) -> Self {
        Self {
            number,
            job,
            memory,
            control,
            service: None,
            meeting: Meeting::default(),
            alive: HashMap::new(),
            unfinalized: Vec::new(),
            deadlocks: DeadlockDetector::default(),
            initialization: None,
            independent: false,
            shutdown: None,
            time_slices: None,
        }
    }

    /// Keeps time slices as short as asked for, where PEs share cores.
    pub(super) fn keep_time_slices(&mut self) {
        let cpus = self.job.bindings.shared_cpus(self.job.n_pes());
        let slice = self.job.options.placement.time_slice.filter(|_| !cpus.is_empty());
        self.time_slices = slice.map(|slice| TimeSlices::start(&cpus, slice));
    }

    /// What starts the PEs. `parents`: the memory of the connection with those that have asked for the job, and of
    /// their job, open as long as PEs are started. `mask` is what the supervisor was given of blocked signals.
    pub(super) fn starter(
        &mut self,
        parents: Option<[RawFd; 2]>,
        output: &mut Output,
        mask: SigSet,
    ) -> Result<Starter, Failure> {
        let n_pes = self.job.n_pes();
        if self.job.options.streams.verbose {
            let (cores, heap) = (self.control.header().cores, self.job.plan.heap_size >> 20);
            self.print_line(output, &format!("{n_pes} PEs on {cores} cores, symmetric heap of up to {heap} MiB each"));
        }
        if self.job.options.placement.report_bindings {
            for line in self.job.bindings.report(n_pes) {
                self.print_line(output, &line);
            }
        }
        let (mine, of_pes) = service::open()
            .map_err(|e| Failure::system(format!("cannot make a socket for the PEs: {}", reason(&e))))?;
        self.service = Some(mine);
        let mut inherited = vec![self.memory.as_raw_fd(), of_pes.as_raw_fd()];
        inherited.extend(parents.into_iter().flatten());
        Ok(Starter { _service: Some(of_pes), ..self.starter_of(inherited, mask)? })
    }

    /// What starts PEs with these descriptors.
    pub(super) fn starter_of(&self, inherited: Vec<RawFd>, mask: SigSet) -> Result<Starter, Failure> {
        let null = File::open("/dev/null");
        let null = null.map_err(|e| Failure::system(format!("cannot open /dev/null: {}", reason(&e))))?;
        let spawner = Spawner::new(Common { inherited, mask, files: self.job.files });
        Ok(Starter { spawner, null, _service: None })
    }

    /// Starts PE `pe`; its process.
    pub(super) fn start_pe(&mut self, pe: usize, starter: &mut Starter, output: &mut Output) -> Result<Pid, Failure> {
        let [out, err] = output
            .streams(self.number, pe)
            .map_err(|e| Failure::system(format!("cannot prepare the output of PE {pe}: {}", reason(&e))))?;
        let reads_input = self.number == 0 && self.job.options.streams.stdin == Input::Pe(pe);
        let input = (!reads_input).then(|| starter.null.as_fd());
        let streams = Streams { fds: [input, out.as_ref().map(|f| f.as_fd()), err.as_ref().map(|f| f.as_fd())] };
        let program = self.job.program(pe);
        let affinity = self.job.bindings.affinity(pe);
        let pid = starter
            .spawner
            .spawn(pe, program, &streams, affinity.as_ref())
            .map_err(|e| cannot_start(pe, self.job.n_pes(), &program.name, e))?;
        self.alive.insert(pid, pe);
        if self.job.options.streams.verbose {
            let bound = self.job.bindings.of_pe(pe);
            let bound = bound.map(|b| format!(", {b}")).unwrap_or_default();
            let name = &self.job.program(pe).name;
            self.print_line(output, &format!("PE {pe}: \"{name}\", process {pid}{bound}"));
        }
        Ok(pid)
    }

    /// Watches whether its PEs come to `shmem_init`.
    pub(super) fn watch_initialization(&mut self) {
        let limit = self.job.options.times.spawn_timeout;
        self.initialization = Some(Initialization::new(limit, Instant::now()));
    }

    /// Looks whether PEs come to `shmem_init`, if that is due; the line for one that does not.
    pub(super) fn uninitialized(&mut self, now: Instant) -> Option<String> {
        self.initialization.as_ref()?;
        let mut missing = self.living();
        missing.retain(|(pe, _)| self.state(*pe) == PeState::Started);
        let Some((pe, pid)) = missing.first().copied() else {
            self.initialization = None;
            return None;
        };
        let pids: Vec<i32> = missing.iter().map(|(_, pid)| pid.as_raw()).collect();
        if !self.initialization.as_mut()?.expired(now, &pids) {
            return None;
        }
        let (limit, name) = (self.job.options.times.spawn_timeout, &self.job.program(pe).name);
        Some(format!(
            "PE {pe} (\"{name}\", process {pid}) did not call shmem_init, and used no core for {} s (--spawn-timeout); \
                ended the jobs",
            limit.as_secs_f64()
        ))
    }

    /// Lets go of the job's memory, once no PE lives.
    pub(super) fn end(self) {
        // SAFETY: nothing else refers to it: the object is dropped.
        unsafe { self.control.unmap() };
    }

    /// A line of the supervisor on this job.
    pub(super) fn print_line(&self, output: &mut Output, line: &str) {
        output.print_line(&self.named(line));
    }

    /// The same of why this job ends.
    pub(super) fn error(&self, output: &mut Output, line: &str) {
        output.error(&self.named(line));
    }

    fn named(&self, line: &str) -> String {
        match self.number {
            0 => line.to_owned(),
            number => format!("job {number}: {line}"),
        }
    }

    /// The living PEs and their processes, by PE.
    pub(super) fn living(&self) -> Vec<(usize, Pid)> {
        let mut living: Vec<_> = self.alive.iter().map(|(pid, pe)| (*pe, *pid)).collect();
        living.sort_unstable();
        living
    }

    /// The living PEs.
    fn living_pes(&self) -> Vec<usize> {
        self.living().into_iter().map(|(pe, _)| pe).collect()
    }

    /// How far PE `pe` is.
    pub(super) fn state(&self, pe: usize) -> PeState {
        PeState::from_word(self.control.pe_block(pe).state.load(Acquire))
    }

    /// What its PEs do.
    pub(super) fn report(&self) -> Report {
        Report::new(&NodePes::all(&self.control), &self.living())
    }

    /// A number that differs once a PE has made progress.
    pub(super) fn progress(&self) -> u64 {
        let pes = (0..self.control.n_pes()).map(|pe| self.control.progress(pe));
        pes.fold(self.alive.len() as u64, |sum, word| sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(word))
    }

    /// How long the PEs have waited that do; None if one waits for PEs of another job, which may be no matter of this
    /// one.
    pub(super) fn waits(&self) -> Option<Vec<Duration>> {
        let waits = self.alive.values().filter_map(|pe| Wait::read(&self.control, *pe));
        let waits = waits.map(|wait| match wait.reason {
            WaitReason::Connection { .. } => None,
            _ => Some(Duration::from_secs_f64(wait.seconds())),
        });
        waits.collect()
    }

    /// Whether some PE has waited for long, in one wait.
    pub(super) fn is_hanging(&self) -> bool {
        waits::is_hanging(&self.control, self.alive.values().copied())
    }

    /// Sends a signal to all living PEs.
    pub(super) fn signal_all(&self, signal: Signal) {
        for pid in self.alive.keys() {
            let _ = kill(*pid, signal);
        }
    }

    /// When to look for deadlocks next.
    pub(super) fn next_check(&self, now: Instant) -> Instant {
        if let Some(at) = self.shutdown.as_ref().and_then(Shutdown::next_deadline) {
            return at;
        }
        let cycles = self.deadlocks.next_check_of_cycles(now);
        let initialization = self.initialization.as_ref().map(Initialization::next_check);
        let cycles = cycles.min(initialization.unwrap_or(cycles));
        if self.unfinalized.is_empty() {
            return cycles;
        }
        cycles.min(self.deadlocks.next_check().unwrap_or(now))
    }

    /// Forgets all waits: the PEs could not run for a while.
    pub(super) fn reset_deadlocks(&mut self) {
        self.deadlocks.reset();
    }

    /// Looks for a deadlock, if that is due; the line for it.
    pub(super) fn deadlock(&mut self, now: Instant, connections: &[Connected]) -> Option<String> {
        let exited_is_due = self.deadlocks.next_check().is_none_or(|at| now >= at);
        if !self.unfinalized.is_empty() && exited_is_due {
            let living = self.living_pes();
            let (control, exited) = (&self.control, &self.unfinalized);
            let found = self.deadlocks.check(now, control, exited, &living)?;
            return Some(self.line_of(&found));
        }
        if now < self.deadlocks.next_check_of_cycles(now) {
            return None;
        }
        let living = self.living_pes();
        let control = &self.control;
        let one_caller = |pe| has_one_caller(control.pe_block(pe));
        let cycle: Option<Cycle> = self.deadlocks.check_cycles(now, control, &living, one_caller);
        let line = cycle.map(|cycle| cycle.line(|pe| self.called_at(pe)));
        line.or_else(|| self.wait_for_finalized(now, &living, connections))
    }

    /// The line for one of the `living` PEs that waits for one that has left a group, or has called `shmem_finalize`.
    fn wait_for_finalized(&self, now: Instant, living: &[usize], connections: &[Connected]) -> Option<String> {
        let (control, waits) = (&self.control, self.deadlocks.lasting(now, living));
        let left = waits.iter().find_map(|(pe, wait)| {
            let WaitReason::Connection { number, sequence, .. } = wait.reason else {
                return None;
            };
            let connection = connections.iter().find(|c| c.number == number)?;
            let left = connection.left(self.number, *pe, sequence)?;
            let at = self.called_at(*pe);
            Some(format!("PE {pe} waits in {} for {left}{at}", wait.routine))
        });
        if left.is_some() {
            return left;
        }
        let (finalizing, others): (Vec<_>, Vec<_>) = waits.iter().partition(|(_, wait)| wait.finalizes());
        let at_end = |wait: &Wait| wait.finalizes() && matches!(wait.reason, WaitReason::Connection { .. });
        // All PEs of the job were in shmem_finalize with these, or in another collective that they took for it.
        let has_ended = |pe: &usize| match waits.binary_search_by_key(pe, |(pe, _)| *pe) {
            Ok(i) => at_end(waits[i].1),
            Err(_) => self.state(*pe) == PeState::Finalized && living.binary_search(pe).is_err(),
        };
        let ended: Vec<usize> = (0..control.n_pes()).filter(has_ended).collect();
        let missing = waits.iter().find_map(|(pe, wait)| {
            let missed = |gone: &&usize| missed(control, wait, **gone);
            let gone = match wait.reason {
                WaitReason::Object(..) | WaitReason::Remote(_) => None,
                _ if wait.finalizes() => ended.iter().find(missed),
                _ => ended.first(),
            };
            Some((*pe, *wait, *gone?))
        });
        let unconnected = || {
            others.iter().find_map(|(pe, wait)| {
                let is_first = matches!(wait.reason, WaitReason::Connection { number: 0, .. });
                let mut needed = finalizing.iter().filter(|(other, _)| wait.needs(*other));
                let (gone, _) = needed.next().filter(|_| is_first)?;
                Some((*pe, *wait, *gone))
            })
        };
        let (pe, wait, gone) = missing.or_else(unconnected)?;
        let which = if wait.finalizes() {
            format!(
                "PE {gone} has finished {0} while PE {pe} waits in {0}: before, one has called a collective that the \
                    other has not",
                wait.routine
            )
        } else {
            format!("PE {gone} has called shmem_finalize while PE {pe} waits in {}{}", wait.routine, self.called_at(pe))
        };
        Some(format!("{which}; ended the job (all members of a team must call its collectives, in the same order)"))
    }

    /// Where in its program a PE that waits has called the library: `, called at solve.c:12 (main)`, or nothing.
    fn called_at(&self, pe: usize) -> String {
        let living = self.living();
        let found = living.binary_search_by_key(&pe, |(pe, _)| *pe);
        let place = found.ok().and_then(|at| {
            let process = Inspector::default().process(living[at].1);
            process.look(true).place
        });
        place.map_or_else(String::new, |place| format!(", called at {place}"))
    }

    /// A living PE that has long waited for its connection `number`, and the routine.
    pub(super) fn waits_for_connection(&self, number: u32) -> Option<(usize, String)> {
        let is_for = |wait: &Wait| matches!(wait.reason, WaitReason::Connection { number: n, .. } if n == number);
        let mut living = self.living_pes().into_iter();
        living.find_map(|pe| {
            let wait = Wait::read(&self.control, pe)?;
            let is_long = wait.seconds() >= 1.0;
            (is_for(&wait) && is_long).then_some((pe, wait.routine))
        })
    }

    /// Has the job's PEs report no error from now on; false if one has.
    pub(super) fn claim_report(&self) -> bool {
        let reporter = &self.control.header().reporter;
        reporter.compare_exchange(0, u32::MAX, AcqRel, Acquire).is_ok()
    }

    /// The routine that PE `pe`, which has exited without finalising, has not called.
    pub(super) fn missing(&self, pe: usize) -> &'static str {
        missing(self.state(pe))
    }

    /// Whether it goes on without a PE that has failed: the program has asked for that, others are there that can go
    /// on or have done their part, and no PE of another job waits for this one.
    pub(super) fn goes_on(&self, connections: &[Connected]) -> bool {
        let has_others = || {
            let is_done = |pe| self.state(pe) == PeState::Finalized;
            !self.alive.is_empty() || (0..self.control.n_pes()).any(is_done)
        };
        let is_bound = || connections.iter().any(|c| c.bound_to(self.number).is_some());
        self.control.failures().can_go_on() && has_others() && !is_bound()
    }

    /// PE `pe` has failed, and the job goes on. The others find it in the job's memory.
    pub(super) fn note_failure(&mut self, pe: usize) {
        self.meeting.forget(pe);
        self.control.note_failure(pe, pe);
        self.control.failures().record(pe);
    }

    fn line_of(&self, deadlock: &Deadlock) -> String {
        let Deadlock { exited, waiting, routine } = deadlock;
        let missing = self.missing(*exited);
        format!(
            "PE {exited} exited with status 0 without {missing} while PE {waiting} waits in {routine}{}; ended the job",
            self.called_at(*waiting)
        )
    }
}

/// Why the system gives no descriptor, and what to do about it where that is known.
fn reason(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "the limit on open files is reached (ulimit -n)".to_owned(),
        _ => error.to_string(),
    }
}

/// The line for a PE that could not be started.
fn cannot_start(pe: usize, n_pes: usize, program: &str, error: SpawnError) -> Failure {
    match error {
        // The file exists: `Executable::find` has checked it.
        SpawnError::Exec(Errno::ENOENT) => {
            Failure::not_runnable(format!("cannot run \"{program}\": the interpreter that it names does not exist"))
        }
        SpawnError::Exec(e) => cannot_run(program, e),
        SpawnError::NoProcess(e) => Failure::system(format!(
            "cannot start PE {pe} of {n_pes}: {}",
            if e == Errno::EAGAIN { "the limit on processes is reached (ulimit -u)" } else { e.desc() }
        )),
        SpawnError::Setup(e) => Failure::system(format!("cannot prepare the process of PE {pe}: {}", e.desc())),
    }
}

/// Whether one thread of a PE at a time calls the library: by the thread level that the program asked
/// for, or because there is one thread.
fn has_one_caller(block: &PeBlock) -> bool {
    if !block.is_threaded() {
        return true;
    }
    let pid = block.pid.load(Acquire);
    std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() == 1)
}
