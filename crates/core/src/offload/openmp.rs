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
//! all waits here, and a region in which either happens has no more of them.
//!
//! By default, the run-time calls nothing before the first large transfer, and threads do not sleep here. A millisecond
//! after the last chunk they wait in the run-time, as without this library; after many regions and barriers without a
//! transfer they do so at once. With `SHMEM_OPENMP=1` they sleep, and what ends a wait posts an event.

use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ferroshmem_config::{Environment, OPENMP, inherited};

use super::helpers::{IdleTimes, lend_with};
use super::tool::{IS_ACTIVE, IS_ASKED_FOR};
use super::{ENGINE, SHARED_FROM, events};

/// `ompt_data_t`.
#[repr(C)]
#[derive(Debug)]
pub struct Data(u64);

type Lookup = unsafe extern "C" fn(*const c_char) -> Option<unsafe extern "C" fn()>;
type SetCallback = unsafe extern "C" fn(c_int, Option<unsafe extern "C" fn()>) -> c_int;
type GetParallelInfo = unsafe extern "C" fn(c_int, *mut *mut Data, *mut c_int) -> c_int;
type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *const Tool;

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
/// Parallel regions and barriers since helpers were last asked for.
static QUIET: AtomicU32 = AtomicU32::new(0);
/// Whether `SHMEM_OPENMP` is 1: threads that wait sleep here.
static SLEEPS: AtomicBool = AtomicBool::new(false);
/// The run-time's functions, from its start to the first large transfer; else 0.
static SET_CALLBACK: AtomicUsize = AtomicUsize::new(0);
static GET_PARALLEL_INFO: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// `REGIONS` when this thread came to its last barrier.
    static SEEN: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// OpenMP's `ompt_start_tool`: that of another library, or this one if threads of OpenMP are to help, else null.
///
/// A tool costs each task and region a few per cent, so by default there is none where no core may idle, if this is
/// known: clang's programs may use the run-time at the begin of `main`, before `shmem_init`.
///
/// # Safety
/// `runtime` is a C string.
pub unsafe fn start_tool(version: c_uint, runtime: *const c_char) -> *const Tool {
    let symbol = |from, name: &CStr| {
        // SAFETY: the name is a C string.
        unsafe { libc::dlsym(from, name.as_ptr()) }
    };
    let next = symbol(libc::RTLD_NEXT, c"ompt_start_tool");
    if !next.is_null() {
        // SAFETY: OpenMP's function of this name has this type, and the caller promises a C string.
        let tool = unsafe { std::mem::transmute::<*mut c_void, StartTool>(next)(version, runtime) };
        if !tool.is_null() {
            return tool;
        }
    }
    let wanted = OPENMP.read(&Environment::process()).unwrap_or(Some(false));
    let is_wanted = wanted.unwrap_or_else(|| {
        // The run-time loads these only if there is no tool: that of a user, and that of ThreadSanitizer.
        let is_free = inherited(OsStr::new("OMP_TOOL_LIBRARIES")).is_none_or(|paths| paths.is_empty());
        is_free && symbol(libc::RTLD_DEFAULT, c"__tsan_init").is_null() && ENGINE.helpers.may_have_openmp()
    });
    if !is_wanted {
        return std::ptr::null();
    }
    SLEEPS.store(wanted.is_some(), Ordering::Relaxed);
    IS_ASKED_FOR.store(true, Ordering::Relaxed);
    &raw const TOOL.0
}

/// A callback of any type.
type Callback = unsafe extern "C" fn();

/// Called by the run-time with a function that finds its functions; 0: it is to have no tool.
unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    let find = |name: &CStr| {
        // SAFETY: the name is a C string.
        unsafe { lookup(name.as_ptr()) }.map_or(0, |f| f as usize)
    };
    GET_PARALLEL_INFO.store(find(c"ompt_get_parallel_info"), Ordering::Relaxed);
    SET_CALLBACK.store(find(c"ompt_set_callback"), Ordering::Release);
    c_int::from(!SLEEPS.load(Ordering::Relaxed) || begin())
}

/// A large transfer asks for helpers.
pub(super) fn transfer_begins() {
    QUIET.store(0, Ordering::Relaxed);
    if SET_CALLBACK.load(Ordering::Relaxed) != 0 {
        if ENGINE.helpers.may_have_openmp() {
            begin();
        } else {
            SET_CALLBACK.store(0, Ordering::Relaxed);
        }
    }
}

/// Has the run-time call the functions below from now on; whether it does.
#[cold]
#[inline(never)]
fn begin() -> bool {
    const PARALLEL_BEGIN: c_int = 3;
    const PARALLEL_END: c_int = 4;
    const TASK_CREATE: c_int = 5;
    const IMPLICIT_TASK: c_int = 7;
    const SYNC_REGION_WAIT: c_int = 16;
    const CANCEL: c_int = 30;
    /// `ompt_set_always`.
    const ALWAYS: c_int = 5;

    // SAFETY: 0 or the run-time's functions of these names, which have these types.
    let (set, info) = unsafe {
        let set = std::mem::transmute::<usize, Option<SetCallback>>(SET_CALLBACK.swap(0, Ordering::Acquire));
        (set, std::mem::transmute::<usize, Option<GetParallelInfo>>(GET_PARALLEL_INFO.load(Ordering::Relaxed)))
    };
    let Some((set, info)) = set.zip(info) else {
        return false;
    };
    let is_within = |level: &c_int| {
        let (mut data, mut threads) = (std::ptr::null_mut(), 0);
        // SAFETY: the pointers are to live variables.
        unsafe { info(*level, &raw mut data, &raw mut threads) != 0 }
    };
    // Level 0 is outside of all regions. This thread's regions count as ones with tasks: their threads are not counted.
    OPEN.store((1..).take_while(is_within).count() as u32, Ordering::Relaxed);
    HAS_TASKS.store(true, Ordering::Relaxed);
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
    if is_set {
        IS_ACTIVE.store(true, Ordering::Relaxed);
        ENGINE.helpers.ask_from_now_on();
        end_waits_at_exit();
    }
    is_set
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
    wake();
}

/// Wakes threads that sleep here, after what ends their waits.
fn wake() {
    if SLEEPS.load(Ordering::Relaxed) {
        events::post(ENGINE.events(), u32::MAX);
    }
}

unsafe extern "C" fn parallel_begin(
    _task: *mut Data,
    _frame: *const c_void,
    _parallel: *mut Data,
    _requested: c_uint,
    _flags: c_int,
    _code: *const c_void,
) {
    if OPEN.fetch_add(1, Ordering::AcqRel) == 0 {
        HAS_TASKS.store(false, Ordering::Relaxed);
    }
    QUIET.fetch_add(1, Ordering::Relaxed);
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
        wait_while(&|| REGIONS.load(Ordering::Acquire) == seen);
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
        QUIET.fetch_add(1, Ordering::Relaxed);
        return wake();
    }
    if HAS_TASKS.load(Ordering::Acquire) {
        return;
    }
    wait_while(&|| of(team.load(Ordering::Acquire)) < all && REGIONS.load(Ordering::Acquire) == seen);
}

/// Takes chunks as long as the thread `waits`, if copies are shared and no region is within another.
fn wait_while(waits: &dyn Fn() -> bool) {
    /// For so long after the last chunk, a thread waits here: one that waits longer does it in the run-time.
    const LONGEST: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(1));
    /// For so many regions and barriers without a transfer, threads wait here: leaving such a wait takes longer.
    const QUIET_WAITS: u32 = 64;

    let sleeps = SLEEPS.load(Ordering::Relaxed);
    let is_quiet = !sleeps && QUIET.load(Ordering::Relaxed) > QUIET_WAITS;
    let is_shared = SHARED_FROM.load(Ordering::Relaxed) != usize::MAX;
    // A region that begins later ends the wait.
    let is_nested = OPEN.load(Ordering::Acquire) > 1;
    if is_quiet || !is_shared || is_nested || HAS_ENDED.load(Ordering::Relaxed) {
        return;
    }
    let longest = if sleeps { LONGEST.1 } else { LONGEST.0 };
    let last = Cell::new(Instant::now());
    let is_free = || {
        if ENGINE.has_chunks() {
            last.set(Instant::now());
        }
        waits() && last.get().elapsed() < longest
    };
    lend_with(&is_free, &IdleTimes::POSTED);
}
