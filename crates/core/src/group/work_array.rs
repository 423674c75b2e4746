//! Synchronising by the caller's work array (`pSync`): how the members of an active set first
//! reach each other, and the only way if no slots are left for it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_fabric::{AtomicOp, Op, Width};

use crate::runtime::Runtime;
use crate::symmetric::Target;
use crate::team::Members;
use crate::wait::{WaitReason, Waiter, counter};

/// Elements of a work array (`SHMEM_SYNC_SIZE`), of which the first [`ROUNDS`] count posts.
pub(crate) const SYNC_SIZE: usize = 32;
const ROUNDS: usize = 16;
const VALUE: usize = 16;
const CALL: usize = 24;

/// The work array of a collective on an active set: symmetric, 64-bit elements, and to be left
/// as it was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkArray<'a> {
    pub(super) rt: &'a Runtime,
    pub(super) name: &'static str,
    pub(super) members: Members,
    pub(super) address: usize,
}

impl WorkArray<'_> {
    /// The dissemination barrier over counters, which leaves the array as it was.
    pub(super) fn synchronise(&self, me: usize, size: usize, what: WaitReason<'_>) {
        let (mut distance, mut k) = (1, 0);
        while distance < size {
            self.post((me + distance) % size, k);
            self.take(me, k, what);
            distance *= 2;
            k += 1;
        }
    }

    fn post(&self, member: usize, round: usize) {
        debug_assert!(round < ROUNDS);
        match self.element(member, round) {
            Target::Here(word) => {
                // SAFETY: an element of the work array, 8-byte aligned, and during the call only
                // the members' atomics touch it.
                counter::post(unsafe { &*word.cast::<AtomicU32>() });
                self.rt.announce(self.members.pe(member));
            }
            Target::There(at) => {
                let link = self.rt.link();
                // What this PE has put before is seen by who sees the post.
                link.fabric().fence(&link.stream);
                let one = counter::ONE.into();
                link.fabric()
                    .post(&link.stream, at, AtomicOp::new(Op::Add, Width::W32, one));
            }
        }
    }

    fn take(&self, me: usize, round: usize, what: WaitReason<'_>) {
        let word: &AtomicU32 = self.own(me, round);
        if self.rt.link.is_some() {
            // Posters of other nodes wake nobody who sleeps on the counter itself.
            self.rt.wait_for_mail(&what, || counter::has_post(word));
        }
        counter::take(word, &mut Waiter::new(what));
    }

    /// An element of a member's array.
    fn element(&self, member: usize, index: usize) -> Target {
        debug_assert!(index < SYNC_SIZE);
        let array: *const c_void = std::ptr::with_exposed_provenance(self.address);
        let pe = self.members.pe(member);
        // All of the array is looked at, so that a short one is noticed.
        match self.rt.target(self.name, "pSync", array, SYNC_SIZE * 8, pe) {
            // SAFETY: index < SYNC_SIZE, and all of the array was just found to be symmetric.
            Target::Here(there) => Target::Here(unsafe { there.add(index * 8) }),
            Target::There(mut at) => {
                at.offset += index * 8;
                Target::There(at)
            }
        }
    }

    /// An element of this PE's own array.
    fn own<T>(&self, me: usize, index: usize) -> &T {
        match self.element(me, index) {
            // SAFETY: as in `post`; callers ask for atomics of at most 8 bytes.
            Target::Here(word) => unsafe { &*word.cast::<T>() },
            Target::There(_) => unreachable!("this PE's own array is here"),
        }
    }

    fn read(&self, member: usize, index: usize) -> u64 {
        match self.element(member, index) {
            // SAFETY: as in `post`.
            Target::Here(word) => unsafe { &*word.cast::<AtomicU64>() }.load(Ordering::Acquire),
            Target::There(at) => {
                let link = self.rt.link();
                link.fabric()
                    .fetch(&link.stream, at, AtomicOp::read(Width::W64))
            }
        }
    }

    fn write(&self, me: usize, index: usize, value: u64) {
        let word: &AtomicU64 = self.own(me, index);
        word.store(value, Ordering::Release);
    }

    /// Shows a value to the other members.
    pub(super) fn publish(&self, me: usize, value: u64) {
        self.write(me, VALUE, value);
    }

    /// The value that a member shows.
    pub(super) fn published(&self, member: usize) -> u64 {
        self.read(member, VALUE)
    }

    /// Shows word `i` of this PE's call; 6 words.
    pub(super) fn show_call_word(&self, me: usize, i: usize, word: u64) {
        self.write(me, CALL + i, word);
    }

    /// Word `i` of what a member shows of its call.
    pub(super) fn call_word(&self, member: usize, i: usize) -> u64 {
        self.read(member, CALL + i)
    }

    /// Takes the published value back.
    pub(super) fn withdraw(&self, me: usize) {
        self.publish(me, 0);
    }
}
