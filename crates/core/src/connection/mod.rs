//! Connections: two groups of PEs, each of a job of its own, that reach each other's memory.
//!
//! The members of a connection are the PEs of both groups: first those that accepted or spawned (group 0), then
//! the others (group 1). A PE gives them numbers above those of its job, the members' numbers in the connection
//! plus [`Connection::first`], which every routine takes that takes a PE. So its own group has two numbers
//! each, and the team of all members is a sequence of numbers, as other teams are.
//!
//! The other job's memory is mapped at a distance from this job's that is the same for heaps and globals:
//! `address on member m = address on me + offset(m)`, with one offset for each member, as within a job. Flags
//! and buffers for collectives of all members are in a memory of the connection's own.
//!
//! Where members are on several nodes, they are reached by a fabric of the connection's own ([`RemoteJob`]), but for
//! the other group's local ones, whose memory is mapped in the same way. Then PEs of this group are reached as in their
//! job. Each PE makes a memory of the connection; of that of the first on a node, all members there use the flags and
//! buffers.

mod announcements;
pub mod calls;
mod connections;
pub mod disconnects;
mod groups;
pub mod health;
pub mod invitation;
mod leave;
pub mod link;
mod local_members;
pub(crate) mod member_info;
mod other_job;
pub mod remote_job;

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use calls::ServedCalls;
use calls::caller::Caller;
use health::Health;
use invitation::Invitation;
use link::Watch;
use other_job::{OtherJob, Programs};
use remote_job::{Joined, Joining, RemoteError, RemoteJob, ThisPe};

use crate::futex;
use crate::job::control::Control;
use crate::job::service::StartedJob;
use crate::job::{Attachment, JoinError};
use crate::memory::{AddressSpace, Origins};
use crate::wait::record::Recorder;
use crate::wait::{Ending, Rendezvous, WaitReason, rendezvous};
use ferroshmem_layout::{CallLines, ConnectionState, Exported, PeState, SignalLine, WaitKind};

pub(crate) use connections::Connections;
pub use groups::{Groups, Role};
pub(crate) use other_job::MapError;

/// Why two groups cannot be connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The memory of the connection or of the other job is not what it should be.
    #[error("the other job's memory cannot be used: {0}")]
    Memory(#[from] std::io::Error),
    /// The other job's memory cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The other job is on other nodes, and cannot be reached.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The other group cannot learn which kernels this PE has.
    #[error(transparent)]
    Kernels(#[from] calls::PublishError),
    /// The other group has ended, and this one does not end with it.
    #[error("the other job has ended before all PEs of both were connected")]
    Abandoned,
    /// This process is in no job.
    #[error(transparent)]
    Join(#[from] &'static JoinError),
}

/// Two groups of PEs that reach each other's memory, as one of the PEs sees them.
#[derive(Debug)]
pub struct Connection {
    /// By which this PE tells its connections from each other.
    pub id: u32,
    /// The number that this PE's job gives to the first member.
    pub first: usize,
    /// Its groups.
    pub groups: Groups,
    /// This PE's number among the members.
    pub me: usize,
    /// The memory of the connection; where members are on several nodes, that which this PE has made.
    pub control: Control,
    /// On the group that has started the other: calls of kernels.
    pub calls: Mutex<Caller>,
    /// On the other group: what it has run of them.
    pub served: ServedCalls,
    /// The memory of the connection.
    file: File,
    /// Whether some member asks for sums that do not depend on the order of their operands.
    pub reproducible: bool,
    /// This PE's number among those of its job on the node, and bytes from one PE's memory to the next.
    job_index: usize,
    stride: u64,
    /// The number in its job of each member.
    job_pes: Box<[u32]>,
    /// The number among the PEs of its job on this node of each member whose memory is mapped.
    indices: Box<[Option<u32>]>,
    /// The other job's memory on this node, if it has members here.
    local: Option<OtherJob>,
    /// How the others are reached, if there are members on several nodes.
    remote: Option<RemoteJob>,
}

impl Connection {
    /// Connects this PE, in `role`, with the job of `started`. Returns once all members are here.
    ///
    /// # Errors
    /// If memory cannot be mapped; or if the other group, which is independent, ends before: then on all members.
    pub fn establish(
        routine: &str,
        job: &Attachment,
        space: &AddressSpace,
        started: &StartedJob,
        role: Role,
    ) -> Result<Self, ConnectionError> {
        let control = Control::open(&started.connection)?;
        let other = Control::open(&started.memory)?;
        let all = control.n_pes();
        let first_group = control.header().first_group.load(Ordering::Relaxed) as usize;
        let sizes = [first_group, all - first_group];
        let me = [0, sizes[0]][role.group] + role.index;
        let block = control.pe_block(me);
        let globals = space.globals();
        let image = globals.map_or(0, |g| g.image);
        block.image.store(image, Ordering::Relaxed);
        let len = globals.map_or(0, |g| g.len as u64);
        block.globals_len.store(len, Ordering::Relaxed);
        block.job_pe.store(job.index as u32, Ordering::Relaxed);
        if role.reproducible {
            control.header().reproducible.store(1, Ordering::Relaxed);
        }
        if role.is_started {
            calls::publish(&started.connection, table_of_kernels(&control, me))?;
        }
        let state = PeState::Initialized as u32;
        block.state.store(state, Ordering::Release);
        let header = control.header();
        let rendezvous = rendezvous(&control);
        // Before the others go on, so that all of them find the same.
        let round = rendezvous.arrive_with(|| _ = rendezvous::connect(&header.connection));
        let reason = wait_reason(&control, role.first, routine);
        // Over or not, the state alone says whether all had come.
        rendezvous.wait(round, &reason);
        if is_abandoned(&control) {
            leave_group(&control, role.group);
            // SAFETY: mapped above, and referred to by nothing else.
            unsafe {
                control.unmap();
                other.unmap();
            }
            return Err(ConnectionError::Abandoned);
        }
        let job_pe = |member| control.pe_block(member).job_pe.load(Ordering::Relaxed);
        let job_pes: Box<[u32]> = (0..all).map(job_pe).collect();
        let groups = Groups::new(sizes, role.group);
        let others = groups.others().map(|member| control.pe_block(member));
        let others = others.map(|block| {
            let image = block.image.load(Ordering::Relaxed);
            (image, block.globals_len.load(Ordering::Relaxed))
        });
        let programs = Programs::of(space, others);
        let other = OtherJob::map(job, space, &started.memory, other, &programs)?;
        let mut this = Self {
            id: next_id(),
            first: role.first,
            groups,
            me,
            control,
            calls: Mutex::default(),
            served: ServedCalls::default(),
            file: started.connection.try_clone()?,
            reproducible: header.reproducible.load(Ordering::Relaxed) != 0,
            job_index: job.index,
            stride: 1 << space.log2_stride(),
            // All are on this node.
            indices: job_pes.iter().copied().map(Some).collect(),
            job_pes,
            local: Some(other),
            remote: None,
        };
        this.find_all(space);
        Ok(this)
    }

    /// Notes where the members' heaps and globals are, of which all are mapped.
    fn find_all(&mut self, space: &AddressSpace) {
        let own_globals = space.globals().map_or(0, |g| g.start);
        let their_globals = self.local.as_ref().and_then(OtherJob::globals);
        let their_globals = their_globals.map_or(own_globals, |(start, _)| start);
        let at = |own: usize, theirs: usize| {
            let copy = |member| {
                let is_own = self.own().contains(&member);
                let base = if is_own { own } else { theirs };
                base.wrapping_add(self.offset(member).unwrap_or(0))
            };
            (0..self.len()).map(copy).collect::<Box<[usize]>>()
        };
        let heaps = at(space.heap_base(), space.heap_base());
        let globals = at(own_globals, their_globals);
        (self.groups.heaps, self.groups.globals) = (heaps, globals);
    }

    /// Connects this PE, in `role`, with a job to which it is invited, where members are on several nodes.
    /// `coordinator` is the thread of the coordinator, at the PE that has it. Returns once all members are here.
    ///
    /// # Errors
    /// If a member cannot be reached. Where the groups are independent, other members may have joined.
    pub fn join(
        watch: Watch,
        this_pe: ThisPe<'_>,
        invitation: &Invitation,
        role: Role,
        coordinator: Option<JoinHandle<()>>,
    ) -> Result<Self, ConnectionError> {
        let ThisPe { job, space, .. } = this_pe;
        let header = job.control.header();
        let cores = header.node_cores();
        let sizes = invitation.sizes;
        let (number, independent) = (invitation.number, invitation.independent);
        let (file, control) = Control::create_connection(number, sizes, independent, cores, header.tuning)?;
        let health = state_of(&control).map(|state| Arc::new(Health::new(state)));
        let groups = Groups::new(sizes, role.group);
        let me = groups.own().start + role.index;
        let joining = Joining {
            this_pe,
            invitation,
            groups: &groups,
            me,
            role,
            watch,
            memory: (&file, control),
            health: health.as_ref(),
        };
        let shown = Recorder::start(&wait_reason(&control, role.first, watch.routine));
        let joined = RemoteJob::join(&joining, coordinator);
        drop(shown);
        let joined = joined.inspect_err(|_| {
            if let Some(health) = health {
                health.close();
                // SAFETY: that was the last that referred to it.
                unsafe { control.unmap() };
            }
        })?;
        let Joined { other, local, indices, infos } = joined;
        if me == 0 {
            // Where it looks for those of a job on its node.
            for member in groups.others() {
                let table = table_of_kernels(&control, member);
                calls::write(&file, &infos[member].kernels, table)?;
            }
        }
        let mut this = Self {
            id: next_id(),
            first: role.first,
            groups,
            me,
            control,
            calls: Mutex::default(),
            served: ServedCalls::default(),
            file,
            reproducible: infos.iter().any(|info| info.reproducible),
            job_index: job.index,
            stride: 1 << space.log2_stride(),
            job_pes: infos.iter().map(|info| info.job_pe).collect(),
            indices,
            local,
            remote: Some(other),
        };
        if this.remote().is_some_and(RemoteJob::is_on_one_node) {
            this.find_all(space);
        }
        Ok(this)
    }

    /// How members of other nodes are reached, if there are such.
    #[inline]
    pub fn remote(&self) -> Option<&RemoteJob> {
        self.remote.as_ref()
    }

    /// Whether a member's memory is mapped.
    pub(crate) fn is_mapped(&self, member: usize) -> bool {
        self.indices[member].is_some()
    }

    /// The object that the other group has exported by a name.
    pub fn exported(&self, name: &[u8]) -> Option<Exported> {
        match (&self.remote, &self.local) {
            (Some(remote), _) => remote.exported(self.others().start, name),
            (None, local) => local.as_ref()?.control().exports().find_unless(name, || self.has_failed()),
        }
    }

    /// Its number: that of the job which was started for it, or one that both groups have agreed on.
    pub fn number(&self) -> u32 {
        self.control.header().job_number.load(Ordering::Relaxed)
    }

    /// The calls of kernels.
    pub fn call_lines(&self) -> &CallLines {
        match self.remote() {
            Some(remote) => remote.calls().lines(),
            None => &self.control.pe_block(0).calls,
        }
    }

    /// Where the file says which kernels a member has.
    fn table_of_kernels(&self, member: usize) -> u64 {
        table_of_kernels(&self.control, member)
    }

    /// What a wait for calls, or for their completion, is a wait for.
    pub fn wait_reason<'a>(&self, routine: &'a str) -> WaitReason<'a> {
        wait_reason(&self.control, self.first, routine)
    }

    /// Whether the end of one group is not the other's.
    pub fn is_independent(&self) -> bool {
        self.control.is_independent()
    }

    /// Whether a group has ended, and the other one goes on.
    pub fn has_failed(&self) -> bool {
        let state = self.control.header().connection.load(Ordering::Acquire);
        ConnectionState::is_over(state)
    }

    /// Number of members.
    #[allow(clippy::len_without_is_empty, reason = "there are always some")]
    pub fn len(&self) -> usize {
        self.groups.sizes[0] + self.groups.sizes[1]
    }

    /// The members of the other group.
    pub fn others(&self) -> Range<usize> {
        self.groups.others()
    }

    /// The members of this PE's group.
    pub fn own(&self) -> Range<usize> {
        self.groups.own()
    }

    /// The member that this PE's job gives the number `pe`.
    pub(crate) fn member(&self, pe: usize) -> Option<usize> {
        let member = pe.checked_sub(self.first)?;
        (member < self.len()).then_some(member)
    }

    /// The member that has the number `pe` in this PE's job.
    pub(crate) fn member_of_job(&self, pe: usize) -> Option<usize> {
        self.own().find(|m| self.job_pes[*m] as usize == pe)
    }

    /// The number that a member has in this PE's job, if it is of that.
    pub fn pe_of_job(&self, member: usize) -> Option<usize> {
        let is_own = self.own().contains(&member);
        is_own.then(|| self.job_pes[member] as usize)
    }

    /// Bytes from this PE's memory to a member's, if that is mapped.
    pub fn offset(&self, member: usize) -> Option<usize> {
        let index = self.indices[member]? as usize;
        if self.own().contains(&member) {
            let distance = index as i64 - self.job_index as i64;
            return Some(distance.wrapping_mul(self.stride as i64) as usize);
        }
        Some(self.local.as_ref()?.offset(index))
    }

    /// Where a member's copy of the `len` bytes at `addr` is: of a symmetric object of this PE, or of one that
    /// is imported. None if it has none, or its memory is not mapped.
    pub fn translate(&self, space: &AddressSpace, addr: usize, len: usize, member: usize) -> Option<*mut u8> {
        if self.own().contains(&member) {
            return space.translate(addr, len, self.indices[member]? as usize);
        }
        let reaches = self.local.as_ref()?.holds(space.heap_base(), addr, len);
        let there = addr.wrapping_add(self.offset(member)?);
        reaches.then(|| std::ptr::with_exposed_provenance_mut(there))
    }

    /// The addresses of the members' copies of the object at `addr`: bases, and the offset from each.
    pub(crate) fn copies(&self, space: &AddressSpace, addr: usize) -> (&[usize], usize) {
        match space.globals() {
            Some(globals) if globals.contains(addr) => (&self.groups.globals, addr - globals.start),
            _ => (&self.groups.heaps, addr.wrapping_sub(space.heap_base())),
        }
    }

    /// Whether the `len` bytes at `addr` are symmetric on all members.
    pub(crate) fn is_symmetric(&self, space: &AddressSpace, addr: usize, len: usize) -> bool {
        space.translate(addr, len, self.job_index).is_some() && self.other_holds(space, addr, len)
    }

    /// The address by which this PE names what the other group has exported at `place`
    /// ([`AddressSpace::place`]); None if its memory is not there.
    pub fn address_of(&self, space: &AddressSpace, place: u64, len: u64) -> Option<usize> {
        let base = space.heap_base();
        let addr = match (&self.remote, &self.local) {
            (Some(remote), _) => remote.address_of(base, place),
            (None, local) => local.as_ref()?.address_of(base, place)?,
        };
        self.other_holds(space, addr, len as usize).then_some(addr)
    }

    /// The number of the PE of the other job, and the own address in the heap, that `addr` stands for if it is behind
    /// that PE's heap, which is smaller.
    pub fn behind_heap(&self, space: &AddressSpace, addr: usize) -> Option<(usize, usize)> {
        let other = self.local.as_ref()?;
        let origins = other.origins(addr);
        (0..other.control().n_pes()).find_map(|pe| {
            let own = origins.of(pe);
            let offset = own.wrapping_sub(space.heap_base()) as u64;
            let is_behind = (other.heap_size()..space.heap_size()).contains(&offset);
            Some((self.number_of_other(pe).filter(|_| is_behind)?, own))
        })
    }

    /// Bytes of the heap of each PE of the other job.
    pub fn other_heap_size(&self) -> u64 {
        match (&self.remote, &self.local) {
            (Some(remote), _) => remote.heap_size(),
            (None, local) => local.as_ref().map_or(0, OtherJob::heap_size),
        }
    }

    /// What `addr` stands for in the windows of the other job's PEs, if this PE has such.
    pub fn origins(&self, addr: usize) -> Option<Origins> {
        self.local.as_ref().map(|other| other.origins(addr))
    }

    /// The number of the PE of the other group, on this node, in whose symmetric memory `addr` is.
    pub fn owner(&self, space: &AddressSpace, addr: usize) -> Option<usize> {
        let other = self.local.as_ref()?;
        let is_in = |member: &usize| {
            let offset = self.offset(*member);
            offset.is_some_and(|by| other.holds(space.heap_base(), addr.wrapping_sub(by), 1))
        };
        self.others().find(is_in).map(|member| self.first + member)
    }

    /// The number by which this PE's job reaches the PE of the other one that has this number on this node, if that is
    /// a member.
    pub fn number_of_other(&self, index: usize) -> Option<usize> {
        let is_it = |member: &usize| self.indices[*member] == Some(index as u32);
        Some(self.first + self.others().find(is_it)?)
    }

    /// Whether the other group has a copy of the `len` bytes at `addr`.
    pub fn other_holds(&self, space: &AddressSpace, addr: usize, len: usize) -> bool {
        let base = space.heap_base();
        match (&self.remote, &self.local) {
            (Some(remote), _) => remote.position(base, addr, len).is_some(),
            (None, local) => local.as_ref().is_some_and(|l| l.holds(base, addr, len)),
        }
    }

    /// Where a member whose memory is mapped sleeps until a signal of its own changes.
    pub(crate) fn signals(&self, own: &Control, member: usize) -> Option<&'static SignalLine> {
        let index = self.indices[member]? as usize;
        let control = match self.own().contains(&member) {
            true => own,
            false => self.local.as_ref()?.control(),
        };
        Some(&control.pe_block(index).signals)
    }

    /// The memory with the slots of the members that share such, this PE's number among them, and how many there are.
    pub(crate) fn slots(&self) -> (Control, usize, usize) {
        match self.remote() {
            Some(remote) => remote.slots(),
            None => (self.control, self.me, self.len()),
        }
    }

    /// Whether the PEs of both jobs on this node outnumber the cores.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        let (control, _, n) = self.slots();
        n > control.header().cores as usize
    }

    /// Where waits for members look whether they are [over](ConnectionState::is_over), if they may be.
    pub(crate) fn watched_state(&self) -> Option<&'static AtomicU32> {
        let is_watched = self.remote.is_some() || self.is_independent();
        is_watched.then_some(&self.control.header().connection)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(remote) = self.remote() {
            remote.close();
        }
        // SAFETY: nothing refers to the connection's memory any more: no team, and no call.
        unsafe { self.control.unmap() };
    }
}

/// The number of this PE's next connection; of 24 bits, which no two have that there are at a time.
fn next_id() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) & 0xff_ffff
}

fn table_of_kernels(control: &Control, member: usize) -> u64 {
    control.offsets().file_size() + member as u64 * calls::TABLE
}

/// Counts a member that uses the connection no more.
fn leave_group(control: &Control, group: usize) {
    let left = &control.header().left[group];
    left.fetch_add(1, Ordering::AcqRel);
    futex::wake(left, futex::ANY);
}

fn is_abandoned(control: &Control) -> bool {
    let state = control.header().connection.load(Ordering::Acquire);
    state == ConnectionState::Abandoned as u32
}

/// How far the connection is, if its groups end independently.
fn state_of(control: &Control) -> Option<&'static AtomicU32> {
    let state = &control.header().connection;
    control.is_independent().then_some(state)
}

fn rendezvous(control: &Control) -> Rendezvous<'static> {
    let header = control.header();
    Rendezvous { arrived: &header.start_arrived, epoch: &header.start_epoch, n: header.n_pes }
}

fn wait_reason<'a>(control: &Control, first: usize, routine: &'a str) -> WaitReason<'a> {
    let header = control.header();
    WaitReason {
        team: header.job_number.load(Ordering::Relaxed),
        members: (first as i32, 1, header.n_pes),
        ending: state_of(control).map(|state| state as &dyn Ending),
        ..WaitReason::at(WaitKind::Connection, routine, 0)
    }
}
