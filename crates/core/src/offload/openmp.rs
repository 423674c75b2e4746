//! Threads of OpenMP that wait, by OpenMP's interface for tools (OMPT; OpenMP 5.0, chapter 4), which the run-time of
//! LLVM has.
//!
//! The run-time calls a thread of it that begins to wait in a barrier, and one that has ended its part of a parallel
//! region. That thread takes chunks until it may go on, and returns:
//!
//! - in a barrier, until all threads of the team have begun to wait in it. The team's data counts them;
//! - after a region, until the next one begins.
//!
//! Regions within regions have none of these waits: LLVM's run-time frees such a team when its region ends, and for
//! this its master waits until all threads of the team have returned from here.
//!
//! Explicit tasks are run by threads that wait in barriers, and a cancelled region is left past its barriers: both end
//! all waits here, and a region in which either happens has no more of them. What ends a wait posts an event, so that
//! threads that sleep go on.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ferroshmem_config::{Environment, OPENMP};

use super::helpers::{IdleTimes, lend_with};
use super::tool::{IS_ACTIVE, IS_ASKED_FOR};
use super::{ENGINE, SHARED_FROM, events};

/// `ompt_data_t`.
#[repr(C)]
#[derive(Debug)]
pub struct Data(u64);

type Lookup = unsafe extern "C" fn(*const c_char) -> Option<unsafe extern "C" fn()>;
type SetCallback = unsafe extern "C" fn(c_int, Option<unsafe extern "C" fn()>) -> c_int;

/// `ompt_start_tool_result_t`.
#[repr(C)]
#[derive(Debug)]
pub struct Tool {
    initialize: unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    finalize: unsafe extern "C" fn(*mut Data),
    data: Data,
}

/// The run-time only reads it.
struct Shared(Tool);

// SAFETY: functions, and a word that the library does not use.
unsafe impl Sync for Shared {}

static TOOL: Shared = Shared(Tool { initialize, finalize, data: Data(0) });

/// Counts what ends waits: regions, tasks and cancellations that begin, and the end of the program.
static REGIONS: AtomicU32 = AtomicU32::new(0);
/// Parallel regions that have begun and not ended, also those of one thread.
static OPEN: AtomicU32 = AtomicU32::new(0);
/// Whether the region has tasks or has been cancelled.
static HAS_TASKS: AtomicBool = AtomicBool::new(false);
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// `REGIONS` when this thread came to its last barrier.
    static SEEN: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// OpenMP's `ompt_start_tool`: the tool, if `SHMEM_OPENMP` asks for it, else null.
pub fn start_tool() -> *const Tool {
    let is_wanted = OPENMP.read(&Environment::process()).unwrap_or(false);
    if !is_wanted {
        return std::ptr::null();
    }
    IS_ASKED_FOR.store(true, Ordering::Relaxed);
    &raw const TOOL.0
}

/// A callback of any type.
type Callback = unsafe extern "C" fn();

/// Called by the run-time with a function that finds its functions; 0: it is to have no tool.
unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    const PARALLEL_BEGIN: c_int = 3;
    const PARALLEL_END: c_int = 4;
    const TASK_CREATE: c_int = 5;
    const IMPLICIT_TASK: c_int = 7;
    const SYNC_REGION_WAIT: c_int = 16;
    const CANCEL: c_int = 30;
    /// `ompt_set_always`.
    const ALWAYS: c_int = 5;

    let name: &CStr = c"ompt_set_callback";
    // SAFETY: the name is a C string, and the run-time's function of this name has this type.
    let set = unsafe { lookup(name.as_ptr()).map(|f| std::mem::transmute::<_, SetCallback>(f)) };
    let Some(set) = set else {
        return 0;
    };
    // SAFETY: each function has the type of its callback, which `ompt_set_callback` takes without it.
    let is_set = unsafe {
        let any = |f: *const c_void| std::mem::transmute::<*const c_void, Callback>(f);
        let callbacks: [(c_int, Callback); 6] = [
            (PARALLEL_BEGIN, any(parallel_begin as *const c_void)),
            (PARALLEL_END, any(parallel_end as *const c_void)),
            (TASK_CREATE, any(task_create as *const c_void)),
            (IMPLICIT_TASK, any(implicit_task as *const c_void)),
            (SYNC_REGION_WAIT, any(sync_region_wait as *const c_void)),
            (CANCEL, any(cancel as *const c_void)),
        ];
        callbacks.iter().all(|(event, f)| set(*event, Some(*f)) == ALWAYS)
    };
    if !is_set {
        return 0;
    }
    IS_ACTIVE.store(true, Ordering::Relaxed);
    ENGINE.helpers.ask_from_now_on();
    end_waits_at_exit();
    1
}

unsafe extern "C" fn finalize(_data: *mut Data) {
    end_all();
}

/// The run-time joins its threads when the program exits.
fn end_waits_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn at_exit() {
        end_all();
    }
    ONCE.call_once(|| {
        // SAFETY: a plain function of this library, which stays loaded.
        unsafe { libc::atexit(at_exit) };
    });
}

fn end_all() {
    HAS_ENDED.store(true, Ordering::Relaxed);
    end_waits();
}

/// Lets all threads go on.
fn end_waits() {
    REGIONS.fetch_add(1, Ordering::AcqRel);
    events::post(ENGINE.events(), u32::MAX);
}

unsafe extern "C" fn parallel_begin(
    _task: *mut Data,
    _frame: *const c_void,
    _parallel: *mut Data,
    _requested: c_uint,
    _flags: c_int,
    _code: *const c_void,
) {
    OPEN.fetch_add(1, Ordering::AcqRel);
    HAS_TASKS.store(false, Ordering::Relaxed);
    end_waits();
}

unsafe extern "C" fn parallel_end(_parallel: *mut Data, _task: *mut Data, _flags: c_int, _code: *const c_void) {
    OPEN.fetch_sub(1, Ordering::AcqRel);
}

unsafe extern "C" fn task_create(
    _task: *mut Data,
    _frame: *const c_void,
    _new: *mut Data,
    flags: c_int,
    _has_dependences: c_int,
    _code: *const c_void,
) {
    const EXPLICIT_OR_TARGET: c_int = 4 | 8;

    if flags & EXPLICIT_OR_TARGET != 0 {
        leave_barriers();
    }
}

unsafe extern "C" fn cancel(_task: *mut Data, _flags: c_int, _code: *const c_void) {
    leave_barriers();
}

fn leave_barriers() {
    if !HAS_TASKS.swap(true, Ordering::AcqRel) {
        end_waits();
    }
}

const BEGIN: c_int = 1;
const END: c_int = 2;

/// Bits of a team's word above which its size is; below them is how many have come to barriers: one region may last for
/// weeks. A size that has no room ends waits here too early, which only costs their help.
const SIZE: u32 = 48;

unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: *mut Data,
    _task: *mut Data,
    threads: c_uint,
    index: c_uint,
    flags: c_int,
) {
    const IMPLICIT: c_int = 2;

    if flags & IMPLICIT == 0 {
        return;
    }
    if endpoint == BEGIN {
        // SAFETY: the run-time keeps the team's word, which it never uses, until the region has ended.
        if let Some(parallel) = unsafe { parallel.cast::<AtomicU64>().as_ref() } {
            let size = u64::from(threads) << SIZE;
            // All threads bring the same.
            let _ = parallel.compare_exchange(0, size, Ordering::AcqRel, Ordering::Relaxed);
        }
    } else if endpoint == END && index != 0 {
        // The master thread goes on with the program; this one waits until it is needed.
        let seen = SEEN.get();
        wait_while(|| REGIONS.load(Ordering::Acquire) == seen);
    }
}

unsafe extern "C" fn sync_region_wait(
    kind: c_int,
    endpoint: c_int,
    parallel: *mut Data,
    _task: *mut Data,
    _code: *const c_void,
) {
    /// Barriers of all threads of a team, of whatever reason.
    const BARRIERS: [c_int; 6] = [1, 2, 3, 4, 8, 9];
    /// For so long a thread waits here: one that waits longer sleeps in the run-time.
    const LONGEST: Duration = Duration::from_secs(1);

    if endpoint != BEGIN || !BARRIERS.contains(&kind) {
        return;
    }
    let seen = REGIONS.load(Ordering::Acquire);
    SEEN.set(seen);
    // SAFETY: as in `implicit_task`.
    let Some(team) = (unsafe { parallel.cast::<AtomicU64>().as_ref() }) else {
        return;
    };
    let word = team.fetch_add(1, Ordering::AcqRel) + 1;
    let size = word >> SIZE;
    if size < 2 {
        return;
    }
    let of = |word: u64| word & ((1 << SIZE) - 1);
    // No thread comes to the next barrier before all have come to this one.
    let all = of(word).next_multiple_of(size);
    if of(word) == all {
        events::post(ENGINE.events(), u32::MAX);
        return;
    }
    if HAS_TASKS.load(Ordering::Acquire) {
        return;
    }
    let begin = Instant::now();
    wait_while(|| {
        of(team.load(Ordering::Acquire)) < all && REGIONS.load(Ordering::Acquire) == seen && begin.elapsed() < LONGEST
    });
}

/// Takes chunks as long as the thread `waits`, if copies are shared and no region is within another.
fn wait_while(waits: impl Fn() -> bool) {
    let is_shared = SHARED_FROM.load(Ordering::Relaxed) != usize::MAX;
    // A region that begins later ends the wait.
    let is_nested = OPEN.load(Ordering::Acquire) > 1;
    if !is_shared || is_nested || HAS_ENDED.load(Ordering::Relaxed) {
        return;
    }
    lend_with(&waits, &IdleTimes::POSTED);
}
