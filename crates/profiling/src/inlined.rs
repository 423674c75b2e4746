//! Operations that are inlined into the program, and that it counts itself (`-DSHMEM_COUNT`): what it has added since
//! the last look, which is taken at most ten times a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use ferroshmem_core::hooks::{self, InlineCounts};
use ferroshmem_core::node::Node;
use ferroshmem_layout::profile::Kind;

/// Nanoseconds between two looks.
const INTERVAL: u64 = 100_000_000;

/// Kinds in the order of [`InlineCount`](hooks::InlineCount).
pub(super) const KINDS: [Kind; 4] = [Kind::Put, Kind::Put, Kind::Get, Kind::Atomic];

/// Kinds in the order of [`InlineCounts::syncs`].
const SYNC_KINDS: [Kind; 4] = [Kind::Quiet, Kind::Fence, Kind::Lock, Kind::Unlock];

/// The kind of puts that a PE may wait for.
const SHORT_PUTS: usize = 1;

/// What was added.
#[derive(Debug, Clone, Copy)]
pub(super) struct Added {
    /// The PE that the operations are on; None of fences, quiets and locks.
    pub pe: Option<usize>,
    pub kind: Kind,
    pub operations: u64,
    pub bytes: u64,
    /// Whether PEs may wait for them.
    pub are_updates: bool,
}

/// The program's counts, and what was seen of them.
struct Inlined {
    counts: InlineCounts,
    /// PEs of this node, whose operations are inlined.
    pes: &'static [u32],
    seen: Mutex<Seen>,
    /// When to look again.
    next: AtomicU64,
}

/// The counts at the last look.
struct Seen {
    /// Of each PE of this node.
    pes: Vec<[[u64; 2]; 4]>,
    syncs: [u64; 4],
}

static INLINED: OnceLock<Option<Inlined>> = OnceLock::new();

fn inlined() -> Option<&'static Inlined> {
    INLINED.get()?.as_ref()
}

/// Looks at the program's counts from now on, if it has any.
pub(super) fn start(node: &Node) {
    INLINED.get_or_init(|| {
        let counts = hooks::get().and_then(|hooks| (hooks.inline_counts)())?;
        let pes = node.job.placement.local_pes();
        Some(Inlined {
            counts,
            pes,
            seen: Mutex::new(Seen { pes: vec![[[0; 2]; 4]; pes.len()], syncs: [0; 4] }),
            next: AtomicU64::new(0),
        })
    });
}

/// Whether the program counts them.
pub(super) fn are_counted() -> bool {
    inlined().is_some()
}

/// Whether it is time for another look.
#[inline]
pub(super) fn are_due(now: u64) -> bool {
    inlined().is_some_and(|inlined| now >= inlined.next.load(Ordering::Relaxed))
}

/// Hands to `add` what was added since the last look.
pub(super) fn collect(now: u64, mut add: impl FnMut(Added)) {
    let Some(inlined) = inlined() else {
        return;
    };
    inlined.next.store(now + INTERVAL, Ordering::Relaxed);
    let mut seen = inlined.seen.lock().unwrap_or_else(PoisonError::into_inner);
    let Seen { pes, syncs } = &mut *seen;
    let counts = &inlined.counts;
    for (at, kind) in SYNC_KINDS.into_iter().enumerate() {
        let seen = &mut syncs[at];
        let now = counts.syncs[at].load(Ordering::Relaxed);
        let operations = now.wrapping_sub(std::mem::replace(seen, now));
        if operations > 0 {
            add(Added { pe: None, kind, operations, bytes: 0, are_updates: false });
        }
    }
    for (pe, seen) in inlined.pes.iter().zip(pes.iter_mut()) {
        let pe = *pe as usize;
        let count = &counts.pes[pe % counts.pes.len()];
        for (at, kind) in KINDS.into_iter().enumerate() {
            let now = [&count.operations[at], &count.bytes[at]];
            let now = now.map(|word| word.load(Ordering::Relaxed));
            let [operations, bytes] = [0, 1].map(|word| now[word].wrapping_sub(seen[at][word]));
            seen[at] = now;
            if operations > 0 {
                add(Added {
                    pe: Some(pe),
                    kind,
                    operations,
                    bytes,
                    are_updates: at == SHORT_PUTS || kind == Kind::Atomic,
                });
            }
        }
    }
}
