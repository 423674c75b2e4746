//! Small broadcasts in a pipeline: the root leaves a value for the other members and goes on; each
//! other member waits for the root alone.
//!
//! All members number the broadcasts of a team alike. Broadcast b is in entry b mod K of a ring in
//! its root's slot; the entry's flag shows b once the value is written. Each member counts the
//! broadcasts in which it has taken part, in its slot, where roots read the count. A root writes
//! broadcast b only after all members have taken b - K, so that no member still needs the entry.
//! Therefore no two members are more than K broadcasts apart, and counts can be compared although
//! they wrap.

use std::sync::atomic::Ordering;

use super::Group;
use super::channel::Channel;
use crate::job::region::{RING_BYTES, RING_ENTRIES};
use crate::wait::{Waiter, flag};

impl Group<'_> {
    /// Takes part in a broadcast of `bytes` bytes, [`RING_BYTES`] at most, from `source` on the
    /// root to `dest` on the other members.
    ///
    /// # Safety
    /// On the root `source` is readable for `bytes` bytes, elsewhere `dest` is writable. The group
    /// has slots.
    pub unsafe fn broadcast_small(
        &self,
        root: usize,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
    ) {
        debug_assert!(bytes <= RING_BYTES);
        let Channel::Slots(slots) = &self.channel else {
            unreachable!("this group has no slots");
        };
        let ring = slots.ring;
        let number = ring.number.load(Ordering::Relaxed).wrapping_add(1);
        ring.number.store(number, Ordering::Relaxed);
        let entry = &slots.of(root).ring.entries[number as usize % RING_ENTRIES];
        let value = entry.value.0.get().cast::<u8>();
        self.traffic.moved(bytes, bytes);
        if self.me == root {
            self.make_room(number);
            // SAFETY: the caller promises that `source` is readable for `bytes` bytes; `make_room`
            // waited until no member reads the entry.
            unsafe { value.copy_from_nonoverlapping(source, bytes) };
            flag::post(&entry.flag, number);
        } else {
            flag::wait(&entry.flag, number, || Waiter::new(self.wait_reason()));
            // SAFETY: the caller promises that `dest` is writable for `bytes` bytes; no root writes
            // the entry before this member counts the broadcast.
            unsafe { dest.copy_from_nonoverlapping(value, bytes) };
            // The root has made sure of this; recording it keeps the position within K of the count.
            ring.set_taken(number.wrapping_sub(RING_ENTRIES as u32));
        }
        flag::post(&slots.of(self.me).ring.taken.count, number);
    }

    /// Waits until all members have taken the value that the entry for broadcast `number` holds.
    fn make_room(&self, number: u32) {
        let Channel::Slots(slots) = &self.channel else {
            return;
        };
        let needed = number.wrapping_sub(RING_ENTRIES as u32);
        if slots.ring.is_taken(needed) {
            return;
        }
        let mut least = number;
        for member in (0..self.size).filter(|m| *m != self.me) {
            let count = &slots.of(member).ring.taken.count;
            flag::wait_for_at_least(count, needed, || Waiter::new(self.wait_reason()));
            let behind = |n: u32| number.wrapping_sub(n) & flag::VALUE;
            let taken = flag::value(count);
            if behind(taken) > behind(least) {
                least = number.wrapping_sub(behind(taken));
            }
        }
        slots.ring.set_taken(least);
    }
}
