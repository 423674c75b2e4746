//! What the C library around this crate lends to it.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// The facts behind the inlined fast path: address on PE `pes[i]` = address on `pes[me]` +
/// (i - me) << log2_stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Native {
    /// World numbers of the PEs of this node.
    pub pes: &'static [u32],
    /// Number of PEs of the job.
    pub n_pes: u32,
    /// This PE's place in `pes`.
    pub me: u32,
    /// log2 of the stride in bytes, 32 or more.
    pub log2_stride: u32,
    /// Whether operations on this PE's own memory are calls nevertheless, so that the library notices
    /// when the program polls.
    pub own_by_calls: bool,
}

/// What a program has counted of the operations on a PE that are inlined into it, by kind: puts, puts of at most 8
/// bytes, gets, atomics. The program adds without atomic instructions.
#[derive(Debug)]
#[repr(C)]
pub struct InlineCount {
    /// Operations.
    pub operations: [AtomicU64; 4],
    /// Their bytes.
    pub bytes: [AtomicU64; 4],
}

/// All that a program counts of its inlined operations.
#[derive(Debug, Clone, Copy)]
pub struct InlineCounts {
    /// Those on PE r, in element r modulo the length.
    pub pes: &'static [InlineCount],
    /// Quiets, fences, and locks that were set and cleared.
    pub syncs: &'static [AtomicU64; 4],
}

/// Functions of the C library.
#[derive(Debug, Clone, Copy)]
pub struct Hooks {
    /// Turns the inlined fast path on, or off for None.
    pub native_changed: fn(Option<Native>),
    /// Extends the fast path, if it is on, by these PEs: their numbers, and the bytes from this PE's memory
    /// to theirs, multiples of 2^32.
    pub native_added: fn(&[(u32, u64)]),
    /// Takes PEs of these numbers out of the fast path.
    pub native_removed: fn(&[u32]),
    /// Whether CPU fences order and complete all operations, as far as PEs of other jobs are concerned.
    pub native_ordered: fn(bool),
    /// From now on, a lock is this word while this PE holds it.
    pub native_resilient: fn(u64),
    /// Whether copies go on after their calls, so that fences and quiets are to call the library.
    pub native_pending: fn(bool),
    /// Whether the program cannot run without the fast path.
    pub native_required: fn() -> bool,
    /// What the program counts of its inlined operations; None if it does not.
    pub inline_counts: fn() -> Option<InlineCounts>,
    /// Makes C's `stdout` line buffered if the program has not used it yet.
    pub line_buffer_stdout: fn(),
    /// Why the program, as it is linked, cannot run with this library.
    pub mismatch: fn() -> Option<String>,
    /// Whether a tool has put its own functions in place of the library's.
    pub interposed: fn() -> bool,
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Sets the hooks; only the first call counts.
pub fn set(hooks: Hooks) {
    // A second initialisation brings the same hooks.
    let _ = HOOKS.set(hooks);
}

/// The hooks, if a C library has set any.
pub fn get() -> Option<&'static Hooks> {
    HOOKS.get()
}
