//! Teams: ordered sets of PEs that communicate collectively (standard, "Team Management").

mod fragile;
pub mod health;
mod members;
mod node_groups;
mod placement;
mod ring_position;
mod sockets;
mod table;

pub use fragile::{Fragile, OnceFragile};
pub use health::Health;
pub use members::Members;
pub use node_groups::{Hierarchy, MAILBOX_PAGES, NodeGroups};
pub use placement::TeamPlacement;
pub use ring_position::Position;
pub use sockets::{LocalMembers, Sockets};
pub use table::SharedTables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_tuning::{DecisionTable, Forced, Selection};

use crate::connection::Connection;
use crate::constants::{PREDEFINED_TEAMS, TEAM_INVALID};
use crate::failure::fatal::fatal;
use crate::handle::Table;
use crate::internode::Internode;
use crate::job::{Attachment, Localities};
use crate::node::Node;
use ferroshmem_layout::{MAX_TEAMS, SHADOW, TeamSlot};

/// Id of the world team.
pub const WORLD: usize = 0;
/// Id of the team of PEs that share memory.
pub(crate) const SHARED: usize = 1;
/// Ids from here on are of teams of connections, which have slots elsewhere.
pub const FIRST_CONNECTION: usize = MAX_TEAMS;
/// Most connections of a PE: a handle has 16 bits for the id.
pub const MAX_CONNECTIONS: usize = u16::MAX as usize - FIRST_CONNECTION;

/// A team as one of its PEs sees it.
#[derive(Debug)]
pub struct Team {
    /// Id, the same on all members: which slots of shared memory the team uses. A [shadow](Self::shadow)'s is that of
    /// its team plus [`SHADOW`].
    pub id: usize,
    /// Its PEs.
    pub members: Members,
    /// The PEs of this PE's node group, by their numbers on the node: all PEs of the team if it
    /// has one node group.
    pub local: LocalMembers,
    /// The node groups, if there are several.
    pub hierarchy: Option<Hierarchy>,
    /// This PE's number in the team.
    pub index: usize,
    /// This PE's number in its node group.
    pub local_index: usize,
    /// Contexts that its creator asked room for (`shmem_team_config_t`).
    pub num_contexts: i32,
    /// How far this PE is in its collectives.
    pub position: Position,
    /// Counts from which epochs began, of the slots and of the mailboxes.
    first_epochs: (u64, [u64; 2]),
    /// Where the last split of this team found ids: the same on all members, as they make the same splits.
    pub id_block: AtomicU32,
    /// Which algorithms its collectives use.
    pub decisions: DecisionTable,
    /// What may end waits for its members.
    pub fragile: OnceFragile,
    /// The slot of the first member of this PE's node group.
    pub(crate) first_slot: &'static TeamSlot,
    /// This PE's slot.
    pub(crate) own_slot: &'static TeamSlot,
    generation: u32,
}

impl Team {
    /// The world number of PE `pe` of the team, which must be valid.
    #[inline]
    pub fn world_pe(&self, routine: &str, pe: i32) -> usize {
        let size = self.members.size;
        if pe as u32 as usize >= size {
            let of = if self.id == WORLD { "job" } else { "team" };
            out_of_range(routine, pe, size, of);
        }
        self.members.pe(pe as usize)
    }

    /// The connection whose members it consists of, if it is such a team.
    #[inline(always)]
    pub fn connection(&self) -> Option<&Connection> {
        self.fragile.get()?.connection()
    }

    /// Which members have failed, in a resilient job.
    pub fn health(&self) -> Option<&Health> {
        match self.fragile.get()? {
            Fragile::Members(health) => Some(health),
            Fragile::Connection(_) => None,
        }
    }

    /// The number of member `index` among the PEs of this PE's job; where it is of another job, its number
    /// above those.
    #[inline(always)]
    pub fn number_of(&self, index: usize) -> usize {
        let connection = self.connection();
        let of_job = connection.and_then(|connection| connection.pe_of_job(index));
        of_job.unwrap_or_else(|| self.members.pe(index))
    }

    /// The member with a number as [`number_of`](Self::number_of) gives it.
    #[inline(always)]
    pub fn index_of(&self, pe: usize) -> Option<usize> {
        let connection = self.connection();
        let of_job = connection.and_then(|connection| connection.member_of_job(pe));
        of_job.or_else(|| self.members.index_of(pe))
    }

    /// The C handle: id + 1 in the low 16 bits, above it a count that distinguishes a destroyed
    /// team from a new one with the same id.
    pub fn handle(&self) -> usize {
        (self.generation as usize) << 16 | (self.id + 1)
    }

    /// A team of the same members with slots and mailboxes of its own, for collectives beside this team's. Every PE
    /// makes it when it needs it, without asking the others.
    pub fn shadow(&self, node: &Node) -> Self {
        let id = self.id + SHADOW;
        let own = &node.job.control.team_slot(id, node.job.index).own;
        own.entered.store(0, Ordering::Relaxed);
        let (epoch, mailbox_epochs) = match self.id {
            // As the predefined teams themselves: from where they were left, if the library was initialised before.
            WORLD | SHARED => {
                let mailboxes = node_groups::mailbox_epochs(node.transport.internode(), node.job.index, id);
                (own.epoch.load(Ordering::Relaxed).into(), mailboxes)
            }
            _ => self.first_epochs,
        };
        let since = self.since();
        let (groups, own_group) = match &self.hierarchy {
            None => (NodeGroups::of_one(&self.members, &self.local, &node.job.placement), 0),
            Some(hierarchy) => (hierarchy.groups.clone(), hierarchy.own_group),
        };
        let (local, index, local_index) = (self.local.clone(), self.index, self.local_index);
        let placement = TeamPlacement { groups, own_group, local, index, local_index };
        let new = NewTeam { id, placement, num_contexts: 0, epoch, mailbox_epochs, since };
        new.build((node.job, node.transport.internode()), &node.selection, self.generation)
    }

    /// Whether a group of its connection has ended, or a member has failed in a resilient job.
    pub fn has_failed(&self) -> bool {
        self.fragile.get().is_some_and(Fragile::has_failed)
    }

    /// The count of failures when it was made.
    pub fn since(&self) -> usize {
        self.health().map_or(0, Health::since)
    }

    /// Begins anew, in slots that are zero: other processes have taken the numbers of the members that had failed up to
    /// the count `since`. No thread is in a collective of the team.
    fn renew(&self, since: usize) {
        self.position.epoch.store(0, Ordering::Relaxed);
        self.id_block.store(0, Ordering::Relaxed);
        self.position.ring.number.store(0, Ordering::Relaxed);
        self.position.ring.taken_by_all.store(0, Ordering::Relaxed);
        if let Some(health) = self.health() {
            health.renew(since);
        }
    }

    /// Has it fail, also on the other members.
    pub fn revoke(&self, node: &Node) {
        for id in [self.id, self.id + SHADOW] {
            if self.hierarchy.is_some() {
                for member in 0..self.members.size {
                    node.transport.revoke(self.members.pe(member), id);
                }
                continue;
            }
            let first = node.job.control.team_slot(id, self.local.pe(0));
            first.gathering.revoked.store(1, Ordering::Release);
        }
    }

    /// From now on, waits for its members end when one of them fails.
    pub fn become_resilient(&self, job: &Attachment, internode: Option<&'static Internode>, since: usize) {
        let revoked = match (&self.hierarchy, internode) {
            (Some(_), Some(internode)) => &internode.mailboxes.team_mailbox(job.index, self.id).all.revoked,
            _ => &self.first_slot.gathering.revoked,
        };
        let health = Health::new(job.control.failures(), self.members.clone(), revoked, since);
        // A team of a connection has its own end; one that was resilient before stays so.
        self.fragile.set(Fragile::Members(health));
    }

    /// Leaves the slot to the next team with this id, after the last synchronisation: with the
    /// count of epochs, and with unused rings.
    pub fn leave(&self, node: &Node) {
        let slot = self.own_slot;
        // The first member writes to it what the members of the next team read.
        slot.table.page.store(0, Ordering::Relaxed);
        let epoch = self.position.epoch.load(Ordering::Relaxed);
        let mut greatest = epoch;
        if let Some(hierarchy) = &self.hierarchy {
            let mailboxes = hierarchy.leave(node.transport.remote(), node.job.index, self.id);
            greatest = greatest.max(mailboxes);
        }
        if self.id % SHADOW >= PREDEFINED_TEAMS && !self.has_failed() {
            // Members count their agreements, so those of the next team begin anew. Members of a team that has failed
            // may still look; the slots of the next team are cleared then.
            slot.own.contribution.store(0, Ordering::Relaxed);
            slot.gathering.agreed.store(0, Ordering::Relaxed);
            if let (Some(_), Some(internode)) = (&self.hierarchy, node.transport.internode()) {
                internode.mailboxes.team_mailbox(node.job.index, self.id).all.agreement.clear();
            }
        }
        if !self.position.ring.is_unused() {
            for entry in &slot.ring.entries {
                entry.flag.store(0, Ordering::Relaxed);
            }
            for entry in &slot.ring.short.0 {
                entry.flag.store(0, Ordering::Relaxed);
            }
            slot.ring.taken.count.store(0, Ordering::Relaxed);
        }
        // A team without epochs has found none here.
        if epoch > 0 {
            slot.own.epoch.store(epoch as u32, Ordering::Release);
        }
        let block = node.job.block();
        block.team_epochs.fetch_max(greatest, Ordering::Relaxed);
    }

    /// Records that this PE enters a collective; returns the collective's number on the team.
    #[inline]
    pub fn enter(&self) -> u32 {
        let entered = &self.own_slot.own.entered;
        let number = entered.load(Ordering::Relaxed).wrapping_add(1);
        entered.store(number, Ordering::Release);
        number
    }
}

/// Ends the job over a PE number that does not exist in a job or team, `of`, of `size` PEs.
#[cold]
pub fn out_of_range(routine: &str, pe: i32, size: usize, of: &str) -> ! {
    fatal(routine, format_args!("PE {pe} is out of range: this {of} has PEs 0 to {}", size - 1))
}

/// A team about to be made.
pub struct NewTeam {
    /// Its id, which the members have agreed on.
    pub id: usize,
    /// Its PEs, and where they are.
    pub placement: TeamPlacement,
    /// Contexts that its creator asked room for.
    pub num_contexts: i32,
    /// Epoch count, past every one at which a team with this id left a member's slot.
    pub epoch: u64,
    /// The same for the mailboxes.
    pub mailbox_epochs: [u64; 2],
    /// The count of failures at which all its PEs were there.
    pub since: usize,
}

impl NewTeam {
    fn build(
        self,
        (job, internode): (&'static Attachment, Option<&'static Internode>),
        selection: &Selection,
        generation: u32,
    ) -> Team {
        let TeamPlacement { groups, own_group, local, index, local_index } = self.placement;
        let members = groups.members().clone();
        let [first_slot, own_slot] = [0, local_index].map(|index| job.control.team_slot(self.id, local.pe(index)));
        let team = Team {
            id: self.id,
            decisions: selection.decisions(local.shape()),
            local,
            hierarchy: (!groups.is_single()).then(|| Hierarchy::new(groups, own_group, self.mailbox_epochs, &members)),
            members,
            index,
            local_index,
            num_contexts: self.num_contexts,
            position: Position::at(self.epoch),
            first_epochs: (self.epoch, self.mailbox_epochs),
            id_block: AtomicU32::new(0),
            fragile: OnceFragile::default(),
            first_slot,
            own_slot,
            generation,
        };
        if health::is_on() {
            team.become_resilient(job, internode, self.since);
        }
        team
    }
}

/// All teams that this PE is a member of.
#[derive(Debug)]
pub struct Teams {
    table: Table<Team>,
    generation: AtomicU32,
    /// While a thread splits a team, and has said which ids are free here: the team's id and 1; else 0.
    splitting: AtomicU32,
    /// Ids of destroyed teams that had failed. Other members may still come to their collectives, and write to slots of
    /// this PE, so these ids are used again only where there are no others.
    pub spent: [AtomicU64; MAX_TEAMS / 64],
}

/// Keeps other threads of this PE from claiming ids.
#[derive(Debug)]
pub struct IdLock<'a>(&'a AtomicU32);

impl<'a> IdLock<'a> {
    /// Taken for a split of team `id`. Waits for the split of a team with a greater id, which
    /// ends or gives way; None if there is one of a team with a smaller id, to which this one is to give way.
    pub fn take(splitting: &'a AtomicU32, id: usize) -> Option<Self> {
        let mine = id as u32 + 1;
        loop {
            match splitting.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Self(splitting)),
                Err(other) if other > mine => std::thread::yield_now(),
                Err(_) => return None,
            }
        }
    }
}

impl Drop for IdLock<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

impl Teams {
    /// The predefined teams. If the library is initialised again, it continues to count from the
    /// epochs at which it left the slots of the world team.
    pub fn new(
        job: &'static Attachment,
        internode: Option<&'static Internode>,
        localities: &Localities,
        selection: &Selection,
    ) -> Self {
        let this = Self {
            table: Table::new(),
            generation: AtomicU32::new(0),
            splitting: AtomicU32::new(0),
            spent: [const { AtomicU64::new(0) }; _],
        };
        let world = Members::world(job.n_pes());
        let here = job.placement.local_pes().iter().copied();
        // A slot that no team has left takes no memory until it is used.
        let left = &job.block().team_epochs;
        let is_first = left.load(Ordering::Relaxed) == 0;
        // One that takes the number of a failed PE is of a resilient job.
        health::set(job.block().restarts.load(Ordering::Relaxed) != 0);
        let epoch_of = |id| {
            let slot = job.control.team_slot(id, job.index);
            slot.own.epoch.load(Ordering::Relaxed)
        };
        for (id, members) in [(WORLD, world), (SHARED, Members::of(here.collect()))] {
            let new = NewTeam {
                id,
                placement: TeamPlacement::new(&members, job.pe, &job.placement, localities),
                num_contexts: i32::MAX,
                // No other team has used these slots.
                epoch: if is_first { 0 } else { epoch_of(id).into() },
                mailbox_epochs: node_groups::mailbox_epochs(internode, job.index, id),
                since: if health::is_on() { job.control.failures().replaced() } else { 0 },
            };
            let team = new.build((job, internode), selection, 0);
            this.table.insert_at(id, team);
        }
        this
    }

    /// The team that a C handle names; None for `SHMEM_TEAM_INVALID` and for handles of destroyed
    /// teams.
    #[inline(always)]
    pub fn get(&self, handle: usize) -> Option<&Team> {
        let id = (handle & 0xffff).checked_sub(1)?;
        self.table.get(id).filter(|t| t.handle() == handle)
    }

    /// The team that a C handle names; None for `SHMEM_TEAM_INVALID`. Another handle that
    /// names no team ends the job.
    #[inline(always)]
    pub fn find(&self, name: &str, handle: usize) -> Option<&Team> {
        let team = self.get(handle);
        if team.is_none() && handle != TEAM_INVALID {
            fatal(name, format_args!("{handle:#x} is not a live team: was it destroyed?"));
        }
        team
    }

    /// The world team.
    #[inline]
    pub fn world(&self) -> &Team {
        self.table.get(WORLD).expect("the world team exists from the start")
    }

    /// The team of the PEs that share memory.
    pub fn shared(&self) -> &Team {
        self.table.get(SHARED).expect("the shared team exists from the start")
    }

    /// Adds a team to this PE's teams; returns its handle.
    pub fn insert(&self, node: &Node, new: NewTeam) -> usize {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let id = new.id;
        let team = new.build((node.job, node.transport.internode()), &node.selection, generation);
        let handle = team.handle();
        self.table.insert_at(id, team);
        handle
    }

    /// Adds the team of all members of a connection, the `place`th of this PE; returns its handle.
    pub fn insert_connection(&self, connection: Arc<Connection>, place: usize) -> usize {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let (control, local_index, n) = connection.slots();
        let local = Members::world(n);
        // All members that share the memory read the same facts.
        let selection = control.header().selection(Forced::default());
        let team = Team {
            id: FIRST_CONNECTION + place,
            members: Members::sequence(connection.first as i32, 1, connection.len()),
            // Where PEs of other jobs run is not known.
            local: LocalMembers::new(local, local_index, &Localities::default()),
            hierarchy: None,
            index: connection.me,
            local_index,
            num_contexts: i32::MAX,
            position: Position::default(),
            first_epochs: (0, [0; 2]),
            id_block: AtomicU32::new(0),
            decisions: selection.decisions(n),
            first_slot: control.team_slot(WORLD, 0),
            own_slot: control.team_slot(WORLD, local_index),
            fragile: OnceFragile::new(Fragile::Connection(connection)),
            generation,
        };
        let handle = team.handle();
        self.table.insert_at(FIRST_CONNECTION + place, team);
        handle
    }

    /// The predefined teams begin anew, in slots that are zero: other processes have taken the numbers of the PEs that
    /// had failed up to the count `since`.
    pub fn renew(&self, since: usize) {
        for team in [WORLD, SHARED].into_iter().filter_map(|id| self.by_id(id)) {
            team.renew(since);
        }
    }

    /// What a thread locks that splits a team.
    pub fn splitting(&self) -> &AtomicU32 {
        &self.splitting
    }

    /// Drops the team with an id.
    pub fn remove(&self, id: usize) {
        self.table.remove(id);
    }

    /// The team with an id.
    pub fn by_id(&self, id: usize) -> Option<&Team> {
        self.table.get(id)
    }

    /// Ids of all live teams.
    pub fn ids(&self) -> Vec<usize> {
        self.table.iter().map(|(id, _)| id).collect()
    }
}
