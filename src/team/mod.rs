//! Teams: some PEs of the world, numbered anew (standard, "Team Management Routines").
#![allow(unsafe_code)]

mod member;

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use ferroshmem_api::constants::{CTX_DEFAULT, TEAM_CACHE, TEAM_INVALID, TEAM_NODE, TEAM_NUMA, TEAM_SOCKET, TEAM_WORLD};
use ferroshmem_api::record::Kind;
use ferroshmem_api::{agree, team};

use crate::error::TeamError;
use crate::order;
use crate::pe::Pe;
use crate::scratch::{self, CHUNK, Scratch};
use crate::step::{self, Detail, Step, What};

pub(crate) use member::TeamId;
pub use member::{AsMember, Member, Members};

/// What the members of a team share ([`Team::split_by_kind`]). A PE is on one of these if all cores that it is bound to
/// are; the PEs of a node of which that is not known are together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(i32)]
pub enum TeamKind {
    /// A node.
    Node = TEAM_NODE,
    /// A socket of a node.
    Socket = TEAM_SOCKET,
    /// A NUMA node.
    Numa = TEAM_NUMA,
    /// A last-level cache.
    Cache = TEAM_CACHE,
}

/// A set of PEs that make collective calls together. The [`World`](crate::World) is one, of all
/// PEs; others are split from it. A team is destroyed, collectively over its members, when it is
/// dropped.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let (row, column) = world.split_2d(2)?; // of PEs in rows of 2
/// row.barrier(); // waits for the members of my row alone
/// assert_eq!(column.gather_value(world.my_pe().number()).len(), column.n_members());
/// let first = row.member(0)?; // the first in the row
/// let pe = row.pe_of(first)?; // arrays take PEs
/// assert_eq!(row.member_of(pe), Some(first));
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// It cannot outlive the team that it was split from, nor its contexts outlive it:
///
/// ```compile_fail,E0505
/// # let world = ferroshmem::World::init().unwrap();
/// let team = world.split_strided(0, 1, world.n_pes()).unwrap().unwrap();
/// let context = team.context().unwrap();
/// drop(team);
/// context.quiet();
/// ```
///
/// Members are numbered within their team; these numbers are no numbers of PEs:
///
/// ```compile_fail,E0308
/// # let world = ferroshmem::World::init().unwrap();
/// let window = world.alloc::<u32>(1).unwrap().open();
/// let team = world.split_strided(0, 1, 1).unwrap().unwrap();
/// window.p(team.member(0).unwrap(), 0, 1); // of which numbering?
/// ```
pub struct Team<'p> {
    handle: usize,
    serial: usize,
    me: usize,
    size: usize,
    /// Collective steps so far. The world's are counted in `step`, because arrays take them too.
    taken: AtomicU32,
    /// Collectives begun that go on.
    begun: AtomicU32,
    scratch: Rc<Scratch>,
    /// Members of the first and the second job, if it is the team of a group.
    groups: Option<[usize; 2]>,
    parent: PhantomData<&'p Team<'p>>,
}

/// A number that no other team of this process has or had: a [`Member`] can outlive its team, and
/// handles are reused. The world has number 0 each time it is initialised.
fn serial_of(handle: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    match handle {
        TEAM_WORLD => 0,
        _ => NEXT.fetch_add(1, Relaxed),
    }
}

impl Team<'_> {
    /// The team of a live handle.
    pub(crate) fn of_handle(handle: usize, scratch: Rc<Scratch>) -> Self {
        let number = |n: i32| usize::try_from(n).expect("the team lives, and has members");
        Self {
            handle,
            serial: serial_of(handle),
            me: number(team::my_pe("Team", handle)),
            size: number(team::n_pes("Team", handle)),
            taken: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            scratch,
            groups: None,
            parent: PhantomData,
        }
    }

    /// The team of a group, which is gone with that: of as many members of either job.
    pub(crate) fn of_group(handle: usize, scratch: Rc<Scratch>, groups: [usize; 2]) -> Self {
        let mut team = Self::of_handle(handle, scratch);
        team.groups = Some(groups);
        team
    }

    /// Stands for the PEs of a group that is not on this node, by their numbers alone: nothing is called on it.
    pub(crate) fn of_remote_group(scratch: Rc<Scratch>, groups: [usize; 2], me: usize) -> Self {
        Self {
            handle: TEAM_INVALID,
            serial: serial_of(TEAM_INVALID),
            me,
            size: groups[0] + groups[1],
            taken: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            scratch,
            groups: Some(groups),
            parent: PhantomData,
        }
    }

    pub(crate) fn shared_scratch(&self) -> Rc<Scratch> {
        Rc::clone(&self.scratch)
    }

    /// Bytes of each member for which every member's scratch has room.
    pub(crate) fn chunk(&self) -> usize {
        match self.groups {
            None => CHUNK,
            // That of the smaller job has the least.
            Some([first, second]) => scratch::room(first.min(second)) / (first + second),
        }
    }

    /// A number that no other team has or had.
    pub(crate) fn serial(&self) -> usize {
        self.serial
    }

    /// This team, if it can be split or start PEs.
    pub(crate) fn of_one_job(&self) -> Result<(), TeamError> {
        match self.groups {
            None => Ok(()),
            Some(_) => Err(TeamError::OtherJob),
        }
    }

    pub(crate) fn handle(&self) -> usize {
        self.handle
    }

    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Synchronises with the other members and compares their calls with this one.
    #[track_caller]
    pub(crate) fn step(&self, step: Step, details: &[Detail]) {
        let taken = match self.handle {
            TEAM_WORLD => step::taken_by_world(),
            _ => &self.taken,
        };
        step::of_team(self.handle, taken, step, details);
    }

    /// The number of the collective that goes on which begins now.
    pub(crate) fn next_nonblocking(&self) -> u32 {
        let number = self.begun.load(Relaxed).wrapping_add(1);
        self.begun.store(number, Relaxed);
        number
    }

    /// This PE, by its number in the team.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let number = world.my_pe().number();
    /// let pair = world.split(Some(number / 2), 0)?.expect("every PE has a color");
    /// assert_eq!(pair.my_member().number(), number % 2);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn my_member(&self) -> Member {
        self.numbered(self.me)
    }

    /// Number of members.
    ///
    /// As in the example of [`members`](Self::members).
    pub fn n_members(&self) -> usize {
        self.size
    }

    /// The same as [`my_member`](Self::my_member).
    ///
    /// As in the example of [`my_member`](Self::my_member).
    #[deprecated(since = "0.2.0", note = "call `my_member`, or `my_pe` of the world")]
    pub fn me(&self) -> Member {
        self.my_member()
    }

    /// The same as [`n_members`](Self::n_members).
    ///
    /// As in the example of [`members`](Self::members).
    #[deprecated(since = "0.2.0", note = "call `n_members`, or `n_pes` of the world")]
    pub fn size(&self) -> usize {
        self.n_members()
    }

    /// The same as [`pe_of`](Self::pe_of).
    ///
    /// As in the example of [`pe_of`](Self::pe_of).
    ///
    /// # Errors
    /// As for that.
    #[deprecated(since = "0.2.0", note = "call `pe_of`: `World::pe` makes a PE of a number")]
    pub fn pe(&self, member: Member) -> Result<Pe, TeamError> {
        self.pe_of(member)
    }

    /// What members and contexts know of it.
    pub(crate) fn id(&self) -> TeamId {
        TeamId { handle: self.handle, serial: self.serial }
    }

    pub(crate) fn numbered(&self, number: usize) -> Member {
        Member::new(number, self.serial)
    }

    /// The member of that number.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let last = world.member(world.n_members() - 1)?;
    /// assert_eq!(Some(last), world.members().last());
    /// assert!(world.member(world.n_members()).is_err());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the team has no such member.
    pub fn member(&self, number: usize) -> Result<Member, TeamError> {
        if number >= self.size {
            return Err(TeamError::NoMember { number, n_members: self.size });
        }
        Ok(self.numbered(number))
    }

    /// All members.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (row, _column) = world.split_2d(2)?;
    /// assert_eq!(row.members().len(), row.n_members()); // at most 2
    /// assert!(row.members().any(|member| member == row.my_member()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn members(&self) -> Members {
        Members::all(self.size, self.serial)
    }

    /// The number of a member, given so or as a PE.
    pub(crate) fn number_of(&self, member: impl AsMember) -> Result<usize, TeamError> {
        member.number_in(self.id())
    }

    /// The PE that a member is.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let pair = world.split(Some(world.my_pe().number() / 2), 0)?.expect("every PE has a color");
    /// let first = pair.pe_of(pair.member(0)?)?; // arrays take PEs
    /// assert_eq!(first.number() % 2, 0);
    /// assert_eq!(pair.member_of(first), Some(pair.member(0)?));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is a member of another team, or a PE of another job.
    pub fn pe_of(&self, member: Member) -> Result<Pe, TeamError> {
        member.pe_in(self.id())
    }

    /// The member that a PE is, if it is in the team.
    ///
    /// As in the example of [`pe_of`](Self::pe_of).
    pub fn member_of(&self, pe: Pe) -> Option<Member> {
        self.number_of(pe).ok().map(|n| self.numbered(n))
    }

    /// Completes this PE's puts and waits for all members; after it, all see what each wrote before.
    /// (Standard: `shmem_barrier_all`, `shmem_team_sync`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.alloc::<u32>(1)?.open();
    /// window.p(world.my_pe().next(), 0, 7)?;
    /// world.barrier(); // all PEs have put, and all puts have arrived
    /// assert_eq!(window.g(world.my_pe(), 0)?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn barrier(&self) {
        lives(self.try_barrier());
    }

    /// As [`barrier`](Self::barrier), for the team of a group that may fail.
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(4).independent())?;
    /// if workers.team().try_barrier().is_err() {
    ///     println!("a worker has failed"); // this job has not
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_barrier(&self) -> Result<(), TeamError> {
        order::quiet("Team::barrier", CTX_DEFAULT);
        self.step(Step::Barrier, &[]);
        match agree::has_failed("Team::barrier", self.handle) {
            true => Err(TeamError::GroupFailed),
            false => Ok(()),
        }
    }

    /// Orders this PE's puts, signals and atomics to each PE before its later ones. (Standard:
    /// `shmem_fence`)
    ///
    /// ```
    /// # use ferroshmem::Compare;
    /// # let world = ferroshmem::World::init()?;
    /// let (data, flag) = (world.alloc::<f64>(100)?.open(), world.atomics::<u32>(1)?);
    /// let next = world.my_pe().next();
    /// data.put(next, 0, &[1.0; 100])?;
    /// world.fence(); // the flag comes after the data
    /// flag.set(next, 0, 1)?;
    /// flag.wait_until(0, Compare::Eq(1))?; // of the previous PE
    /// assert_eq!(data.g(world.my_pe(), 99)?, 1.0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn fence(&self) {
        let _record = order::record("Team::fence", Kind::Fence, CTX_DEFAULT);
        order::fence("Team::fence");
    }

    /// Completes this PE's puts: all PEs see them. (Standard: `shmem_quiet`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (data, ready) = (world.alloc::<f64>(8)?.open(), world.atomics::<u32>(1)?);
    /// let next = world.my_pe().next();
    /// data.put(next, 0, &[1.0; 8])?;
    /// world.quiet(); // the data are there, so a third PE may be told
    /// ready.add(world.pe(0)?, 0, 1)?;
    /// assert_eq!(data.g(next, 7)?, 1.0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn quiet(&self) {
        let _record = order::record("Team::quiet", Kind::Quiet, CTX_DEFAULT);
        order::quiet("Team::quiet", CTX_DEFAULT);
    }

    /// Makes a team of the members that give the same color, numbered by their keys, and where those are the
    /// same by their numbers in this team; no team of the members that give none. Collective over this team. (As
    /// `MPI_Comm_split`)
    ///
    /// A team of a list of members, in its order: each of them gives the same color, and its place in the list as key.
    ///
    /// ```
    /// # use ferroshmem::Sum;
    /// # let world = ferroshmem::World::init()?;
    /// let number = world.my_pe().number();
    /// let team = world.split(Some(number % 2), 0)?.expect("every PE has a color");
    /// let of_my_parity = team.reduce_value(1, Sum);
    /// assert_eq!(of_my_parity, (world.n_pes() + 1 - number % 2) / 2);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are too many teams, or the team is that of a group. The same on all members.
    #[track_caller]
    pub fn split(&self, color: Option<usize>, key: i64) -> Result<Option<Team<'_>>, TeamError> {
        self.of_one_job()?;
        self.step(Step::SplitByColor, &[]);
        let color = color.map(|color| color as u64);
        let made = team::split_by("Team::split", self.handle, (color, key), &[], 0);
        made.map(|handle| self.child(handle)).ok_or(TeamError::Split)
    }

    /// Makes a team of the members that share with this PE a part of the machine. Collective over this team. (As
    /// `MPI_Comm_split_type`)
    ///
    /// ```
    /// # use ferroshmem::TeamKind;
    /// # let world = ferroshmem::World::init()?;
    /// let node = world.split_by_kind(TeamKind::Node)?;
    /// let socket = node.split_by_kind(TeamKind::Socket)?;
    /// assert!(socket.n_members() <= node.n_members());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are too many teams, or the team is that of a group. The same on all members.
    #[track_caller]
    pub fn split_by_kind(&self, kind: TeamKind) -> Result<Team<'_>, TeamError> {
        const NAME: &str = "Team::split_by_kind";
        self.of_one_job()?;
        self.step(Step::SplitByKind, &[(What::Members, kind as u64)]);
        let made = team::split_by(NAME, self.handle, (Some(team::place(NAME, kind as i32)), 0), &[], 0);
        made.and_then(|handle| self.child(handle)).ok_or(TeamError::Split)
    }

    /// Makes a team of `size` members: this team's member `start` and every `stride`-th after it.
    /// Collective over this team; `None` on PEs that are not in the new team. (Standard:
    /// `shmem_team_split_strided`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let n = world.n_pes();
    /// if let Some(even) = world.split_strided(0, 2, n.div_ceil(2))? {
    ///     assert_eq!(even.my_member().number(), world.my_pe().number() / 2);
    /// } // its members drop it
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If not all are members of this team, there are too many teams, or the team is that of a group. The same on
    /// all members.
    #[track_caller]
    pub fn split_strided(&self, start: usize, stride: usize, size: usize) -> Result<Option<Team<'_>>, TeamError> {
        self.of_one_job()?;
        self.step(
            Step::Split,
            &[(What::Members, start as u64), (What::Members, stride as u64), (What::Members, size as u64)],
        );
        let number = |n: usize| i32::try_from(n).map_err(|_| TeamError::Split);
        let (start, stride, size) = (number(start)?, number(stride)?, number(size)?);
        let mut handle = 0;
        // SAFETY: no configuration; the result is a variable.
        let failed = unsafe {
            team::split_strided(
                "Team::split_strided",
                self.handle,
                start,
                stride,
                size,
                ptr::null(),
                0,
                &raw mut handle,
            )
        };
        if failed != 0 {
            return Err(TeamError::Split);
        }
        Ok(self.child(handle))
    }

    /// Makes teams of rows and of columns, the members seen as rows of `width`: the ones this PE is
    /// in. Collective over this team. (Standard: `shmem_team_split_2d`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let number = world.my_pe().number();
    /// let (row, column) = world.split_2d(2)?; // rows of 2 PEs
    /// assert_eq!(row.my_member().number(), number % 2);
    /// assert_eq!(column.my_member().number(), number / 2);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `width` is 0, there are too many teams, or the team is that of a group. The same on all members.
    #[track_caller]
    pub fn split_2d(&self, width: usize) -> Result<(Team<'_>, Team<'_>), TeamError> {
        self.of_one_job()?;
        self.step(Step::Split2d, &[(What::Members, width as u64)]);
        let width = i32::try_from(width).ok().filter(|width| *width > 0);
        let width = width.ok_or(TeamError::Split)?;
        let (mut row, mut column) = (0, 0);
        // SAFETY: no configurations; the results are variables.
        let failed = unsafe {
            team::split_2d(
                "Team::split_2d",
                self.handle,
                width,
                ptr::null(),
                0,
                &raw mut row,
                ptr::null(),
                0,
                &raw mut column,
            )
        };
        match (failed, self.child(row), self.child(column)) {
            (0, Some(row), Some(column)) => Ok((row, column)),
            _ => Err(TeamError::Split),
        }
    }

    pub(crate) fn child(&self, handle: usize) -> Option<Team<'_>> {
        (handle != 0).then(|| Team::of_handle(handle, Rc::clone(&self.scratch)))
    }
}

/// What a collective returns, of a team that is no failed group's.
#[track_caller]
pub(crate) fn lives<T>(result: Result<T, TeamError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

impl Drop for Team<'_> {
    fn drop(&mut self) {
        if self.handle != TEAM_WORLD && self.groups.is_none() && !std::thread::panicking() {
            self.step(Step::Destroy, &[]);
            if !step::has_diverged() {
                team::destroy("drop of a Team", self.handle);
            }
        }
    }
}

impl fmt::Debug for Team<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Team")
            .field("me", &self.me)
            .field("size", &self.size)
            .field("steps", &self.taken.load(Relaxed))
            .finish_non_exhaustive()
    }
}
