//! Calls of the Rust API, recorded as those of the C API are (`api::check::record`): with the caller's line, which the
//! compiler knows. `oshrun --check=race` gets them, too.

use std::panic::Location;

use ferroshmem_core::constants::CTX_DEFAULT;
use ferroshmem_layout::CheckedCall;
use ferroshmem_profiling::{self as profiling, UnderWay};
use ferroshmem_runtime as runtime;

use super::check::Concerns;
use super::checker::{self, of, operation};

pub use ferroshmem_layout::Operation;
pub use ferroshmem_profiling::Kind;

pub use super::checker::Memory;

/// A call that is being recorded; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "the call ends when this is dropped"]
pub struct Record(Option<UnderWay>, Option<Box<CheckedCall>>);

impl Drop for Record {
    fn drop(&mut self) {
        profiling::end_in_source(self.0.take());
        if let Some(call) = &mut self.1 {
            checker::tell(call, true);
        }
    }
}

/// A method and the place that calls it.
pub type MethodCall = (&'static str, &'static Location<'static>);

/// Whether calls are recorded.
#[inline]
pub fn is_on() -> bool {
    profiling::is_on()
}

/// Begins to record a call that concerns PEs and moves so many bytes at a symmetric address; None if calls are not
/// recorded.
#[inline]
pub fn begin(call: MethodCall, kind: Kind, concerns: Concerns, bytes: usize, address: usize) -> Option<Record> {
    profiling::is_on().then(|| begin_recorded(call, kind, concerns, Memory::row(address, bytes)))
}

/// The same of memory that may have gaps.
#[cold]
#[inline(never)]
pub fn begin_recorded((routine, caller): MethodCall, kind: Kind, concerns: Concerns, memory: Memory) -> Record {
    let under_way = runtime::current().and_then(|rt| {
        let (bytes, address) = (memory.len * memory.count, memory.at);
        let scope = concerns.scope(rt, routine);
        let call = profiling::RecordedCall { routine, kind, scope, bytes, address, signal: 0 };
        profiling::begin_in_source(&call, caller)
    });
    let call = checker::is_on().then(|| {
        let operation = operation(kind, routine, concerns);
        let mut call = Box::new(of(place(routine, caller), operation, memory));
        match concerns {
            Concerns::Pe(context, pe) => (call.context, call.pe) = (context, pe as usize),
            Concerns::Context(context) => call.context = context,
            Concerns::Team(team, _) => call.team = team,
            _ => {}
        }
        checker::tell(&mut call, false);
        call
    });
    Record(under_way, call)
}

/// A method, and the file and line that call it.
fn place(routine: &'static str, caller: &'static Location<'static>) -> (&'static str, &'static str, usize) {
    (routine, caller.file(), caller.line() as usize)
}

/// Has a call checked that is not recorded: one that allocates `len` bytes at `at`, or frees them, or ends all.
pub fn check((routine, caller): MethodCall, operation: Operation, at: usize, len: usize) -> Option<Record> {
    let is_empty = operation == Operation::Malloc && len == 0;
    (checker::is_on() && !is_empty).then(|| {
        let memory = Memory::row(if operation == Operation::Malloc { len } else { at }, len);
        let mut call = Box::new(CheckedCall { result: at, ..of(place(routine, caller), operation, memory) });
        checker::tell(&mut call, false);
        Record(None, Some(call))
    })
}

/// Has checks know that this PE has sent something, or may have received something, by a call that is not recorded.
#[inline]
pub fn note(operation: Operation) {
    if profiling::is_on() {
        tell(operation, CTX_DEFAULT, Memory::row(0, 0));
    }
}

/// The same of what it has seen: `len` bytes at `at` are what it has waited for.
#[inline]
pub fn seen(at: usize, len: usize) {
    if profiling::is_on() {
        tell(Operation::Wait, CTX_DEFAULT, Memory::row(at, len));
    }
}

/// The same of the operations of a context, which are complete.
#[inline]
pub fn completes(context: usize) {
    if profiling::is_on() {
        tell(Operation::Quiet, context, Memory::row(0, 0));
    }
}

#[cold]
#[inline(never)]
fn tell(operation: Operation, context: usize, memory: Memory) {
    let mut call = CheckedCall { context, ..of(("", "", 0), operation, memory) };
    checker::tell(&mut call, false);
    checker::tell(&mut call, true);
}
