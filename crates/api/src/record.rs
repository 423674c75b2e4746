//! Calls of the Rust API, recorded as those of the C API are (`api::check::record`): with the caller's line, which the
//! compiler knows.

use std::panic::Location;

use ferroshmem_core::profiling::{self, Operation, UnderWay};
use ferroshmem_runtime as runtime;

use super::check::Concerns;

pub use ferroshmem_core::profiling::Kind;

/// A call that is being recorded; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the call ends when this is dropped"]
pub struct Record(Option<UnderWay>);

impl Drop for Record {
    fn drop(&mut self) {
        profiling::end_in_source(self.0.take());
    }
}

/// Whether calls are recorded.
#[inline]
pub fn is_on() -> bool {
    profiling::is_on()
}

/// Begins to record a call that concerns PEs and moves so many bytes at a symmetric address; None if calls are not
/// recorded.
#[inline]
pub fn begin(
    (routine, caller): (&'static str, &'static Location<'static>),
    kind: Kind,
    concerns: Concerns,
    bytes: usize,
    address: usize,
) -> Option<Record> {
    profiling::is_on().then(|| begin_recorded((routine, caller), kind, concerns, bytes, address))
}

#[cold]
#[inline(never)]
fn begin_recorded(
    (routine, caller): (&'static str, &'static Location<'static>),
    kind: Kind,
    concerns: Concerns,
    bytes: usize,
    address: usize,
) -> Record {
    Record(runtime::current().and_then(|rt| {
        let operation = Operation { routine, kind, scope: concerns.scope(rt, routine), bytes, address, signal: 0 };
        profiling::begin_in_source(&operation, caller)
    }))
}
