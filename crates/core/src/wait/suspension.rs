//! Waits that return to what has resumed them instead of polling on: those of collectives that a coroutine executes.
//!
//! A coroutine may be resumed by another thread than before. So no function here keeps the address of a thread's
//! variable while its thread may change: each access is a call that the compiler does not merge with others.

use std::cell::Cell;

/// What suspends the coroutine on which this thread runs.
#[derive(Debug, Clone, Copy)]
pub struct Suspension {
    /// What `suspend` takes.
    pub data: *const (),
    /// Returns once the coroutine is resumed. It is told whether the wait has suspended before: if not, the coroutine
    /// has gone on since it was resumed.
    ///
    /// # Safety
    /// `data` is this structure's, and the thread runs on that coroutine.
    pub suspend: unsafe fn(data: *const (), again: bool),
}

thread_local! {
    static CURRENT: Cell<Option<Suspension>> = const { Cell::new(None) };
}

/// Sets what this thread's waits do: suspend, or, for None, wait. Returns what they did before.
///
/// # Safety
/// While it is set, the thread runs on the coroutine that it suspends, or resumes it at once.
#[inline(never)]
pub unsafe fn replace(new: Option<Suspension>) -> Option<Suspension> {
    CURRENT.replace(new)
}

#[inline(never)]
fn current() -> Option<Suspension> {
    CURRENT.get()
}

/// Whether waits of this thread suspend.
#[inline]
pub(super) fn is_set() -> bool {
    current().is_some()
}

/// Suspends, if waits of this thread do; `again`: this one has before. After it, another thread may run here, whose
/// waits may wait.
pub(super) fn suspend(again: bool) {
    if let Some(Suspension { data, suspend }) = current() {
        // SAFETY: `replace` was told that the thread runs on the coroutine.
        unsafe { suspend(data, again) };
    }
}
