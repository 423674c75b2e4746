//! The job's shared memory: one sparse file that every PE of the node maps.
//!
//! ```text
//! offset 0          Header                      one page, written by the launcher
//! EXPORTS           Exports                     what PEs of other jobs may import, by name
//! LOCALITIES        u32 × n_pes                 on which socket each PE runs
//! pe_block(0)       PeBlock × n_pes             who is where, what it waits for
//! slots_offset      TeamSlot × n_pes × teams    team-major: the world team first
//! inbox(0)          Inbox × n_pes               messages to each PE
//! heap(0)           slot_size × n_pes           the symmetric heaps
//! globals(0)        slot_size × n_pes           the global variables
//! mailboxes(0)      MAILBOX × n_pes             what PEs of other nodes write
//! streams(0)        STREAM_AREA × n_pes         rings and frames of streams
//! ```
//!
//! Numbers of PEs are those among the node's PEs here: of a job on several nodes each has a
//! file of its own.
//!
//! Nothing is reserved: the file is sparse, and a page exists once it is touched.
//! The launcher and the library share this one description; [`VERSION`] keeps a
//! launcher and a library of different builds apart.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use ferroshmem_fabric::TaggedMessage;
use ferroshmem_platform::Lifeline;
use ferroshmem_platform::NodeCores;
use ferroshmem_platform::mapping::HUGE_PAGE;

pub use ferroshmem_tuning::{LANE_BYTES, RING_BYTES, RING_ENTRIES, SHORT_RING_ENTRIES};

use super::counters::Counters;
use super::declaration::DeclarationWords;
use crate::inbox::Inbox;
use ferroshmem_tuning::{EAGER, Forced, Selection, Tuning};

/// First word of the region.
pub const MAGIC: u64 = 0x6665_7272_6f73_6801;
/// Changes whenever a type in this module does.
pub const VERSION: u32 = 21;
/// Most PEs of one node: `MAX_PES` windows of 4 GiB still fit the address space twice.
pub const MAX_PES: usize = 4096;
/// Most teams that can be alive at once on one PE, [`ACTIVE_SETS`] included.
pub const MAX_TEAMS: usize = 8192;
/// How many of those, the last ones, are kept for active sets.
pub const ACTIVE_SETS: usize = 1024;
/// Lanes of a [`TeamSlot`] per epoch: two per round of an algorithm with log2(`MAX_PES`)
/// rounds, and a few.
pub const LANES: usize = 30;
/// Bytes that the members of a central barrier give to the last to arrive, and it to them.
pub const SMALL: usize = 48;
/// The same where it comes over the fabric: half of each word says that the other half is there.
pub const MESSAGE_BYTES: usize = TaggedMessage::BYTES;
/// Bytes of the header, and offset of [`Exports`].
pub const EXPORTS: usize = 4096;
/// Offset of the word by which PEs that cannot join their job agree on which one says why. It is there in every
/// version, behind the header: such a PE is mostly of another one, and knows no other part of the memory.
pub const REFUSED: usize = EXPORTS - size_of::<AtomicU32>();
/// Offset of the words that say where PEs run ([`Locality`](ferroshmem_platform::socket::Locality)).
pub const LOCALITIES: usize = EXPORTS + size_of::<Exports>();
/// Bytes of a PE's memory for streams, of which those exist that are used.
pub const STREAM_AREA: usize = 256 << 20;
/// Most objects that a job can export.
pub const MAX_EXPORTS: usize = 1024;
/// Most bytes of the name of an exported object.
pub const EXPORT_NAME: usize = 40;

/// What all PEs learn from the launcher. Written before the first PE starts, then constant
/// but for the atomics.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// Number of PEs of the node.
    pub n_pes: u32,
    /// Bytes of symmetric heap of each PE, a multiple of the page size.
    pub heap_size: u64,
    /// Bytes of the file for each PE's heap, and as many for its globals.
    pub slot_size: u64,
    /// Cores that the node's PEs may use.
    pub cores: u32,
    /// 1 if a control group limits the time for which they may use them.
    pub quota: u32,
    /// 1 if the machine has several NUMA nodes: each PE says then where it runs.
    pub has_localities: u32,
    /// From how many bytes on copies go past the caches, unless a PE is given another number.
    pub non_temporal_threshold: u64,
    /// Process id of the launcher, 0 if there is none on this node or it watches by itself.
    pub launcher_pid: u32,
    /// Most PEs of any node of the job: where windows are placed depends on it.
    pub widest: u32,
    /// Number of the job among those that one `oshrun` has started: 0 is the one of its command line.
    pub job_number: AtomicU32,
    /// The least number that PEs of other jobs may be given next.
    pub next_pe: AtomicU32,
    /// Bit k is set by a PE that could not place address layout candidate k.
    pub layout_failed: AtomicU32,
    /// Arrivals at the start-up rendezvous.
    pub start_arrived: AtomicU32,
    /// Rendezvous completed; a futex word.
    pub start_epoch: AtomicU32,
    /// PE + 1 of the PE that first reported an error; the others keep quiet.
    pub reporter: AtomicU32,
    /// 1 once a PE found its globals laid out differently from the first PE's.
    pub images_differ: AtomicU32,
    /// Digest of the executable whose globals the first PE laid out.
    pub image: AtomicU64,
    /// In the memory of a connection: 1 once a member asks for reproducible sums.
    pub reproducible: AtomicU32,
    /// In the memory of a connection: members of its first side.
    pub first_side: AtomicU32,
    /// In the memory of a connection: 1 once both sides are to be connected. Before, the end of one is of no matter
    /// to the other.
    pub agreed: AtomicU32,
    /// In the memory of a connection: 1 if the end of one side is not the other's.
    pub independent: AtomicU32,
    /// In the memory of a connection: a [`ConnectionState`].
    pub connection: AtomicU32,
    /// In the memory of a connection: members of each side that use it no more. Futex words.
    pub left: [AtomicU32; 2],
    /// PE + 1 of the PE that has started gdb on itself because it fails.
    pub debugged: AtomicU32,
    /// What was measured on this machine, for choosing algorithms.
    pub tuning: Tuning,
}

impl Header {
    /// Which algorithms the node's PEs use, with what the user forces: both are the same on all PEs.
    pub fn selection(&self, forced: Forced) -> Selection {
        let (pes, cores) = (self.n_pes as usize, self.cores as usize);
        Selection::new(forced, self.tuning, pes, cores)
    }

    /// The cores that the node's PEs may use.
    pub fn node_cores(&self) -> NodeCores {
        NodeCores { count: self.cores as usize, quota: self.quota != 0 }
    }
}

/// How far a connection is ([`crate::wait::rendezvous`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ConnectionState {
    /// Members are missing.
    Connecting = 0,
    /// All members have come.
    Connected = 1,
    /// A side has ended before all members had come: no member is connected.
    Abandoned = 2,
    /// A side has ended since.
    Failed = 3,
}

impl ConnectionState {
    /// Whether a side has ended.
    pub fn is_over(word: u32) -> bool {
        word >= Self::Abandoned as u32
    }
}

/// Life of a PE as [`PeBlock::state`] records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum PeState {
    /// Process not started, or not yet in `shmem_init`.
    Started = 0,
    /// Inside `shmem_init` … `shmem_finalize`.
    Initialized = 1,
    /// Left `shmem_finalize`.
    Finalized = 2,
    /// Ended the job with an error line of its own; the launcher need not add one.
    Reported = 3,
    /// Called `shmem_global_exit`.
    GlobalExit = 4,
}

impl PeState {
    /// The state that a stored word stands for; unknown words count as `Started`.
    pub fn from_word(word: u32) -> Self {
        match word {
            1 => Self::Initialized,
            2 => Self::Finalized,
            3 => Self::Reported,
            4 => Self::GlobalExit,
            _ => Self::Started,
        }
    }
}

/// What the other PEs and the launcher read about one PE.
#[repr(C, align(4096))]
pub struct PeBlock {
    /// A [`PeState`].
    pub state: AtomicU32,
    /// Exit status given to `shmem_global_exit`.
    pub status: AtomicI32,
    /// Process id of the PE.
    pub pid: AtomicU32,
    /// `SHMEM_THREAD_*` level provided.
    pub thread_level: AtomicI32,
    /// Counted by the progress thread of a job of several nodes: one that stands still does not run.
    pub ticks: AtomicU32,
    /// 1 once the debugger that the PE waits for in `shmem_init` has ended: it need not wait any longer.
    pub debugger_has_ended: AtomicU32,
    /// What the PE has counted of its calls.
    pub counters: Counters,
    /// Digest of the layout of this PE's globals, 0 if it has none that are symmetric.
    pub image: AtomicU64,
    /// Bytes of globals.
    pub globals_len: AtomicU64,
    /// In the memory of a connection: this PE's number among the PEs of its job.
    pub job_pe: AtomicU32,
    /// What the PE waits for.
    pub wait: WaitRecord,
    /// Where the PE sleeps until a signal of its own changes.
    pub signals: SignalLine,
    /// In the memory of a connection: the first member's calls of kernels.
    pub calls: CallLines,
    /// Team ids in use on this PE, one bit each; read by the others in a team split.
    pub team_ids: TeamIds,
    /// The greatest count of epochs at which the PE has left a team.
    pub team_epochs: AtomicU64,
    /// What the PE declares of itself before the first synchronisation.
    pub declaration: DeclarationWords,
    /// With `SHMEM_CHECK=1`: addresses of locks that the PE holds, as in that PE; 0: none.
    pub held: [AtomicU64; SHOWN_LOCKS],
    /// Held by a thread of the PE in a job of several nodes.
    pub lifeline: Lifeline,
}

/// Most locks of which the launcher can see that a PE holds them.
pub const SHOWN_LOCKS: usize = 8;

/// The objects that PEs of other jobs may import, by name.
#[repr(C, align(4096))]
pub struct Exports {
    /// 1 while a PE adds or removes an object.
    pub lock: AtomicU32,
    /// The objects; those without a name are free.
    pub objects: [ExportedObject; MAX_EXPORTS],
}

/// An exported object.
#[repr(C, align(64))]
pub struct ExportedObject {
    /// Its name, NUL padded; zeros: none.
    pub name: [AtomicU64; EXPORT_NAME / 8],
    /// Where it is, the same on all PEs: its offset in the heap, or in the globals
    /// ([`crate::memory::Space::place`]).
    pub place: AtomicU64,
    /// Its bytes.
    pub size: AtomicU64,
    /// What its elements are, for those who check that; 0: memory.
    pub tag: AtomicU64,
}

/// Where a PE sleeps that waits for any of its signals.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SignalLine {
    /// Counts updates that found sleepers; a futex word.
    pub updates: AtomicU32,
    /// Threads of the PE that sleep, or are about to.
    pub sleepers: AtomicU32,
}

/// The queue of messages by which one side of a connection calls kernels on the other
/// (`connection/calls/mod.rs`).
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CallLines {
    /// Where the first message is.
    pub first: AtomicU64,
    /// PEs of the other side that take no more messages.
    pub left: AtomicU32,
    /// Messages sent: a futex word.
    pub sent: AtomicU32,
    /// See [`Finished`].
    pub finished: Finished,
}

/// Messages whose kernels all PEs have run: a futex word alone on its cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Finished {
    /// The word.
    pub count: AtomicU32,
}

/// Bitmap of team ids in use.
#[repr(C, align(64))]
pub struct TeamIds {
    /// Word i holds ids 64 i to 64 i + 63.
    pub words: [AtomicU64; MAX_TEAMS / 64],
}

/// Kinds of waits, as stored in [`WaitRecord::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitKind {
    /// The PE runs.
    None = 0,
    /// A collective on a team (barrier included).
    Team = 1,
    /// A collective on an active set.
    ActiveSet = 2,
    /// `wait_until` and its kin.
    Point = 3,
    /// A lock.
    Lock = 4,
    /// A signal.
    Signal = 5,
    /// An operation to another node.
    Remote = 6,
    /// A collective with PEs of another job.
    Connection = 7,
    /// A message.
    Message = 8,
    /// Items of a stream.
    Stream = 9,
}

/// What a PE that has waited for more than a moment waits for. Written by the waiter
/// once it stops spinning, so that a short wait costs nothing; read by the launcher.
#[repr(C)]
pub struct WaitRecord {
    /// A [`WaitKind`]; 0 while the PE runs.
    pub kind: AtomicU32,
    /// Counts waits, so that a reader can tell one wait from the next.
    pub serial: AtomicU32,
    /// C name of the routine, NUL padded.
    pub routine: [AtomicU64; 6],
    /// Start of the wait, milliseconds of `CLOCK_MONOTONIC`.
    pub since_ms: AtomicU64,
    /// Team id (team collectives).
    pub team: AtomicU32,
    /// First world PE of the team or active set.
    pub start: AtomicI32,
    /// Stride between its PEs.
    pub stride: AtomicI32,
    /// Its number of PEs.
    pub size: AtomicU32,
    /// The collective's number on its team (see [`OwnLine::entered`]).
    pub sequence: AtomicU32,
    /// Address waited on (point-to-point, lock, signal), as in the waiting PE.
    pub address: AtomicU64,
    /// Start of the heap's block that it is in, and the bytes that were asked for; 0: none is known.
    pub block: [AtomicU64; 2],
    /// What is to be there: `SHMEM_CMP_*` + 1, or 0 if that is not known.
    pub comparison: AtomicU32,
    /// Bytes of the variable, and [`SIGNED`].
    pub width: AtomicU32,
    /// What it is compared with.
    pub value: AtomicU64,
}

/// Added to [`WaitRecord::width`] for a variable that has a sign.
pub const SIGNED: u32 = 1 << 8;

impl WaitRecord {
    /// Stores the routine's name.
    pub fn set_routine(&self, name: &str) {
        for (word, value) in self.routine.iter().zip(name_to_words(name)) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// The routine's name as last stored.
    pub fn routine(&self) -> String {
        name_from_words(self.routine.each_ref().map(|w| w.load(Ordering::Relaxed)))
    }
}

/// The name of a routine as words for shared memory: cut to 48 bytes, NUL padded.
pub fn name_to_words(name: &str) -> [u64; 6] {
    let mut bytes = name.as_bytes().iter().copied().chain(std::iter::repeat(0));
    std::array::from_fn(|_| u64::from_le_bytes(std::array::from_fn(|_| bytes.next().unwrap_or(0))))
}

/// The name that [`name_to_words`] was given.
pub fn name_from_words(words: [u64; 6]) -> String {
    let bytes = words.iter().flat_map(|w| w.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One team's words and buffers on one PE. No cache line has two kinds of writers.
///
/// Lanes and eager buffers exist twice, for even and odd epochs. An epoch is completed only
/// after all members have entered it, so a member that writes for epoch e + 2 knows that all
/// have left epoch e.
#[repr(C, align(4096))]
pub struct TeamSlot {
    /// Written by the owner: what it does in the team.
    pub own: OwnLine,
    /// On the team's first PE: the arrivals at the central barrier, and the tasks there.
    pub gathering: GatheringLine,
    /// On the team's first PE: the release of the central barrier.
    pub release: ReleaseLine,
    /// Written by the owner: a value for the others, for even and odd epochs.
    pub published: PublishedLine,
    /// Written by the other members: flags, with a small value each.
    pub lanes: [[Lane; LANES]; 2],
    /// What the owner lets the other members read.
    pub eager: [EagerBuffer; 2],
    /// The owner's side of small broadcasts and scans.
    pub ring: RingPages,
}

/// One PE's side of the rings of small broadcasts and scans of a team (`group/ring.rs`).
#[repr(C, align(4096))]
pub struct RingPages {
    /// How many of them the owner has taken part in: a futex word, for members that wait for room.
    pub taken: TakenLine,
    /// What the owner sent, call b in entry b mod [`RING_ENTRIES`].
    pub entries: [RingEntry; RING_ENTRIES],
    /// The same of at most [`LANE_BYTES`], call b in entry b mod [`SHORT_RING_ENTRIES`].
    pub short: ShortRing,
}

/// A page of short entries.
#[repr(C, align(4096))]
pub struct ShortRing(pub [Lane; SHORT_RING_ENTRIES]);

/// A counter alone on its cache line.
#[repr(C, align(64))]
pub struct TakenLine {
    /// The counter.
    pub count: AtomicU32,
}

/// A value for other members: the number of its call, and what is sent.
#[repr(C, align(64))]
pub struct RingEntry {
    /// Number of the broadcast: a futex word.
    pub flag: AtomicU32,
    /// What is sent.
    pub value: RingValue,
}

/// [`RING_BYTES`] bytes.
#[repr(C, align(8))]
pub struct RingValue(pub UnsafeCell<[u8; RING_BYTES]>);

// SAFETY: as for `LaneValue`.
unsafe impl Sync for RingValue {}

/// A flag alone on its cache line, with a value from its poster.
#[repr(C, align(64))]
pub struct Lane {
    /// The flag: a futex word.
    pub flag: AtomicU32,
    /// The value, written before the flag is posted and read after.
    pub value: LaneValue,
}

/// [`LANE_BYTES`] bytes.
#[repr(C, align(8))]
pub struct LaneValue(pub UnsafeCell<[u8; LANE_BYTES]>);

// SAFETY: a place in shared memory that is only accessed through raw pointers, in the order
// that the flag beside it gives.
unsafe impl Sync for LaneValue {}

/// [`EAGER`] bytes.
#[repr(C, align(64))]
pub struct EagerBuffer(pub UnsafeCell<[u8; EAGER]>);

// SAFETY: as for `LaneValue`, in the order of the team's synchronisation.
unsafe impl Sync for EagerBuffer {}

/// Words that the owner of a slot publishes to the team.
#[repr(C, align(64))]
pub struct OwnLine {
    /// Number of collectives that this PE has entered on the team.
    pub entered: AtomicU32,
    /// Synchronisations done in this slot, by all teams that have used it.
    pub epoch: AtomicU32,
    /// Digest of the arguments of the collective entered last (`SHMEM_CHECK=1`).
    pub call: [AtomicU64; 6],
}

/// A word for the other members (element counts of `collect`, ids of new teams).
#[repr(C, align(64))]
pub struct PublishedLine {
    /// The word, for even and odd epochs.
    pub value: [AtomicU64; 2],
    /// The owner's contribution for the last member to arrive at the central barrier.
    pub contribution: SmallValue,
}

/// [`SMALL`] bytes.
#[repr(C, align(16))]
pub struct SmallValue(pub UnsafeCell<[u8; SMALL]>);

// SAFETY: as for `LaneValue`, in the order of the central barrier.
unsafe impl Sync for SmallValue {}

/// Counters of the central barrier.
#[repr(C, align(64))]
pub struct GatheringLine {
    /// Members that have arrived.
    pub arrivals: AtomicU32,
    /// The next task to take.
    pub next: AtomicU32,
    /// Tasks done.
    pub done: AtomicU32,
    /// What the first member to arrive says of its call: the number of the epoch, and a digest.
    pub call: AtomicU64,
    /// The words of the members that have arrived, combined; zero between barriers.
    pub combined: [AtomicU64; 4],
}

/// Flags of the central barrier: futex words that show an epoch.
#[repr(C, align(64))]
pub struct ReleaseLine {
    /// All have arrived.
    pub arrived: AtomicU32,
    /// All tasks are done.
    pub finished: AtomicU32,
    /// The result that the last member to arrive leaves for all.
    pub result: SmallValue,
}

/// What PEs of other nodes write to one PE, and read of it, over the fabric.
#[repr(C)]
pub struct Mailbox {
    /// Heartbeats, the failure notice, and team ids in use.
    pub status: StatusArea,
    /// For some team ids: what leaders of node groups send each other in reductions.
    pub rendezvous: [RendezvousBuffers; 2 * RENDEZVOUS_TEAMS],
    /// One for each team id.
    pub teams: [TeamMailbox; MAX_TEAMS],
}

/// The first teams, and the first active sets, that have rendezvous buffers: no more, because
/// devices may pin this memory.
pub const RENDEZVOUS_TEAMS: usize = 4;
/// Bytes of a rendezvous buffer.
pub const RENDEZVOUS_BYTES: usize = 64 << 10;
/// Rendezvous buffers of an epoch: one for each round, and one for an extra rank.
pub const RENDEZVOUS_BUFFERS: usize = MAX_PES.ilog2() as usize + 1;

/// The rendezvous buffers of a team, for even and odd epochs.
#[repr(C, align(4096))]
pub struct RendezvousBuffers {
    /// Buffer k of an epoch.
    pub buffers: [[RendezvousBuffer; RENDEZVOUS_BUFFERS]; 2],
}

/// [`RENDEZVOUS_BYTES`] bytes.
#[repr(C, align(64))]
pub struct RendezvousBuffer(pub UnsafeCell<[u8; RENDEZVOUS_BYTES]>);

// SAFETY: as for `LaneValue`, in the order that the lane of the message gives.
unsafe impl Sync for RendezvousBuffer {}

/// What the failure detectors of other PEs write, and what team splits read.
#[repr(C, align(4096))]
pub struct StatusArea {
    /// Number of the last heartbeat from the node before this one in a ring.
    pub heartbeat: AtomicU64,
    /// Which PE has failed and why, once it is known; 0 before.
    pub failure_notice: AtomicU64,
    /// For how long the nodes before this one in the ring have made no progress.
    pub stillness: AtomicU64,
    /// Team ids in use on this PE, if the job has several nodes.
    pub team_ids: TeamIds,
}

/// A team's flags and values on one PE, written by its other members, for even and odd epochs.
#[repr(C, align(4096))]
pub struct TeamMailbox {
    /// Between the leaders of the team's node groups.
    pub leaders: MailboxPage,
    /// Between all members.
    pub all: MailboxPage,
}

/// The words of a lane of a mailbox, which hold a [`TaggedMessage`].
#[repr(C, align(64))]
pub struct MailboxLane {
    /// Half value, half the number of the epoch that it belongs to.
    pub words: [AtomicU64; TaggedMessage::WORDS],
}

/// Small values, and the owner's count of epochs.
#[repr(C, align(4096))]
pub struct MailboxPage {
    /// The values.
    pub lanes: [[MailboxLane; LANES]; 2],
    /// Epochs that the owner has begun, by all teams that have used the page.
    pub epoch: AtomicU32,
    /// Values for the other members, for even and odd epochs.
    pub value: [AtomicU64; 2],
    /// Digest of the arguments of the collective entered last (`SHMEM_CHECK=1`).
    pub call: [AtomicU64; 6],
}

const _: () = {
    assert!(size_of::<StatusArea>() == 4096);
    assert!(size_of::<TeamMailbox>() == 8192);
    assert!(size_of::<Header>() <= REFUSED);
    assert!(LOCALITIES.is_multiple_of(4096));
    assert!(size_of::<ExportedObject>() == 64);
    assert!(size_of::<PeBlock>() == 4096);
    assert!(size_of::<Lane>() == 64);
    assert!(size_of::<MailboxLane>() == 64);
    assert!(size_of::<PublishedLine>() == 64);
    assert!(size_of::<ReleaseLine>() == 64);
    assert!(size_of::<GatheringLine>() == 64);
    assert!(size_of::<RingEntry>() == 448);
    assert!(size_of::<TeamSlot>() == 16_384);
};

/// Where things are in the file of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    n_pes: usize,
    slot_size: u64,
}

impl Offsets {
    /// Offsets for a job of `n_pes` PEs with `slot_size` bytes of file each.
    pub fn new(n_pes: usize, slot_size: u64) -> Self {
        Self { n_pes, slot_size }
    }

    /// Byte offset of the word that says where PE `pe` runs.
    pub fn place(&self, pe: usize) -> usize {
        LOCALITIES + pe * size_of::<AtomicU32>()
    }

    /// Byte offset of PE `pe`'s block.
    pub fn pe_block(&self, pe: usize) -> usize {
        let blocks = self.place(self.n_pes).next_multiple_of(size_of::<PeBlock>());
        blocks + pe * size_of::<PeBlock>()
    }

    /// Byte offset of PE `pe`'s slot of team `team`.
    pub fn team_slot(&self, team: usize, pe: usize) -> usize {
        self.pe_block(self.n_pes) + (team * self.n_pes + pe) * size_of::<TeamSlot>()
    }

    /// Byte offset of PE `pe`'s inbox.
    pub fn inbox(&self, pe: usize) -> usize {
        self.team_slot(MAX_TEAMS, 0) + pe * size_of::<Inbox>()
    }

    /// Bytes of the control part: all that comes before the heaps.
    pub fn control_size(&self) -> usize {
        self.inbox(self.n_pes).next_multiple_of(HUGE_PAGE)
    }

    /// Byte offset in the file of PE `pe`'s heap.
    pub fn heap(&self, pe: usize) -> u64 {
        self.control_size() as u64 + pe as u64 * self.slot_size
    }

    /// Byte offset in the file of PE `pe`'s globals.
    pub fn globals(&self, pe: usize) -> u64 {
        self.heap(self.n_pes + pe)
    }

    /// Byte offset in the file of PE `pe`'s mailbox.
    pub fn mailbox(&self, pe: usize) -> u64 {
        self.globals(self.n_pes) + (pe * size_of::<Mailbox>()) as u64
    }

    /// Byte offset in the file of PE `pe`'s memory for streams.
    pub fn streams(&self, pe: usize) -> u64 {
        self.mailbox(self.n_pes) + (pe * STREAM_AREA) as u64
    }

    /// Bytes of the whole file.
    pub fn file_size(&self) -> u64 {
        self.streams(self.n_pes)
    }
}

#[cfg(test)]
mod tests {
    use ferroshmem_config::HeapSettings;
    use ferroshmem_platform::Machine;
    use ferroshmem_tuning::{Algorithm, Choice, Collective, Steps};

    use super::*;
    use crate::job::control::Control;
    use crate::job::plan::Plan;

    #[test]
    fn names_come_back() {
        for name in ["", "shmem_put", "eight888"] {
            assert_eq!(name_from_words(name_to_words(name)), name);
        }
        let long = "x".repeat(60);
        assert_eq!(name_from_words(name_to_words(&long)), long[..48]);
    }

    #[test]
    fn parts_of_the_file_do_not_overlap() {
        let o = Offsets::new(3, 1 << 32);
        assert_eq!(o.place(0), LOCALITIES);
        assert_eq!(o.pe_block(0), LOCALITIES + 4096);
        let many = Offsets::new(MAX_PES, 1 << 32);
        assert!(many.pe_block(0) >= many.place(MAX_PES));
        assert!(o.team_slot(0, 0) >= o.pe_block(2) + size_of::<PeBlock>());
        assert!(o.control_size() >= o.team_slot(MAX_TEAMS - 1, 2) + size_of::<TeamSlot>());
        assert_eq!(o.heap(2) - o.heap(1), 1 << 32);
        assert_eq!(o.globals(0), o.heap(2) + (1 << 32));
        assert_eq!(o.mailbox(0), o.globals(2) + (1 << 32));
        assert_eq!(o.streams(0), o.mailbox(2) + size_of::<Mailbox>() as u64);
        assert_eq!(o.file_size(), o.streams(2) + STREAM_AREA as u64);
    }

    #[test]
    fn jobs_hand_on_what_was_measured() {
        let mut tuning = Tuning::default_for(2);
        let push = Choice::direct(Algorithm::Push);
        tuning.rules[0].pes = 3;
        tuning.rules[0].steps[Collective::Alltoalls as usize] = Steps::new([(usize::MAX, push)]);
        let sizes = Plan::new(3, &Machine::here(), HeapSettings::default()).unwrap();
        let (_file, control) = Control::create(&sizes, 3, 3, 2, tuning, 0).unwrap();
        for _ in 0..2 {
            let selection = control.header().selection(Forced::default());
            let decisions = selection.decisions(3);
            assert_eq!(decisions.choose(Collective::Alltoalls, 8), push);
        }
    }
}
