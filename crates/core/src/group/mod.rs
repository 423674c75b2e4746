//! The members of one collective call, and how they synchronise: a team, or an active set. All
//! collectives are written over a [`Group`].
//!
//! A group lasts for one call. A [`Channel`] connects its members: the team's slots in shared
//! memory ([`ferroshmem_layout::TeamSlot`]), mailboxes, or the caller's work array. Flags and
//! buffers are used only within an [`Epoch`]. [`MemberAddresses`] says where the members' data is.

mod channel;
mod comparison;
mod epoch;
mod hierarchy;
mod internode_agreement;
mod mailbox;
mod matching;
mod member_addresses;
pub mod ring;
mod sockets;
mod survivors;
#[cfg(any(test, feature = "simulation"))]
pub mod threads;
mod traffic;
mod transfer;
mod words;
mod work_array;
mod work_sharing;

use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use channel::{Channel, Slots};
use ferroshmem_tuning::{Algorithm, Choice, Collective, Form};
use hierarchy::HierarchicalTeam;
use mailbox::{MailboxChannel, Scope};

use crate::connection::Connection;
use crate::failure::fatal::fatal;
use crate::node::Node;
use crate::team::{Fragile, Health, Hierarchy, Members, Team};
use crate::wait::signals::UNNOTIFIED;
use crate::wait::{Ending, POLICY, WaitReason};
use ferroshmem_layout::{FLAG_BYTES, MESSAGE_BYTES, TeamSlot, WaitKind};

pub use comparison::{CallDiffers, CallSummary};
pub use epoch::Epoch;
pub use member_addresses::MemberAddresses;
pub use ring::ValueOf;
pub use survivors::Agreed;
pub(crate) use traffic::Traffic;
pub use words::Words;
pub use work_array::WorkArray;
pub use work_sharing::Work;

/// The PEs of one collective call.
#[derive(Debug)]
pub struct Group<'a> {
    /// C name of the routine.
    pub name: &'static str,
    /// This PE's number among the members.
    pub me: usize,
    /// Number of members.
    pub size: usize,
    /// Whether floating-point sums must not depend on the order of their operands
    /// (`SHMEM_REPRODUCIBLE`).
    pub reproducible: bool,
    /// Whether PEs outnumber cores.
    pub oversubscribed: bool,
    members: &'a Members,
    channel: Channel<'a>,
    traffic: Traffic,
}

/// The groups within a team of several node groups.
#[derive(Debug)]
pub struct Subgroups<'a> {
    /// The node groups.
    pub hierarchy: &'a Hierarchy,
    /// This PE's node group.
    pub local: Group<'a>,
    /// The leaders of the node groups, if this PE is one.
    pub leaders: Option<Group<'a>>,
    /// All members, by mailboxes.
    pub all: Group<'a>,
}

impl Subgroups<'_> {
    /// Synchronises all members and their memory.
    pub fn sync(&self) {
        self.local.sync();
        if let Some(leaders) = &self.leaders {
            leaders.sync();
        }
        if self.local.size > 1 {
            self.local.sync();
        }
    }
}

impl<'a> Group<'a> {
    /// A collective of a team, entered now.
    #[inline(always)]
    pub fn of_team(node: &'a Node, name: &'static str, team: &'a Team) -> Self {
        Self::over_slots(node, name, team, WaitKind::Team)
    }

    /// A collective of a team whose waits are reported as `kind`.
    #[inline(always)]
    pub fn over_slots(node: &'a Node, name: &'static str, team: &'a Team, kind: WaitKind) -> Self {
        team.enter();
        match &team.hierarchy {
            None => Self::of_slots(node, name, (team, &team.members), kind),
            Some(hierarchy) => Self::of_hierarchy(node, name, team, hierarchy, kind),
        }
    }

    /// The members of a team in this PE's node group. The call is not entered yet.
    #[inline]
    pub fn of_node_group(node: &'a Node, name: &'static str, team: &'a Team, kind: WaitKind) -> Self {
        let members = if team.hierarchy.is_none() { &team.members } else { &team.local };
        Self::of_slots(node, name, (team, members), kind)
    }

    /// The same, which are `members`.
    #[inline(always)]
    fn of_slots(node: &'a Node, name: &'static str, (team, members): (&'a Team, &'a Members), kind: WaitKind) -> Self {
        let slots = Slots {
            first: NonNull::from(team.first_slot),
            step: team.local.stride() as isize * size_of::<TeamSlot>() as isize,
            local: &team.local,
            position: &team.position,
            decisions: &team.decisions,
            kind,
            team: team.id as u32,
            fragile: team.fragile.get(),
        };
        let (mut reproducible, mut oversubscribed) = (node.settings.reproducible, POLICY.oversubscribed());
        if let Some(Fragile::Connection(connection)) = slots.fragile {
            if connection.remote().is_some() && kind != WaitKind::Connection {
                fatal(
                    name,
                    "the group's PEs are on several nodes, or started by another launcher than oshrun: there is no \
                        team of both groups; use the routines for groups",
                );
            }
            // What all members know alike.
            reproducible = connection.reproducible;
            oversubscribed = connection.is_oversubscribed();
        }
        Self {
            name,
            me: team.local_index,
            size: team.local.size,
            reproducible,
            oversubscribed,
            members,
            channel: Channel::Slots(slots),
            traffic: Traffic::default(),
        }
    }

    /// A collective of an active set that has no team, entered now by member `me`.
    pub fn over_work_array(array: WorkArray<'a>, me: usize, reproducible: bool) -> Self {
        Self {
            name: array.name,
            me,
            size: array.members.size,
            reproducible,
            oversubscribed: POLICY.oversubscribed(),
            members: array.members,
            channel: Channel::WorkArray(array),
            traffic: Traffic::default(),
        }
    }

    /// A collective of a team of several node groups. Out of line, as is all code for several
    /// nodes: calls within one node do not pay for it.
    #[cold]
    #[inline(never)]
    fn of_hierarchy(
        node: &'a Node,
        name: &'static str,
        team: &'a Team,
        hierarchy: &'a Hierarchy,
        kind: WaitKind,
    ) -> Self {
        Self {
            name,
            me: team.index,
            size: team.members.size,
            reproducible: node.settings.reproducible,
            oversubscribed: POLICY.oversubscribed(),
            members: &team.members,
            channel: Channel::Hierarchy(HierarchicalTeam {
                node,
                internode: node.transport.remote(),
                team,
                hierarchy,
                kind,
            }),
            traffic: Traffic::default(),
        }
    }

    /// The members in `scope` of a team of several node groups, connected by mailboxes.
    fn by_mailboxes(name: &'static str, team: HierarchicalTeam<'a>, scope: Scope, (me, size): (usize, usize)) -> Self {
        Self {
            name,
            me,
            size,
            reproducible: team.node.settings.reproducible,
            oversubscribed: POLICY.oversubscribed(),
            members: &team.team.members,
            channel: Channel::Mailboxes(MailboxChannel { team, scope }),
            traffic: Traffic::default(),
        }
    }

    /// The groups within this one, if its team has several node groups.
    #[inline]
    pub fn subgroups(&self) -> Option<Subgroups<'a>> {
        match &self.channel {
            Channel::Hierarchy(team) => Some(self.subgroups_of(*team)),
            _ => None,
        }
    }

    fn subgroups_of(&self, hierarchical: HierarchicalTeam<'a>) -> Subgroups<'a> {
        let HierarchicalTeam { node, team, hierarchy, kind, .. } = hierarchical;
        let leaders = (hierarchy.own_group, hierarchy.leaders.len());
        let all = (team.index, team.members.size);
        Subgroups {
            hierarchy,
            local: Group::of_node_group(node, self.name, team, kind),
            leaders: (team.local_index == 0)
                .then(|| Group::by_mailboxes(self.name, hierarchical, Scope::Leaders, leaders)),
            all: Group::by_mailboxes(self.name, hierarchical, Scope::All, all),
        }
    }

    /// The members.
    pub fn members(&self) -> &'a Members {
        self.members
    }

    /// The connection whose members these are, if they are of two jobs.
    #[inline]
    pub(crate) fn connection(&self) -> Option<&'a Connection> {
        match &self.channel {
            Channel::Slots(slots) => slots.fragile?.connection(),
            _ => None,
        }
    }

    /// Whether these are the members of a connection of which a group has ended, or one of them has failed in a
    /// resilient job: waits for them return at once, so what other members say of arrays and lengths must not be used.
    #[inline]
    pub fn has_failed(&self) -> bool {
        match &self.channel {
            Channel::WorkArray(array) => array.health.is_some_and(Health::has_failed),
            channel => channel.fragile().is_some_and(Fragile::has_failed),
        }
    }

    /// The same of members on other nodes, which may know it for some time before this one: they are in another call
    /// than this one then. Waits for that time.
    #[cold]
    fn is_failed_elsewhere(&self) -> bool {
        /// Time in which all nodes have learnt of a failure.
        const NOTICE: Duration = Duration::from_secs(2);

        let (Channel::Hierarchy(team), Some(_)) = (&self.channel, self.channel.fragile()) else {
            return false;
        };
        let until = Instant::now() + NOTICE;
        let is_over = &mut || self.has_failed() || Instant::now() > until;
        team.node.transport.wait_until(&self.wait_reason(), UNNOTIFIED, is_over);
        self.has_failed()
    }

    /// Whether that is known without a look: no other routine of the team has to be executed.
    #[inline]
    pub fn is_known_failed(&self) -> bool {
        self.channel.fragile().is_some_and(Fragile::is_known_failed)
    }

    /// The members by their numbers on the node, if they are in one node group.
    #[inline]
    pub fn local_members(&self) -> &'a Members {
        match &self.channel {
            Channel::Slots(slots) => slots.local,
            _ => self.members,
        }
    }

    /// Whether loads and stores reach the members' arrays.
    #[inline]
    pub fn is_local(&self) -> bool {
        matches!(self.channel, Channel::Slots(_))
            || matches!(&self.channel, Channel::WorkArray(array) if array.transport.internode().is_none())
    }

    /// World number of a member.
    #[inline]
    pub fn pe(&self, member: usize) -> usize {
        self.members.pe(member)
    }

    /// Whether the members have flags and eager buffers.
    #[inline]
    pub fn has_slots(&self) -> bool {
        matches!(self.channel, Channel::Slots(_))
    }

    /// Most bytes of a value that a flag holds.
    #[inline]
    pub fn flag_bytes(&self) -> usize {
        match &self.channel {
            Channel::Mailboxes(_) => MESSAGE_BYTES,
            _ => FLAG_BYTES,
        }
    }

    /// Whether members have rendezvous buffers for each other's long messages
    /// ([`Epoch::put_rendezvous`]).
    #[inline]
    pub fn has_rendezvous(&self) -> bool {
        matches!(&self.channel, Channel::Mailboxes(mailboxes) if mailboxes.has_rendezvous())
    }

    /// The algorithm for a collective of `bytes` bytes, counted as in
    /// [`DecisionTable::choose`](ferroshmem_tuning::DecisionTable::choose).
    #[inline]
    pub fn choose(&self, collective: Collective, bytes: usize) -> Choice {
        match &self.channel {
            Channel::Slots(slots) => slots.decisions.choose(collective, bytes),
            Channel::Mailboxes(mailboxes) => mailboxes.choose(self.size, collective, bytes),
            Channel::Hierarchy(_) | Channel::WorkArray(_) => Choice {
                algorithm: match collective {
                    Collective::Reduce | Collective::Scan => Algorithm::Slices,
                    Collective::Barrier => Algorithm::Dissemination,
                    _ => Algorithm::Pull,
                },
                form: Form::Direct,
            },
        }
    }

    /// Goes on with an epoch that has begun and not ended.
    #[inline]
    pub fn resume(&self, number: u32) -> Epoch<'_> {
        Epoch { group: self, number }
    }

    /// Whether the barrier is the central one, whose last member to arrive can work for all
    /// ([`Epoch::synchronise_with`]).
    #[inline]
    pub fn has_central_barrier(&self) -> bool {
        self.choose(Collective::Barrier, 0).algorithm == Algorithm::Central
    }

    /// Begins the next epoch. All members complete every epoch that they begin.
    #[inline]
    pub fn epoch(&self) -> Epoch<'_> {
        Epoch::begin(self)
    }

    /// Synchronises the members and their memory: what any member wrote before, all members see
    /// after.
    #[inline]
    pub fn sync(&self) {
        if self.size == 1 {
            fence(Ordering::SeqCst);
        } else if let Channel::Hierarchy(_) = &self.channel {
            self.sync_hierarchy();
        } else {
            self.epoch().synchronise();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn sync_hierarchy(&self) {
        if let Some(subgroups) = self.subgroups() {
            subgroups.sync();
        }
    }

    /// As [`sync`](Self::sync), at the end of a collective: restores a work array.
    #[inline]
    pub fn leave(&self) {
        self.sync();
        if let Channel::WorkArray(array) = &self.channel {
            array.withdraw(self.me);
        }
    }

    /// Bytes that this PE has moved in this call.
    #[inline]
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// How a wait for another job, which these members are to be connected with, is reported.
    pub fn wait_for_another_job(&self) -> WaitReason<'_> {
        WaitReason { members: self.members.triplet(), ..WaitReason::at(WaitKind::Connection, self.name, 0) }
    }

    /// How a wait for other members is reported. Out of line: for those who wait.
    #[inline(never)]
    fn wait_reason(&self) -> WaitReason<'_> {
        let (kind, address, team, sequence) = match &self.channel {
            Channel::Slots(slots) => {
                let entered = slots.of(self.me).own.entered.load(Ordering::Relaxed);
                match slots.fragile.and_then(Fragile::connection) {
                    Some(connection) => (WaitKind::Connection, 0, connection.number(), entered),
                    None => (slots.kind, 0, slots.team, entered),
                }
            }
            Channel::Mailboxes(MailboxChannel { team, .. }) | Channel::Hierarchy(team) => team.wait(),
            Channel::WorkArray(array) => (WaitKind::ActiveSet, array.address, 0, 0),
        };
        WaitReason {
            kind,
            routine: self.name,
            address,
            team,
            members: self.members.triplet(),
            list: self.members.list(),
            sequence,
            ending: match &self.channel {
                Channel::WorkArray(array) => array.health.map(|health| health as &dyn Ending),
                channel => channel.fragile().and_then(Fragile::ending),
            },
            condition: None,
        }
    }
}
