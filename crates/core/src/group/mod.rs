//! Who takes part in a collective, and how its members reach each other: a team, or an active
//! set. Collectives are written once, over this.
//!
//! A [`Group`] lasts for one call. Its members' words are in the team's slots in shared memory
//! ([`crate::job::region::TeamSlot`]); all use of them goes through an [`Epoch`]. Where the
//! members' data are is told by [`Places`].

mod agreement;
mod epoch;
mod mail;
mod places;
mod sharing;
mod span;
mod stream;
#[cfg(test)]
pub(crate) mod threads;
mod traffic;
mod work_array;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use ferroshmem_fabric::Blocks;

use crate::choice::{Algorithm, Choice, Collective, Form, Plan};
use crate::job::region::{TeamSlot, WaitKind};
use crate::kernel;
use crate::node::Node;
use crate::team::{Members, Stream, Team};
use crate::transport::Transport;
use crate::wait::{POLICY, WaitReason};

use mail::Mail;
use span::Spanning;

pub(crate) use epoch::Epoch;
pub(crate) use places::Places;
pub(crate) use sharing::Work;
pub(crate) use span::Across;
pub(crate) use traffic::Traffic;
pub(crate) use work_array::{SYNC_SIZE, WorkArray};

/// The PEs of one collective call.
#[derive(Debug)]
pub struct Group<'a> {
    /// C name of the routine.
    pub name: &'static str,
    /// This PE's number among the members.
    pub me: usize,
    /// Number of members.
    pub size: usize,
    /// Whether floating-point sums shall not depend on the order of their operands
    /// (`SHMEM_REPRODUCIBLE`).
    pub reproducible: bool,
    /// Whether PEs outnumber cores.
    pub crowded: bool,
    members: Members,
    link: Link<'a>,
    traffic: Traffic,
}

/// How the members reach each other.
#[derive(Debug)]
#[repr(u8)] // a tag that is cheap to look at
enum Link<'a> {
    /// By slots in shared memory: members of one node.
    Slots(Slots<'a>),
    /// By mail: some are on other nodes.
    Mail(Mail<'a>),
    /// A team of several parts: by slots within them, by mail between them.
    Span(Spanning<'a>),
    /// By the caller's work array: an active set that has no team yet.
    WorkArray(WorkArray<'a>),
}

/// The slots of a team, one per member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots<'a> {
    /// The slot of member 0.
    first: NonNull<TeamSlot>,
    /// Bytes from one member's slot to the next's.
    step: isize,
    /// The members by their numbers on the node, which are also those of their slots.
    near: &'a Members,
    /// Epochs that this PE has begun.
    epoch: &'a AtomicU32,
    stream: &'a Stream,
    plan: &'a Plan,
    /// How a wait of this group is reported.
    kind: WaitKind,
    team: u32,
}

impl Slots<'_> {
    /// Member `member`'s slot.
    #[inline]
    fn of(&self, member: usize) -> &TeamSlot {
        // SAFETY: slots lie a stride apart, one for each member, and are never unmapped; all
        // that is in them is atomic, or a cell accessed by raw pointers.
        unsafe { self.first.byte_offset(self.step * member as isize).as_ref() }
    }
}

impl<'a> Group<'a> {
    /// A collective of a team, entered now.
    #[inline]
    pub fn of_team(node: &'a Node, name: &'static str, team: &'a Team) -> Self {
        Self::over_slots(node, name, team, WaitKind::Team)
    }

    /// A collective of a team whose waits are reported as `kind`.
    #[inline]
    pub fn over_slots(node: &'a Node, name: &'static str, team: &'a Team, kind: WaitKind) -> Self {
        team.enter(node);
        match &team.span {
            None => Self::of_part(node, name, team, kind),
            Some(span) => Self::spanning(node, name, team, span, kind),
        }
    }

    /// The PEs of this PE's part of a team.
    #[inline]
    fn of_part(node: &'a Node, name: &'static str, team: &'a Team, kind: WaitKind) -> Self {
        let slots = Slots {
            first: NonNull::from(team.slot(node, 0)),
            step: team.near.stride as isize * size_of::<TeamSlot>() as isize,
            near: &team.near,
            epoch: &team.epoch,
            stream: &team.stream,
            plan: &team.plan,
            kind,
            team: team.id as u32,
        };
        Self {
            name,
            me: team.near_index,
            size: team.near.size,
            reproducible: node.settings.reproducible,
            crowded: POLICY.oversubscribed(),
            members: if team.span.is_none() {
                team.members
            } else {
                team.near
            },
            link: Link::Slots(slots),
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
            crowded: POLICY.oversubscribed(),
            members: array.members,
            link: Link::WorkArray(array),
            traffic: Traffic::default(),
        }
    }

    /// Who the members are.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The members by their numbers on the node, if they share it.
    #[inline]
    fn near(&self) -> &Members {
        match &self.link {
            Link::Slots(slots) => slots.near,
            _ => &self.members,
        }
    }

    /// World number of a member.
    #[inline]
    pub fn pe(&self, member: usize) -> usize {
        self.members.pe(member)
    }

    /// Whether the members have lanes and eager buffers.
    #[inline]
    pub fn has_slots(&self) -> bool {
        matches!(self.link, Link::Slots(_))
    }

    /// The algorithm for a collective of so many bytes (see [`Plan::choose`]).
    #[inline]
    pub fn choose(&self, collective: Collective, bytes: usize) -> Choice {
        match &self.link {
            Link::Slots(slots) => slots.plan.choose(collective, bytes),
            Link::Mail(mail) => mail.choose(self.size, collective, bytes),
            Link::Span(_) | Link::WorkArray(_) => Choice {
                algorithm: match collective {
                    Collective::Reduce | Collective::Scan => Algorithm::Slices,
                    Collective::Barrier => Algorithm::Dissemination,
                    _ => Algorithm::Pull,
                },
                form: Form::Direct,
            },
        }
    }

    /// Whether the last member to arrive can work for all
    /// ([`Epoch::synchronise_with`]): the barrier is the central one.
    #[inline]
    pub fn has_last(&self) -> bool {
        self.choose(Collective::Barrier, 0).algorithm == Algorithm::Central
    }

    /// Begins the next epoch. Every epoch that is begun is completed by all members.
    #[inline]
    pub fn epoch(&self) -> Epoch<'_> {
        Epoch::begin(self)
    }

    /// Synchronises the members and their memory: what any of them wrote before is seen by
    /// every one after.
    #[inline]
    pub fn sync(&self) {
        if self.size == 1 {
            fence(Ordering::SeqCst);
        } else if let Link::Span(_) = &self.link {
            self.sync_parts();
        } else {
            self.epoch().synchronise();
        }
    }

    /// As [`sync`](Self::sync), at the end of a collective: leaves a work array as it was.
    #[inline]
    pub fn leave(&self) {
        self.sync();
        if let Link::WorkArray(array) = &self.link {
            array.withdraw(self.me);
        }
    }

    /// What the members have moved so far on behalf of this PE.
    #[inline]
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Copies `bytes` bytes of member `member`'s copy of `from`.
    ///
    /// # Safety
    /// Both places are valid for `bytes` bytes; they are the same or do not overlap.
    #[inline]
    pub unsafe fn get(&self, to: *mut u8, from: &Places<'_, u8>, member: usize, bytes: usize) {
        self.traffic.moved(bytes, bytes);
        // SAFETY: the caller's promise.
        unsafe {
            match self.far(member) {
                Some((transport, pe)) => {
                    let call = transport.internal_call(self.name, pe);
                    transport.get(&call, to.cast(), from.of(self.me).cast(), bytes);
                }
                None => copy_apart(to, from.of(member), bytes),
            }
        }
    }

    /// Copies `bytes` bytes to member `member`'s copy of `to`; seen there by whoever sees what
    /// this PE posts later.
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline]
    pub unsafe fn put(&self, to: &Places<'_, u8>, member: usize, from: *const u8, bytes: usize) {
        self.traffic.moved(bytes, bytes);
        // SAFETY: the caller's promise.
        unsafe {
            match self.far(member) {
                Some((transport, pe)) => {
                    let call = transport.internal_call(self.name, pe);
                    transport.put(&call, to.of(self.me).cast(), from.cast(), bytes);
                }
                None => copy_apart(to.of(member), from, bytes),
            }
        }
    }

    /// Copies `n` elements of `elem` bytes to member `member`'s copy of `to`, there `to_step` bytes
    /// apart, here as many bytes as the pair says.
    ///
    /// # Safety
    /// All elements are valid on both sides, and do not overlap.
    pub unsafe fn put_strided(
        &self,
        to: &Places<'_, u8>,
        to_step: usize,
        member: usize,
        (from, from_step): (*const u8, usize),
        elem: usize,
        n: usize,
    ) {
        let Some((transport, pe)) = self.far(member) else {
            unreachable!("on a node strided arrays are copied in place");
        };
        self.traffic.moved(n * elem, n * elem);
        let own = to.of(self.me).cast();
        let call = transport.internal_call(self.name, pe);
        let blocks = Blocks {
            bytes: elem,
            count: n,
            local_stride: from_step as isize,
            remote_stride: to_step as isize,
        };
        // SAFETY: the caller's promise.
        unsafe { transport.put_blocks(&call, own, from.cast(), blocks) };
    }

    /// How a member's arrays are reached, if not by pointers: as those of a PE.
    fn far(&self, member: usize) -> Option<(&'a Transport, usize)> {
        match &self.link {
            Link::Mail(mail) => Some((&mail.spanning.node.transport, mail.pe(member))),
            Link::WorkArray(array) if array.transport.internode().is_some() => {
                Some((array.transport, array.members.pe(member)))
            }
            _ => None,
        }
    }

    /// The wait for other members as it is reported.
    fn what(&self) -> WaitReason<'_> {
        let members = (
            self.members.start,
            self.members.stride,
            self.members.size as u32,
        );
        let (kind, address, team, sequence) = match &self.link {
            Link::Slots(slots) => {
                let entered = slots.of(self.me).own.entered.load(Ordering::Relaxed);
                (slots.kind, 0, slots.team, entered)
            }
            Link::Mail(Mail { spanning, .. }) | Link::Span(spanning) => spanning.wait(),
            Link::WorkArray(array) => (WaitKind::ActiveSet, array.address, 0, 0),
        };
        WaitReason {
            kind,
            routine: self.name,
            address,
            team,
            members,
            sequence,
        }
    }
}

/// Copies unless both are the same place.
///
/// # Safety
/// Both places are valid for `bytes` bytes; they are the same or do not overlap.
#[inline]
unsafe fn copy_apart(to: *mut u8, from: *const u8, bytes: usize) {
    if !std::ptr::eq(to, from) {
        // SAFETY: the caller's promise.
        unsafe { kernel::copy(to, from, bytes) };
    }
}
