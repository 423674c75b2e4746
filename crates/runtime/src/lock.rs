//! Locks (standard, "Distributed Locking"): a ticket lock in PE 0's copy of the variable. Within a node it is
//! that of [`ticket`]; PEs of several nodes share one of two words, which they poll.

use std::mem::offset_of;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::job::Attachment;
use ferroshmem_core::team::health;
use ferroshmem_core::transport::atomic::{Atomic, AtomicInt, Operation};
use ferroshmem_core::transport::{Call, Location, Transport};
use ferroshmem_core::wait::{POLICY, WaitReason, Waiter, ticket};
use ferroshmem_fabric::Op;
use ferroshmem_layout::WaitKind;

use crate::failure::failed_pes;

/// The two halves of a lock that PEs of several nodes share: tickets drawn, ticket served.
#[repr(C, align(8))]
struct Words {
    next: AtomicU32,
    serving: AtomicU32,
}

/// PE 0's copy of a lock.
enum LockWords<'a> {
    /// All PEs reach it by loads and stores, so that releasers can wake waiters.
    OneNode(&'a AtomicU64),
    /// The same, in a resilient job.
    Owned(Owned<'a>),
    /// Some PEs are on other nodes: no waiter can be woken, so waiters poll.
    SeveralNodes(Polled<'a>),
}

/// A lock of a resilient job: its word says who holds it, so that others take it when that PE has failed. They wait in
/// no order: a queue would have those that fail.
pub(crate) struct Owned<'a> {
    word: &'a AtomicU64,
    job: &'a Attachment,
}

impl Owned<'_> {
    /// What the word is while a PE holds the lock: its number, and how often that was taken over. Not that of a lock
    /// which was taken before the job was resilient.
    pub(crate) fn word_of(job: &Attachment, pe: usize) -> u64 {
        // On several nodes, no number is taken over.
        let index = job.placement.local_index(pe);
        let restarts = index.map_or(0, |index| job.control.pe_block(index).restarts.load(Ordering::Acquire));
        u64::from(restarts) << 32 | (pe as u64 + 1) << 1 | 1
    }

    /// Whether the PE that holds a lock has failed, whose word is `seen`.
    fn has_failed(job: &Attachment, seen: u64) -> bool {
        let pe = (seen as u32 >> 1).checked_sub(1).map(|pe| pe as usize);
        let pe = pe.filter(|pe| *pe < job.n_pes());
        pe.is_some_and(|pe| failed_pes::has_failed(job, pe) || Self::word_of(job, pe) != seen)
    }

    /// Takes a lock if it is free, or its owner has failed; else what the word is. `replace` replaces one word by
    /// another and gives the one that was there.
    fn take(job: &Attachment, replace: impl Fn(u64, u64) -> u64) -> Result<(), u64> {
        let mine = Self::word_of(job, job.pe);
        let take = |seen| match replace(seen, mine) {
            there if there == seen => Ok(()),
            there => Err(there),
        };
        match take(0) {
            Err(seen) if Self::has_failed(job, seen) => take(seen),
            result => result,
        }
    }

    fn try_acquire(&self) -> Result<(), u64> {
        Self::take(self.job, |seen, new| {
            let result = self.word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire);
            result.unwrap_or_else(|there| there)
        })
    }

    fn acquire(&self, what: WaitReason<'_>) {
        let mut waiter = Waiter::new(what);
        while let Err(seen) = self.try_acquire() {
            let at = self.word.as_ptr().cast_const().cast();
            // SAFETY: it is the word.
            unsafe { waiter.pause_at(at, || self.word.load(Ordering::Relaxed) == seen) };
        }
    }
}

/// Takes a lock that all PEs reach by loads and stores, if it is free; whether it did.
#[inline]
fn try_acquire(word: &AtomicU64, transport: &Transport) -> bool {
    match health::is_on() {
        true => Owned { word, job: transport.job() }.try_acquire().is_ok(),
        false => ticket::try_acquire(word),
    }
}

/// Gives such a lock back.
#[inline]
fn release(word: &AtomicU64) {
    match health::is_on() {
        true => _ = word.swap(0, Ordering::AcqRel),
        false => ticket::release(word, POLICY.fairness()),
    }
}

/// A lock that PEs of several nodes use, from one of them.
struct Polled<'a> {
    transport: &'a Transport,
    call: Call<'a>,
    lock: *mut i64,
}

impl Polled<'_> {
    /// One of the lock's halves.
    fn half(&self, offset: usize) -> *mut u32 {
        self.lock.wrapping_byte_add(offset).cast()
    }

    fn fetch<T: Atomic>(&self, word: *mut T) -> T {
        let variable = ("lock", word.cast_const());
        // SAFETY: the transport has found the word mapped; it is aligned as the lock is.
        let local = |at| unsafe { T::fetch(at) };
        self.transport.fetching(&self.call, variable, Operation::FETCH, local)
    }

    /// Draws a ticket.
    fn draw(&self) -> u32 {
        let next = self.half(offset_of!(Words, next));
        let one = Operation::with(Op::Add, 1);
        // SAFETY: as in `fetch`.
        let local = |at| unsafe { u32::fetch_add(at, 1) };
        self.transport.fetching(&self.call, ("lock", next), one, local)
    }

    /// The ticket that is served.
    fn serving(&self) -> u32 {
        self.fetch(self.half(offset_of!(Words, serving)))
    }

    /// Serves the next ticket.
    fn serve_next(&self) {
        let serving = self.half(offset_of!(Words, serving));
        let one = Operation::with(Op::Add, 1);
        self.transport.posting(&self.call, ("lock", serving), one, |at| {
            // SAFETY: as in `fetch`.
            unsafe { u32::fetch_add(at, 1) };
        });
    }

    /// Takes the lock if it is free; whether it did.
    fn try_acquire(&self) -> bool {
        if health::is_on() {
            return self.try_to_own();
        }
        // Both halves at once: free means that the ticket served is the next to be drawn.
        let seen: u64 = self.fetch(self.lock.cast());
        let (next, serving) = (seen as u32, (seen >> 32) as u32);
        let taken = (seen & !0xffff_ffff) | u64::from(next.wrapping_add(1));
        next == serving && self.exchange(seen, taken) == seen
    }

    /// Replaces both halves if they are `seen`; what they were.
    fn exchange(&self, seen: u64, new: u64) -> u64 {
        let variable = ("lock", self.lock.cast::<u64>().cast_const());
        let operation = Operation::compare_swap(seen, new);
        // SAFETY: as in `fetch`.
        let local = |at| unsafe { u64::compare_swap(at, seen, new) };
        self.transport.fetching(&self.call, variable, operation, local)
    }

    fn acquire(&self, what: WaitReason<'_>) {
        let mut waiter = Waiter::new(what);
        if health::is_on() {
            while !self.try_to_own() {
                waiter.pause();
            }
            return;
        }
        let ticket = self.draw();
        while self.serving() != ticket {
            waiter.pause();
        }
    }

    /// In a resilient job: takes the lock if it is free, or its owner has failed; whether it did.
    #[cold]
    fn try_to_own(&self) -> bool {
        let took = Owned::take(self.transport.job(), |seen, new| self.exchange(seen, new));
        let (pe, internode) = (self.call.pe, self.transport.internode());
        if internode.is_some_and(|internode| internode.fabric().is_lost(pe)) {
            let routine = self.call.routine;
            fatal(routine, format_args!("the lock was in the memory of PE {pe}, which has failed on another node"));
        }
        took.is_ok()
    }

    fn give_back(&self) {
        match health::is_on() {
            true => _ = self.exchange(Owned::word_of(self.transport.job(), self.transport.job().pe), 0),
            false => self.serve_next(),
        }
    }
}

/// The locks of this PE.
#[derive(Debug)]
pub struct Locks {
    /// With `SHMEM_CHECK=1`: the locks that this PE holds, and the threads that took them.
    held: Option<HeldLocks>,
}

#[derive(Debug)]
struct HeldLocks {
    all: Mutex<Vec<(usize, ThreadId)>>,
    /// Where the launcher sees the first of them.
    shown: &'static [AtomicU64],
}

impl Locks {
    /// With none held. Misuse is noticed if `check`; the launcher sees then in `shown` what is held.
    pub(crate) fn new(check: bool, shown: &'static [AtomicU64]) -> Self {
        let all = Mutex::default();
        Self { held: check.then_some(HeldLocks { all, shown }) }
    }

    fn note(&self, change: impl FnOnce(&mut Vec<(usize, ThreadId)>)) {
        if let Some(held) = &self.held {
            let mut all = held.all.lock().unwrap_or_else(|e| e.into_inner());
            change(&mut all);
            let addresses = all.iter().map(|(lock, _)| *lock as u64);
            for (word, address) in held.shown.iter().zip(addresses.chain(std::iter::repeat(0))) {
                word.store(address, Ordering::Relaxed);
            }
        }
    }

    fn note_taken(&self, lock: *mut i64) {
        self.note(|held| held.push((lock.addr(), thread::current().id())));
    }

    fn locate<'a>(transport: &'a Transport, routine: &'static str, lock: *mut i64) -> LockWords<'a> {
        let call = transport.internal_call(routine, 0);
        let location = transport.locate_atomic(&call, "lock", lock.cast(), size_of::<i64>());
        match (location, transport.internode()) {
            (Location::Local(words), None) => {
                // SAFETY: a symmetric long, 8-byte aligned as C requires, used by these routines
                // alone.
                let word = unsafe { &*words.cast::<AtomicU64>() };
                match health::is_on() {
                    true => LockWords::Owned(Owned { word, job: transport.job() }),
                    false => LockWords::OneNode(word),
                }
            }
            _ => LockWords::SeveralNodes(Polled { transport, call, lock }),
        }
    }

    /// PE 0's copy of a lock, where nothing needs to be noted, and all PEs reach it by loads and stores.
    #[inline]
    fn word<'a>(&self, transport: &'a Transport, lock: *mut i64) -> Option<&'a AtomicU64> {
        if self.held.is_some() { None } else { transport.first_local_word(lock.cast()) }
    }

    /// Takes the lock. PEs that wait get it in the order in which they came.
    #[inline]
    pub fn set(&self, transport: &Transport, routine: &'static str, lock: *mut i64) {
        match self.word(transport, lock) {
            Some(word) if try_acquire(word, transport) => {}
            _ => self.wait_for(transport, routine, lock),
        }
    }

    /// As [`set`](Self::set), for a lock that another PE may hold.
    #[cold]
    #[inline(never)]
    fn wait_for(&self, transport: &Transport, routine: &'static str, lock: *mut i64) {
        let copy = Self::locate(transport, routine, lock);
        self.note(|held| {
            // Another thread gives it back; this one would wait for itself.
            if held.contains(&(lock.addr(), thread::current().id())) {
                fatal(routine, format_args!("this PE holds the lock {:#x} already", lock.addr()));
            }
        });
        let what = WaitReason::at(WaitKind::Lock, routine, lock.addr());
        match &copy {
            LockWords::OneNode(word) => {
                ticket::acquire(*word, POLICY.fairness(), || Waiter::new(what));
            }
            LockWords::Owned(owned) => owned.acquire(what),
            LockWords::SeveralNodes(polled) => polled.acquire(what),
        }
        self.note_taken(lock);
    }

    /// Gives the lock back, after completing this PE's puts.
    #[inline]
    pub fn clear(&self, transport: &Transport, routine: &'static str, lock: *mut i64) {
        match self.word(transport, lock) {
            Some(word) => {
                transport.quiet_default();
                release(word);
            }
            None => self.give_back(transport, routine, lock),
        }
    }

    /// As [`clear`](Self::clear), with the checks, or between nodes.
    #[cold]
    #[inline(never)]
    fn give_back(&self, transport: &Transport, routine: &'static str, lock: *mut i64) {
        self.note(|held| match held.iter().position(|(l, _)| *l == lock.addr()) {
            Some(i) => drop(held.swap_remove(i)),
            None => fatal(routine, format_args!("this PE does not hold the lock {:#x}", lock.addr())),
        });
        transport.quiet_default();
        match Self::locate(transport, routine, lock) {
            LockWords::OneNode(word) | LockWords::Owned(Owned { word, .. }) => release(word),
            LockWords::SeveralNodes(polled) => polled.give_back(),
        }
    }

    /// Takes the lock if it is free; whether it did.
    pub fn test(&self, transport: &Transport, routine: &'static str, lock: *mut i64) -> bool {
        let took = match Self::locate(transport, routine, lock) {
            LockWords::OneNode(word) | LockWords::Owned(Owned { word, .. }) => try_acquire(word, transport),
            LockWords::SeveralNodes(polled) => polled.try_acquire(),
        };
        if took {
            self.note_taken(lock);
        }
        took
    }
}
