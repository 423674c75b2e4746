//! Who takes part in a collective, and how its members reach each other: a team, or an active
//! set. Collectives are written once, over this.
//!
//! A [`Group`] lasts for one call. Its members' words are in the team's slots in shared memory
//! ([`crate::job::region::TeamSlot`]); all use of them goes through an [`Epoch`]. Where the
//! members' data are is told by [`Places`].

pub mod active_set;
mod agreement;
mod epoch;
mod places;
mod sharing;
mod stream;
#[cfg(test)]
pub mod threads;
mod traffic;
mod work_array;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use crate::choice::{Algorithm, Choice, Collective, Form, Plan};
use crate::job::region::{TeamSlot, WaitKind};
use crate::runtime::Runtime;
use crate::team::{Members, Team};
use crate::wait::{POLICY, What};

pub use epoch::Epoch;
pub use places::Places;
pub use sharing::Work;
pub use stream::Stream;
pub use traffic::Traffic;
pub use work_array::{SYNC_SIZE, WorkArray};

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
enum Link<'a> {
    Slots(Slots<'a>),
    WorkArray(WorkArray<'a>),
}

/// The slots of a team, one per member.
#[derive(Debug, Clone, Copy)]
pub struct Slots<'a> {
    /// The slot of member 0.
    first: NonNull<TeamSlot>,
    /// Slots from one member's to the next's; may be negative.
    stride: isize,
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
        // SAFETY: slots lie `stride` apart, one for each member, and are never unmapped; all
        // that is in them is atomic, or a cell accessed by raw pointers.
        unsafe { self.first.offset(self.stride * member as isize).as_ref() }
    }
}

impl<'a> Group<'a> {
    /// A collective of a team, entered now.
    #[inline]
    pub fn of_team(rt: &'a Runtime, name: &'static str, team: &'a Team) -> Self {
        Self::over_slots(rt, name, team, WaitKind::Team)
    }

    #[inline]
    fn over_slots(rt: &'a Runtime, name: &'static str, team: &'a Team, kind: WaitKind) -> Self {
        team.enter(rt);
        let slots = Slots {
            first: NonNull::from(team.slot(rt, 0)),
            stride: team.members.stride as isize,
            epoch: &team.epoch,
            stream: &team.stream,
            plan: &team.plan,
            kind,
            team: team.id as u32,
        };
        Self {
            name,
            me: team.index,
            size: team.members.size,
            reproducible: rt.settings.reproducible,
            crowded: POLICY.oversubscribed(),
            members: team.members,
            link: Link::Slots(slots),
            traffic: Traffic::default(),
        }
    }

    /// Who the members are.
    pub fn members(&self) -> &Members {
        &self.members
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
            Link::WorkArray(_) => Choice {
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

    /// The wait for other members as it is reported.
    fn what(&self) -> What<'_> {
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
            Link::WorkArray(array) => (WaitKind::ActiveSet, array.address, 0, 0),
        };
        What {
            kind,
            routine: self.name,
            address,
            team,
            members,
            sequence,
        }
    }
}
