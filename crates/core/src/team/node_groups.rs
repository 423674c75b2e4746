//! How a team lies on nodes: its members of one node are a *node group*.

use std::iter;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Members;
use crate::internode::Internode;
use crate::job::Placement;
use ferroshmem_layout::TeamMailbox;

/// No node group.
const NONE: u32 = u32::MAX;

/// Members of a team that share a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGroup {
    /// Number in the team of the first member, the leader.
    pub leader: u32,
    /// The members by their numbers on the node.
    pub local: Members,
    node: u32,
}

/// The node groups of a team, in the order of their leaders. No table has an entry for each member.
#[derive(Debug, Clone)]
pub struct NodeGroups {
    all: Vec<NodeGroup>,
    /// The node group of each node's members; empty if there is one node group.
    of_node: Vec<u32>,
    members: Members,
    placement: &'static Placement,
}

impl NodeGroups {
    /// The node groups of `members`; every PE computes the same result.
    pub fn new(members: &Members, placement: &'static Placement) -> Self {
        if placement.nodes() == 1 {
            // PEs have their numbers on the node.
            return Self::of_one(members, members, placement);
        }
        let members = members.clone();
        let mut of_node = vec![NONE; placement.nodes()];
        let mut groups: Vec<(u32, u32, Vec<u32>)> = Vec::new();
        for member in 0..members.size {
            let place = placement.of(members.pe(member));
            let group = &mut of_node[place.node as usize];
            if *group == NONE {
                *group = groups.len() as u32;
                groups.push((member as u32, place.node, Vec::new()));
            }
            groups[*group as usize].2.push(place.index);
        }
        let groups = groups.into_iter();
        let all: Vec<_> =
            groups.map(|(leader, node, local)| NodeGroup { leader, local: Members::of(local), node }).collect();
        if all.len() == 1 {
            of_node.clear();
        }
        Self { all, of_node, members, placement }
    }

    /// The only one, of members with the numbers `local` on their node.
    pub(super) fn of_one(members: &Members, local: &Members, placement: &'static Placement) -> Self {
        let node = placement.of(members.pe(0)).node;
        let all = vec![NodeGroup { leader: 0, local: local.clone(), node }];
        Self { all, of_node: Vec::new(), members: members.clone(), placement }
    }

    /// The team's members.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// All that may be lists: the team's members, and where these have other numbers on their nodes, those.
    pub(super) fn lists(&mut self) -> impl Iterator<Item = &mut Members> {
        let local = if self.placement.nodes() == 1 { &mut [] } else { &mut self.all[..] };
        iter::once(&mut self.members).chain(local.iter_mut().map(|group| &mut group.local))
    }

    /// On one node, the members of the only node group have the numbers of the team's.
    pub(super) fn renew_only(&mut self) {
        if self.placement.nodes() == 1 {
            self.all[0].local = self.members.clone();
        }
    }

    /// Number in the team of member `index` of a node group.
    pub fn member(&self, group: usize, index: usize) -> usize {
        let group = &self.all[group];
        let pe = self.placement.pes_of(group.node)[group.local.pe(index)];
        self.members.index_of(pe as usize).expect("a node group has members of its team")
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
        if self.of_node.is_empty() {
            return (0, member);
        }
        let place = self.placement.of(self.members.pe(member));
        let group = self.of_node[place.node as usize] as usize;
        (group, self.all[group].local.index_of(place.index as usize).expect("a member is in its node group"))
    }
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
    pub fn new(groups: NodeGroups, own_group: usize, epochs: [u64; 2], members: &Members) -> Self {
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

    fn node_groups(nodes: &[u32], members: &Members) -> NodeGroups {
        let placement = Box::leak(Box::new(Placement::new(nodes, 0)));
        let groups = NodeGroups::new(members, placement);
        for member in 0..members.size {
            let (group, index) = groups.of(member);
            assert!(groups.is_single() || groups.member(group, index) == member);
            let group = &groups.all()[group];
            let place = placement.of(members.pe(member));
            assert_eq!(group.local.pe(index), place.index as usize);
            assert_eq!(group.node, place.node);
        }
        groups
    }

    #[test]
    fn one_node_is_one_group() {
        let p = node_groups(&[0, 0, 0, 0], &Members::world(4).strided(3, -2, 2).unwrap());
        assert!(p.is_single());
        assert_eq!(p.all()[0].local.stride(), -2);
    }

    #[test]
    fn blocks_and_rounds_are_a_group_for_each_node() {
        for nodes in [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]] {
            for stride in [1, 2] {
                let size = 6 / stride;
                let p = node_groups(&nodes, &Members::world(6).strided(0, stride, size).unwrap());
                assert!(p.all().len() <= 2, "{nodes:?} {stride}");
            }
        }
    }

    #[test]
    fn members_of_a_node_are_one_group_however_they_lie() {
        // PEs 0, 2, 4: numbers 0 and 3 of one node, 0 of the other.
        let p = node_groups(&[0, 0, 1, 0, 0, 0], &Members::world(6).strided(0, 2, 3).unwrap());
        assert_eq!(p.all().len(), 2);
        // Numbers 0, 1, 3, 4 of one node.
        let p = node_groups(&[0, 1, 0, 0, 0, 1, 0], &Members::world(7).strided(0, 2, 4).unwrap());
        assert!(p.is_single());
        assert_eq!(p.all()[0].local.list(), [0, 1, 3, 4]);
        let p = node_groups(&[0, 0, 1, 0, 1, 1, 1], &Members::world(7).pick([6, 0, 2, 1, 5, 3]));
        assert_eq!((p.all().len(), p.all()[0].leader, p.all()[1].leader), (2, 0, 1));
        assert_eq!((p.all()[0].local.list(), p.all()[1].local.list()), (&[3, 0, 2][..], &[][..]));
    }
}
