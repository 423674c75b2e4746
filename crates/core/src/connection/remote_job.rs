//! The other job of a connection whose sides have PEs on different nodes, reached by a fabric of the connection's own.
//!
//! The fabric's peers are the connection's members. Each shares its heap, its globals, what its node's PEs export, and
//! *lanes*: for each member a place where that writes a tagged message to say that it has come to a synchronisation.
//!
//! No member completes a synchronisation before all have entered it. So when one enters the next but one, all have read
//! what it has said in this one: two lanes of each member, for even and odd synchronisations, are enough.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, io, ptr};

use ferroshmem_fabric::{Aggregate, Config, Context, Events, Fabric, Remote, TaggedMessage};

use super::calls::remote::{Records, RemoteCalls, UNSERVED};
use super::calls::{self, PublishError};
use super::exports::Exported;
use super::life::Life;
use super::link::{Invitation, Link, Watch};
use super::local_members::Passing;
use super::other_job::{OtherJob, Programs};
use super::said::Said;
use super::sides::{Role, Sides};
use crate::config::FabricSettings;
use crate::failure::fatal::fatal_in_background;
use crate::job::Attachment;
use crate::job::region::Exports;
use crate::memory::{IN_GLOBALS, Space};
use crate::platform::mapping;
use crate::transport::internode::{
    EXPORTS, GLOBALS, HEAP, LANES, fabric_config, share_symmetric, spin,
};
use crate::wait::signals;

/// Why the PEs of another node cannot be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum RemoteError {
    /// The members do not meet.
    #[error("the connected job has failed, or cannot be reached: {0}")]
    Link(#[from] io::Error),
    /// The fabric.
    #[error(transparent)]
    Fabric(#[from] ferroshmem_fabric::Error),
    /// The other side cannot learn which kernels this PE has.
    #[error(transparent)]
    Kernels(#[from] PublishError),
    /// It is not known which node this is.
    #[error(transparent)]
    Node(#[from] ferroshmem_bootstrap::Error),
    /// Atomics of the fabric are not atomic with stores of this node.
    #[error(
        "the atomics of {0} are not atomic with a CPU's: set SHMEM_FABRIC to \"tcp;ofi_rxm\" in both jobs"
    )]
    Atomics(String),
    /// A member is gone, and the sides are independent.
    #[error("the connected job has ended before all PEs of both were connected")]
    Abandoned,
}

/// What the fabric of a connection calls.
struct Reporter {
    job: &'static Attachment,
    watch: Watch,
    sides: [usize; 2],
    own: usize,
    /// The number of the first member.
    first: usize,
    calls: Arc<RemoteCalls>,
    left: Arc<[AtomicBool]>,
    life: Option<Arc<Life>>,
}

impl Events for Reporter {
    fn peer_failed(&self, member: usize, reason: &str) {
        /// Time for the link to say so, which knows better, and for launchers to end what they know to have failed.
        const NOTICE: Duration = Duration::from_secs(2);

        if let Some(life) = &self.life {
            return life.fail();
        }
        thread::sleep(NOTICE);
        let is_own = (member >= self.sides[0]) == (self.own == 1);
        let pe = self.first + member;
        let of = if is_own {
            "this job"
        } else {
            "the connected job"
        };
        fatal_in_background(
            self.watch.routine,
            format_args!("PE {pe}, which is of {of}, cannot be reached: {reason}"),
        )
    }

    fn memory_changed(&self) {
        signals::notify(&self.job.control.pe_block(self.job.index).signals);
    }

    fn record_arrived(&self, member: usize, record: &[u8]) -> bool {
        if record == LEFT {
            self.left[member].store(true, Ordering::Release);
            return true;
        }
        self.calls.take(member, record, || {
            fatal_in_background(self.watch.routine, UNSERVED)
        })
    }

    fn tick(&self) {}
}

/// A record that a member sends to all others when it uses the connection no more: what it has put is there. Those of calls are
/// longer.
const LEFT: [u8; 1] = [1];

/// Where a member says that it has come to a synchronisation.
#[derive(Default)]
#[repr(C, align(64))]
struct Lane([AtomicU64; TaggedMessage::WORDS]);

/// Words that a member says with it.
pub(crate) type Words = [u64; TaggedMessage::BYTES / size_of::<u64>()];

/// Why a synchronisation is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// This member, which has not come, uses the connection no more.
    Left(usize),
    /// The connection has failed, whose sides are independent.
    Failed,
}

/// The other job of a connection, on other nodes.
pub(crate) struct RemoteJob {
    /// Dropped before what it shares.
    fabric: Arc<Fabric>,
    /// Operations of all contexts.
    context: Context,
    /// Records of calls, which the program's quiet does not wait for.
    records: Context,
    lanes: Box<[[Lane; 2]]>,
    link: Link,
    calls: Arc<RemoteCalls>,
    /// Members that use the connection no more.
    left: Arc<[AtomicBool]>,
    /// Synchronisations so far.
    epoch: AtomicU32,
    me: usize,
    /// Bytes of the heap of each PE.
    heap_size: u64,
    /// Where this PE would have the other job's globals, and their bytes: its own, if all of its PEs run this PE's
    /// program; else addresses without memory.
    globals: (usize, usize),
    /// Whether they are such.
    reserved: bool,
    /// If the sides are independent.
    life: Option<Arc<Life>>,
}

impl fmt::Debug for RemoteJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteJob")
            .field("fabric", &self.fabric)
            .field("link", &self.link)
            .finish_non_exhaustive()
    }
}

/// What PEs of other nodes are to reach of this one, and how.
#[derive(Clone, Copy)]
pub(crate) struct ThisPe<'a> {
    pub job: &'static Attachment,
    pub space: &'static Space,
    /// Bytes of the heap that are in use.
    pub heap_mark: u64,
    pub settings: &'a FabricSettings,
}

/// What a PE brings.
pub(super) struct Joining<'a> {
    pub this_pe: ThisPe<'a>,
    pub invitation: &'a Invitation,
    pub sides: &'a Sides,
    pub me: usize,
    pub role: Role,
    pub watch: Watch,
    /// If the sides are independent.
    pub life: Option<&'a Arc<Life>>,
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
    pub said: Vec<Said>,
}

impl RemoteJob {
    /// Joins the other members, which are all reached on return.
    pub(super) fn join(
        joining: &Joining<'_>,
        hub: Option<JoinHandle<()>>,
    ) -> Result<Joined, RemoteError> {
        let Joining {
            this_pe,
            invitation,
            sides,
            me,
            role,
            watch,
            life,
            ..
        } = *joining;
        let ThisPe { job, space, .. } = this_pe;
        let n: usize = sides.sizes.iter().sum();
        let calls = Arc::new(RemoteCalls::new(sides));
        let left: Arc<[AtomicBool]> = (0..n).map(|_| AtomicBool::default()).collect();
        let config = Config {
            pe: me,
            n_pes: n,
            local_pes: job.control.n_pes(),
            spin: spin(),
            peer_timeout: watch.timeout.unwrap_or(Duration::from_secs(3600)),
            survives: life.is_some(),
            // The program has threads.
            sets_environment: false,
            aggregate: Aggregate {
                bytes: 0,
                ..Aggregate::default()
            },
            endpoints: 0,
            ..fabric_config(this_pe.settings)
        };
        let events = Reporter {
            job,
            watch,
            sides: sides.sizes,
            own: sides.own,
            first: role.first,
            calls: calls.clone(),
            left: left.clone(),
            life: life.cloned(),
        };
        let fabric = Arc::new(Fabric::open(&config, Arc::new(events))?);
        if !fabric.atomics_by_cpu() {
            return Err(RemoteError::Atomics(fabric.name()));
        }
        let lanes: Box<[[Lane; 2]]> = (0..n).map(|_| Default::default()).collect();
        let exports = ptr::from_ref(job.control.exports()).cast_mut();
        share_symmetric(&fabric, space)?;
        // SAFETY: the lanes are dropped after the fabric, and the job's memory stays mapped until the process ends.
        unsafe {
            let len = size_of_val(&*lanes);
            fabric.share(LANES, lanes.as_ptr().cast_mut().cast(), len, len)?;
            let len = size_of::<Exports>();
            fabric.share(EXPORTS, exports.cast(), len, len)?;
        }
        if this_pe.heap_mark > 0 {
            fabric.extend(HEAP, this_pe.heap_mark as usize)?;
        }
        let globals = space.globals();
        let mut passing = Passing::new(invitation, role.is_leader)?;
        let mine = Said {
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
        let (link, said) = Link::join(invitation, me, &mine.to_bytes(), watch, hub)?;
        let said = said.iter().map(|bytes| Said::from_bytes(bytes)).collect();
        let said: Option<Vec<Said>> = said;
        let said = said.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        let others = said.iter().enumerate().filter(|(member, _)| *member != me);
        let mut addresses = others.map(|(member, said)| (member, &said.address[..]));
        let giving = passing.give(job, &said, sides)?;
        fabric.connect(n, &mut addresses)?;
        let other = &said[sides.others()];
        let heap_size = other.iter().map(|said| said.heap_size).min().unwrap_or(0);
        let other = other.iter().map(|said| (said.image, said.globals_len));
        let programs = Programs::of(space, other);
        let local = passing.take(job, space, &said, (sides, me), &programs);
        link.wait_for_all()?;
        // All that are ready have what they wait for.
        let _ = giving.map(JoinHandle::join);
        match life {
            Some(life) => link.outlive(life.clone())?,
            None => link.look_after(sides, me)?,
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
        let other = Self {
            fabric,
            context: Context::default(),
            records: Context::default(),
            lanes,
            link,
            calls,
            left,
            epoch: AtomicU32::new(0),
            me,
            heap_size,
            globals,
            reserved,
            life: life.cloned(),
        };
        match life.is_none_or(|life| life.begin(&other.fabric)) {
            true => Ok(Joined {
                other,
                indices: passing.indices(job, &said, sides, local.is_some()),
                local,
                said,
            }),
            false => Err(RemoteError::Abandoned),
        }
    }

    /// The calls of kernels.
    pub(crate) fn calls(&self) -> &RemoteCalls {
        &self.calls
    }

    /// By which the other side's PEs are reached: with members as PEs.
    #[inline]
    pub(crate) fn way(&self) -> (&Fabric, &Context) {
        (&self.fabric, &self.context)
    }

    /// What is done to the other side's PEs before comes before what is done later.
    pub(crate) fn fence(&self) {
        self.fabric.fence(&self.context);
    }

    /// Completes what is done to the other side's PEs.
    pub(crate) fn quiet(&self) {
        self.fabric.quiet(&self.context);
    }

    /// The first `ready` bytes of this PE's heap are in use.
    pub(crate) fn open_heap(&self, ready: usize) -> Result<(), ferroshmem_fabric::Error> {
        self.fabric.extend(HEAP, ready)
    }

    /// Synchronises all members of both sides, and gives each of them this member's words.
    ///
    /// # Errors
    /// If not all members come.
    pub(crate) fn sync(&self, words: Words) -> Result<(), Missing> {
        let number = self.epoch.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let lane = number as usize % 2;
        let value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let message = TaggedMessage::new(number, &value);
        fence(Ordering::SeqCst);
        message.store(&self.lanes[self.me][lane].0);
        let n = self.lanes.len();
        for member in (self.me + 1..n).chain(0..self.me) {
            let to = Remote {
                pe: member,
                segment: LANES,
                offset: (2 * self.me + lane) * size_of::<Lane>(),
            };
            let words = message.words();
            let from = words.as_ptr().cast();
            // SAFETY: the words may be changed on return. By the argument above, the member has read the lane.
            unsafe { self.fabric.put(&self.context, to, from, size_of_val(words)) };
        }
        let mut missing = 0..n;
        let mut has_left = false;
        self.fabric.wait(|| {
            let is_there = |member: usize| {
                let lane = &self.lanes[member][lane].0;
                TaggedMessage::has_arrived(lane, number, TaggedMessage::BYTES)
            };
            while missing.start < n && is_there(missing.start) {
                missing.start += 1;
            }
            // What it has said before it left is there.
            has_left = missing.start < n
                && self.left[missing.start].load(Ordering::Acquire)
                && !is_there(missing.start);
            missing.is_empty() || has_left
        });
        fence(Ordering::SeqCst);
        match (missing.is_empty(), has_left) {
            (true, _) => Ok(()),
            (_, true) => Err(Missing::Left(missing.start)),
            // The fabric waits for nothing any more.
            _ => Err(Missing::Failed),
        }
    }

    /// What a member has said in the last synchronisation, until this PE enters the next but one.
    pub(crate) fn said(&self, member: usize) -> Words {
        let lane = self.epoch.load(Ordering::Relaxed) as usize % 2;
        let value = TaggedMessage::value(&self.lanes[member][lane].0);
        std::array::from_fn(|i| u64::from_ne_bytes(std::array::from_fn(|b| value[8 * i + b])))
    }

    /// This PE uses the connection no more.
    pub(super) fn leave(&self) {
        self.quiet();
        for member in (0..self.lanes.len()).filter(|member| *member != self.me) {
            self.send(member, [&LEFT, &[]]);
        }
        self.fabric.quiet(&self.records);
        self.link.leave();
    }

    /// Waits until no member does, or if the sides are independent, until one is gone.
    pub(super) fn wait_for_end(&self) {
        self.link.wait_for_end();
    }

    /// This PE finds that a member, of independent sides, takes no part any more.
    pub(crate) fn fail(&self) {
        if let Some(life) = &self.life {
            life.fail();
        }
    }

    /// This PE is about to drop the connection's memory.
    pub(super) fn close(&self) {
        if let Some(life) = &self.life {
            life.close();
        }
    }

    /// Bytes of the heap of each PE.
    pub(super) fn heap_size(&self) -> u64 {
        self.heap_size
    }

    /// The object of the other side that has been exported by a name: on the node of its first PE.
    pub(super) fn exported(&self, pe: usize, name: &[u8]) -> Option<Exported> {
        const PAUSE: Duration = Duration::from_millis(1);

        let read = || {
            let mut exports = Box::<MaybeUninit<Exports>>::new(MaybeUninit::zeroed());
            let from = Remote {
                pe,
                segment: EXPORTS,
                offset: 0,
            };
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

    /// Where the `len` bytes at `addr` are in the other side's PEs, for this PE, whose heap is at `heap_base`: the segment, and
    /// the offset in it.
    pub(super) fn position(
        &self,
        heap_base: usize,
        addr: usize,
        len: usize,
    ) -> Option<(usize, usize)> {
        let within = |start: usize, size: usize| {
            let offset = addr.wrapping_sub(start);
            (offset < size && len <= size - offset).then_some(offset)
        };
        let in_heap = within(heap_base, self.heap_size as usize).map(|at| (HEAP, at));
        in_heap.or_else(|| Some((GLOBALS, within(self.globals.0, self.globals.1)?)))
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
