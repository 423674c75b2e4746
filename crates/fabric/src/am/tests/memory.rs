//! The memory that messages take.

use super::*;
use crate::encoding::message::LONGEST;

/// Bytes that this thread has allocated and not freed.
mod count {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<isize> = const { Cell::new(0) };
    }

    struct Counting;

    #[global_allocator]
    static COUNTING: Counting = Counting;

    fn count(bytes: isize) {
        // A thread that ends may free memory afterwards.
        let _ = BYTES.try_with(|all| all.set(all.get() + bytes));
    }

    // SAFETY: the system's allocator does the work.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            count(layout.size() as isize);
            // SAFETY: the caller's promise is the system's demand.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            count(-(layout.size() as isize));
            // SAFETY: as above.
            unsafe { System.dealloc(at, layout) }
        }
    }

    pub(super) fn bytes() -> isize {
        BYTES.with(Cell::get)
    }
}

#[test]
fn memory_grows_with_use_and_stays_below_64_mib_at_4096_pes() {
    const MIB: isize = 1 << 20;

    for n in [16, 1024, 4096] {
        let before = count::bytes();
        let limits = Limits::new(n);
        let messages = ActiveMessages::new(0, n, limits);
        assert!(count::bytes() - before < MIB / 2, "{n} PEs, none in use");
        let pending = Pending::default();
        let mut results = vec![0u64; 1024];
        // Windows and open messages full of requests with results, which take most.
        for pe in 0..n {
            let mut i = 0;
            loop {
                let awaited = PendingResult { counter: pending.counter(), result: (&raw mut results[i % 1024]).cast() };
                let request = (MessageItem::Request(Request::Fetch(add(1))), (0, 0));
                let urgency = Urgency::Usual;
                if !messages.append(&Nowhere, pe, request, awaited, urgency).unwrap() {
                    break;
                }
                i += 1;
            }
            assert!(i > limits.window as usize);
        }
        // Of each PE as much may come early, or wait to be sent.
        let received = n * limits.window as usize * limits.capacity * 2 + 128 * LONGEST;
        let used = count::bytes() - before + received as isize;
        assert!(used < 64 * MIB, "{n} PEs: {} MiB", used / MIB);
    }
}
