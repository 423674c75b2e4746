//! An allocator that counts what each thread allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts: for `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Allocations of this thread.
pub fn allocations() -> usize {
    COUNT.get()
}

/// Bytes that this thread has allocated and not freed.
pub fn bytes() -> usize {
    BYTES.get()
}

// SAFETY: the system's allocator does it all; the counters are not allocated.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        BYTES.set(BYTES.get().wrapping_add(layout.size()));
        // SAFETY: the caller promises that `layout` has a size other than 0.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: the caller promises that `at` was allocated by `alloc` above, from `System`, with this `layout`.
        unsafe { System.dealloc(at, layout) }
    }
}
