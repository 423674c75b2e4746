//! Synchronisation by the caller's work array (`pSync`): used in the first call on an active set,
//! and in all calls if no team id is left for the set.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_fabric::Op;

use crate::team::{Health, Members};
use crate::transport::atomic::{Atomic, Operation};
use crate::transport::{Call, Location, Transport};
use crate::wait::{WaitReason, Waiter, counter};

/// Elements of a work array (`SHMEM_SYNC_SIZE`), of which the first [`ROUNDS`] count posts.
const SYNC_SIZE: usize = 32;
const ROUNDS: usize = 16;
/// Index of the published value.
const VALUE: usize = 16;
/// Index of the first word of the call's description.
const CALL: usize = 24;

/// The work array of a collective on an active set: symmetric, of 64-bit elements. The collective
/// leaves it as it was before.
#[derive(Debug, Clone, Copy)]
pub struct WorkArray<'a> {
    pub(super) transport: &'a Transport,
    pub(super) name: &'static str,
    pub(super) members: &'a Members,
    pub(super) address: usize,
    pub(super) health: Option<&'a Health>,
}

impl<'a> WorkArray<'a> {
    /// The work array at `address` of a set of PEs that calls routine `name`. Which of them fail, `health` knows, in a
    /// resilient job.
    pub fn new(
        transport: &'a Transport,
        name: &'static str,
        members: &'a Members,
        address: usize,
        health: Option<&'a Health>,
    ) -> Self {
        Self { transport, name, members, address, health }
    }

    /// The first element of this PE's array that no collective leaves so, and its value: the array was
    /// never set to `SHMEM_SYNC_VALUE`. Members that came earlier may have posted.
    pub fn uninitialised_element(&self, me: usize) -> Option<(usize, i64)> {
        let posts = u64::from(counter::ONE) * ROUNDS as u64;
        let values = (0..ROUNDS).map(|i| (i, self.own::<AtomicU64>(me, i).load(Ordering::Relaxed)));
        let mut wrong = values.filter(|(_, v)| *v > posts || v % u64::from(counter::ONE) != 0);
        wrong.next().map(|(i, v)| (i, v as i64))
    }

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
        let call = self.call(member);
        let one = Operation::with(Op::Add, counter::ONE);
        // What this PE has put before is seen by the member that sees the post.
        self.transport.fence(&call);
        let counter = self.element(member, round).cast_const().cast();
        self.transport.posting(&call, ("pSync", counter), one, |at| {
            // SAFETY: an element of a local member's work array, 8-byte aligned; during the call
            // only the members' atomics access it.
            counter::post(unsafe { AtomicU32::from_ptr(at) });
            self.transport.notify(call.pe);
        });
    }

    fn take(&self, me: usize, round: usize, what: WaitReason<'_>) {
        let word: &AtomicU32 = self.own(me, round);
        if self.transport.internode().is_some() {
            // A post by a PE of another node wakes no thread that sleeps on the counter itself.
            self.transport.wait_for_flag(&what, || counter::has_post(word));
        }
        counter::take(word, &mut Waiter::new(what));
    }

    fn call(&self, member: usize) -> Call<'a> {
        let pe = self.members.pe(member);
        self.transport.internal_call(self.name, pe)
    }

    /// The address of an element, as this PE has it.
    fn element(&self, member: usize, index: usize) -> *mut u64 {
        debug_assert!(index < SYNC_SIZE);
        let array: *mut u64 = std::ptr::with_exposed_provenance_mut(self.address);
        // Locates the whole array, so that an array that is too short is detected.
        self.transport.locate(&self.call(member), "pSync", array.cast(), SYNC_SIZE * 8);
        array.wrapping_add(index)
    }

    /// An element of this PE's own array.
    fn own<T>(&self, me: usize, index: usize) -> &T {
        let element = self.element(me, index).cast();
        let bytes = size_of::<T>();
        match self.transport.locate(&self.call(me), "pSync", element, bytes) {
            // SAFETY: an element of this PE's work array, 8-byte aligned; callers ask for atomics of
            // at most 8 bytes, and during the call only the members' atomics access the element.
            Location::Local(word) => unsafe { &*word.cast::<T>() },
            Location::Remote(_) => unreachable!("this PE's own array is local"),
        }
    }

    fn read(&self, member: usize, index: usize) -> u64 {
        let element = ("pSync", self.element(member, index).cast_const());
        let call = self.call(member);
        self.transport.fetching(&call, element, Operation::FETCH, |at| {
            // SAFETY: an element of a local member's work array, 8-byte aligned; during the call
            // only the members' atomics access it.
            unsafe { u64::fetch(at) }
        })
    }

    fn write(&self, me: usize, index: usize, value: u64) {
        let word: &AtomicU64 = self.own(me, index);
        word.store(value, Ordering::Release);
    }

    /// Publishes a value to the other members.
    pub(super) fn publish(&self, me: usize, value: u64) {
        self.write(me, VALUE, value);
    }

    /// The value that a member has published.
    pub(super) fn published(&self, member: usize) -> u64 {
        self.read(member, VALUE)
    }

    /// Publishes word `i` of the description of this PE's call, which has 6 words.
    pub(super) fn publish_call_word(&self, me: usize, i: usize, word: u64) {
        self.write(me, CALL + i, word);
    }

    /// Word `i` of the description of a member's call.
    pub(super) fn call_word(&self, member: usize, i: usize) -> u64 {
        self.read(member, CALL + i)
    }

    /// Resets the published value.
    pub(super) fn withdraw(&self, me: usize) {
        self.publish(me, 0);
    }
}
