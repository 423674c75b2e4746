//! Broadcast: the root's source on every member.

use super::{copy, slices_of};
use crate::choice::{Algorithm, Collective, EAGER};
use crate::group::{Group, Places};
use crate::job::region::{LANES, STREAM_BYTES};

/// Most members for which a root looks at all of them now and then to see how far they are;
/// with more, a synchronisation costs less.
const STREAM_MEMBERS: usize = 256;

/// One call.
struct Broadcast<'a> {
    group: &'a Group<'a>,
    dest: Places<'a, u8>,
    source: Places<'a, u8>,
    bytes: usize,
    root: usize,
    /// Whether the root's `dest` is written, too.
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
    dest: Places<'a, u8>,
    source: Places<'a, u8>,
    bytes: usize,
    root: usize,
    to_root: bool,
) {
    let b = Broadcast {
        group,
        dest,
        source,
        bytes,
        root,
        to_root,
    };
    let choice = group.choose(Collective::Broadcast, bytes);
    // SAFETY: the caller's promise.
    unsafe {
        match choice.algorithm {
            _ if group.size == 1 => b.fill(0),
            Algorithm::Eager if bytes <= STREAM_BYTES && group.size <= STREAM_MEMBERS => b.stream(),
            Algorithm::Eager if bytes <= EAGER => b.eager(),
            Algorithm::Push => b.push(),
            Algorithm::Slices => b.slices(),
            Algorithm::Tree => b.tree(),
            _ => group.share_out_members(2 * bytes, |m| b.fill(m)),
        }
    }
}

impl Broadcast<'_> {
    fn writes(&self, member: usize) -> bool {
        member != self.root || self.to_root
    }

    /// The root leaves its source in library memory, and goes on; the others wait for it alone.
    ///
    /// # Safety
    /// That of [`broadcast`]; for all methods below.
    unsafe fn stream(&self) {
        let me = self.group.me;
        let (dest, source) = (self.dest.of(me), self.source.of(me));
        // SAFETY: the caller's promise.
        unsafe {
            self.group
                .broadcast_small(self.root, dest, source, self.bytes);
            if me == self.root && self.to_root {
                copy(self.group, dest, source, self.bytes);
            }
        }
    }

    /// The root shows its source in library memory; nobody touches another's arrays.
    unsafe fn eager(&self) {
        let (me, epoch) = (self.group.me, self.group.epoch());
        // SAFETY: the caller's promise; the buffer is read after the root has written it.
        unsafe {
            if me == self.root {
                epoch.show(self.source.of(me), self.bytes);
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
            // SAFETY: the caller's promise; the root's source is constant during the call.
            unsafe { copy(self.group, to, from, self.bytes) };
        }
    }

    /// The root writes every destination: its source is read from its own cache. Or the last
    /// to arrive does, if there is one and the arrays are not large.
    unsafe fn push(&self) {
        let size = self.group.size;
        let bytes = (1 + size) * self.bytes;
        self.group.have_one_work(self.root, bytes, || {
            // SAFETY: the caller's promise; all members are here, and one alone writes.
            (0..size).for_each(|m| unsafe { self.fill(m) });
        });
    }

    /// Each member copies its part of the root's source to every destination: each byte is
    /// read once, and all members, the root too, share the work.
    unsafe fn slices(&self) {
        let work = slices_of(self.group, self.bytes, 1, 1 + self.group.size);
        self.group.share_out(work, |part| {
            let (to, from) = (self.dest.from(part.start), self.source.from(part.start));
            for member in (0..self.group.size).filter(|m| self.writes(*m)) {
                // SAFETY: the caller's promise; this part is written here alone.
                unsafe { copy(self.group, to.of(member), from.of(self.root), part.len()) };
            }
        });
    }

    /// A binomial tree with the root on top: each member reads its parent's copy, so that not
    /// all read the root's. The synchronisation at the end gives the copies free; it belongs
    /// to the same epoch, which by the tree alone the root would complete on its own.
    unsafe fn tree(&self) {
        /// The parent has its copy. Not a lane of the synchronisation's.
        const COPIED: usize = LANES - 1;

        let (me, size) = (self.group.me, self.group.size);
        let number = (me + size - self.root) % size;
        let member = |number: usize| (number + self.root) % size;
        let epoch = self.group.epoch();
        if number > 0 {
            // The parent lacks the highest bit.
            let parent = member(number - (1 << number.ilog2()));
            let from = if parent == self.root {
                self.source.of(parent)
            } else {
                self.dest.of(parent)
            };
            epoch.wait(COPIED);
            // SAFETY: the caller's promise; the parent has its copy.
            unsafe { copy(self.group, self.dest.of(me), from, self.bytes) };
        }
        let first = number.checked_ilog2().map_or(0, |bit| bit + 1);
        let children = (first..usize::BITS).map(|k| number + (1 << k));
        for child in children.take_while(|child| *child < size) {
            epoch.post(member(child), COPIED);
        }
        if number == 0 && self.to_root {
            // SAFETY: the caller's promise; the children read the source.
            unsafe { copy(self.group, self.dest.of(me), self.source.of(me), self.bytes) };
        }
        epoch.synchronise();
    }
}
