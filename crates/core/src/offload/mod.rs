//! Large copies on a node, which threads of the PE make together, or beside what it computes (copy offload).
//!
//! ```text
//! chunks     how threads take chunks of a transfer, and when it is complete
//! events     where idle threads sleep until there are chunks
//! collectives    which non-blocking collectives workers execute
//! transfer   what the chunks are
//! pending    copies that go on after their calls
//! watch      whether sources of puts are changed or freed too early, under `SHMEM_CHECK`
//! starvation whether threads of the library get a core
//! helpers    the threads: workers of the library, and threads of the program that lend themselves
//! idle_workers   those that run on idle cores alone
//! openmp     threads of OpenMP, which help when they wait
//! tool       whether the run-time of OpenMP calls them
//! overview   what of all this a PE would use, and from which sizes on
//! pools      pools of the program's threads, which are asked for when there are chunks
//! ```
//!
//! A *transfer* is cut into *chunks* of some ten microseconds. The thread that needs it offers them, posts an event,
//! and takes chunks itself; *helpers*, threads that have nothing else to do, take others. So it waits for one chunk of
//! each helper at most, and if no helper comes, it has done everything itself, as without them. A non-blocking copy is
//! only offered: helpers make it while the PE computes, and what completes it (quiet, fence, a barrier) takes the
//! chunks that are left.
//!
//! Why no chunk is lost or done twice is said in `chunks`, why no helper sleeps beside chunks in `events`;
//! `tests/model.rs` lets loom try every interleaving of both.
//!
//! Transfers of calls that wait come before queued ones. There is room for [`CALLS`] calls and for 16 copies; what
//! finds no room is done by its call.

pub mod chunks;
mod collectives;
pub mod events;
mod helpers;
mod idle_workers;
pub mod openmp;
mod overview;
pub mod pending;
mod pools;
mod starvation;
mod tool;
mod transfer;
mod watch;

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use self::collectives::end as end_collective;
use self::helpers::Helpers;
pub use self::helpers::{Report, lend, lend_until};
pub use self::overview::overview;
pub use self::pending::Owner;
use self::pending::Pending;
pub use self::pools::{LentPool, PoolTask};
use self::starvation::Starvation;
pub(crate) use self::transfer::CHUNK;
pub use self::transfer::Signal;
use self::transfer::{Chunking, QueuedCopy, Slot};
use ferroshmem_platform::NodeCores;
use ferroshmem_simd as simd;

/// Calls whose work is shared at the same time.
const CALLS: usize = 8;

/// From how many bytes on a copy is anything but a plain one: it is shared, or goes past the caches.
static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The same of a non-blocking copy, which may also be queued.
static LARGE_NBI: AtomicUsize = AtomicUsize::new(usize::MAX);
/// From how many bytes on work is shared.
static SHARED_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);
/// From how many bytes on a non-blocking copy is queued.
static QUEUED_FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

static ENGINE: Engine = Engine::new();

/// What the environment and the node say.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// `SHMEM_WORKERS`; None, which is `auto`: such that run on idle cores alone.
    pub workers: Option<u32>,
    /// `SHMEM_SHARE_THRESHOLD` in bytes.
    pub share: Option<u64>,
    /// `SHMEM_OFFLOAD_THRESHOLD` in bytes.
    pub offload: Option<u64>,
    /// `SHMEM_OPENMP`; None: as well as workers on idle cores.
    pub openmp: Option<bool>,
    /// What the node's PEs may use together.
    pub cores: NodeCores,
    /// Number of PEs of the node.
    pub pes: usize,
    /// `SHMEM_CHECK`.
    pub check: bool,
    /// Whether fences and quiets of the program call the library while it asks for it.
    pub may_queue: bool,
}

impl Config {
    /// Whether there may be workers.
    fn may_have_workers(&self) -> bool {
        self.openmp == Some(true) || helpers::workers_of(self).0 > 0
    }

    /// Bytes from which work is shared: what one core copies while a helper that sleeps wakes up, several times.
    fn shared_from(&self) -> usize {
        const USUAL: usize = 2 << 20;

        self.share.map_or(USUAL, as_usize)
    }

    /// Bytes from which a copy is queued.
    fn queued_from(&self) -> usize {
        /// Several times what it takes to wake a helper.
        const USUAL: usize = 1 << 20;

        match self.may_queue {
            true => self.offload.map_or(USUAL, as_usize),
            false => usize::MAX,
        }
    }
}

fn as_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).max(1)
}

/// Sets when work is shared and queued. After the kernel's threshold for copies past the caches.
pub fn configure(config: Config) {
    watch::set(config.check);
    ENGINE.helpers.configure(config);
    collectives::configure(config.may_have_workers(), config.offload.map(as_usize));
    let may_help = ENGINE.helpers.lent() > 0 || ENGINE.helpers.pools.any();
    set_thresholds_for(&config, config.may_have_workers() || may_help);
}

/// Sets the thresholds of a configuration, where threads may help or none does.
fn set_thresholds_for(config: &Config, may_help: bool) {
    let from = |is_used, bytes| if is_used { bytes } else { usize::MAX };
    let shared = from(may_help, config.shared_from());
    let queued = from(may_help, config.queued_from());
    set_thresholds(shared, queued);
}

fn set_thresholds(shared: usize, queued: usize) {
    SHARED_FROM.store(shared, Ordering::Relaxed);
    QUEUED_FROM.store(queued, Ordering::Relaxed);
    let large = shared.min(simd::large_from());
    LARGE.store(large, Ordering::Relaxed);
    LARGE_NBI.store(large.min(queued), Ordering::Relaxed);
}

/// Makes non-blocking copies blocking from now on, as code whose quiets cannot call the library needs it.
pub fn queue_nothing() {
    ENGINE.helpers.queue_nothing();
    set_thresholds(SHARED_FROM.load(Ordering::Relaxed), usize::MAX);
    complete(&Owner::UNKNOWN);
}

/// Copies `bytes` bytes between arrays that may be the same or overlap. A PE that sees what this PE stores
/// later sees the bytes.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
pub unsafe fn copy(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes.
    unsafe { copy_part(dest, source, bytes, bytes) }
}

/// Copies as [`copy`] does, as a part of the `whole` bytes that a PE copies in a call.
///
/// # Safety
/// As [`copy`].
#[inline]
pub unsafe fn copy_part(dest: *mut u8, source: *const u8, bytes: usize, whole: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes; the copy
    // of the standard library allows overlap.
    unsafe {
        if whole >= LARGE.load(Ordering::Relaxed) {
            copy_large(dest, source, bytes, whole);
        } else {
            std::ptr::copy(source, dest, bytes);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn copy_large(dest: *mut u8, source: *const u8, bytes: usize, whole: usize) {
    let is_apart = dest.addr().abs_diff(source.addr()) >= bytes;
    let helpers = if is_apart { helpers_for(bytes) } else { 0 };
    if helpers == 0 {
        // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes.
        return unsafe { simd::copy_part(dest, source, bytes, whole) };
    }
    let chunking = Chunking::new(dest.addr(), bytes, 1 + helpers);
    let (to, from) = (dest.expose_provenance(), source.expose_provenance());
    ENGINE.share(chunking.count(), &|number| {
        let part = chunking.range(number);
        let to = std::ptr::with_exposed_provenance_mut::<u8>(to + part.start);
        let from = std::ptr::with_exposed_provenance::<u8>(from + part.start);
        // SAFETY: a part of the caller's arrays, which do not overlap.
        unsafe { simd::copy_chunk(to, from, part.len(), whole) };
    });
    simd::count_chunked(dest, source, bytes, whole);
}

/// Copies as [`copy`] does, but the copy may go on after the call.
///
/// # Safety
/// As [`copy`]; until the copy is complete, `source` is not changed, and no thread relies on what `dest` holds.
#[inline]
pub unsafe fn copy_nbi(owner: Owner, dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes; the copy of the
    // standard library allows overlap.
    unsafe {
        if bytes >= LARGE_NBI.load(Ordering::Relaxed) {
            if !queue(owner, dest, source, bytes, None) {
                copy(dest, source, bytes);
            }
        } else {
            std::ptr::copy(source, dest, bytes);
        }
    }
}

/// Whether a non-blocking copy of so many bytes may be queued.
#[inline]
pub fn may_queue(bytes: usize) -> bool {
    bytes >= QUEUED_FROM.load(Ordering::Relaxed)
}

/// Begins a copy that goes on after the call, and is followed by a signal. False: the caller has to do both.
///
/// # Safety
/// As [`copy_nbi`]; the signal's word is aligned and mapped until then.
#[cold]
#[inline(never)]
pub unsafe fn queue(owner: Owner, dest: *mut u8, source: *const u8, bytes: usize, signal: Option<Signal>) -> bool {
    if !may_queue(bytes) || dest.addr().abs_diff(source.addr()) < bytes {
        return false;
    }
    ENGINE.pending.prepare();
    let helpers = ENGINE.helpers();
    if helpers == 0 {
        return false;
    }
    let copy = QueuedCopy::new(dest, source, bytes, helpers);
    let Ok(chunks) = u32::try_from(copy.count()) else {
        return false;
    };
    // SAFETY: the caller promises the arrays until the copy is complete, and the signal.
    let Some(sleepers) = (unsafe { ENGINE.pending.begin(owner, copy, chunks, signal) }) else {
        return false;
    };
    ENGINE.wake(chunks, sleepers);
    // Its pages have been copied before if they are moved now.
    simd::count_chunked(dest, source, bytes, bytes);
    true
}

/// Whether workers are to execute a non-blocking collective that moves `bytes` bytes: it counts as one until
/// [`end_collective`].
pub fn begin_collective(bytes: usize) -> bool {
    let may_come = collectives::is_large(bytes) && ENGINE.helpers() > 0 && ENGINE.helpers.workers() > 0;
    if may_come {
        collectives::begin();
    }
    may_come
}

/// Asks for a worker, after there is something of a collective to execute.
pub fn ask_for_worker() {
    // Threads of the program that sleep there, too, do not execute it.
    let wanted = if ENGINE.helpers.lent() == 0 { 1 } else { u32::MAX };
    events::post(ENGINE.events(), wanted);
}

/// Waits until a worker has done something for a collective. It shares the worker's large copies, and lets it have the
/// core if it has lost its own.
pub fn wait_for_worker(is_done: impl FnMut() -> bool) {
    ENGINE.help_until(is_done);
}

/// How many helpers would share `bytes` bytes of work; 0: it is not to be shared.
#[inline]
pub fn helpers_for(bytes: usize) -> usize {
    if bytes < SHARED_FROM.load(Ordering::Relaxed) {
        return 0;
    }
    ENGINE.helpers()
}

/// Does `units` units of work, of which each touches `bytes` bytes, by calls of `work` on ranges of them: at the same
/// time on several threads, if the work is large and threads are idle.
pub fn share_units(units: usize, bytes: usize, work: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
    let helpers = helpers_for(units.saturating_mul(bytes));
    if helpers == 0 {
        return work(0..units);
    }
    let fair = units.div_ceil(2 * (1 + helpers));
    let chunk = fair.min((CHUNK / bytes.max(1)).max(1));
    ENGINE.share(units.div_ceil(chunk), &|number| {
        let start = number * chunk;
        work(start..(start + chunk).min(units));
    });
}

/// Whether copies may be under way that this thread, or one that it has synchronised with, has begun.
#[inline]
pub fn has_pending() -> bool {
    ENGINE.pending.any()
}

/// Completes the copies of an owner.
#[inline]
pub fn complete(owner: &Owner) {
    if has_pending() {
        ENGINE.complete(owner);
    }
}

/// Whether the copies of an owner are complete.
pub fn is_complete(owner: &Owner) -> bool {
    !has_pending() || !ENGINE.pending.has(owner, None)
}

/// Copies so far.
pub fn begun() -> u32 {
    ENGINE.pending.begun()
}

/// Whether those of an owner are complete that are among the first so many copies.
pub fn is_complete_among(owner: &Owner, first: u32) -> bool {
    !has_pending() || !ENGINE.pending.has(owner, Some(first))
}

/// Completes them.
pub fn complete_among(owner: &Owner, first: u32) {
    ENGINE.help_until(|| is_complete_among(owner, first));
}

/// Lends a pool of `threads` threads. `submit` is called by any thread that shares work, and has a thread of the pool
/// run the job once; it may not wait for that.
///
/// # Safety
/// The result is dropped before what `submit` borrows ends.
pub unsafe fn lend_pool<'p>(threads: usize, submit: Box<dyn Fn(PoolTask) + Send + Sync + 'p>) -> LentPool {
    // SAFETY: the caller promises to drop the result before what `submit` borrows ends.
    let lent = unsafe { ENGINE.helpers.pools.add(threads, submit) };
    ENGINE.helpers.ask_from_now_on();
    lent
}

/// What is used, and why.
pub fn report() -> Report {
    ENGINE.helpers.report()
}

/// The transfers of this process and the threads that help.
#[derive(Debug)]
struct Engine {
    calls: [Slot; CALLS],
    pending: Pending,
    helpers: Helpers,
    starvation: Starvation,
}

impl Engine {
    const fn new() -> Self {
        Self {
            calls: [const { Slot::empty() }; CALLS],
            pending: Pending::none(),
            helpers: Helpers::none(),
            starvation: Starvation::new(),
        }
    }

    /// Where idle helpers wait for chunks.
    #[inline]
    fn events(&self) -> &AtomicU32 {
        self.pending.events()
    }

    /// How many threads would help now.
    fn helpers(&'static self) -> usize {
        openmp::transfer_begins();
        if self.starvation.is_starved() {
            return 0;
        }
        let present = self.helpers.present();
        let may_ask = present > 0 && (!self.helpers.run_on_idle_cores() || self.starvation.may_ask());
        if may_ask { present } else { 0 }
    }

    /// Asks for as many helpers as there are chunks, which were offered before.
    #[inline]
    fn post(&'static self, chunks: u32) {
        let sleepers = events::count(self.events());
        self.wake(chunks, sleepers);
    }

    /// Wakes as many helpers as there are chunks; so many `sleepers` were there when these were posted.
    #[inline]
    fn wake(&'static self, chunks: u32, sleepers: u32) {
        events::wake(self.events(), chunks, sleepers);
        if self.helpers.pools.any() {
            self.helpers.pools.submit(chunks, || ENGINE.help());
        }
    }

    /// Takes a chunk of any transfer and does it; whether there was one.
    fn help(&self) -> bool {
        let queued = || self.pending.slots.iter();
        self.calls.iter().chain(queued()).any(Slot::help)
    }

    /// Whether there is a chunk to take.
    fn has_chunks(&self) -> bool {
        let queued = || self.pending.slots.iter();
        self.calls.iter().chain(queued()).any(Slot::remains)
    }

    /// Does `count` chunks by calls of `work`, at the same time on several threads.
    fn share(&'static self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        let room = match u32::try_from(count) {
            Ok(steps) if steps > 1 => self.calls.iter().find(|p| p.take()).zip(Some(steps)),
            _ => None,
        };
        let Some((slot, steps)) = room else {
            (0..count).for_each(work);
            return;
        };
        // SAFETY: this thread has the slot, and `work` lives until all chunks are finished, below.
        unsafe { slot.offer_calls(steps, work) };
        self.post(steps - 1);
        while slot.help() {}
        self.wait(|| slot.finished() == steps);
        slot.give_back();
    }

    /// Waits for chunks that helpers have taken.
    fn wait(&self, is_done: impl Fn() -> bool) {
        const SPINS: u32 = 1_000;

        for _ in 0..SPINS {
            if is_done() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut delay = Delay::new(self);
        while !is_done() {
            delay.pause();
        }
    }

    /// Completes the copies of an owner, with the helpers.
    #[cold]
    #[inline(never)]
    fn complete(&self, owner: &Owner) {
        self.help_until(|| !self.pending.has(owner, None));
    }

    /// Takes chunks, and waits for what helpers have taken, until that is done.
    fn help_until(&self, mut is_done: impl FnMut() -> bool) {
        let mut delay = None;
        while !is_done() {
            if self.help() {
                delay = None;
                continue;
            }
            delay.get_or_insert_with(|| Delay::new(self)).pause();
        }
    }
}

/// A thread's wait for a chunk, or a part of a collective, that a helper has taken.
struct Delay<'a> {
    engine: &'a Engine,
    /// When it began, or, later, when workers were last known to run.
    begin: Instant,
    /// What time of a processor they had used a while after.
    used: Option<Duration>,
    /// Whether workers are to run on this thread's core meanwhile.
    has_workers: bool,
}

impl<'a> Delay<'a> {
    fn new(engine: &'a Engine) -> Self {
        Self { engine, begin: Instant::now(), used: None, has_workers: false }
    }

    /// Lets some time pass.
    fn pause(&mut self) {
        /// Some chunks' time: the helper does not run, because another thread has its core.
        const LATE: Duration = Duration::from_micros(50);
        const SLEEP: Duration = Duration::from_micros(20);

        let waited = self.begin.elapsed();
        if waited < LATE / 2 {
            std::hint::spin_loop();
            return;
        }
        let used = *self.used.get_or_insert_with(idle_workers::time_used);
        if waited < LATE {
            std::hint::spin_loop();
            return;
        }
        if !self.has_workers {
            if idle_workers::time_used() >= used + LATE / 4 {
                // One runs, and what it has taken is long.
                (self.begin, self.used) = (Instant::now(), None);
                return;
            }
            self.has_workers = true;
            idle_workers::move_here();
        }
        // The kernel moves other threads that wait to a core that idles, not to one whose thread yields.
        std::thread::sleep(SLEEP);
    }
}

impl Drop for Delay<'_> {
    fn drop(&mut self) {
        if self.has_workers {
            idle_workers::move_back();
        }
        self.engine.starvation.waited(self.begin.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_pool_that_is_busy_is_asked_for_nothing_and_one_that_idles_takes_chunks() {
        let (send, jobs) = mpsc::channel::<PoolTask>();
        let submit = Box::new(move |job| send.send(job).expect("the test has the other end"));
        // SAFETY: `submit` borrows nothing.
        let lent = unsafe { lend_pool(2, submit) };
        let here = thread::current().id();
        let helped = AtomicBool::new(false);
        let share = || {
            ENGINE.share(4, &|_| {
                if thread::current().id() != here {
                    helped.store(true, Ordering::Relaxed);
                }
            });
        };
        // No thread runs its jobs: the call has done all itself.
        share();
        assert!(!helped.load(Ordering::Relaxed));
        share();
        let waiting: Vec<PoolTask> = jobs.try_iter().collect();
        assert_eq!(waiting.len(), 2);
        assert_eq!(ENGINE.helpers.pools.idle(), 0);
        waiting.into_iter().for_each(PoolTask::run);
        assert_eq!(ENGINE.helpers.pools.idle(), 2);

        let pool = thread::spawn(move || jobs.iter().for_each(PoolTask::run));
        while !helped.load(Ordering::Relaxed) {
            share();
        }
        drop(lent);
        assert!(!ENGINE.helpers.pools.any());
        pool.join().expect("it ends with the pool");
    }
}
