//! One step in which all members take part, and the flags and buffers that they use in it.
//!
//! Two rules make two sets of flags and buffers enough, one for even and one for odd epochs.
//!
//! 1. No member completes an epoch before all members have entered it.
//! 2. Within an epoch, each flag of a member is posted by one member, once.
//!
//! Proof: let a member write for epoch e + 2. It has completed e + 1, so all members have entered
//! e + 1 (rule 1), so all have left e. Therefore no member still reads a value of e, and no member
//! has yet to post a flag of e, which would set the flag back behind e + 2.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use ferroshmem_platform::prefetch_for_write;
use ferroshmem_tuning::{Algorithm, Collective, EAGER};

use super::Group;
use super::channel::{Channel, Slots};
use super::mailbox::MailboxChannel;
use crate::barrier::{self, TaskBarrier};
use crate::wait::record::now_ms;
use crate::wait::{Next, Spins, WaitStrategy, Waiter, flag};
use ferroshmem_layout::FlagLine;

/// An epoch of a group, begun by this PE.
#[derive(Debug)]
pub struct Epoch<'g> {
    pub(super) group: &'g Group<'g>,
    pub(super) number: u32,
}

impl<'g> Epoch<'g> {
    #[inline(always)] // on the path of the smallest collectives
    pub(super) fn begin(group: &'g Group<'_>) -> Self {
        let number = match &group.channel {
            Channel::Slots(slots) => next(&slots.position.epoch),
            channel => Self::begin_internode(channel),
        };
        Self { group, number }
    }

    /// The number of the next epoch of members that are not in one node group.
    #[cold]
    fn begin_internode(channel: &Channel<'_>) -> u32 {
        match channel {
            Channel::Slots(slots) => next(&slots.position.epoch),
            Channel::Mailboxes(mailboxes) => next(mailboxes.epoch()),
            Channel::Hierarchy(team) => next(&team.hierarchy.published),
            Channel::WorkArray(_) => 0,
        }
    }

    #[inline]
    fn parity(&self) -> usize {
        self.number as usize % 2
    }

    /// The members' slots. Algorithms that use flags or eager buffers are chosen only for groups
    /// that have slots.
    #[inline]
    fn slots(&self) -> &Slots<'_> {
        match &self.group.channel {
            Channel::Slots(slots) => slots,
            _ => unreachable!("this group has no slots"),
        }
    }

    #[inline]
    fn line<'s>(&self, slots: &'s Slots<'_>, member: usize, flag: usize) -> &'s FlagLine {
        slots.of(member).flag(self.parity(), flag)
    }

    /// Its number, by which [`Group::resume`] goes on with it.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether a flag of this PE is posted: acquires what its poster released. For groups with slots, as
    /// [`value`](Self::value).
    #[inline]
    pub fn is_posted(&self, flag: usize) -> bool {
        let slots = self.slots();
        flag::value(&self.line(slots, self.group.me, flag).flag) == self.number & flag::VALUE
    }

    /// The value with which a flag of this PE is posted, until this PE ends the epoch.
    #[inline]
    pub fn value(&self, flag: usize) -> *const u8 {
        let slots = self.slots();
        self.line(slots, self.group.me, flag).value.0.get().cast()
    }

    /// Posts a flag of a member: releases all earlier writes.
    #[inline]
    pub fn post(&self, member: usize, flag: usize) {
        match &self.group.channel {
            // SAFETY: a value of 0 bytes is not read.
            Channel::Mailboxes(mailboxes) => unsafe {
                let nothing = std::ptr::null();
                mailboxes.send(member, (self.parity(), flag), self.number, nothing, 0);
            },
            _ => self.post_slot(self.slots(), member, flag),
        }
    }

    /// Takes to this core what this PE writes in the next epoch: the flags that it posts to members, and the first
    /// `bytes` bytes of its eager buffer. Once all have entered this epoch, no member polls or reads these lines any
    /// more, and a post would have to wait for them. For groups with slots.
    #[inline]
    pub fn prepare_next(&self, members: impl Iterator<Item = usize>, bytes: usize) {
        let (slots, next) = (self.slots(), 1 - self.parity());
        for member in members {
            prefetch_for_write(ptr::from_ref(slots.of(member).flag(next, self.group.me)).cast());
        }
        let buffer = slots.of(self.group.me).eager[next].0.get().cast::<u8>();
        for line in (0..bytes).step_by(size_of::<FlagLine>()) {
            prefetch_for_write(buffer.wrapping_add(line));
        }
    }

    /// Waits until a flag of this PE is posted: acquires what its poster released.
    #[inline]
    pub fn wait(&self, flag: usize) {
        match &self.group.channel {
            Channel::Mailboxes(mailboxes) => {
                mailboxes.wait((self.parity(), flag), self.number, 0, &self.group.wait_reason());
            }
            _ => self.wait_slot(self.slots(), flag),
        }
    }

    #[inline]
    pub(super) fn post_slot(&self, slots: &Slots<'_>, member: usize, flag: usize) {
        self.group.posts(member);
        flag::post(&self.line(slots, member, flag).flag, self.number);
    }

    #[inline]
    pub(super) fn wait_slot(&self, slots: &Slots<'_>, flag: usize) {
        let flag = &self.line(slots, self.group.me, flag).flag;
        flag::wait(flag, self.number, || self.waiter());
    }

    /// Posts a flag of a member with a value of at most [`Group::flag_bytes`] bytes.
    ///
    /// # Safety
    /// `value` is readable for `bytes` bytes.
    #[inline]
    pub unsafe fn send(&self, member: usize, flag: usize, value: *const u8, bytes: usize) {
        debug_assert!(bytes <= self.group.flag_bytes());
        if let Channel::Mailboxes(mailboxes) = &self.group.channel {
            // SAFETY: the caller promises `bytes` readable bytes; by the argument above, the member
            // has read the flag's last value.
            unsafe { mailboxes.send(member, (self.parity(), flag), self.number, value, bytes) };
            return;
        }
        let to = self.line(self.slots(), member, flag).value.0.get().cast();
        // SAFETY: the caller promises `bytes` readable bytes. By rule 2, this PE alone writes the
        // flag in this epoch; by the argument above, the member has read its last value.
        unsafe { copy_small(to, value, bytes) };
        self.group.touches(to, bytes);
        self.post(member, flag);
    }

    /// Waits for a flag of this PE and copies its value.
    ///
    /// # Safety
    /// `value` is writable for `bytes` bytes.
    #[inline]
    pub unsafe fn receive(&self, flag: usize, value: *mut u8, bytes: usize) {
        debug_assert!(bytes <= self.group.flag_bytes());
        if let Channel::Mailboxes(mailboxes) = &self.group.channel {
            let flag = (self.parity(), flag);
            // SAFETY: the caller promises that `value` is writable for `bytes` bytes.
            return unsafe {
                mailboxes.receive(flag, self.number, (value, bytes), &self.group.wait_reason());
            };
        }
        self.wait(flag);
        let from = self.value(flag);
        // SAFETY: the caller promises that `value` is writable for `bytes` bytes. The flag is posted,
        // and by rule 2 not written in this epoch again.
        unsafe { copy_small(value, from, bytes) };
    }

    /// Puts `bytes` bytes to a member's rendezvous buffer `k` of this epoch, and posts a flag there.
    /// For groups that [have such buffers](Group::has_rendezvous).
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes, at most
    /// [`RENDEZVOUS_BYTES`](ferroshmem_layout::RENDEZVOUS_BYTES), and
    /// does not change until [`complete_puts`](Self::complete_puts).
    pub unsafe fn put_rendezvous(&self, member: usize, k: usize, flag: usize, from: *const u8, bytes: usize) {
        self.group.traffic.moved(bytes, bytes);
        // SAFETY: the caller promises that the bytes are readable and do not change; by the argument
        // above, the member has read the buffer's last content.
        unsafe {
            self.mailboxes().put_rendezvous(member, (self.parity(), k), from, bytes);
        };
        self.post(member, flag);
    }

    /// Waits for a flag, and returns rendezvous buffer `k` of this epoch, which it announces.
    pub fn wait_rendezvous(&self, k: usize, flag: usize) -> *const u8 {
        self.wait(flag);
        self.mailboxes().rendezvous((self.parity(), k))
    }

    /// Completes the puts to rendezvous buffers of other members.
    pub fn complete_puts(&self) {
        self.mailboxes().complete_puts();
    }

    fn mailboxes(&self) -> &MailboxChannel<'_> {
        match &self.group.channel {
            Channel::Mailboxes(mailboxes) => mailboxes,
            _ => unreachable!("this group has no mailboxes"),
        }
    }

    /// A member's eager buffer of [`EAGER`] bytes, aligned to a cache line: its owner writes it
    /// before the epoch's synchronisation, all members read it after.
    #[inline]
    pub fn eager(&self, member: usize) -> *mut u8 {
        let buffer = &self.slots().of(member).eager[self.parity()];
        buffer.0.get().cast()
    }

    /// Copies this PE's `bytes` bytes at `source` to its eager buffer.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes, [`EAGER`] at most.
    #[inline]
    pub unsafe fn write_eager(&self, source: *const u8, bytes: usize) {
        debug_assert!(bytes <= EAGER);
        self.group.traffic.moved(bytes, bytes);
        // SAFETY: the caller promises `bytes` readable bytes. The buffer is this PE's own; by the
        // argument above, all members have read its last content.
        unsafe { source.copy_to_nonoverlapping(self.eager(self.group.me), bytes) };
    }

    /// A member's buffer of [`SMALL`](ferroshmem_layout::SMALL) bytes, aligned to 16, for its
    /// contribution to the last member to arrive at the central barrier: on a cache line that the
    /// member writes anyway.
    #[inline]
    pub fn contribution(&self, member: usize) -> *mut u8 {
        self.slots().of(member).published.contribution.0.get().cast()
    }

    /// The buffer of the same size in which the last member to arrive at the central barrier leaves
    /// the result for all, before it releases them: that of member 0 is on the cache line that they poll.
    #[inline]
    pub fn result(&self, member: usize) -> *mut u8 {
        self.slots().of(member).release.result.0.get().cast()
    }

    /// Publishes a value, which the other members read after this epoch's synchronisation.
    #[inline]
    pub fn publish(&self, value: u64) {
        let me = self.group.me;
        match &self.group.channel {
            Channel::Slots(slots) => &slots.of(me).published.value[self.parity()],
            Channel::Mailboxes(mailboxes) => mailboxes.team.own_value(self.parity()),
            Channel::Hierarchy(team) => team.own_value(self.parity()),
            Channel::WorkArray(array) => return array.publish(me, value),
        }
        .store(value, Ordering::Release);
    }

    /// The value that a member published in this epoch.
    #[inline]
    pub fn published(&self, member: usize) -> u64 {
        match &self.group.channel {
            Channel::Slots(slots) => slots.of(member).published.value[self.parity()].load(Ordering::Acquire),
            Channel::Mailboxes(MailboxChannel { team, .. }) | Channel::Hierarchy(team) => {
                team.read_value(member, self.parity())
            }
            Channel::WorkArray(array) => array.published(member),
        }
    }

    /// How this PE waits for other members; made only if it has to wait.
    #[inline]
    fn waiter(&self) -> Waiter<'_> {
        Waiter::new(self.group.wait_reason())
    }

    /// Waits until all members have entered this epoch.
    #[inline]
    pub fn synchronise(&self) {
        let (me, size) = (self.group.me, self.group.size);
        match &self.group.channel {
            Channel::Slots(slots) => {
                // The channel is matched once here, not for every flag: this is most of the cost of a
                // small collective.
                let post = |member, flag| self.post_slot(slots, member, flag);
                let wait = |flag| self.wait_slot(slots, flag);
                match slots.decisions.choose(Collective::Barrier, 0).algorithm {
                    Algorithm::Central => self.synchronise_with(|| ()),
                    Algorithm::Dissemination => barrier::dissemination(me, size, post, wait),
                    other => self.synchronise_by_tree(slots, other == Algorithm::Sockets),
                }
            }
            Channel::Mailboxes(_) => {
                barrier::dissemination(me, size, |m, k| self.post(m, k), |k| self.wait(k));
            }
            Channel::Hierarchy(_) => self.group.sync_hierarchy(),
            Channel::WorkArray(array) => array.synchronise(me, size, self.group.wait_reason()),
        }
    }

    /// Waits until all members have entered this epoch, by the central barrier; the last member to
    /// arrive does `work` for all.
    #[inline]
    pub fn synchronise_with(&self, work: impl FnOnce()) {
        let first = self.slots().of(0);
        barrier::central(
            &first.gathering.arrivals,
            &first.release.arrived,
            self.group.size as u32,
            self.number,
            || self.waiter(),
            work,
        );
    }

    /// Waits until all members have entered this epoch, by the central barrier, and the running ones of
    /// members 0 to `helpers` - 1 have done tasks 0 to `tasks` - 1; there is at least one of both.
    pub fn synchronise_with_tasks(&self, helpers: usize, tasks: usize, work: impl Fn(usize)) {
        let first = self.slots().of(0);
        let barrier = TaskBarrier {
            arrivals: &first.gathering.arrivals,
            next: &first.gathering.next,
            done: &first.gathering.done,
            arrived: &first.release.arrived,
            finished: &first.release.finished,
        };
        let tasks = (tasks as u32, self.group.me < helpers);
        barrier.arrive(self.group.size as u32, self.number, tasks, || self.waiter(), |task| work(task as usize));
    }

    /// Waits until all members have entered this epoch, by the central barrier, and then until member 0 has done
    /// `work`, or for a while: it may have entered by another collective, which the program calls by mistake.
    pub fn synchronise_behind_first(&self, work: impl FnOnce()) {
        let first = self.slots().of(0);
        let (arrivals, arrived, finished) =
            (&first.gathering.arrivals, &first.release.arrived, &first.release.finished);
        let follower = |before| Follower { waiter: self.waiter(), arrived, before, give_up: None };
        let work = (self.group.me == 0).then_some(work);
        let (size, number) = (self.group.size as u32, self.number);
        barrier::behind_first(arrivals, (arrived, finished), size, number, work, || self.waiter(), follower);
    }
}

/// A wait for what one member does once all have arrived. It ends a while after that, since the member may have arrived
/// for another call.
#[derive(Debug)]
struct Follower<'a> {
    waiter: Waiter<'a>,
    /// The flag that shows the arrival of all members.
    arrived: &'a AtomicU32,
    /// What it showed before.
    before: u32,
    /// When the wait ends, in milliseconds, once all were found to have arrived.
    give_up: Option<u64>,
}

impl Follower<'_> {
    /// Sleepers look so often, which takes a core 2 % of its time with 1,024 members.
    const PATIENCE: Duration = Duration::from_millis(250);
}

impl WaitStrategy for Follower<'_> {
    fn after_idle_poll(&mut self) -> Next {
        if flag::value(self.arrived) != self.before {
            let now = now_ms();
            if now >= *self.give_up.get_or_insert(now + Self::PATIENCE.as_millis() as u64) {
                return Next::GiveUp;
            }
        }
        self.waiter.after_idle_poll()
    }

    fn spins(&mut self) -> Spins {
        self.waiter.spins()
    }

    fn longest_sleep(&self) -> Option<Duration> {
        Some(Self::PATIENCE)
    }
}

/// Begins the epoch after the last one and returns its number: the low bits of the count.
#[inline]
fn next(epochs: &AtomicU64) -> u32 {
    let mut number = epochs.load(Ordering::Relaxed).wrapping_add(1);
    if number as u32 & flag::VALUE == 0 {
        // Flags show this value before their first post.
        number += 2;
    }
    epochs.store(number, Ordering::Relaxed);
    number as u32
}

/// Copies a few bytes: 4 or 8 bytes without a call.
///
/// # Safety
/// `source` is readable and `dest` writable for `bytes` bytes; they do not overlap.
#[inline]
unsafe fn copy_small(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises that both are valid for `bytes` bytes and do not overlap.
    unsafe {
        match bytes {
            8 => dest.cast::<[u8; 8]>().write(source.cast::<[u8; 8]>().read()),
            4 => dest.cast::<[u8; 4]>().write(source.cast::<[u8; 4]>().read()),
            _ => dest.copy_from_nonoverlapping(source, bytes),
        }
    }
}
