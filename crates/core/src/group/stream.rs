//! Small broadcasts, one after the other: the root leaves a value for the others and goes on;
//! nobody waits for anybody but those who need the value for the root that has it.
//!
//! The broadcasts of a team are numbered, by all members alike. Broadcast b is in entry b mod K
//! of its root's slot, where the number in the entry's flag says that it is there. Each member
//! counts the broadcasts it has taken part in where roots can see it. A root writes broadcast b
//! only after all members have taken b - K: then nobody needs what the entry holds. So no two
//! members are more than K broadcasts apart, and the counts can be compared although they wrap.

use std::sync::atomic::Ordering;

use super::{Group, Link};
use crate::job::region::{STREAM_BYTES, STREAM_ENTRIES};
use crate::wait::{Waiter, flag};

impl Group<'_> {
    /// Takes part in a broadcast of `bytes` bytes, [`STREAM_BYTES`] at most: the root sends what
    /// is at `source`, the others receive it at `dest`.
    ///
    /// # Safety
    /// `source` is valid for `bytes` bytes on the root, `dest` elsewhere. The group has slots.
    pub unsafe fn broadcast_small(
        &self,
        root: usize,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
    ) {
        debug_assert!(bytes <= STREAM_BYTES);
        let Link::Slots(slots) = &self.link else {
            unreachable!("this group has no slots");
        };
        let stream = slots.stream;
        let number = stream.number.load(Ordering::Relaxed).wrapping_add(1);
        stream.number.store(number, Ordering::Relaxed);
        let entry = &slots.of(root).stream.entries[number as usize % STREAM_ENTRIES];
        let value = entry.value.0.get().cast::<u8>();
        self.traffic.moved(bytes, bytes);
        if self.me == root {
            self.make_room(number);
            // SAFETY: the caller's promise; nobody reads the entry any more.
            unsafe { value.copy_from_nonoverlapping(source, bytes) };
            flag::post(&entry.flag, number);
        } else {
            flag::wait(&entry.flag, number, || Waiter::new(self.what()));
            // SAFETY: the caller's promise; the root leaves the entry until this is counted.
            unsafe { dest.copy_from_nonoverlapping(value, bytes) };
            // As the root made sure of; said here so that what is known never is far behind.
            stream.note_taken(number.wrapping_sub(STREAM_ENTRIES as u32));
        }
        flag::post(&slots.of(self.me).stream.taken.count, number);
    }

    /// Waits until all members have taken what the entry of broadcast `number` may hold.
    fn make_room(&self, number: u32) {
        let Link::Slots(slots) = &self.link else {
            return;
        };
        let needed = number.wrapping_sub(STREAM_ENTRIES as u32);
        if slots.stream.is_taken(needed) {
            return;
        }
        let mut least = number;
        for member in (0..self.size).filter(|m| *m != self.me) {
            let count = &slots.of(member).stream.taken.count;
            flag::wait_for_at_least(count, needed, || Waiter::new(self.what()));
            let behind = |n: u32| number.wrapping_sub(n) & flag::VALUE;
            let taken = flag::value(count);
            if behind(taken) > behind(least) {
                least = number.wrapping_sub(behind(taken));
            }
        }
        slots.stream.note_taken(least);
    }
}
