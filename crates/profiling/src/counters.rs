//! What this PE counts of its calls ([`Counters`]).

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use ferroshmem_layout::profile::Kind;
use ferroshmem_layout::{Count, Counters};

/// This PE's counters; null while calls are not counted.
static COUNTERS: AtomicPtr<Counters> = AtomicPtr::new(ptr::null_mut());

fn counters() -> Option<&'static Counters> {
    // SAFETY: null or a reference that lives until the process ends.
    unsafe { COUNTERS.load(Ordering::Acquire).as_ref() }
}

/// Whether calls are counted.
pub(super) fn are_on() -> bool {
    counters().is_some()
}

/// Counts calls in `counters` from now on.
pub(super) fn start(counters: &'static Counters) {
    counters.are_on.store(1, Ordering::Relaxed);
    COUNTERS.store(ptr::from_ref(counters).cast_mut(), Ordering::Release);
}

/// Adds calls that have ended.
pub(super) fn add(kind: Kind, operations: u64, bytes: u64, ns: u64) {
    if let Some(counters) = counters() {
        counters.add(kind, operations, bytes, ns);
    }
}

/// What was counted of `kind`; zeros while calls are not counted.
pub(super) fn count(kind: Kind) -> Count {
    counters().map_or_else(Count::default, |counters| counters.of(kind))
}

/// Begins again at zero.
pub(super) fn reset() {
    if let Some(counters) = counters() {
        counters.reset();
    }
}
