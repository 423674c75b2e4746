//! A work buffer for each thread, in which the put/get forms receive messages.

use std::cell::RefCell;
use std::mem::MaybeUninit;

/// Bytes of the buffer; longer arrays are reduced in parts of this size.
pub(super) const SCRATCH: usize = 128 << 10;

#[repr(align(64))]
struct CacheLine {
    _bytes: MaybeUninit<[u8; 64]>,
}

thread_local! {
    static BUFFER: RefCell<Vec<CacheLine>> = const { RefCell::new(Vec::new()) };
}

/// Runs `body` with the thread's buffer of [`SCRATCH`] bytes, which begins at a cache line.
pub(super) fn with_scratch<R>(body: impl FnOnce(*mut u8) -> R) -> R {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize_with(SCRATCH / 64, || CacheLine { _bytes: MaybeUninit::uninit() });
        }
        body(buffer.as_mut_ptr().cast())
    })
}
