//! What holds as long as a world is there.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use ferroshmem_core::api::setup::{self, Windows};

/// Whether there is a world.
pub(crate) static LIVES: AtomicBool = AtomicBool::new(false);

// The facts do not change from one world to the next: a process has its place in its job for good.
static ME: AtomicUsize = AtomicUsize::new(0);
static N_PES: AtomicUsize = AtomicUsize::new(1);
static LOG2_STRIDE: AtomicU32 = AtomicU32::new(0);

/// Notes where the heaps are.
fn note() {
    let windows = setup::windows("World::init");
    ME.store(windows.me, Relaxed);
    N_PES.store(windows.n_pes, Relaxed);
    LOG2_STRIDE.store(windows.log2_stride, Relaxed);
}

/// Where the PEs' heaps are. There is, or was, a world: all callers have got something from one.
#[inline]
pub(crate) fn windows() -> Windows {
    Windows {
        me: ME.load(Relaxed),
        n_pes: N_PES.load(Relaxed),
        log2_stride: LOG2_STRIDE.load(Relaxed),
    }
}

/// Initialises the library, for threads as `level` says.
#[allow(unsafe_code)]
pub(crate) fn start(level: i32) {
    // SAFETY: a null pointer asks for no answer; every level is provided.
    unsafe { setup::init_thread("World::init", level, std::ptr::null_mut()) };
    note();
}
