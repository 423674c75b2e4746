//! What a PE waits for, recorded for the launcher.

use std::fmt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

use ferroshmem_layout::{ConnectionState, Failures, PeBlock, WaitKind, WaitRecord};
use ferroshmem_platform::atomic::{Atomic as _, AtomicNumber as _, Atomics, Std};

/// What a variable is waited to become.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// One of `SHMEM_CMP_*`.
    pub comparison: i32,
    /// Bytes of the variable, and [`SIGNED`](ferroshmem_layout::SIGNED).
    pub width: u32,
    /// What it is compared with.
    pub value: u64,
}

/// What may put an end to waits for members.
pub trait Ending: Sync {
    /// Whether one of them is gone.
    fn is_over(&self) -> bool;
}

// A bound of the trait would bring the text of all that implements it into the library.
impl fmt::Debug for dyn Ending + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_over() { "over" } else { "not over" })
    }
}

/// How far a connection is whose groups end independently.
impl Ending for AtomicU32 {
    fn is_over(&self) -> bool {
        ConnectionState::is_over(self.load(Ordering::Acquire))
    }
}

/// Which PEs have failed of a job that needs all of them.
impl Ending for Failures {
    fn is_over(&self) -> bool {
        self.count() > 0
    }
}

/// A wait, as the launcher reports it.
#[derive(Debug, Clone, Copy)]
pub struct WaitReason<'a> {
    /// Kind of wait.
    pub kind: WaitKind,
    /// C name of the routine.
    pub routine: &'a str,
    /// Address waited on, 0 for collectives.
    pub address: usize,
    /// Team id (team collectives).
    pub team: u32,
    /// First PE, stride and number of PEs of a collective.
    pub members: (i32, i32, u32),
    /// Its PEs, where they are no sequence; else none.
    pub list: &'a [u32],
    /// Number of the collective on its team.
    pub sequence: u32,
    /// What says that those who are waited for do not come any more, if that may be.
    pub ending: Option<&'a dyn Ending>,
    /// What the variable is waited to become, if it is one.
    pub condition: Option<Condition>,
}

impl<'a> WaitReason<'a> {
    /// A wait for one address.
    pub fn at(kind: WaitKind, routine: &'a str, address: usize) -> Self {
        Self {
            kind,
            routine,
            address,
            team: 0,
            members: (0, 0, 0),
            list: &[],
            sequence: 0,
            ending: None,
            condition: None,
        }
    }

    /// Whether the wait is in vain.
    pub fn is_over(&self) -> bool {
        self.ending.is_some_and(Ending::is_over)
    }

    /// Writes what a record shows beside its kind.
    fn write(&self, r: &WaitRecord) {
        r.set_routine(self.routine);
        r.since_ms.store(now_ms(), Ordering::Relaxed);
        r.address.store(self.address as u64, Ordering::Relaxed);
        r.team.store(self.team, Ordering::Relaxed);
        r.start.store(self.members.0, Ordering::Relaxed);
        r.stride.store(self.members.1, Ordering::Relaxed);
        r.size.store(self.members.2, Ordering::Relaxed);
        if !self.list.is_empty() {
            r.set_listed(self.list);
        }
        r.sequence.store(self.sequence, Ordering::Relaxed);
        let find = FIND_BLOCK.get().filter(|_| self.address != 0);
        let (start, len) = find.and_then(|f| f(self.address)).unwrap_or_default();
        r.block[0].store(start, Ordering::Relaxed);
        r.block[1].store(len, Ordering::Relaxed);
        let condition = self.condition;
        let comparison = condition.map_or(0, |c| c.comparison as u32 + 1);
        r.comparison.store(comparison, Ordering::Relaxed);
        if let Some(Condition { width, value, .. }) = condition {
            r.width.store(width, Ordering::Relaxed);
            r.value.store(value, Ordering::Relaxed);
        }
    }

    /// How long a waiter may sleep before it looks whether the wait [is over](Self::is_over), if that may be.
    /// No process wakes it then.
    pub fn longest_sleep(&self) -> Option<Duration> {
        self.ending.map(|_| Duration::from_millis(20))
    }
}

/// This PE's block, with its record; null while the library is not initialised.
static BLOCK: AtomicPtr<PeBlock> = AtomicPtr::new(ptr::null_mut());

/// Names the block whose record this process writes.
pub fn set_block(block: &'static PeBlock) {
    BLOCK.store(ptr::from_ref(block).cast_mut(), Ordering::Release);
}

/// Finds the block of the heap that an address is in, if that can be done at once: its start and its bytes.
pub type FindBlock = fn(usize) -> Option<(u64, u64)>;

static FIND_BLOCK: OnceLock<FindBlock> = OnceLock::new();

/// Names the function that finds blocks of the heap.
pub fn set_find_block(find: FindBlock) {
    // A second initialisation brings the same function.
    let _ = FIND_BLOCK.set(find);
}

/// A record being shown; cleared when dropped. With several threads waiting, the record
/// shows the last one that began to.
#[derive(Debug)]
pub struct Recorder {
    serial: u32,
}

impl Recorder {
    fn block() -> Option<&'static PeBlock> {
        // SAFETY: null or a reference that lives until the process ends.
        unsafe { BLOCK.load(Ordering::Acquire).as_ref() }
    }

    fn record() -> Option<&'static WaitRecord> {
        Self::block().map(|block| &block.wait)
    }

    /// How long a sleeper may sleep before it looks whether its wait is [hidden](Self::is_hidden): for ever, in effect,
    /// where no other thread waits.
    pub(super) fn longest_sleep() -> Duration {
        Duration::from_secs(if Self::block().is_some_and(PeBlock::is_threaded) { 1 } else { 1 << 30 })
    }

    /// Shows `reason` as this PE's wait.
    pub fn start(reason: &WaitReason<'_>) -> Self {
        let Some(r) = Self::record() else {
            return Self { serial: 0 };
        };
        let serial = change::<Std>(&r.serial, &r.kind, reason.kind as u32, || reason.write(r));
        Self { serial }
    }

    /// Whether no wait is shown any more, as that of another thread began after this one and has ended.
    pub(super) fn is_hidden(&self) -> bool {
        Self::record().is_some_and(|r| r.kind.load(Ordering::Relaxed) == WaitKind::None as u32)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(r) = Self::record()
            && r.serial.load(Ordering::Relaxed) == self.serial
        {
            r.kind.store(WaitKind::None as u32, Ordering::Release);
        }
    }
}

/// Begins a wait of some kind: `change` writes the rest of a record. The wait's number, with which
/// [`read_unchanged`](ferroshmem_platform::atomic::read_unchanged) reads the record.
#[inline]
pub fn change<A: Atomics>(serial: &A::U32, kind: &A::U32, new: u32, change: impl FnOnce()) -> u32 {
    kind.store(WaitKind::None as u32, Ordering::Relaxed);
    // Who reads this number finds no kind of an earlier wait.
    let number = serial.fetch_add(1, Ordering::Release).wrapping_add(1);
    // Who reads any of what follows finds the record's number changed.
    A::fence(Ordering::Release);
    change();
    kind.store(new, Ordering::Release);
    number
}

/// Milliseconds of `CLOCK_MONOTONIC`, the clock that PEs and launcher share.
pub fn now_ms() -> u64 {
    now_ns() / 1_000_000
}

/// Nanoseconds of the same clock.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
