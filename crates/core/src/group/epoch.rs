//! One step in which all members take part, and the flags and buffers that are theirs in it.
//!
//! Two rules make two sets of lanes and buffers enough, one for even and one for odd epochs.
//!
//! 1. Nobody completes an epoch before all members have entered it.
//! 2. Within an epoch, each lane of a member is posted by one member, once.
//!
//! Let a PE write for epoch e + 2. It has completed e + 1, so all have entered e + 1, so all
//! have left e: nobody reads the values of e any more, and nobody has still to post a flag of e,
//! which would set it back behind e + 2.

use std::sync::atomic::{AtomicU32, Ordering};

use super::mail::Mail;
use super::{Group, Link, Slots};
use crate::barrier::central::Sharing;
use crate::barrier::{central, dissemination, tree};
use crate::choice::{Algorithm, Collective, EAGER};
use crate::job::region::Lane;
use crate::wait::{Waiter, flag};

/// An epoch of a group, begun by this PE.
#[derive(Debug)]
pub struct Epoch<'g> {
    group: &'g Group<'g>,
    number: u32,
}

impl<'g> Epoch<'g> {
    #[inline(always)] // part of what the smallest collectives cost
    pub(super) fn begin(group: &'g Group<'_>) -> Self {
        let number = match &group.link {
            Link::Slots(slots) => next(slots.epoch),
            link => Self::begin_elsewhere(link),
        };
        Self { group, number }
    }

    /// The number of the next epoch of members that are not in one part of a node.
    #[cold]
    fn begin_elsewhere(link: &Link<'_>) -> u32 {
        match link {
            Link::Slots(slots) => next(slots.epoch),
            Link::Mail(mail) => next(mail.epoch()),
            Link::Span(spanning) => next(&spanning.span.notes),
            Link::WorkArray(_) => 0,
        }
    }

    #[inline]
    fn parity(&self) -> usize {
        self.number as usize % 2
    }

    /// The members' slots. Algorithms that use lanes or eager buffers are not chosen for a
    /// group without.
    #[inline]
    fn slots(&self) -> &Slots<'_> {
        match &self.group.link {
            Link::Slots(slots) => slots,
            _ => unreachable!("this group has no slots"),
        }
    }

    #[inline]
    fn lane<'s>(&self, slots: &'s Slots<'_>, member: usize, lane: usize) -> &'s Lane {
        &slots.of(member).lanes[self.parity()][lane]
    }

    /// Posts a lane of a member: releases all earlier writes.
    #[inline]
    pub fn post(&self, member: usize, lane: usize) {
        match &self.group.link {
            // SAFETY: no value.
            Link::Mail(mail) => unsafe {
                let nothing = std::ptr::null();
                mail.send(member, (self.parity(), lane), self.number, nothing, 0);
            },
            _ => self.post_near(self.slots(), member, lane),
        }
    }

    /// Waits until a lane of this PE is posted: acquires what its poster released.
    #[inline]
    pub fn wait(&self, lane: usize) {
        match &self.group.link {
            Link::Mail(mail) => {
                mail.wait((self.parity(), lane), self.number, 0, &self.group.what());
            }
            _ => self.wait_near(self.slots(), lane),
        }
    }

    #[inline]
    fn post_near(&self, slots: &Slots<'_>, member: usize, lane: usize) {
        flag::post(&self.lane(slots, member, lane).flag, self.number);
    }

    #[inline]
    fn wait_near(&self, slots: &Slots<'_>, lane: usize) {
        let flag = &self.lane(slots, self.group.me, lane).flag;
        flag::wait(flag, self.number, || self.waiter());
    }

    /// Posts a lane of a member with a value of at most [`Group::lane_bytes`] bytes.
    ///
    /// # Safety
    /// `value` is valid for `bytes` bytes.
    #[inline]
    pub unsafe fn send(&self, member: usize, lane: usize, value: *const u8, bytes: usize) {
        debug_assert!(bytes <= self.group.lane_bytes());
        if let Link::Mail(mail) = &self.group.link {
            // SAFETY: as below.
            unsafe { mail.send(member, (self.parity(), lane), self.number, value, bytes) };
            return;
        }
        let to = self.lane(self.slots(), member, lane).value.0.get().cast();
        // SAFETY: the caller's promise; by rule 2 the lane is this PE's to write until it is
        // posted, and by the argument above nobody reads its last value any more.
        unsafe { copy_small(to, value, bytes) };
        self.post(member, lane);
    }

    /// Waits for a lane of this PE and copies its value.
    ///
    /// # Safety
    /// `value` is valid for `bytes` bytes.
    #[inline]
    pub unsafe fn receive(&self, lane: usize, value: *mut u8, bytes: usize) {
        debug_assert!(bytes <= self.group.lane_bytes());
        if let Link::Mail(mail) = &self.group.link {
            let lane = (self.parity(), lane);
            // SAFETY: the caller's promise.
            return unsafe { mail.receive(lane, self.number, (value, bytes), &self.group.what()) };
        }
        self.wait(lane);
        let from = self
            .lane(self.slots(), self.group.me, lane)
            .value
            .0
            .get()
            .cast();
        // SAFETY: the caller's promise; the lane was posted and is not written in this epoch again.
        unsafe { copy_small(value, from, bytes) };
    }

    /// Sends message `k` of this epoch to a member, and posts a lane there; `from` stays as it is
    /// until [`settle`](Self::settle). For groups that [have room](Group::has_landing).
    ///
    /// # Safety
    /// `from` is valid for `bytes` bytes, [`LANDING`](crate::job::region::LANDING) at most.
    pub unsafe fn land(&self, member: usize, k: usize, lane: usize, from: *const u8, bytes: usize) {
        self.group.traffic.moved(bytes, bytes);
        // SAFETY: the caller's promise; by the argument above nobody reads the last message.
        unsafe { self.mail().land(member, (self.parity(), k), from, bytes) };
        self.post(member, lane);
    }

    /// Waits for a lane, and with it for message `k` of this epoch.
    pub fn landed(&self, k: usize, lane: usize) -> *const u8 {
        self.wait(lane);
        self.mail().landed((self.parity(), k))
    }

    /// Completes the messages that this PE has sent.
    pub fn settle(&self) {
        self.mail().settle();
    }

    fn mail(&self) -> &Mail<'_> {
        match &self.group.link {
            Link::Mail(mail) => mail,
            _ => unreachable!("this group has no mail"),
        }
    }

    /// A member's buffer of [`EAGER`] bytes, aligned to a cache line: written by its owner
    /// before it enters the epoch's synchronisation, read by all after.
    #[inline]
    pub fn eager(&self, member: usize) -> *mut u8 {
        let buffer = &self.slots().of(member).eager[self.parity()];
        buffer.0.get().cast()
    }

    /// Copies this PE's `bytes` bytes at `source` to its eager buffer.
    ///
    /// # Safety
    /// `source` is valid for `bytes` bytes, [`EAGER`] at most.
    #[inline]
    pub unsafe fn show(&self, source: *const u8, bytes: usize) {
        debug_assert!(bytes <= EAGER);
        self.group.traffic.moved(bytes, bytes);
        // SAFETY: the caller's promise; the buffer is this PE's own, and nobody reads its last
        // content any more (see the module).
        unsafe { source.copy_to_nonoverlapping(self.eager(self.group.me), bytes) };
    }

    /// Where a member puts [`SMALL`](crate::job::region::SMALL) bytes, aligned to 16, for the last
    /// to arrive at the central barrier: on a line that it has written to already.
    #[inline]
    pub fn given(&self, member: usize) -> *mut u8 {
        self.slots().of(member).note.given.0.get().cast()
    }

    /// Where the last to arrive at the central barrier puts as many bytes for all, before it
    /// lets them go: on the line that they look at.
    #[inline]
    pub fn result(&self) -> *mut u8 {
        self.slots().of(0).release.result.0.get().cast()
    }

    /// Notes a value for the other members to read after this epoch's synchronisation.
    #[inline]
    pub fn publish(&self, value: u64) {
        let me = self.group.me;
        match &self.group.link {
            Link::Slots(slots) => &slots.of(me).note.value[self.parity()],
            Link::Mail(mail) => mail.spanning.note(self.parity()),
            Link::Span(spanning) => spanning.note(self.parity()),
            Link::WorkArray(array) => return array.publish(me, value),
        }
        .store(value, Ordering::Release);
    }

    /// The value that a member published in this epoch.
    #[inline]
    pub fn published(&self, member: usize) -> u64 {
        match &self.group.link {
            Link::Slots(slots) => {
                slots.of(member).note.value[self.parity()].load(Ordering::Acquire)
            }
            Link::Mail(Mail { spanning, .. }) | Link::Span(spanning) => {
                spanning.read_note(member, self.parity())
            }
            Link::WorkArray(array) => array.published(member),
        }
    }

    /// Made only by members that have to wait.
    #[inline]
    fn waiter(&self) -> Waiter<'_> {
        Waiter::new(self.group.what())
    }

    /// Waits until all members have come here.
    #[inline]
    pub fn synchronise(&self) {
        let (me, size) = (self.group.me, self.group.size);
        match &self.group.link {
            Link::Slots(slots) => {
                // Lanes are told apart here, once: this is most of what a small collective costs.
                let post = |member, lane| self.post_near(slots, member, lane);
                let wait = |lane| self.wait_near(slots, lane);
                match slots.plan.choose(Collective::Barrier, 0).algorithm {
                    Algorithm::Central => self.synchronise_with(|| ()),
                    Algorithm::Tree => tree::arrive_and_wait(me, size, post, wait),
                    _ => dissemination::arrive_and_wait(me, size, post, wait),
                }
            }
            Link::Mail(_) => {
                dissemination::arrive_and_wait(me, size, |m, k| self.post(m, k), |k| self.wait(k));
            }
            Link::Span(_) => self.group.sync_parts(),
            Link::WorkArray(array) => array.synchronise(me, size, self.group.what()),
        }
    }

    /// Waits until all members have come here, by the central barrier; the last one does
    /// `work` for all.
    #[inline]
    pub fn synchronise_with(&self, work: impl FnOnce()) {
        let first = self.slots().of(0);
        central::arrive_and_wait(
            &first.gathering.arrivals,
            &first.release.arrived,
            self.group.size as u32,
            self.number,
            || self.waiter(),
            work,
        );
    }

    /// Waits until all members have come here, by the central barrier, and those that have
    /// time have done tasks 0 to `tasks` - 1, of which there is at least one.
    pub fn synchronise_sharing(&self, tasks: usize, work: impl Fn(usize)) {
        let first = self.slots().of(0);
        let words = Sharing {
            arrivals: &first.gathering.arrivals,
            next: &first.gathering.next,
            done: &first.gathering.done,
            arrived: &first.release.arrived,
            finished: &first.release.finished,
        };
        words.arrive_and_share(
            self.group.size as u32,
            self.number,
            tasks as u32,
            || self.waiter(),
            |task| work(task as usize),
        );
    }
}

/// The number after the last epoch's.
#[inline]
fn next(epochs: &AtomicU32) -> u32 {
    let mut number = epochs.load(Ordering::Relaxed).wrapping_add(1);
    if number & flag::VALUE == 0 {
        // Flags show that before they are posted for the first time.
        number += 2;
    }
    epochs.store(number, Ordering::Relaxed);
    number
}

/// Copies a few bytes; one element of the usual sizes without a call.
///
/// # Safety
/// Both places are valid for `bytes` bytes and do not overlap.
#[inline]
unsafe fn copy_small(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            8 => dest
                .cast::<[u8; 8]>()
                .write(source.cast::<[u8; 8]>().read()),
            4 => dest
                .cast::<[u8; 4]>()
                .write(source.cast::<[u8; 4]>().read()),
            _ => dest.copy_from_nonoverlapping(source, bytes),
        }
    }
}
