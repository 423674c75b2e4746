//! The other threads of this process, stopped for a moment.
//!
//! Each gets a signal whose handler waits. Between [`Stopped::all`] and the end of the value, nothing may
//! be allocated, printed by buffered streams or looked up by the dynamic linker: a stopped thread may hold
//! the lock.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, io, ptr, thread};

use crate::futex;

use super::tasks::{self, Tasks, ThreadName};

/// How long no thread may stop before an attempt ends, and how long new ones begin. A thread that starts
/// another, begins or ends blocks all signals, and may then sleep for a lock that a stopped thread holds.
const ATTEMPT: Duration = Duration::from_millis(50);
const ATTEMPTS: Duration = Duration::from_secs(5);

/// The same while a thread that has not stopped is ready to run: the machine is busy.
const READY: Duration = Duration::from_secs(120);

/// Why the other threads could not be stopped.
#[derive(Debug)]
pub enum StopError {
    /// A thread blocks every signal that could stop it.
    Blocks(ThreadName),
    /// A thread did not take the signal.
    Busy(ThreadName),
    /// The program has handlers for every realtime signal.
    NoSignal,
    /// There are more threads than can be counted.
    TooMany,
    /// The kernel does not list the threads.
    Unlisted(io::Error),
}

impl StopError {
    /// Whether another attempt may succeed.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Blocks(_) | Self::Busy(_))
    }
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program's other threads must pause while its global variables become symmetric, but ")?;
        match self {
            Self::Blocks(thread) => write!(f, "{thread} blocks all realtime signals"),
            Self::Busy(thread) => write!(f, "{thread} does not react to a signal"),
            Self::NoSignal => write!(f, "every realtime signal has a handler"),
            Self::TooMany => write!(f, "there are more than {}", Handshake::SLOTS),
            Self::Unlisted(e) => write!(f, "/proc/self/task cannot be read ({e})"),
        }?;
        write!(f, ": initialise the library before threads are started")
    }
}

impl std::error::Error for StopError {}

/// What the stopping thread and the handlers share. It has a mapping of its own, which stays: a handler
/// may still read it after the threads go on.
#[repr(C)]
struct Handshake {
    /// Slots in use.
    threads: AtomicU32,
    /// Handlers that have begun to wait.
    stopped: AtomicU32,
    /// 1 once the threads may go on.
    released: AtomicU32,
    slots: [Slot; Handshake::SLOTS],
}

/// A thread that was sent the signal.
#[repr(C)]
struct Slot {
    tid: AtomicI32,
    stopped: AtomicU32,
}

impl Handshake {
    const SLOTS: usize = 1 << 16;

    /// A new one, of zeros.
    fn map() -> io::Result<&'static Handshake> {
        // SAFETY: a new mapping; zeros are a valid handshake.
        unsafe {
            let at = libc::mmap(
                ptr::null_mut(),
                size_of::<Handshake>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            if at == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(&*at.cast())
        }
    }

    fn slots(&self) -> &[Slot] {
        &self.slots[..self.threads.load(Ordering::Acquire) as usize]
    }
}

/// The handshake of the stop under way.
static HANDSHAKE: AtomicPtr<Handshake> = AtomicPtr::new(ptr::null_mut());

/// The other threads of this process, which wait until this is dropped.
#[derive(Debug)]
pub struct Stopped {
    /// None: there are no other threads.
    _stop: Option<Stop>,
}

struct Stop {
    handshake: &'static Handshake,
    signal: c_int,
    /// The action before, if it is to be restored. A signal that is still under way would end the process
    /// without the handler.
    before: Option<libc::sigaction>,
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop")
            .field("signal", &self.signal)
            .field("threads", &self.handshake.threads)
            .finish_non_exhaustive()
    }
}

impl Stopped {
    /// Stops all other threads, those included that are started meanwhile. Blocking system calls that
    /// do not restart after a signal end with `EINTR`. One thread calls this at a time.
    pub fn all() -> Result<Stopped, StopError> {
        if is_only_thread() {
            return Ok(Stopped { _stop: None });
        }
        let tasks = Tasks::open().map_err(StopError::Unlisted)?;
        // Some sandboxes refuse the call that would have said so.
        if tasks.is_one().map_err(StopError::Unlisted)? {
            return Ok(Stopped { _stop: None });
        }
        let begin = Instant::now();
        let signal = choose_signal(&tasks)?;
        let mut before = Some(handle(signal));
        loop {
            // A thread may still have to take the signal of an attempt that failed: after one, the
            // handler stays.
            match Stop::attempt(&tasks, signal, before.take()) {
                Ok(stop) => return Ok(Stopped { _stop: Some(stop) }),
                Err(e) if e.may_pass() && begin.elapsed() < ATTEMPTS => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(e) => return Err(e),
            }
        }
    }
}

impl Stop {
    /// Sends the signal to all threads and waits until each has taken it. When this ends with an error,
    /// those that did go on.
    fn attempt(tasks: &Tasks, signal: c_int, before: Option<libc::sigaction>) -> Result<Stop, StopError> {
        let handshake = Handshake::map().map_err(StopError::Unlisted)?;
        HANDSHAKE.store(ptr::from_ref(handshake).cast_mut(), Ordering::Release);
        let mut stop = Stop { handshake, signal, before: None };
        while send_to_new(tasks, handshake, signal)? {
            wait_for_all(handshake, signal)?;
        }
        stop.before = before;
        Ok(stop)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: restores what `handle` replaced; no thread has still to take the signal.
            unsafe { libc::sigaction(self.signal, before, ptr::null_mut()) };
        }
        self.handshake.released.store(1, Ordering::Release);
        futex::wake_private(&self.handshake.released);
    }
}

/// Sends the signal to each thread that did not get it yet; whether there was one.
fn send_to_new(tasks: &Tasks, handshake: &Handshake, signal: c_int) -> Result<bool, StopError> {
    let process = std::process::id();
    let me = tasks::this_thread();
    let mut result = Ok(false);
    tasks
        .each(|tid| {
            let known = tid == me || handshake.slots().iter().any(|s| s.tid.load(Ordering::Relaxed) == tid);
            if known || result.is_err() || tasks::has_ended(tid) {
                return;
            }
            let at = handshake.slots().len();
            let Some(slot) = handshake.slots.get(at) else {
                result = Err(StopError::TooMany);
                return;
            };
            slot.tid.store(tid, Ordering::Relaxed);
            handshake.threads.store(at as u32 + 1, Ordering::Release);
            // One that has ended meanwhile is found so by `wait_for_all`.
            send(process, tid, signal);
            result = Ok(true);
        })
        .map_err(StopError::Unlisted)?;
    result
}

/// Waits until each thread that was sent the signal waits in its handler, or has ended.
fn wait_for_all(handshake: &Handshake, signal: c_int) -> Result<(), StopError> {
    let mut last = (0, Instant::now());
    loop {
        let stopped = handshake.stopped.load(Ordering::Acquire);
        let runs = |slot: &&Slot| {
            slot.stopped.load(Ordering::Acquire) == 0 && !tasks::has_ended(slot.tid.load(Ordering::Relaxed))
        };
        let Some(slot) = handshake.slots().iter().find(runs) else {
            return Ok(());
        };
        if stopped != last.0 {
            last = (stopped, Instant::now());
        }
        let tid = slot.tid.load(Ordering::Relaxed);
        let limit = if tasks::state(tid) == Some(b'R') { READY } else { ATTEMPT };
        if last.1.elapsed() > limit {
            let thread = ThreadName::of(tid);
            return Err(if blocks(tid, signal) { StopError::Blocks(thread) } else { StopError::Busy(thread) });
        }
        futex::wait_private(&handshake.stopped, stopped, Some(Duration::from_millis(5)));
    }
}

/// The handler: waits until the threads may go on. Its stack and `errno` are all that it writes.
extern "C" fn wait_here(_: c_int) {
    // SAFETY: the handshake was stored before the signal was sent, and is never unmapped.
    let Some(handshake) = (unsafe { HANDSHAKE.load(Ordering::Acquire).as_ref() }) else {
        return;
    };
    // SAFETY: the address of this thread's errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    let me = tasks::this_thread();
    if let Some(slot) = handshake.slots().iter().find(|s| s.tid.load(Ordering::Relaxed) == me) {
        slot.stopped.store(1, Ordering::Release);
        handshake.stopped.fetch_add(1, Ordering::AcqRel);
        futex::wake_private(&handshake.stopped);
        while handshake.released.load(Ordering::Acquire) == 0 {
            futex::wait_private(&handshake.released, 0, None);
        }
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// A realtime signal that has no handler, and that no thread blocks if there is one.
fn choose_signal(tasks: &Tasks) -> Result<c_int, StopError> {
    // The last one is Valgrind's. An emulator of programs has no signals for some of the last, which nobody then gets.
    let last = libc::SIGRTMAX() - if tasks.is_emulated() { 4 } else { 0 };
    let free: u64 =
        (libc::SIGRTMIN()..last).filter(|signal| has_default_action(*signal)).fold(0, |set, signal| set | bit(signal));
    if free == 0 {
        return Err(StopError::NoSignal);
    }
    let begin = Instant::now();
    loop {
        let highest = |signals: u64| 64 - signals.leading_zeros() as c_int;
        match unblocked(tasks, free).map_err(StopError::Unlisted)? {
            Some(signals) => return Ok(highest(signals)),
            // A thread blocks all signals for a moment while it starts a thread, begins or ends.
            None if begin.elapsed() < ATTEMPT => thread::sleep(Duration::from_millis(1)),
            // Under Valgrind, which delivers signals itself, all threads seem to block them.
            None => return Ok(highest(free)),
        }
    }
}

/// Those of `signals` that no other thread blocks; None if there are none.
fn unblocked(tasks: &Tasks, mut signals: u64) -> io::Result<Option<u64>> {
    let me = tasks::this_thread();
    tasks.each(|tid| {
        if tid != me && !tasks::has_ended(tid) {
            signals &= !tasks::blocked(tid).unwrap_or(0);
        }
    })?;
    Ok((signals != 0).then_some(signals))
}

/// A signal's place in a mask of the kernel.
fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

fn has_default_action(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: asks for the action of a signal; it is read only if the call succeeded.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_DFL
    }
}

/// Installs the handler; what it replaces.
fn handle(signal: c_int) -> libc::sigaction {
    // SAFETY: zeros are a valid action; the handler makes only calls that are safe in handlers.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = wait_here as *const () as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        // Other handlers of the thread could write what is being moved.
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, &raw mut before);
        before
    }
}

fn send(process: u32, tid: i32, signal: c_int) {
    // SAFETY: sends a signal to a thread of this process.
    unsafe { libc::syscall(libc::SYS_tgkill, process as c_int, tid, signal) };
}

/// Whether this process has one thread: `unshare` of what threads share succeeds then, and does nothing.
fn is_only_thread() -> bool {
    // SAFETY: with one thread it changes nothing, with several it fails.
    unsafe { libc::unshare(libc::CLONE_VM | libc::CLONE_SIGHAND) == 0 }
}

fn blocks(tid: i32, signal: c_int) -> bool {
    tasks::blocked(tid).is_some_and(|set| set & bit(signal) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::sync::{Barrier, Mutex, mpsc};

    /// Only one stop at a time.
    static ONE: Mutex<()> = Mutex::new(());

    #[test]
    fn threads_stand_still_and_go_on() {
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        let counts: Arc<[AtomicU64; 4]> = Arc::default();
        let end = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (counts, end) = (Arc::clone(&counts), Arc::clone(&end));
                thread::spawn(move || {
                    while !end.load(Ordering::Relaxed) {
                        counts[i].fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let read = || counts.each_ref().map(|c| c.load(Ordering::Relaxed));
        while read().contains(&0) {
            thread::yield_now();
        }
        for _ in 0..20 {
            let stopped = Stopped::all().unwrap();
            let first = read();
            let since = Instant::now();
            while since.elapsed() < Duration::from_millis(2) {
                std::hint::spin_loop();
            }
            let second = read();
            drop(stopped);
            assert_eq!(first, second);
            while read().iter().zip(second).any(|(now, then)| *now == then) {
                thread::yield_now();
            }
        }
        end.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn threads_that_come_and_go_are_stopped() {
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        let alive = Arc::new(AtomicU64::new(0));
        let end = Arc::new(AtomicBool::new(false));
        let starter = {
            let (alive, end) = (Arc::clone(&alive), Arc::clone(&end));
            thread::spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    let alive = Arc::clone(&alive);
                    let one = move || {
                        alive.fetch_add(1, Ordering::Relaxed);
                    };
                    thread::spawn(one).join().unwrap();
                }
            })
        };
        for _ in 0..50 {
            let stopped = Stopped::all().unwrap();
            let before = alive.load(Ordering::Relaxed);
            for _ in 0..10_000 {
                std::hint::spin_loop();
            }
            let after = alive.load(Ordering::Relaxed);
            drop(stopped);
            assert_eq!(before, after);
        }
        end.store(true, Ordering::Relaxed);
        starter.join().unwrap();
    }

    #[test]
    fn a_thread_that_blocks_signals_is_named() {
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        let (ready, is_ready) = mpsc::channel();
        let barrier = Arc::new(Barrier::new(2));
        let there = Arc::clone(&barrier);
        let deaf = thread::Builder::new().name("deaf".to_owned()).spawn(move || {
            // SAFETY: blocks all signals in this thread.
            unsafe {
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, ptr::null_mut());
            }
            ready.send(()).unwrap();
            there.wait();
        });
        is_ready.recv().unwrap();
        let error = Stopped::all().unwrap_err().to_string();
        barrier.wait();
        deaf.unwrap().join().unwrap();
        assert!(error.contains("(\"deaf\") blocks all realtime signals"), "{error}");
    }
}
