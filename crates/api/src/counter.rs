//! Counters of calls, bytes and time, by kind of routine.

use std::ffi::c_int;
use std::time::Duration;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_layout::Count;
use ferroshmem_profiling::totals::{GROUPS, sum};
use ferroshmem_profiling::{self as profiling, Kind};
use ferroshmem_runtime as runtime;

/// What is read of a counter: `SHMEMX_COUNTER_OPERATIONS`, `_BYTES`, `_NANOSECONDS`.
const QUANTITIES: c_int = 3;

/// The kinds of `SHMEMX_COUNTER_*`, of which the first has all.
fn kinds(number: usize) -> Option<&'static [Kind]> {
    match number.checked_sub(1) {
        None => Some(&Kind::ALL),
        Some(index) => GROUPS.get(index).map(|(_, kinds)| *kinds),
    }
}

/// A quantity of a kind; 0 while calls are not counted.
pub fn read(routine: &'static str, kind: c_int, quantity: c_int) -> u64 {
    runtime::get(routine);
    let Some(kinds) = usize::try_from(kind).ok().and_then(kinds) else {
        fatal(routine, format_args!("kind = {kind}: give one of SHMEMX_COUNTER_ALL to SHMEMX_COUNTER_MESSAGE"));
    };
    if !(0..QUANTITIES).contains(&quantity) {
        fatal(
            routine,
            format_args!(
                "quantity = {quantity}: give SHMEMX_COUNTER_OPERATIONS, SHMEMX_COUNTER_BYTES or \
                    SHMEMX_COUNTER_NANOSECONDS"
            ),
        );
    }
    let Count { operations, bytes, ns } = sum(kinds, profiling::count);
    [operations, bytes, ns][quantity as usize]
}

/// Begins again at zero.
pub fn reset(routine: &'static str) {
    runtime::get(routine);
    profiling::reset_counters();
}

/// The same, where the library need not be initialised.
pub fn reset_all() {
    profiling::reset_counters();
}

/// Calls, bytes and time of a kind of `SHMEMX_COUNTER_*`.
pub fn totals(kind: usize) -> (u64, u64, Duration) {
    let count = sum(kinds(kind).unwrap_or_default(), profiling::count);
    (count.operations, count.bytes, Duration::from_nanos(count.ns))
}
