//! Facts about the job that hold while a world exists.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use ferroshmem_api::windows::{self, Windows};
use ferroshmem_api::{checker, setup};

/// Whether a world exists.
pub(crate) static LIVES: AtomicBool = AtomicBool::new(false);

// These are the same for all worlds of a process: its number in its job never changes.
static ME: AtomicUsize = AtomicUsize::new(0);
static N_PES: AtomicUsize = AtomicUsize::new(1);
static WINDOWS: OnceLock<Windows> = OnceLock::new();

/// This PE's number.
#[inline]
pub(crate) fn me() -> usize {
    ME.load(Relaxed)
}

/// This PE's number, once there has been a world.
pub(crate) fn known_pe() -> Option<usize> {
    WINDOWS.get().map(|windows| windows.me)
}

/// Number of PEs.
#[inline]
pub(crate) fn n_pes() -> usize {
    N_PES.load(Relaxed)
}

/// Where the PEs' heaps are.
pub(crate) fn windows() -> &'static Windows {
    WINDOWS.get().expect("a world exists or existed: all callers hold what one gave them")
}

/// Whether some PEs are on other nodes.
#[inline]
pub(crate) fn spans_nodes() -> bool {
    WINDOWS.get().is_some_and(|w| !w.views.is_all())
}

/// Groups whose PEs are reached by a fabric.
static REMOTE_GROUPS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn add_remote_group() {
    REMOTE_GROUPS.fetch_add(1, Relaxed);
}

pub(crate) fn remove_remote_group() {
    REMOTE_GROUPS.fetch_sub(1, Relaxed);
}

/// Whether operations may be under way when their method has returned.
#[inline]
pub(crate) fn reaches_other_nodes() -> bool {
    spans_nodes() || REMOTE_GROUPS.load(Relaxed) != 0
}

/// Initialises the library, for threads as `level` says.
pub(crate) fn start(level: i32) {
    let is_checked = checker::prepare();
    setup::init_level("World::init", level).expect("the standard has this level");
    if is_checked {
        checker::start();
    }
    let windows = WINDOWS.get_or_init(|| windows::windows("World::init"));
    ME.store(windows.me, Relaxed);
    N_PES.store(windows.n_pes, Relaxed);
}
