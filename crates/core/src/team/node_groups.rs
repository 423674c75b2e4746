//! How a team lies on nodes: its members of one node are one or more *node groups*, each an
//! arithmetic sequence of the node's PEs, so that the slots and windows of a node group lie at a
//! constant distance.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Members;
use crate::internode::Internode;
use crate::job::Placement;
use ferroshmem_layout::TeamMailbox;

/// Members of a team that share a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGroup {
    /// Number in the team of the first member, the leader.
    pub leader: u32,
    /// The members by their numbers on the node.
    pub local: Members,
    node: u32,
}

/// The node groups of a team, in the order of their leaders.
#[derive(Debug, Clone)]
pub struct NodeGroups {
    all: Vec<NodeGroup>,
    /// The node group of each member, and its number there; empty if there is one node group.
    of_member: Vec<(u32, u32)>,
    /// The members of each node group by their numbers in the team; empty if there is one.
    members_of: Vec<Vec<u32>>,
}

impl NodeGroups {
    /// The node groups of `members`; every PE computes the same result.
    pub fn new(members: &Members, placement: &Placement) -> Self {
        if placement.nodes() == 1 {
            // PEs have their numbers on the node.
            let stride = if members.size == 1 { 1 } else { members.stride };
            let local = Members { stride, ..*members };
            return Self {
                all: vec![NodeGroup { leader: 0, local, node: 0 }],
                of_member: Vec::new(),
                members_of: Vec::new(),
            };
        }
        let mut all: Vec<NodeGroup> = Vec::new();
        let mut of_member = Vec::with_capacity(members.size);
        // The last group of each node: it alone can grow, since earlier ones ended where the
        // sequence broke.
        let mut last: Vec<Option<usize>> = vec![None; placement.nodes()];
        for member in 0..members.size {
            let place = placement.of(members.pe(member));
            let last = &mut last[place.node as usize];
            let grown = last.filter(|i| grow(&mut all[*i].local, place.index as i32));
            let group = grown.unwrap_or_else(|| {
                all.push(NodeGroup {
                    leader: member as u32,
                    local: Members { start: place.index as i32, stride: 1, size: 1 },
                    node: place.node,
                });
                all.len() - 1
            });
            *last = Some(group);
            of_member.push((group as u32, all[group].local.size as u32 - 1));
        }
        let mut members_of = vec![Vec::new(); all.len()];
        for (member, (group, _)) in of_member.iter().enumerate() {
            members_of[*group as usize].push(member as u32);
        }
        if all.len() == 1 {
            of_member.clear();
            members_of.clear();
        }
        Self { all, of_member, members_of }
    }

    /// Number in the team of member `index` of a node group.
    pub fn member(&self, group: usize, index: usize) -> usize {
        self.members_of[group][index] as usize
    }

    /// Whether all members are in one node group.
    pub fn is_single(&self) -> bool {
        self.all.len() == 1
    }

    /// All node groups.
    pub fn all(&self) -> &[NodeGroup] {
        &self.all
    }

    /// The node group of a member, and the member's number in it.
    pub fn of(&self, member: usize) -> (usize, usize) {
        match self.of_member.get(member) {
            Some((group, index)) => (*group as usize, *index as usize),
            None => (0, member),
        }
    }
}

/// Adds a PE at the end of a sequence if it continues the sequence.
fn grow(sequence: &mut Members, next: i32) -> bool {
    let last = sequence.start + sequence.stride * (sequence.size as i32 - 1);
    if sequence.size == 1 && next != last {
        sequence.stride = next - last;
    } else if next - last != sequence.stride {
        return false;
    }
    sequence.size += 1;
    true
}

/// A team of several node groups: its members synchronise within node groups by slots in shared
/// memory, and between node groups by mailboxes.
#[derive(Debug)]
pub struct Hierarchy {
    /// The node groups.
    pub groups: NodeGroups,
    /// This PE's node group.
    pub own_group: usize,
    /// World numbers of the leaders, by node group.
    pub leaders: Vec<u32>,
    /// Epochs between leaders, and between all members, that this PE has begun.
    pub epochs: [AtomicU64; 2],
    /// Epochs of the whole team in which members publish a value.
    pub published: AtomicU64,
}

impl Hierarchy {
    /// The hierarchy of `members`; the mailboxes continue to count from `epochs`.
    pub fn new(groups: NodeGroups, own_group: usize, epochs: [u64; 2], members: Members) -> Self {
        let leaders = groups.all().iter();
        let leaders = leaders.map(|group| members.pe(group.leader as usize) as u32).collect();
        Self { groups, own_group, leaders, epochs: epochs.map(AtomicU64::new), published: AtomicU64::new(0) }
    }

    /// Leaves the mailboxes of this PE, `index` on its node, to the next team with this id. Returns the
    /// greater of its counts of epochs.
    pub fn leave(&self, internode: &Internode, index: usize, id: usize) -> u64 {
        let mailbox = internode.mailboxes.team_mailbox(index, id);
        let pages = [&mailbox.leaders, &mailbox.all];
        let left = pages.into_iter().zip(&self.epochs).map(|(page, epoch)| {
            let epoch = epoch.load(Ordering::Relaxed);
            page.epoch.store(epoch as u32, Ordering::Release);
            epoch
        });
        left.fold(0, u64::max)
    }
}

/// Byte offsets of the pages in a team's mailbox: of leaders, and of all members.
pub const MAILBOX_PAGES: [usize; 2] =
    [std::mem::offset_of!(TeamMailbox, leaders), std::mem::offset_of!(TeamMailbox, all)];

/// The epoch counts at which PE `index` of this node left the mailbox of team `id`, if there are other nodes.
pub(crate) fn mailbox_epochs(internode: Option<&Internode>, index: usize, id: usize) -> [u64; 2] {
    let Some(internode) = internode else {
        return [0; 2];
    };
    let mailbox = internode.mailboxes.team_mailbox(index, id);
    [&mailbox.leaders, &mailbox.all].map(|page| page.epoch.load(Ordering::Acquire).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_groups(nodes: &[u32], members: Members) -> NodeGroups {
        let groups = NodeGroups::new(&members, &Placement::new(nodes, 0));
        let placement = Placement::new(nodes, 0);
        for member in 0..members.size {
            let (group, index) = groups.of(member);
            let group = &groups.all()[group];
            let place = placement.of(members.pe(member));
            assert_eq!(group.local.pe(index), place.index as usize);
            assert_eq!(group.node, place.node);
        }
        groups
    }

    #[test]
    fn one_node_is_one_group() {
        let p = node_groups(&[0, 0, 0, 0], Members::world(4).strided(3, -2, 2).unwrap());
        assert!(p.is_single());
        assert_eq!(p.all()[0].local.stride, -2);
    }

    #[test]
    fn blocks_and_rounds_are_a_group_for_each_node() {
        for nodes in [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]] {
            for stride in [1, 2] {
                let size = 6 / stride;
                let p = node_groups(&nodes, Members::world(6).strided(0, stride, size).unwrap());
                assert!(p.all().len() <= 2, "{nodes:?} {stride}");
            }
        }
    }

    #[test]
    fn gaps_break_sequences() {
        let p = node_groups(&[0, 0, 1, 0, 0, 0], Members::world(6).strided(0, 2, 3).unwrap());
        // PEs 0, 2, 4: numbers 0 and 3 of one node, 0 of the other.
        assert_eq!(p.all().len(), 2);
        let p = node_groups(&[0, 1, 0, 0, 0, 1, 0], Members::world(7).strided(0, 2, 4).unwrap());
        // Numbers 0, 1, 3, 4 of one node.
        assert!(p.all().len() >= 2);
    }
}
