//! What code compiled with `SHMEM_COUNT` counts of its inlined operations.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ferroshmem_api::hooks::{InlineCount, InlineCounts};

/// `SHMEMI_PES`.
const PES: usize = 4096;

/// `struct shmemi_count`, for each PE: part of the ABI, since it is compiled into programs. All zeros, as the words of
/// the fast path are.
#[unsafe(export_name = "shmemi_counts")]
static COUNTS: [InlineCount; PES] =
    [const { InlineCount { operations: [const { AtomicU64::new(0) }; 4], bytes: [const { AtomicU64::new(0) }; 4] } };
        PES];

/// Quiets, fences, locks set and cleared: likewise.
#[unsafe(export_name = "shmemi_sync_counts")]
static SYNC_COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

static ARE_USED: AtomicBool = AtomicBool::new(false);

/// Called before `main`, or when it is loaded, by code compiled with `SHMEM_COUNT`.
#[unsafe(no_mangle)]
extern "C" fn shmemi_count_inline() {
    ARE_USED.store(true, Ordering::Relaxed);
}

/// The counts, if the program has such code.
pub(crate) fn counts() -> Option<InlineCounts> {
    ARE_USED.load(Ordering::Relaxed).then_some(InlineCounts { pes: &COUNTS, syncs: &SYNC_COUNTS })
}
