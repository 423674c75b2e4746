//! Jobs that grow: PEs that are started while the job runs, and arrays that jobs lend each other (extension).

mod command;
mod exported;
mod imported;
pub(crate) mod kernel;
mod port;

use std::fmt::{self, Display};
use std::ops::Range;
use std::thread;

use ferroshmem_api::constants::{CTX_DEFAULT, GROUP_FAILED};
use ferroshmem_api::{group, handles, spawn};

pub use command::Command;
pub use exported::Exported;
pub use imported::Imported;
pub use port::Port;

use crate::error::{ImportError, PeOutOfRange, SpawnError, TeamError};
use crate::init;
use crate::memory::Lend;
use crate::order::quiet;
use crate::step::{self, Step};
use crate::team::{Member, Team};
use crate::world::World;

/// PEs of another job, which is connected with this one: those that [`Team::spawn`] has started, the
/// [parents](crate::World::parents) that have started this job, or those of a job that it has connected with at a
/// [`Port`]. It ends, collectively over both groups, when it is dropped: that waits for all PEs of both groups.
/// (Extension: `shmemx_group_t`)
///
/// ```no_run
/// # use ferroshmem::Command;
/// # let world = ferroshmem::World::init()?;
/// let workers = world.spawn(&Command::new("worker").pes(4))?;
/// let both = workers.team(); // I am in it, and so are they
/// let task = both.broadcast_value(both.member(0)?, 7)?;
/// let first = workers.member_of(workers.pe(0)?)?; // of them, by its number in that team
/// workers.barrier()?; // of both groups, too
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// What was imported from a group cannot be used after it:
///
/// ```compile_fail,E0505
/// # use ferroshmem::{Command, Window, World};
/// # let world = World::init().unwrap();
/// let group = world.spawn(&Command::new("worker").pes(4)).unwrap();
/// let table = group.import::<Window<u64>>("table", 100).unwrap();
/// group.disconnect();
/// table.p(group.pe(0).unwrap(), 7, 1);
/// ```
///
/// nor a group after its world:
///
/// ```compile_fail,E0505
/// # let world = ferroshmem::World::init().unwrap();
/// let parents = world.parents();
/// drop(world);
/// drop(parents);
/// ```
pub struct Group<'t> {
    team: Team<'t>,
    handle: usize,
    n_pes: usize,
    /// The number among the members of the team that PE 0 has.
    first: usize,
    /// Whether members may be on several nodes, so that there is no team of both groups.
    is_remote: bool,
}

/// Whether PEs of a [`Group`] can be waited for.
///
/// ```no_run
/// # use ferroshmem::{Command, GroupState};
/// # let world = ferroshmem::World::init()?;
/// let done = world.export("done", world.signals(1)?)?;
/// let workers = world.spawn(&Command::new("worker").pes(4).independent())?;
/// while done.fetch(0)? < 4 {
///     if workers.state() == GroupState::Failed {
///         return Ok(()); // go on without them
///     }
/// }
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupState {
    /// They can.
    Connected,
    /// One of them has failed, or has left without ending the group, in an independent job: waits for the others are
    /// over, too. So it stays.
    Failed,
}

/// A PE of a [`Group`], by its number in its own job. It exists: [`Group::pe`] checks the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupPe {
    number: u32,
    /// Serial number of the group's team.
    group: usize,
}

/// The PEs of a group, in the order of their numbers.
#[derive(Debug, Clone)]
pub struct GroupPes {
    rest: Range<usize>,
    group: usize,
}

impl GroupPe {
    /// Its number in the group, from 0.
    ///
    /// As in the example of [`Group::pes`].
    pub fn number(self) -> usize {
        self.number as usize
    }
}

impl Display for GroupPe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {} of the group", self.number)
    }
}

impl Iterator for GroupPes {
    type Item = GroupPe;

    fn next(&mut self) -> Option<GroupPe> {
        let number = self.rest.next()? as u32;
        Some(GroupPe { number, group: self.group })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for GroupPes {}

impl Team<'_> {
    /// Starts PEs of a program, as a job of their own that is connected with this team. Collective over the team;
    /// `command` counts on the first member. Returns when all of them are in [`World::init`](crate::World::init).
    /// (Extension: `shmemx_spawn`)
    ///
    /// ```no_run
    /// # use ferroshmem::{Atomics, Command, World};
    /// let world = World::init()?;
    /// if let Some(parents) = world.parents() {
    ///     let sum = parents.import::<Atomics<u64>>("sum", 1)?;
    ///     sum.add(parents.pe(0)?, 0, 10)?;
    ///     return Ok(()); // waits for the parents to end the group, too
    /// }
    /// let sum = world.export("sum", world.atomics::<u64>(1)?)?;
    /// let this = std::env::current_exe().expect("a program that runs has a file");
    /// let children = world.spawn(&Command::new(this).pes(3))?;
    /// children.disconnect(); // waits for the children
    /// assert_eq!(sum.fetch(world.pe(0)?, 0)?, 30);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If they cannot be started, or this is the team of a group. On all members.
    #[track_caller]
    pub fn spawn(&self, command: &Command) -> Result<Group<'_>, SpawnError> {
        self.spawn_multiple(std::slice::from_ref(command))
    }

    /// Starts PEs of several programs as one job, in which they are numbered in their order.
    /// (Extension: `shmemx_spawn_multiple`)
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let programs = [Command::new("reader"), Command::new("worker").pes(3)];
    /// let group = world.spawn_multiple(&programs)?;
    /// let reader = group.pe(0)?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`spawn`](Self::spawn), and if there is no program.
    #[track_caller]
    pub fn spawn_multiple(&self, commands: &[Command]) -> Result<Group<'_>, SpawnError> {
        let failed = |why: &dyn Display| SpawnError::new(why.to_string());
        let of_two_jobs = "the team is that of a group, with PEs of two jobs: give one of this job";
        self.of_one_job().map_err(|_| failed(&of_two_jobs))?;
        self.step(Step::Spawn, &[]);
        let programs = || commands.iter().map(Command::program).collect();
        let made = spawn::spawn_for("Team::spawn", self.handle(), 0, programs);
        let handle = made.map_err(|why| failed(&why))?;
        Ok(Group::of_handle(handle, self))
    }
}

impl<'t> Group<'t> {
    /// The group of a live handle, which is `team`'s.
    fn of_handle(handle: usize, team: &Team<'_>) -> Self {
        let n_pes = handles::n_pes("Group", handle);
        let n_pes = usize::try_from(n_pes).expect("the group lives, and has PEs");
        let (groups, first) = match handles::is_first_group("Group", handle) {
            true => ([team.n_members(), n_pes], team.n_members()),
            false => ([n_pes, team.n_members()], 0),
        };
        let is_remote = handles::is_remote("Group", handle);
        let both = match is_remote {
            true => {
                init::add_remote_group();
                let me = team.my_member().number() + if first == 0 { n_pes } else { 0 };
                Team::of_remote_group(team.shared_scratch(), groups, me)
            }
            false => {
                let handle = handles::team("Group", handle);
                Team::of_group(handle, team.shared_scratch(), groups)
            }
        };
        Self { team: both, handle, n_pes, first, is_remote }
    }

    /// Number of PEs.
    ///
    /// As in the example of [`pes`](Self::pes).
    pub fn n_pes(&self) -> usize {
        self.n_pes
    }

    /// The PE of that number in its own job, or of the team that has started this job.
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(4))?;
    /// assert_eq!(workers.pe(3)?.number(), 3);
    /// assert!(workers.pe(4).is_err());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the group has no such PE.
    pub fn pe(&self, number: usize) -> Result<GroupPe, PeOutOfRange> {
        let n_pes = self.n_pes;
        if number >= n_pes {
            return Err(PeOutOfRange { number, n_pes });
        }
        Ok(GroupPe { number: number as u32, group: self.team.serial() })
    }

    /// Whether its PEs can be waited for. Of jobs that are not [independent](Command::independent), the failure of one
    /// ends the others; of a group of one that is, collectives of the [`team`](Self::team) and waits for kernels return
    /// an error (those of them that return none panic; `Team::try_barrier` and the like return it), and puts to its
    /// memory, which is there until the group is dropped, have no effect.
    ///
    /// A wait for a variable is not over when the PE that was to set it has failed: test it, and look here in between.
    /// (Extension: `shmemx_group_state`)
    ///
    /// ```no_run
    /// # use ferroshmem::{Command, GroupState};
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(4).independent())?;
    /// if workers.barrier().is_err() {
    ///     assert_eq!(workers.state(), GroupState::Failed); // and this job goes on
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn state(&self) -> GroupState {
        match handles::state("Group::state", self.handle) {
            GROUP_FAILED => GroupState::Failed,
            _ => GroupState::Connected,
        }
    }

    /// All PEs.
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(4))?;
    /// assert_eq!((workers.n_pes(), workers.pes().len()), (4, 4));
    /// assert!(workers.pes().map(|pe| pe.number()).eq(0..4));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn pes(&self) -> GroupPes {
        GroupPes { rest: 0..self.n_pes, group: self.team.serial() }
    }

    /// The team of both groups, for barriers and collectives: first the PEs that have started others, then those. It
    /// cannot be split. Programs of both jobs call it by this crate. (Extension: `shmemx_group_team`)
    ///
    /// Collectives of values and slices work between any programs; those of arrays need an array at the same place of
    /// all heaps, and end the job if it is not.
    ///
    /// ```no_run
    /// # use ferroshmem::{Command, Sum};
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(4))?;
    /// let both = workers.team();
    /// assert_eq!(both.reduce_value(1, Sum), world.n_pes() + 4); // each worker calls it, too
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If [`is_remote`](Self::is_remote).
    pub fn team(&self) -> &Team<'t> {
        assert!(
            !self.is_remote,
            "the group's PEs are on several nodes, or started by another launcher than oshrun: there is no team of \
                both groups; call Group::barrier"
        );
        &self.team
    }

    /// Whether members of both groups are on several nodes, or another launcher than `oshrun` has started one of the
    /// jobs: PEs of this node are put to by stores, and others by the fabric. Then there is no [`team`](Self::team),
    /// and no array of the group is read in place.
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(4))?;
    /// if !workers.is_remote() {
    ///     assert_eq!(workers.team().n_members(), world.n_pes() + 4);
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Completes this PE's puts and waits for all PEs of both groups; after it, all see what each wrote before.
    /// Programs in C call it as well. (Extension: `shmemx_group_barrier`)
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let table = world.export("table", world.alloc::<u32>(4)?.open())?;
    /// let workers = world.spawn(&Command::new("worker").pes(4))?;
    /// workers.barrier()?; // each worker has put an element, and calls it, too
    /// assert_eq!(table.get_vec(world.my_pe(), ..)?, [1, 2, 3, 4]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the group has failed.
    pub fn barrier(&self) -> Result<(), TeamError> {
        quiet("Group::barrier", CTX_DEFAULT);
        match group::barrier("Group::barrier", self.handle) {
            0 => Ok(()),
            _ => Err(TeamError::GroupFailed),
        }
    }

    /// The member of the team of both groups that a PE is.
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(4))?;
    /// let first = workers.member_of(workers.pe(0)?)?;
    /// assert_eq!(first.number(), world.n_pes()); // in the team of both groups
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is a PE of another group.
    pub fn member_of(&self, pe: GroupPe) -> Result<Member, TeamError> {
        if pe.group != self.team.serial() {
            return Err(TeamError::OtherGroup);
        }
        let member = self.team.member(self.first + pe.number());
        member.map_err(|_| TeamError::OtherGroup)
    }

    /// The same as [`member_of`](Self::member_of).
    ///
    /// As in the example of [`member_of`](Self::member_of).
    ///
    /// # Errors
    /// As for that.
    #[deprecated(since = "0.2.0", note = "call `member_of`")]
    pub fn member(&self, pe: GroupPe) -> Result<Member, TeamError> {
        self.member_of(pe)
    }

    /// The array of `len` elements that the group has exported by a name, as the type that it was exported as: as
    /// `Window<u64>` if that is a window of such elements. Not collective. (Extension: `shmemx_import`)
    ///
    /// ```no_run
    /// # use ferroshmem::Window;
    /// # let world = ferroshmem::World::init()?;
    /// let parents = world.parents().expect("others have started this job");
    /// let table = parents.import::<Window<f64>>("table", 100)?; // exported as a window of 100 elements
    /// assert_eq!((table.len(), table.is_empty()), (100, false));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, or it has another length, other elements, or is shared in another way.
    pub fn import<A: Lend>(&self, name: &str, len: usize) -> Result<Imported<'_, A>, ImportError> {
        Imported::new(self, name, len)
    }

    /// Ends the connection, collectively over both groups; waits for all PEs of both, or if it has failed for those of
    /// this group. Dropping it does so, too. (Extension: `shmemx_group_disconnect`)
    ///
    /// As in the example of [`Team::spawn`].
    pub fn disconnect(self) {}
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        // A PE that panics, or has lost the others of its job, must not wait for any.
        if !thread::panicking() && !step::has_diverged() {
            handles::disconnect("Group::disconnect", self.handle);
        }
        if self.is_remote {
            init::remove_remote_group();
        }
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("n_pes", &self.n_pes).finish_non_exhaustive()
    }
}

impl World {
    /// The group of the PEs that have started this job, if a job has. Returned once: a group has one owner.
    /// (Extension: `shmemx_group_parents`)
    ///
    /// As in the example of [`Team::spawn`].
    pub fn parents(&self) -> Option<Group<'_>> {
        let handle = self.asks_for_parents_first().then(|| handles::parents("World::parents"))?;
        (handle != 0).then(|| Group::of_handle(handle, self))
    }
}
