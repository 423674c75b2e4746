//! A work buffer for each thread, in which the put/get forms receive messages.

use std::cell::Cell;
use std::mem::MaybeUninit;

/// Bytes of the buffer; longer arrays are reduced in parts of this size.
pub(super) const SCRATCH: usize = 128 << 10;

#[repr(align(64))]
struct CacheLine {
    _bytes: MaybeUninit<[u8; 64]>,
}

thread_local! {
    static BUFFER: Cell<Vec<CacheLine>> = const { Cell::new(Vec::new()) };
}

/// The thread's buffer; while a call uses it, others get an empty one. Not inlined, as [`put_back`]: another thread may
/// resume the coroutine of a call than the one that began it, and each has its own variable.
#[inline(never)]
fn take() -> Vec<CacheLine> {
    BUFFER.take()
}

#[inline(never)]
fn put_back(buffer: Vec<CacheLine>) {
    BUFFER.set(buffer);
}

/// Runs `body` with a buffer of [`SCRATCH`] bytes, which begins at a cache line.
pub(super) fn with_scratch<R>(body: impl FnOnce(*mut u8) -> R) -> R {
    let mut buffer = take();
    if buffer.is_empty() {
        buffer.resize_with(SCRATCH / 64, || CacheLine { _bytes: MaybeUninit::uninit() });
    }
    let result = body(buffer.as_mut_ptr().cast());
    put_back(buffer);
    result
}
