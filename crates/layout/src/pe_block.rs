//! What the other PEs and the launcher read about one PE.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use ferroshmem_platform::Lifeline;

use crate::MAX_TEAMS;
use crate::calls::CallLines;
use crate::counters::Counters;
use crate::declaration::DeclarationWords;
use crate::wait_record::WaitRecord;

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
    /// Has ended, and its job goes on without it.
    Failed = 5,
}

impl PeState {
    /// The state that a stored word stands for; unknown words count as `Started`.
    pub fn from_word(word: u32) -> Self {
        match word {
            1 => Self::Initialized,
            2 => Self::Finalized,
            3 => Self::Reported,
            4 => Self::GlobalExit,
            5 => Self::Failed,
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
    /// How many processes had this number before, and failed.
    pub restarts: AtomicU32,
    /// Bytes of its area for streams that it has used, or a process that had its number before.
    pub streams_used: AtomicU32,
    /// Digest of the layout of this PE's globals, 0 if it has none that are symmetric.
    pub image: AtomicU64,
    /// Bytes of globals.
    pub globals_len: AtomicU64,
    /// In the memory of a connection: this PE's number among the PEs of its job.
    pub job_pe: AtomicU32,
    /// What the PE waits for.
    pub wait: WaitRecord,
    /// In the memory of a connection: the first member's calls of kernels.
    pub calls: CallLines,
    /// Team ids in use on this PE, one bit each; read by the others in a team split.
    pub team_ids: TeamIds,
    /// The greatest count of epochs at which the PE has left a team.
    pub team_epochs: AtomicU64,
    /// What the PE declares of itself before the first synchronisation.
    pub declaration: DeclarationWords,
    /// Where the PE sleeps until a signal of its own changes. What is beside it hardly changes, also within 256 bytes.
    pub signals: SignalLine,
    /// With `SHMEM_CHECK=1`: addresses of locks that the PE holds, as in that PE; 0: none.
    pub held: [AtomicU64; SHOWN_LOCKS],
    /// Held by a thread of the PE in a job of several nodes.
    pub lifeline: Lifeline,
    /// When messages began, in nanoseconds. The PE's process also has it in memory of its own: a PE that reads it there
    /// reads the right process.
    pub token: AtomicU64,
    /// In a resilient job: how many threads of the PE write to inboxes.
    pub writers: AtomicU32,
}

impl PeBlock {
    /// Whether several threads may call the library at a time.
    #[inline]
    pub fn is_threaded(&self) -> bool {
        self.thread_level.load(Ordering::Relaxed) == THREAD_MULTIPLE
    }
}

/// `SHMEM_THREAD_MULTIPLE`.
pub const THREAD_MULTIPLE: c_int = 3;

/// Most locks of which the launcher can see that a PE holds them.
pub const SHOWN_LOCKS: usize = 8;

/// Where a PE sleeps that waits for any of its signals.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SignalLine {
    /// Counts updates that found sleepers; a futex word.
    pub updates: AtomicU32,
    /// Threads of the PE that sleep, or are about to.
    pub sleepers: AtomicU32,
}

/// Bitmap of team ids in use.
#[repr(C, align(64))]
pub struct TeamIds {
    /// Word i holds ids 64 i to 64 i + 63.
    pub words: [AtomicU64; MAX_TEAMS / 64],
}

const _: () = {
    assert!(size_of::<PeBlock>() == 4096);
};
