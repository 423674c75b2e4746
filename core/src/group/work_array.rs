//! Synchronising by the caller's work array (`pSync`): how the members of an active set first
//! reach each other, and the only way if no slots are left for it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::runtime::Runtime;
use crate::team::Members;
use crate::wait::{Waiter, What, counter};

/// Elements of a work array (`SHMEM_SYNC_SIZE`), of which the first [`ROUNDS`] count posts.
pub const SYNC_SIZE: usize = 32;
const ROUNDS: usize = 16;
const VALUE: usize = 16;
const CALL: usize = 24;

/// The work array of a collective on an active set: symmetric, 64-bit elements, and to be left
/// as it was found.
#[derive(Debug, Clone, Copy)]
pub struct WorkArray<'a> {
    pub(super) rt: &'a Runtime,
    pub(super) name: &'static str,
    pub(super) members: Members,
    pub(super) address: usize,
}

impl WorkArray<'_> {
    /// The dissemination barrier over counters, which leaves the array as it was.
    pub(super) fn synchronise(&self, me: usize, size: usize, what: What<'_>) {
        let (mut distance, mut k) = (1, 0);
        while distance < size {
            counter::post(self.counter((me + distance) % size, k));
            counter::take(self.counter(me, k), &mut Waiter::new(what));
            distance *= 2;
            k += 1;
        }
    }

    fn counter(&self, member: usize, round: usize) -> &AtomicU32 {
        debug_assert!(round < ROUNDS);
        let word = self.word(member, round).cast::<AtomicU32>();
        // SAFETY: within the work array (see `word`); its elements are 8-byte aligned, and
        // during the call only the members' atomics touch it.
        unsafe { &*word }
    }

    fn word(&self, member: usize, index: usize) -> *mut u8 {
        let pe = self.members.pe(member);
        let array = std::ptr::with_exposed_provenance(self.address);
        let there = self.rt.remote(self.name, "pSync", array, SYNC_SIZE * 8, pe);
        // SAFETY: index < SYNC_SIZE, and all of the array was just found to be symmetric.
        unsafe { there.add(index * 8) }
    }

    /// The word in which a member publishes a value.
    pub(super) fn value(&self, member: usize) -> &AtomicU64 {
        // SAFETY: within the work array, 8-byte aligned, accessed as an atomic only.
        unsafe { &*self.word(member, VALUE).cast::<AtomicU64>() }
    }

    /// Word `i` of what a member shows of its call; 6 words.
    pub(super) fn call_word(&self, member: usize, i: usize) -> &AtomicU64 {
        debug_assert!(CALL + i < SYNC_SIZE);
        // SAFETY: as for `value`.
        unsafe { &*self.word(member, CALL + i).cast::<AtomicU64>() }
    }

    /// Takes the published value back.
    pub(super) fn withdraw(&self, me: usize) {
        self.value(me).store(0, Ordering::Release);
    }
}
