//! Where the members of a connection between nodes say that they have come to a synchronisation, and where their arrays
//! are.
//!
//! The members on one node, of both groups, share the connection's memory that the first of them has made, their
//! *leader*. There they synchronise as a team of one node does, by slots. What they say to the members of other nodes
//! goes by *announcements*: each member writes its announcement, a tagged message, by stores; the leader puts the
//! announcements of its node, which are in a row, to the leaders of the other nodes, whose members read them in the
//! memory that they share.
//!
//! No member completes a synchronisation before all have entered it. So when one enters the next but one, all have read
//! what it has said in this one: two announcements of each member, for even and odd synchronisations, are enough.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_fabric::TaggedMessage;
use ferroshmem_platform::mapping::{self, MapAddress};

use crate::job::control::Control;

/// What a member says: the place of an array.
const BYTES: usize = size_of::<u64>();

/// Where a member says it.
type Announcement = [AtomicU64; TaggedMessage::words_for(BYTES)];

/// The announcements of all members, mapped.
#[derive(Debug)]
pub(super) struct Announcements {
    /// For even and for odd synchronisations.
    all: [&'static [Announcement]; 2],
}

impl Announcements {
    /// In the memory of a connection of `n` members: where a job has the mailboxes that PEs of other nodes write.
    pub(super) fn map(file: &File, control: &Control, n: usize) -> io::Result<Self> {
        let offset = control.offsets().mailbox(0);
        let len = 2 * n * size_of::<Announcement>();
        // SAFETY: placed where there is room.
        let at = unsafe { mapping::map_shared(file.as_fd(), offset, len, MapAddress::Anywhere)? };
        let at = at.cast_const().cast::<Announcement>();
        // SAFETY: mapped for 2 n announcements until this is dropped, and all bit patterns are valid; only atomics
        // access them.
        let all = unsafe { std::slice::from_raw_parts(at, 2 * n) };
        Ok(Self { all: all.split_at(n).into() })
    }

    /// The first byte, and the number of bytes.
    pub(super) fn memory(&self) -> (*mut u8, usize) {
        let [even, odd] = self.all;
        (even.as_ptr().cast_mut().cast(), size_of_val(even) + size_of_val(odd))
    }

    fn of(&self, number: u32, row: usize) -> &Announcement {
        &self.all[number as usize % 2][row]
    }
}

impl Drop for Announcements {
    fn drop(&mut self) {
        let (at, len) = self.memory();
        // SAFETY: mapped by `map`; the announcements are borrowed from this.
        unsafe { mapping::unmap(at.addr(), len) };
    }
}

/// The members of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// The first of them.
    pub leader: usize,
    /// The rows of their announcements, in the order of their numbers.
    pub rows: Range<usize>,
}

/// Which members share memory.
#[derive(Debug)]
pub(super) struct Nodes {
    all: Vec<Node>,
    /// The row of each member's announcement.
    row_of: Vec<usize>,
    /// Where member `me` is.
    own: usize,
    me: usize,
}

impl Nodes {
    /// Of members that are on these nodes, as member `me` sees them.
    pub(super) fn new<T: PartialEq>(me: usize, nodes: impl Iterator<Item = T>) -> Self {
        let mut names = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut own = 0;
        for (member, name) in nodes.enumerate() {
            let known = names.iter().position(|n| *n == name);
            let node = known.unwrap_or_else(|| {
                names.push(name);
                members.push(Vec::new());
                names.len() - 1
            });
            members[node].push(member);
            if member == me {
                own = node;
            }
        }
        let mut row_of = vec![0; members.iter().map(Vec::len).sum()];
        let mut next = 0;
        let node = |members: &Vec<usize>| {
            let start = next;
            for member in members {
                row_of[*member] = next;
                next += 1;
            }
            Node { leader: members[0], rows: start..next }
        };
        let all = members.iter().map(node).collect();
        Self { all, row_of, own, me }
    }

    fn own(&self) -> &Node {
        &self.all[self.own]
    }

    /// This PE's number among the members of its node.
    fn index(&self) -> usize {
        self.row_of[self.me] - self.own().rows.start
    }
}

/// The memory of the connection that another member has made.
#[derive(Debug)]
pub(super) struct LeaderMemory {
    slots: Control,
    announcements: Announcements,
}

impl LeaderMemory {
    /// Maps this memory of a connection of `n` members.
    pub(super) fn map(file: &File, n: usize) -> io::Result<Self> {
        let slots = Control::open(file)?;
        let announcements = Announcements::map(file, &slots, n).inspect_err(|_| {
            // SAFETY: mapped just above, and not used yet.
            unsafe { slots.unmap() };
        })?;
        Ok(Self { slots, announcements })
    }
}

impl Drop for LeaderMemory {
    fn drop(&mut self) {
        // SAFETY: no team and no call uses them any more.
        unsafe { self.slots.unmap() };
    }
}

/// What members have of each other to synchronise.
#[derive(Debug)]
pub(super) struct RemoteSync {
    /// The memory that this PE has made, which its fabric shares.
    made: Announcements,
    /// The leader's, if that is another member.
    taken: Option<LeaderMemory>,
    /// The slots of the members of this node.
    slots: Control,
    nodes: Nodes,
    /// Synchronisations so far.
    number: AtomicU32,
}

impl RemoteSync {
    /// In the memory that this PE has made, and that of the leader, if it has taken that.
    pub(super) fn new((slots, made): (Control, Announcements), taken: Option<LeaderMemory>, nodes: Nodes) -> Self {
        Self { made, slots: taken.as_ref().map_or(slots, |taken| taken.slots), taken, nodes, number: AtomicU32::new(0) }
    }

    fn announcements(&self) -> &Announcements {
        self.taken.as_ref().map_or(&self.made, |taken| &taken.announcements)
    }

    /// The slots of this node's members, this PE's number among them, and how many there are.
    pub(super) fn slots(&self) -> (Control, usize, usize) {
        (self.slots, self.nodes.index(), self.nodes.own().rows.len())
    }

    /// Whether all members are on one node.
    pub(super) fn is_on_one_node(&self) -> bool {
        self.nodes.all.len() == 1
    }

    /// This PE enters a synchronisation: its number. What it says, all members read after it.
    pub(super) fn enter(&self, place: u64) -> u32 {
        let number = self.number.load(Ordering::Relaxed).wrapping_add(1);
        self.number.store(number, Ordering::Relaxed);
        let announcement = self.announcements().of(number, self.nodes.row_of[self.nodes.me]);
        TaggedMessage::new(number, &place.to_ne_bytes()).store(announcement);
        number
    }

    /// What the members of this node have said, once all have entered: first byte, bytes, and offset in the memory of
    /// each leader.
    pub(super) fn own(&self, number: u32) -> (*const u8, usize, usize) {
        let rows = self.nodes.own().rows.clone();
        let first: *const Announcement = self.announcements().of(number, rows.start);
        let offset = first.addr() - self.announcements().memory().0.addr();
        (first.cast(), rows.len() * size_of::<Announcement>(), offset)
    }

    /// The leaders of the other nodes, from this one on, so that not all put to the same one at once.
    pub(super) fn leaders(&self) -> impl Iterator<Item = usize> {
        let Nodes { all, own, .. } = &self.nodes;
        let others = all[own + 1..].iter().chain(&all[..*own]);
        others.map(|node| node.leader)
    }

    /// Whether what a member says has arrived here. Acquires what it has released.
    pub(super) fn has_arrived(&self, row: usize, number: u32) -> bool {
        TaggedMessage::has_arrived(self.announcements().of(number, row), number, BYTES)
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.nodes.row_of.len()
    }

    /// What a member has said in the last synchronisation, until this PE enters the next but one.
    pub(super) fn place_of(&self, member: usize) -> u64 {
        let number = self.number.load(Ordering::Relaxed);
        let announcement = self.announcements().of(number, self.nodes.row_of[member]);
        let mut place = [0; BYTES];
        // SAFETY: as many bytes.
        unsafe { TaggedMessage::read(announcement, place.as_mut_ptr(), BYTES) };
        u64::from_ne_bytes(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_node_have_lanes_in_a_row() {
        let hosts = ["a", "b", "a", "c", "b", "a"];
        let nodes = Nodes::new(4, hosts.into_iter());
        assert_eq!(nodes.row_of, [0, 3, 1, 5, 4, 2]);
        let leaders: Vec<_> = nodes.all.iter().map(|node| node.leader).collect();
        assert_eq!(leaders, [0, 1, 3]);
        let own = Node { leader: 1, rows: 3..5 };
        assert_eq!((nodes.own(), nodes.index()), (&own, 1));
        let apart = Nodes::new(2, 0..3);
        assert_eq!((apart.row_of, apart.all.len(), apart.own), (vec![0, 1, 2], 3, 2));
    }
}
