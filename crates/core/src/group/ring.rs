//! Small broadcasts, scans and gathers in a pipeline: a member leaves a value for others and goes on; the
//! others wait for that member alone.
//!
//! All members number these calls of a team alike. The value of call b is in entry b mod K of a
//! ring in its member's slot: in the root's for a broadcast, in each one's own for a scan or gather. The entry's
//! flag shows b once the value is written. Each member counts the calls in which it has taken part, in its
//! slot, where writers read the count. A member writes a value of call b only after all members
//! have taken part in b - K, so that no member still needs the entry. There are two rings, a long one of short
//! entries and a short one of long entries: K depends on the length, which all members know.
//! Therefore no two members are more calls apart than the long ring has entries, and counts can be
//! compared although they wrap.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroshmem_platform::prefetch_for_write;

use super::Group;
use super::channel::{Channel, Slots};
use crate::team::Sockets;
use crate::wait::{WaitStrategy, Waiter, Word, flag};
use ferroshmem_layout::{FLAG_BYTES, RING_BYTES, RING_ENTRIES, SHORT_RING_ENTRIES, TeamSlot};

/// Where the value of each member of a scan is.
pub type ValueOf<'a> = dyn Fn(usize) -> *const u8 + 'a;

/// The value of a scan's last member, which no other member reads: aligned for every element type.
#[repr(C, align(16))]
struct OwnValue(MaybeUninit<[u8; RING_BYTES]>);

/// A call of a length, by its number.
#[derive(Debug, Clone, Copy)]
struct RingCall {
    number: u32,
    bytes: usize,
}

impl RingCall {
    /// How many calls of this length may be under way.
    fn depth(self) -> u32 {
        let depth = match self.bytes {
            0..=FLAG_BYTES => SHORT_RING_ENTRIES,
            _ => RING_ENTRIES,
        };
        depth as u32
    }

    /// The call that was in its entry before.
    fn before(self) -> u32 {
        self.number.wrapping_sub(self.depth())
    }

    /// The second call of this length after it.
    fn after_next(self) -> Self {
        Self { number: self.number.wrapping_add(2), ..self }
    }

    /// Flag and value of its entry in a member's slot.
    fn entry(self, slot: &TeamSlot) -> (&AtomicU32, *mut u8) {
        let index = self.number as usize;
        if self.bytes <= FLAG_BYTES {
            let entry = &slot.ring.short.0[index % SHORT_RING_ENTRIES];
            return (&entry.flag, entry.value.0.get().cast());
        }
        let entry = &slot.ring.entries[index % RING_ENTRIES];
        (&entry.flag, entry.value.0.get().cast())
    }
}

impl Group<'_> {
    /// Takes part in a broadcast of `bytes` bytes, [`RING_BYTES`] at most, from `source` on the root to `dest` on the
    /// members that name it; others take no part but to count the call. With `sockets`, the leader of each socket but
    /// the root's leaves the value for its members.
    ///
    /// # Safety
    /// On the root `source` is readable for `bytes` bytes, elsewhere `dest` is writable. The group
    /// has slots.
    pub unsafe fn broadcast_small(
        &self,
        root: Option<usize>,
        sockets: Option<&Sockets>,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
    ) {
        let (slots, call) = self.begin_ring_call(bytes);
        self.traffic.moved(bytes, bytes);
        if root == Some(self.me) {
            // SAFETY: the caller promises that `source` is readable for `bytes` bytes.
            unsafe { self.leave_value(slots, call, source) };
        } else if let Some(root) = root {
            let value = match sockets {
                None => self.wait_for_value(slots, call, root),
                Some(sockets) => self.hand_on_value(slots, call, root, sockets),
            };
            // SAFETY: the caller promises that `dest` is writable for `bytes` bytes.
            unsafe { self.take_value(slots, call, value, dest) };
        } else {
            // It must not be more calls ahead of the others than the ring has entries.
            self.make_room(slots, call);
        }
        flag::post(&slots.of(self.me).ring.taken.count, call.number);
    }

    /// Takes part in a scan of `bytes` bytes, [`RING_BYTES`] at most: leaves `source` for the members after
    /// this one, and gives `add_up` where the values of this member and those before it are, by their
    /// numbers.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes. The group has slots. `add_up` reads values only while it runs.
    pub unsafe fn scan_small(&self, source: *const u8, bytes: usize, add_up: &mut dyn FnMut(&ValueOf<'_>)) {
        let (slots, call) = self.begin_ring_call(bytes);
        self.traffic.moved(bytes, bytes);
        let mut last = OwnValue(MaybeUninit::uninit());
        let own: *const u8 = if self.me + 1 < self.size {
            // SAFETY: the caller promises that `source` is readable for `bytes` bytes.
            unsafe { self.leave_value(slots, call, source) };
            call.entry(slots.of(self.me)).1
        } else {
            // No member is after this one, which cannot be ahead of those that it waits for.
            let own = last.0.as_mut_ptr().cast::<u8>();
            // SAFETY: as above; a call has at most as many bytes as an own value.
            unsafe { own.copy_from_nonoverlapping(source, bytes) };
            own
        };
        // The last one before this member is likely the last to come.
        for member in (0..self.me).rev() {
            self.wait_for_value(slots, call, member);
        }
        if self.me + 1 == self.size {
            // As in broadcasts: the members that left a value have made sure of this.
            slots.position.ring.set_taken(call.before());
        }
        add_up(&|member| match member == self.me {
            true => own,
            false => call.entry(slots.of(member)).1.cast_const(),
        });
        flag::post(&slots.of(self.me).ring.taken.count, call.number);
    }

    /// Takes part in a gather of `bytes` bytes, [`RING_BYTES`] at most: leaves `source` for the root, and gives `take`
    /// on the root where the members' values are, by their numbers.
    ///
    /// # Safety
    /// As for [`scan_small`](Self::scan_small).
    pub unsafe fn gather_small(
        &self,
        root: usize,
        source: *const u8,
        bytes: usize,
        take: &mut dyn FnMut(&ValueOf<'_>),
    ) {
        let (slots, call) = self.begin_ring_call(bytes);
        self.traffic.moved(bytes, bytes);
        if self.me == root {
            for member in (0..self.size).filter(|member| *member != root) {
                self.wait_for_value(slots, call, member);
            }
            // As in scans: the members that left a value have made sure of this.
            slots.position.ring.set_taken(call.before());
            take(&|member| match member == root {
                true => source,
                false => call.entry(slots.of(member)).1.cast_const(),
            });
        } else {
            // SAFETY: the caller promises that `source` is readable for `bytes` bytes.
            unsafe { self.leave_value(slots, call, source) };
        }
        flag::post(&slots.of(self.me).ring.taken.count, call.number);
    }

    /// Begins a [broadcast](Self::broadcast_small) from this root's `source`, or from another root: its number. None if
    /// a root has to wait for room and may not.
    ///
    /// # Safety
    /// That of [`broadcast_small`](Self::broadcast_small). This member ends it before it begins another call.
    pub unsafe fn begin_broadcast(&self, root: usize, source: *const u8, bytes: usize, may_wait: bool) -> Option<u32> {
        let (slots, call) = self.next_ring_call(bytes);
        if root == self.me && !may_wait && !self.has_room(slots, call) {
            return None;
        }
        slots.position.ring.number.store(call.number, Ordering::Relaxed);
        if root == self.me {
            // SAFETY: the caller promises that `source` is readable for `bytes` bytes.
            unsafe { self.leave_value(slots, call, source) };
            flag::post(&slots.of(self.me).ring.taken.count, call.number);
        }
        Some(call.number)
    }

    /// Whether the value of another root is there.
    pub fn is_broadcast(&self, root: usize, number: u32, bytes: usize) -> bool {
        let (flag, _) = RingCall { number, bytes }.entry(self.ring_slots().of(root));
        flag::value(flag) == number & flag::VALUE
    }

    /// Waits for the value of another root, and ends the broadcast.
    ///
    /// # Safety
    /// `dest` is writable for `bytes` bytes.
    pub unsafe fn end_broadcast(&self, root: usize, number: u32, dest: *mut u8, bytes: usize) {
        let (slots, call) = (self.ring_slots(), RingCall { number, bytes });
        let value = self.wait_for_value(slots, call, root);
        // SAFETY: the caller promises that `dest` is writable for `bytes` bytes.
        unsafe { self.take_value(slots, call, value, dest) };
        flag::post(&slots.of(self.me).ring.taken.count, call.number);
    }

    fn ring_slots(&self) -> &Slots<'_> {
        match &self.channel {
            Channel::Slots(slots) => slots,
            _ => unreachable!("this group has no slots"),
        }
    }

    fn begin_ring_call(&self, bytes: usize) -> (&Slots<'_>, RingCall) {
        let (slots, call) = self.next_ring_call(bytes);
        slots.position.ring.number.store(call.number, Ordering::Relaxed);
        (slots, call)
    }

    /// The next call, which is not counted yet.
    fn next_ring_call(&self, bytes: usize) -> (&Slots<'_>, RingCall) {
        debug_assert!(bytes <= RING_BYTES);
        let slots = self.ring_slots();
        let mut number = slots.position.ring.number.load(Ordering::Relaxed).wrapping_add(1);
        if number & flag::VALUE == 0 {
            // Entries show this value before their first post.
            number += 1;
        }
        (slots, RingCall { number, bytes })
    }

    /// Leaves a value in this member's slot.
    ///
    /// # Safety
    /// `source` is readable for the bytes of the call.
    unsafe fn leave_value(&self, slots: &Slots<'_>, call: RingCall, source: *const u8) {
        self.make_room(slots, call);
        let (flag, value) = call.entry(slots.of(self.me));
        // SAFETY: the caller promises that `source` is readable for these bytes; `make_room`
        // waited until no member reads the entry.
        unsafe { value.copy_from_nonoverlapping(source, call.bytes) };
        flag::post(flag, call.number);
        // Others have read the entries to come, and a store waits until the line is back.
        let (next, _) = call.after_next().entry(slots.of(self.me));
        prefetch_for_write((&raw const *next).cast());
    }

    /// Takes the value of a root, which is there.
    ///
    /// # Safety
    /// `dest` is writable for the bytes of the call, which this member has not counted as taken.
    unsafe fn take_value(&self, slots: &Slots<'_>, call: RingCall, value: *const u8, dest: *mut u8) {
        // SAFETY: the caller promises that `dest` is writable; no root writes the entry before this member counts the
        // call.
        unsafe { dest.copy_from_nonoverlapping(value, call.bytes) };
        self.touches(value, call.bytes);
        // The root has made sure of this; recording it keeps the position within K of the count.
        slots.position.ring.set_taken(call.before());
    }

    /// Waits for the value that a member leaves.
    fn wait_for_value(&self, slots: &Slots<'_>, call: RingCall, member: usize) -> *const u8 {
        let (flag, value) = call.entry(slots.of(member));
        flag::wait(flag, call.number, || Waiter::new(self.wait_reason()));
        value
    }

    /// Waits for the value of a root that may be on another socket. A leader of another than the root's leaves it in
    /// its own entry, which is free: the root has seen that all members have taken part in the call before that
    /// used it, and the leader has seen the root's flag.
    #[inline(never)]
    fn hand_on_value(&self, slots: &Slots<'_>, call: RingCall, root: usize, sockets: &Sockets) -> *const u8 {
        if sockets.of(root) == sockets.own {
            return self.wait_for_value(slots, call, root);
        }
        if sockets.position > 0 {
            return self.wait_for_value(slots, call, sockets.leader(sockets.own));
        }
        let value = self.wait_for_value(slots, call, root);
        let (flag, own) = call.entry(slots.of(self.me));
        // SAFETY: an entry has room for the bytes of the call; no member reads this one (see above).
        unsafe { own.copy_from_nonoverlapping(value, call.bytes) };
        self.touches(value, call.bytes);
        flag::post(flag, call.number);
        own
    }

    /// Whether [`make_room`](Self::make_room) would not wait.
    fn has_room(&self, slots: &Slots<'_>, call: RingCall) -> bool {
        let needed = call.number.wrapping_sub(call.depth() / 2);
        let has_taken = |member| flag::reached(flag::value(&slots.of(member).ring.taken.count), needed);
        slots.position.ring.is_taken(call.before()) || (0..self.size).all(|m| m == self.me || has_taken(m))
    }

    /// Waits until all members have taken the value that is in the entry for a call. If they have not, until
    /// half of the ring is free: where PEs share cores, this one then runs for many calls instead of one
    /// each time that the slowest has taken one.
    fn make_room(&self, slots: &Slots<'_>, call: RingCall) {
        if slots.position.ring.is_taken(call.before()) {
            return;
        }
        let others = (0..self.size).filter(|m| *m != self.me);
        let counts = others.map(|member| &slots.of(member).ring.taken.count);
        let taken = wait_for_room(call.number, call.depth(), counts, || Waiter::new(self.wait_reason()));
        slots.position.ring.set_taken(taken);
    }
}

/// Waits until all `counts` show that half of a ring of `depth` entries is free for call `number`. The last call before
/// that in which all have taken part, or itself.
#[inline]
pub fn wait_for_room<'w, W: Word + 'w, P: WaitStrategy>(
    number: u32,
    depth: u32,
    counts: impl Iterator<Item = &'w W>,
    strategy: impl Fn() -> P,
) -> u32 {
    let needed = number.wrapping_sub(depth / 2);
    let mut lag = 0;
    for count in counts {
        flag::wait_for_at_least(count, needed, &strategy);
        let taken = flag::value(count);
        // In scans the members before this one may be ahead.
        if !flag::reached(taken, number) {
            lag = lag.max(number.wrapping_sub(taken) & flag::VALUE);
        }
    }
    number.wrapping_sub(lag)
}
