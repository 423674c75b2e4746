//! Broadcast: the root's source on every member.

use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_core::team::Sockets;
use ferroshmem_layout::{FLAGS, RING_BYTES};
use ferroshmem_tuning::{Algorithm, Collective, EAGER};

use super::{LINE, copy, copy_part, copy_to_socket, slices_of};

/// Most members of a pipelined small broadcast, whose root reads the counts of all members now and
/// then; with more members a synchronisation costs less.
pub(super) const RING_MEMBERS: usize = 256;

/// One call.
struct Broadcast<'a> {
    group: &'a Group<'a>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
    bytes: usize,
    root: usize,
    /// Whether the root's `dest` is written too.
    to_root: bool,
}

/// Copies `bytes` bytes of member `root`'s `source` to `dest` on the members; on the root
/// itself only if `to_root` (teams: yes, active sets: no).
///
/// # Safety
/// `dest` and `source` are valid for `bytes` bytes on every member; they are the same or do
/// not overlap.
pub unsafe fn broadcast<'a>(
    group: &'a Group<'a>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
    bytes: usize,
    root: usize,
    to_root: bool,
) {
    let b = Broadcast { group, dest, source, bytes, root, to_root };
    let choice = group.choose(Collective::Broadcast, bytes);
    // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member, the same or
    // not overlapping.
    unsafe {
        match choice.algorithm {
            _ if group.size == 1 => b.fill(0),
            Algorithm::Eager if bytes <= RING_BYTES && group.size <= RING_MEMBERS => {
                b.pipelined(None);
            }
            Algorithm::Eager if bytes <= EAGER => b.eager(),
            Algorithm::Push => b.push(),
            Algorithm::Slices => b.slices(),
            Algorithm::Sockets => match group.sockets() {
                Some(sockets) => b.by_sockets(sockets),
                None => b.slices(),
            },
            Algorithm::Tree => b.tree(),
            _ => group.share_by_member(2 * bytes, |m| b.fill(m)),
        }
    }
}

impl Broadcast<'_> {
    /// Whether a member's `dest` is written.
    fn writes(&self, member: usize) -> bool {
        member != self.root || self.to_root
    }

    /// The root leaves its source in library memory and goes on; the others wait for the root alone.
    ///
    /// # Safety
    /// That of [`broadcast`]; for all methods below.
    unsafe fn pipelined(&self, sockets: Option<&Sockets>) {
        let me = self.group.me;
        let (dest, source) = (self.dest.of(me), self.source.of(me));
        // SAFETY: the caller promises `bytes` bytes at `dest` and `source`.
        unsafe {
            self.group.broadcast_small(Some(self.root), sockets, dest, source, self.bytes);
            if me == self.root && self.to_root {
                copy(self.group, dest, source, self.bytes);
            }
        }
    }

    /// The root copies its source to library memory; no member accesses another's arrays.
    unsafe fn eager(&self) {
        let (me, epoch) = (self.group.me, self.group.epoch());
        // SAFETY: the caller promises `bytes` bytes at `dest` and `source`; the buffer is read after
        // the root has written it.
        unsafe {
            if me == self.root {
                epoch.write_eager(self.source.of(me), self.bytes);
            }
            epoch.synchronise();
            if self.writes(me) {
                let from = epoch.eager(self.root);
                copy(self.group, self.dest.of(me), from, self.bytes);
            }
        }
    }

    /// Copies the root's source to a member's destination.
    unsafe fn fill(&self, member: usize) {
        if self.writes(member) {
            let (to, from) = (self.dest.of(member), self.source.of(self.root));
            // SAFETY: the caller promises `bytes` bytes at `dest` and `source`; the root's source does
            // not change during the call.
            unsafe { copy_part(self.group, to, from, self.bytes, self.bytes) };
        }
    }

    /// The root writes every destination and so reads its source from its own cache. With the
    /// central barrier and small arrays, the last member to arrive does it.
    unsafe fn push(&self) {
        let size = self.group.size;
        let bytes = (1 + size) * self.bytes;
        self.group.run_on_one(self.root, bytes, || {
            // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member; all
            // members have entered, and one member writes.
            (0..size).for_each(|m| unsafe { self.fill(m) });
        });
    }

    /// Each member, the root too, copies its part of the root's source to every destination: each
    /// byte is read once.
    unsafe fn slices(&self) {
        let work = slices_of(self.group, self.bytes, 1, 1 + self.group.size);
        self.group.share_work(work, |part| {
            let (to, from) = (self.dest.from(part.start), self.source.from(part.start));
            for member in (0..self.group.size).filter(|m| self.writes(*m)) {
                // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member; no
                // other member writes this part.
                unsafe {
                    let (to, from) = (to.of(member), from.of(self.root));
                    copy_part(self.group, to, from, part.len(), self.bytes);
                }
            }
        });
    }

    /// The members of each socket share the root's source: each byte is read once for a socket. A small one
    /// goes through the slot of its leader.
    unsafe fn by_sockets(&self, sockets: &Sockets) {
        if self.bytes <= RING_BYTES && self.group.size <= RING_MEMBERS {
            // SAFETY: the caller promises `bytes` bytes at `dest` and `source`.
            return unsafe { self.pipelined(Some(sockets)) };
        }
        self.group.sync();
        // The root of an active set is not among them.
        let writers = sockets.members_on_socket().filter(|member| self.writes(*member));
        let number = writers.clone().position(|member| member == self.group.me);
        if let Some(number) = number {
            let lines = self.bytes.div_ceil(LINE);
            let share = lines.div_ceil(writers.clone().count()) * LINE;
            let start = (number * share).min(self.bytes);
            let length = (start + share).min(self.bytes) - start;
            let (to, from) = (self.dest.from(start), self.source.from(start));
            // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member; no other
            // member writes this part of those of this socket.
            unsafe {
                let from = from.of(self.root);
                copy_to_socket(self.group, &to, writers, from, (length, self.bytes));
            }
        }
        self.group.leave();
    }

    /// A binomial tree with the root on top: each member reads its parent's copy, so that not all
    /// members read the root's. After the synchronisation at the end, the arrays may be reused. It is
    /// part of the same epoch, which the root would otherwise complete before all members have
    /// entered it.
    unsafe fn tree(&self) {
        /// Posted when the parent has its copy. The synchronisation does not use this flag.
        const COPIED: usize = FLAGS - 1;

        let (me, size) = (self.group.me, self.group.size);
        let number = (me + size - self.root) % size;
        let member = |number: usize| (number + self.root) % size;
        let epoch = self.group.epoch();
        if number > 0 {
            // The parent lacks the highest bit.
            let parent = member(number - (1 << number.ilog2()));
            let from = if parent == self.root { self.source.of(parent) } else { self.dest.of(parent) };
            epoch.wait(COPIED);
            // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member; the
            // parent has its copy.
            unsafe { copy_part(self.group, self.dest.of(me), from, self.bytes, self.bytes) };
        }
        let first = number.checked_ilog2().map_or(0, |bit| bit + 1);
        let children = (first..usize::BITS).map(|k| number + (1 << k));
        for child in children.take_while(|child| *child < size) {
            epoch.post(member(child), COPIED);
        }
        if number == 0 && self.to_root {
            // SAFETY: the caller promises `bytes` bytes at `dest` and `source`; the children read the
            // source, not the dest.
            unsafe { copy(self.group, self.dest.of(me), self.source.of(me), self.bytes) };
        }
        epoch.synchronise();
    }
}
