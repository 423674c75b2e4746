//! What holds as long as a world is there.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use ferroshmem_core::api::setup;
use ferroshmem_core::api::windows::{self, Windows};

/// Whether there is a world.
pub(crate) static LIVES: AtomicBool = AtomicBool::new(false);

// The facts do not change from one world to the next: a process has its place in its job for good.
static ME: AtomicUsize = AtomicUsize::new(0);
static N_PES: AtomicUsize = AtomicUsize::new(1);
static WINDOWS: OnceLock<Windows> = OnceLock::new();

/// This PE's number.
#[inline]
pub(crate) fn me() -> usize {
    ME.load(Relaxed)
}

/// Number of PEs.
#[inline]
pub(crate) fn n_pes() -> usize {
    N_PES.load(Relaxed)
}

/// Where the PEs' heaps are.
pub(crate) fn windows() -> &'static Windows {
    WINDOWS
        .get()
        .expect("there is, or was, a world: all callers have got something from one")
}

/// Whether some PEs are on other nodes.
#[inline]
pub(crate) fn spans_nodes() -> bool {
    WINDOWS.get().is_some_and(|w| !w.memory.is_all())
}

/// Initialises the library, for threads as `level` says.
#[allow(unsafe_code)]
pub(crate) fn start(level: i32) {
    // SAFETY: a null pointer asks for no answer; every level is provided.
    unsafe { setup::init_thread("World::init", level, std::ptr::null_mut()) };
    let windows = WINDOWS.get_or_init(|| windows::windows("World::init"));
    ME.store(windows.me, Relaxed);
    N_PES.store(windows.n_pes, Relaxed);
}
