//! Jobs that go on without PEs that fail (extension).

use ferroshmem_api::resilience;

use crate::error::TeamError;
use crate::pe::Pe;
use crate::team::{Member, Team};
use crate::world::World;

/// What the members of a team that are left agree on ([`Team::agree`]): the same on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreement {
    /// All values, combined by bitwise and.
    pub value: u32,
    /// How many members have failed.
    pub failed: usize,
}

impl World {
    /// From now on, the job goes on without PEs that fail: by a signal, by a panic, or by ending before their `World`
    /// is dropped. Collective, soon after [`init`](World::init). False, on all PEs, where a failure ends the job all
    /// the same: it is to be started by `oshrun` or another launcher that goes on. (Extension: `shmemx_resilient`)
    ///
    /// Once a member of a team has failed, its collectives return an error (those of them that return none panic;
    /// [`Team::try_barrier`] and the like return it). So do allocations and what changes an array's type panic once any
    /// PE has failed, and memory is not given back. Windows, atomics and their likes work on; what a failed PE has
    /// written last stays there, for PEs of its node: those of others get any value. The members that are left go on in
    /// a team of their own ([`Team::survivors`]).
    ///
    /// ```
    /// # use ferroshmem::Sum;
    /// let world = ferroshmem::World::init()?;
    /// if world.go_on_without_failed() && world.n_pes() > 1 {
    ///     if world.my_pe().number() + 1 == world.n_pes() {
    ///         std::process::abort(); // the last one fails
    ///     }
    ///     while world.agree(1).failed == 0 {} // until all others know
    ///     let left = world.survivors()?;
    ///     assert_eq!(left.reduce_value(1, Sum), world.n_pes() - 1);
    ///     assert!(world.has_failed(world.pe(world.n_pes() - 1)?));
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn go_on_without_failed(&self) -> bool {
        resilience::resilient("World::go_on_without_failed") == 0
    }

    /// How many PEs have failed since the job began, which is a load. (Extension: `shmemx_failures`)
    ///
    /// ```
    /// # use ferroshmem::Compare;
    /// # let world = ferroshmem::World::init()?;
    /// let flags = world.atomics::<u32>(1)?;
    /// flags.set(world.my_pe().next(), 0, 1)?;
    /// while !flags.test(0, Compare::Eq(1))? && world.failures() == 0 {} // the previous PE may have failed
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn failures(&self) -> u64 {
        resilience::count("World::failures")
    }

    /// Whether a PE has failed. Where an operation on a PE of another node has given any value, since that has failed,
    /// it is true once the operation is complete. (Extension: `shmemx_pe_state`)
    ///
    /// As in the example of [`go_on_without_failed`](Self::go_on_without_failed).
    pub fn has_failed(&self, pe: Pe) -> bool {
        resilience::pe_state("World::has_failed", pe.number() as i32) == resilience::FAILED
    }
}

impl Team<'_> {
    /// The members of which this PE knows that they have failed. Waits for none. (Extension: `shmemx_team_failed`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// assert!(world.failed().is_empty()); // else the members of `survivors` could do their work
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn failed(&self) -> Vec<Member> {
        let found = resilience::failed_members("Team::failed", self.handle());
        found.into_iter().flatten().map(|member| self.numbered(member)).collect()
    }

    /// Has the team fail, also on the other members, whose waits in it return: as if one of them had failed. They can
    /// agree then, in this team or another. False where a failure ends the job. (Extension: `shmemx_team_revoke`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let row = world.split(Some(world.my_pe().number() / 2), 0)?.expect("every PE has a color");
    /// if world.failures() > 0 {
    ///     row.revoke(); // others of the row may wait for this PE, which goes on elsewhere
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn revoke(&self) -> bool {
        resilience::team_revoke("Team::revoke", self.handle()) == 0
    }

    /// Agrees with the members that are left, also while others fail. Collective over those. What they wrote before,
    /// all see after it; it completes no puts. (Extension: `shmemx_team_agree`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let is_well = 1; // of my part
    /// let agreement = world.agree(is_well);
    /// assert_eq!((agreement.value, agreement.failed), (1, 0));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group.
    pub fn agree(&self, value: u32) -> Agreement {
        crate::team::lives(self.of_one_job());
        let mut agreed = value.cast_signed();
        let failed = resilience::agree("Team::agree", self.handle(), &mut agreed);
        Agreement { value: agreed.cast_unsigned(), failed: failed.unwrap_or(0) }
    }

    /// Makes a team of the members that are left, in their order. Collective over those, whatever collectives of this
    /// team are under way. One that fails meanwhile may be in the new team, which has failed then. (Extension:
    /// `shmemx_team_shrink`)
    ///
    /// As in the example of [`World::go_on_without_failed`].
    ///
    /// # Errors
    /// If there are too many teams, or the team is that of a group. The same on all members.
    pub fn survivors(&self) -> Result<Team<'_>, TeamError> {
        self.of_one_job()?;
        let made = resilience::shrink("Team::survivors", self.handle());
        made.and_then(|handle| self.child(handle)).ok_or(TeamError::Split)
    }
}
