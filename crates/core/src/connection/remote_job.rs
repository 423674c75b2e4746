//! The other job of a connection whose groups have PEs on different nodes, reached by a fabric of the connection's own.
//!
//! The fabric's peers are the connection's members. Each shares its heap, its globals, what its node's PEs export, and
//! [announcements](super::announcements).

use std::fs::File;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, io, ptr};

use ferroshmem_config::FabricSettings;
use ferroshmem_fabric::{Aggregate, Config, Context, Events, Fabric, Remote};
use ferroshmem_platform::mapping;

use super::announcements::{Announcements, Nodes, RemoteSync};
use super::calls::remote::{Records, RemoteCalls, UNSERVED};
use super::calls::{self, PublishError};
use super::disconnects::Disconnects;
use super::groups::{Groups, Role};
use super::health::Health;
use super::invitation::Invitation;
use super::link::{Link, Watch};
use super::local_members::{Passing, Shared};
use super::member_info::MemberInfo;
use super::other_job::{OtherJob, Programs};
use crate::failure::fatal::fatal_in_background;
use crate::internode::{ANNOUNCEMENTS, EXPORTS, GLOBALS, HEAP, fabric_config, share_symmetric, spin};
use crate::job::Attachment;
use crate::job::control::Control;
use crate::memory::{AddressSpace, IN_GLOBALS, offset_in};
use crate::wait::{rendezvous, signals};
use ferroshmem_layout::Exported;
use ferroshmem_layout::{ConnectionState, Exports};

/// Why the PEs of another node cannot be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The members do not join.
    #[error("the connected job has failed, or cannot be reached: {0}")]
    Link(#[from] io::Error),
    /// The fabric.
    #[error(transparent)]
    Fabric(#[from] ferroshmem_fabric::Error),
    /// The other group cannot learn which kernels this PE has.
    #[error(transparent)]
    Kernels(#[from] PublishError),
    /// It is not known which node this is.
    #[error(transparent)]
    Node(#[from] ferroshmem_bootstrap::Error),
    /// Atomics of the fabric are not atomic with stores of this node.
    #[error("the atomics of {0} are not atomic with a CPU's: set SHMEM_FABRIC to \"tcp\" in both jobs")]
    Atomics(String),
    /// A member is gone, and the groups are independent.
    #[error("the connected job has ended before all PEs of both were connected")]
    Abandoned,
}

/// What the fabric of a connection calls.
struct Reporter {
    job: &'static Attachment,
    watch: Watch,
    groups: [usize; 2],
    own: usize,
    /// The number of the first member.
    first: usize,
    calls: Arc<RemoteCalls>,
    disconnects: Arc<Disconnects>,
    /// A [`ConnectionState`], which says that this PE waits in vain.
    state: &'static AtomicU32,
    health: Option<Arc<Health>>,
}

impl Events for Reporter {
    fn peer_failed(&self, member: usize, reason: &str) {
        /// Time for the link to say so, which knows better, and for launchers to end what they know to have failed.
        const NOTICE: Duration = Duration::from_secs(2);

        if let Some(health) = &self.health {
            return health.fail();
        }
        thread::sleep(NOTICE);
        let is_own = (member >= self.groups[0]) == (self.own == 1);
        let pe = self.first + member;
        let of = if is_own { "this job" } else { "the connected job" };
        fatal_in_background(self.watch.routine, format_args!("PE {pe}, which is of {of}, cannot be reached: {reason}"))
    }

    fn memory_changed(&self) {
        signals::notify(&self.job.block().signals);
    }

    fn record_arrived(&self, member: usize, record: &[u8]) -> bool {
        if let [LEFT, entered @ ..] = record
            && let Ok(entered) = entered.try_into()
        {
            if self.disconnects.leave(member, u32::from_ne_bytes(entered)) {
                give_up(self.state, self.health.as_deref());
            }
            return true;
        }
        self.calls.take(member, record, || fatal_in_background(self.watch.routine, UNSERVED))
    }

    fn tick(&self) {}
}

/// A member is missing from a collective that this PE has entered: it waits for nothing there any more.
fn give_up(state: &AtomicU32, health: Option<&Health>) {
    match health {
        Some(health) => health.fail(),
        None => rendezvous::end(state),
    }
}

/// The first byte of a record that a member sends to all others when it uses the connection no more. How many
/// collectives it has entered follows. Records of calls are longer.
const LEFT: u8 = 1;

/// The other job of a connection, on other nodes.
pub struct RemoteJob {
    /// Dropped before what it shares.
    fabric: Arc<Fabric>,
    /// Operations of all contexts.
    context: Context,
    /// Records of calls, which the program's quiet does not wait for.
    records: Context,
    sync: RemoteSync,
    link: Link,
    calls: Arc<RemoteCalls>,
    disconnects: Arc<Disconnects>,
    /// A [`ConnectionState`].
    state: &'static AtomicU32,
    me: usize,
    /// Bytes of the heap of each PE.
    heap_size: u64,
    /// Where this PE would have the other job's globals, and their bytes: its own, if all of its PEs run this PE's
    /// program; else addresses without memory.
    globals: (usize, usize),
    /// Whether they are such.
    reserved: bool,
    /// If the groups are independent.
    health: Option<Arc<Health>>,
}

impl fmt::Debug for RemoteJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteJob").field("fabric", &self.fabric).field("link", &self.link).finish_non_exhaustive()
    }
}

/// What PEs of other nodes are to reach of this one, and how.
#[derive(Clone, Copy)]
pub struct ThisPe<'a> {
    /// Its place in the job.
    pub job: &'static Attachment,
    /// Its memory.
    pub space: &'static AddressSpace,
    /// Bytes of the heap that are in use.
    pub heap_mark: u64,
    /// How the fabric is opened.
    pub settings: &'a FabricSettings,
}

/// What a PE brings.
pub(super) struct Joining<'a> {
    pub this_pe: ThisPe<'a>,
    pub invitation: &'a Invitation,
    pub groups: &'a Groups,
    pub me: usize,
    pub role: Role,
    pub watch: Watch,
    /// The memory of the connection that this PE has made.
    pub memory: (&'a File, Control),
    /// If the groups are independent.
    pub health: Option<&'a Arc<Health>>,
}

/// What a PE has that has joined.
pub(super) struct Joined {
    /// How members are reached.
    pub other: RemoteJob,
    /// The memory of the other job on this node, if it has members here.
    pub local: Option<OtherJob>,
    /// The numbers among the PEs of their jobs on this node of the members whose memory is mapped.
    pub indices: Box<[Option<u32>]>,
    /// What each has said of itself.
    pub infos: Vec<MemberInfo>,
}

impl RemoteJob {
    /// Joins the other members, which are all reached on return.
    pub(super) fn join(joining: &Joining<'_>, coordinator: Option<JoinHandle<()>>) -> Result<Joined, RemoteError> {
        let Joining { this_pe, invitation, groups, me, role, watch, memory: (file, control), health } = *joining;
        let ThisPe { job, space, .. } = this_pe;
        let n: usize = groups.sizes.iter().sum();
        let calls = Arc::new(RemoteCalls::new(groups));
        let disconnects = Arc::new(Disconnects::default());
        let state = &control.header().connection;
        let config = Config {
            pe: me,
            n_pes: n,
            local_pes: job.control.n_pes(),
            spin: spin(),
            peer_timeout: watch.timeout.unwrap_or(Duration::from_secs(3600)),
            survives: health.is_some(),
            // The program has threads.
            sets_environment: false,
            aggregate: Aggregate { bytes: 0, ..Aggregate::default() },
            endpoints: 0,
            ..fabric_config(this_pe.settings)
        };
        let events = Reporter {
            job,
            watch,
            groups: groups.sizes,
            own: groups.own,
            first: role.first,
            calls: calls.clone(),
            disconnects: disconnects.clone(),
            state,
            health: health.cloned(),
        };
        // Before the fabric: they are dropped after it, also where this PE does not join.
        let announcements = Announcements::map(file, &control, n)?;
        let fabric = Arc::new(Fabric::open(&config, Arc::new(events))?);
        if !fabric.atomics_by_cpu() {
            return Err(RemoteError::Atomics(fabric.name()));
        }
        let exports = ptr::from_ref(job.control.exports()).cast_mut();
        share_symmetric(&fabric, space)?;
        // SAFETY: the announcements are dropped after the fabric, and the job's memory stays mapped until the process
        // ends.
        unsafe {
            let (at, len) = announcements.memory();
            fabric.share(ANNOUNCEMENTS, at, len, len)?;
            let len = size_of::<Exports>();
            fabric.share(EXPORTS, exports.cast(), len, len)?;
        }
        if this_pe.heap_mark > 0 {
            fabric.extend(HEAP, this_pe.heap_mark as usize)?;
        }
        let globals = space.globals();
        let mut passing = Passing::new(invitation, role.is_leader)?;
        let mine = MemberInfo {
            image: globals.map_or(0, |g| g.image),
            globals_len: globals.map_or(0, |g| g.len as u64),
            heap_size: space.heap_size(),
            job_pe: job.pe as u32,
            index: job.index as u32,
            reproducible: role.reproducible,
            kernels: match role.is_started {
                true => calls::described()?,
                false => Vec::new(),
            },
            node: passing.node().to_vec(),
            socket: passing.socket().to_vec(),
            address: fabric.address(),
        };
        let (link, infos) = Link::join(invitation, me, &mine.to_bytes(), watch, coordinator)?;
        let infos = infos.iter().map(|bytes| MemberInfo::from_bytes(bytes)).collect();
        let infos: Option<Vec<MemberInfo>> = infos;
        let infos = infos.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        let others = infos.iter().enumerate().filter(|(member, _)| *member != me);
        let mut addresses = others.map(|(member, info)| (member, &info.address[..]));
        let sending = passing.send_memory((&job.file, file), &infos, (groups, me))?;
        fabric.connect(n, &mut addresses)?;
        let other = &infos[groups.others()];
        let heap_size = other.iter().map(|info| info.heap_size).min().unwrap_or(0);
        let other = other.iter().map(|info| (info.image, info.globals_len));
        let programs = Programs::of(space, other);
        let shared = passing.take(job, space, &infos, (groups, me), &programs);
        let all_share = link.wait_for_all(shared.is_some())?;
        let Shared { job: local, memory } = shared.unwrap_or_default();
        let nodes = match all_share {
            true => Nodes::new(me, infos.iter().map(|info| &info.node)),
            // Each by itself.
            false => Nodes::new(me, 0..n),
        };
        // All that are ready have what they wait for.
        let _ = sending.map(JoinHandle::join);
        match health {
            Some(health) => link.outlive(health.clone())?,
            None => link.watch(groups, me)?,
        }
        let len = programs.globals_len;
        let own = globals.filter(|_| programs.are_own);
        let reserved = local.is_none() && !programs.are_own && len > 0;
        let globals = match (&local, own) {
            // One address for all members, whether they are local or not.
            (Some(local), _) => local.globals().unwrap_or((0, 0)),
            (None, _) if reserved => (mapping::reserve(len)?, len),
            (None, own) => own.map_or((0, 0), |globals| (globals.start, len)),
        };
        let sync = RemoteSync::new((control, announcements), memory.filter(|_| all_share), nodes);
        let other = Self {
            fabric,
            context: Context::default(),
            records: Context::default(),
            sync,
            link,
            calls,
            disconnects,
            state,
            me,
            heap_size,
            globals,
            reserved,
            health: health.cloned(),
        };
        match health.is_none_or(|health| health.begin(&other.fabric)) {
            true => Ok(Joined { other, indices: passing.indices(job, &infos, groups, local.is_some()), local, infos }),
            false => Err(RemoteError::Abandoned),
        }
    }

    /// The calls of kernels.
    pub(crate) fn calls(&self) -> &RemoteCalls {
        &self.calls
    }

    /// The fabric that reaches its PEs.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The context of operations on them.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// What is done to the other group's PEs before comes before what is done later.
    pub(crate) fn fence(&self) {
        self.fabric.fence(&self.context);
    }

    /// Completes what is done to the other group's PEs.
    pub fn quiet(&self) {
        self.fabric.quiet(&self.context);
    }

    /// The first `ready` bytes of this PE's heap are in use.
    pub fn open_heap(&self, ready: usize) -> Result<(), ferroshmem_fabric::Error> {
        self.fabric.extend(HEAP, ready)
    }

    /// This PE enters a collective of both groups.
    pub fn enter_call(&self) {
        if !self.disconnects.enter() {
            give_up(self.state, self.health.as_deref());
        }
    }

    /// Which members have left.
    pub fn disconnects(&self) -> &Disconnects {
        &self.disconnects
    }

    /// The slots of the members of this node, this PE's number among them, and how many there are.
    pub(super) fn slots(&self) -> (Control, usize, usize) {
        self.sync.slots()
    }

    /// Whether all members are on this node, and synchronise by memory alone.
    pub fn is_on_one_node(&self) -> bool {
        self.sync.is_on_one_node()
    }

    /// This PE enters a synchronisation of all members, with a word for each of them: its number.
    pub fn enter_sync(&self, place: u64) -> u32 {
        self.sync.enter(place)
    }

    /// All members of this node have entered, of which this PE is the leader: tells the other nodes, and waits until
    /// the members there have entered, too, or the connection is over.
    pub fn sync_other_nodes(&self, number: u32) {
        let (from, len, offset) = self.sync.own(number);
        // What members of this node have released comes before what the fabric reads.
        fence(Ordering::SeqCst);
        for leader in self.sync.leaders() {
            let to = Remote { pe: leader, segment: ANNOUNCEMENTS, offset };
            // SAFETY: the announcements may be changed on return. By the argument in `announcements`, all have read
            // what was there.
            unsafe { self.fabric.put(&self.context, to, from, len) };
        }
        let mut missing = 0..self.sync.len();
        self.fabric.wait(|| {
            while !missing.is_empty() && self.sync.has_arrived(missing.start, number) {
                missing.start += 1;
            }
            missing.is_empty() || self.is_over()
        });
        fence(Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        ConnectionState::is_over(self.state.load(Ordering::Acquire))
    }

    /// What a member has said in the last synchronisation, until this PE enters the next but one.
    pub fn place_of(&self, member: usize) -> u64 {
        self.sync.place_of(member)
    }

    /// This PE uses the connection no more.
    pub(super) fn leave(&self) {
        self.quiet();
        let entered = self.disconnects.entered().to_ne_bytes();
        for member in (0..self.sync.len()).filter(|member| *member != self.me) {
            self.send(member, [&[LEFT], &entered]);
        }
        self.fabric.quiet(&self.records);
        self.link.leave();
    }

    /// Waits until no member does, or if the groups are independent, until one is gone.
    pub(super) fn wait_for_end(&self) {
        self.link.wait_for_end();
    }

    /// This PE is about to drop the connection's memory.
    pub(super) fn close(&self) {
        if let Some(health) = &self.health {
            health.close();
        }
    }

    /// Bytes of the heap of each PE.
    pub(super) fn heap_size(&self) -> u64 {
        self.heap_size
    }

    /// The object of the other group that has been exported by a name: on the node of its first PE.
    pub(super) fn exported(&self, pe: usize, name: &[u8]) -> Option<Exported> {
        const PAUSE: Duration = Duration::from_millis(1);

        let read = || {
            let mut exports = Box::<MaybeUninit<Exports>>::new(MaybeUninit::zeroed());
            let from = Remote { pe, segment: EXPORTS, offset: 0 };
            let len = size_of::<Exports>();
            // SAFETY: as many bytes, of which any are valid: they are atomic integers.
            unsafe {
                let to = exports.as_mut_ptr().cast();
                self.fabric.get(&self.context, to, from, len);
                exports.assume_init()
            }
        };
        // A PE of that node may change it meanwhile: two copies that are alike, in which none does, are right.
        loop {
            let (one, other) = (read(), read());
            if one.is_same(&other) {
                return one.find(name);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Where the `len` bytes at `addr` are in the other group's PEs, for this PE, whose heap is at `heap_base`: the
    /// segment, and the offset in it.
    pub(crate) fn position(&self, heap_base: usize, addr: usize, len: usize) -> Option<(usize, usize)> {
        let in_heap = offset_in((heap_base, self.heap_size as usize), addr, len).map(|at| (HEAP, at));
        in_heap.or_else(|| Some((GLOBALS, offset_in(self.globals, addr, len)?)))
    }

    /// The address by which this PE names what is at `place` in the other job.
    pub(super) fn address_of(&self, heap_base: usize, place: u64) -> usize {
        match place.checked_sub(IN_GLOBALS) {
            Some(offset) => self.globals.0.wrapping_add(offset as usize),
            None => heap_base.wrapping_add(place as usize),
        }
    }
}

impl Records for RemoteJob {
    fn longest(&self) -> usize {
        self.fabric.longest_record()
    }

    fn send(&self, member: usize, parts: [&[u8]; 2]) {
        while !self.fabric.send_record(&self.records, member, parts) {
            self.fabric.progress();
            thread::yield_now();
        }
    }
}

impl Drop for RemoteJob {
    fn drop(&mut self) {
        // Before the fabric.
        self.close();
        if self.reserved {
            // SAFETY: reserved by `join`, and no memory.
            unsafe { mapping::unmap(self.globals.0, self.globals.1) };
        }
    }
}
