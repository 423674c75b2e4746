//! Where the members of a team are.

use std::sync::atomic::Ordering;

use super::table::SharedTables;
use super::{LocalMembers, Members, NodeGroups};
use crate::job::{Localities, Placement};

/// Where the members of a team are, as one of them sees it.
#[derive(Debug, Clone)]
pub struct TeamPlacement {
    /// The node groups.
    pub(super) groups: NodeGroups,
    /// This PE's node group.
    pub(super) own_group: usize,
    /// The members of that.
    pub(super) local: LocalMembers,
    /// This PE's number in the team.
    pub(super) index: usize,
    /// This PE's number in its node group.
    pub(super) local_index: usize,
}

impl TeamPlacement {
    /// Of `members`, of which PE `pe` is this one.
    pub fn new(members: &Members, pe: usize, placement: &'static Placement, localities: &Localities) -> Self {
        let groups = NodeGroups::new(members, placement);
        let index = members.index_of(pe).expect("callers pass the team that this PE is in");
        let (own_group, local_index) = groups.of(index);
        let local = groups.all()[own_group].local.clone();
        let local = LocalMembers::new(local, local_index, localities);
        Self { groups, own_group, local, index, local_index }
    }

    /// The team's members.
    pub fn members(&self) -> &Members {
        self.groups.members()
    }

    /// The node groups.
    pub fn groups(&self) -> &NodeGroups {
        &self.groups
    }

    /// The members of this PE's node group.
    pub fn local(&self) -> &LocalMembers {
        &self.local
    }

    /// Visits all that are lists. Out of line: an iterator of so many parts is half a kilobyte wherever it is used.
    #[inline(never)]
    fn each_list(&mut self, visit: &mut dyn FnMut(&mut Members)) {
        let all = self.groups.lists().chain(self.local.on_sockets());
        all.filter(|list| list.stride() == 0).for_each(visit);
    }

    /// Bytes of all tables of lists.
    pub fn table_bytes(&mut self) -> usize {
        let mut bytes = 0;
        self.each_list(&mut |list| bytes += size_of_val(list.table()));
        bytes
    }

    /// Writes the tables for the PEs of this node.
    pub fn write_tables(&mut self, tables: &mut SharedTables) {
        let readers = self.local.size as u32;
        let mut count = 0;
        self.each_list(&mut |list| {
            tables.write(list.table());
            count += readers;
        });
        tables.readers().store(count, Ordering::Relaxed);
    }

    /// Takes what a PE of this node has written so as its tables.
    pub fn share_tables(&mut self, tables: &mut SharedTables) {
        self.each_list(&mut |list| list.share_table(tables));
        self.groups.renew_only();
        self.local.set_members(&self.groups.all()[self.own_group].local);
    }
}
