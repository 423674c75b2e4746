//! Set-up, exit and query routines (standard, "Library Setup, Exit, and Query Routines").

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use ferroshmem_core::constants::{CTX_DEFAULT, THREAD_MULTIPLE, THREAD_SINGLE};
use ferroshmem_core::failure::checks;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::info;
use ferroshmem_layout::PeState;

use super::launched;
pub use ferroshmem_core::memory::MemoryKind;
use ferroshmem_core::{offload, sources};
use ferroshmem_runtime as runtime;
use ferroshmem_runtime::lifecycle::{self, fast_path};

/// Arranges what is to happen if this process exits before it initialises the library; called before `main`.
pub fn watch_until_initialised() {
    lifecycle::watch_until_initialised();
}

/// Initialises the library.
pub fn init(name: &'static str) {
    initialise(name, THREAD_SINGLE);
}

/// Initialises the library for a thread level; every level is provided. None for a level that the
/// standard does not have, else the level that is provided now.
pub fn init_level(name: &'static str, requested: c_int) -> Option<c_int> {
    if !(THREAD_SINGLE..=THREAD_MULTIPLE).contains(&requested) {
        return None;
    }
    initialise(name, requested);
    Some(runtime::get(name).node.job.block().thread_level.load(Ordering::Relaxed))
}

/// As [`init_level`]: 0, or -1 for a level that the standard does not have.
///
/// # Safety
/// `provided` is valid or null.
pub unsafe fn init_thread(name: &'static str, requested: c_int, provided: *mut c_int) -> c_int {
    let Some(level) = init_level(name, requested) else {
        return -1;
    };
    if !provided.is_null() {
        // SAFETY: the caller promises that the results can be written.
        unsafe { provided.write(level) };
    } else if checks::are_on() {
        result(name, "provided", provided);
    }
    0
}

/// A result of a routine that may be called at any time: not null.
fn result<T>(name: &str, argument: &str, at: *mut T) -> *mut T {
    if at.is_null() {
        fatal(name, format_args!("{argument} is a null pointer: give a variable for the result"));
    }
    at
}

/// Initialises the library if it is not; the old form without a matching finalize.
pub fn start_pes(name: &'static str, _n_pes: c_int) {
    if runtime::current().is_none() {
        initialise(name, THREAD_SINGLE);
    }
}

fn initialise(name: &'static str, level: c_int) {
    sources::set_above(&[
        ferroshmem_collective::SOURCES,
        ferroshmem_port::SOURCES,
        ferroshmem_message::SOURCES,
        ferroshmem_stream::SOURCES,
        ferroshmem_profiling::SOURCES,
        ferroshmem_runtime::SOURCES,
        ferroshmem_digest::of_sources!(),
    ]);
    lifecycle::initialise(name, level);
    launched::connect_with_parents(name);
}

/// Ends what one `init` began.
pub fn finalize(name: &'static str) {
    lifecycle::finalise(name);
}

/// The thread level provided.
///
/// # Safety
/// `provided` is valid.
pub unsafe fn query_thread(name: &'static str, provided: *mut c_int) {
    let level = runtime::get(name).node.job.block().thread_level.load(Ordering::Relaxed);
    // SAFETY: the caller promises that the results can be written.
    unsafe { provided.write(level) };
}

/// Whether the library is initialised. May be called at any time.
///
/// # Safety
/// `initialized` is valid.
pub unsafe fn query_initialized(name: &'static str, initialized: *mut c_int) {
    // SAFETY: the caller promises that the results can be written.
    unsafe {
        result(name, "initialized", initialized).write(runtime::current().is_some().into());
    };
}

/// Ends the whole job with a status.
pub fn global_exit(name: &'static str, status: c_int) -> ! {
    let rt = runtime::get(name);
    let block = rt.node.job.block();
    block.status.store(status, Ordering::Relaxed);
    block.state.store(PeState::GlobalExit as u32, Ordering::Release);
    if let Some(detector) = rt.failure_detector {
        detector.end_all(status as u8);
    }
    // SAFETY: exit flushes and runs what the program registered, as the standard asks.
    unsafe { libc::exit(status) }
}

/// This PE's number.
#[inline]
pub fn my_pe(name: &'static str) -> c_int {
    runtime::get(name).node.me as c_int
}

/// Number of PEs.
#[inline]
pub fn n_pes(name: &'static str) -> c_int {
    runtime::get(name).node.n_pes as c_int
}

/// Ends the job with one line over a misuse that a caller has found.
pub fn misuse(name: &str, message: impl std::fmt::Display) -> ! {
    fatal(name, message)
}

/// Ends the process with one line over a misuse when it comes to exit, after all else that it has to
/// say. Only the first call counts.
pub fn misuse_at_exit(name: &'static str, message: &'static str) {
    static FOUND: OnceLock<(&str, &str)> = OnceLock::new();

    extern "C" fn report() {
        if let Some((name, message)) = FOUND.get() {
            fatal(name, message);
        }
    }

    if FOUND.set((name, message)).is_ok() {
        // SAFETY: the function may be called at any time.
        let refused = unsafe { libc::atexit(report) } != 0;
        if refused {
            report();
        }
    }
}

/// Level of the standard.
///
/// # Safety
/// The pointers are valid.
pub unsafe fn info_get_version(name: &'static str, major: *mut c_int, minor: *mut c_int) {
    // SAFETY: the caller promises that the results can be written.
    unsafe {
        result(name, "major", major).write(info::SPEC_MAJOR);
        result(name, "minor", minor).write(info::SPEC_MINOR);
    }
}

/// The vendor string.
///
/// # Safety
/// `name` is valid for `SHMEM_MAX_NAME_LEN` bytes.
pub unsafe fn info_get_name(routine: &'static str, name: *mut c_char) {
    let name = result(routine, "name", name);
    let bytes = info::VENDOR.as_bytes();
    debug_assert!(bytes.len() < info::MAX_NAME_LEN);
    // SAFETY: the caller promises room for the maximum; the vendor string is shorter than the maximum.
    unsafe {
        name.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len());
        name.add(bytes.len()).write(0);
    }
}

/// 1 if there is a PE of this number, of this job or of a group, else 0.
pub fn pe_accessible(name: &'static str, pe: c_int) -> c_int {
    let node = &runtime::get(name).node;
    let exists = |pe| pe < node.n_pes || node.transport.connections.find(pe).is_some();
    usize::try_from(pe).is_ok_and(exists).into()
}

/// 1 if the address is symmetric and its copy on PE `pe` can be reached, else 0.
pub fn addr_accessible(name: &'static str, addr: *const c_void, pe: c_int) -> c_int {
    let rt = runtime::get(name);
    if pe_accessible(name, pe) == 0 {
        return 0;
    }
    let space = rt.node.transport.memory.space;
    if let Some((connection, member)) = rt.node.transport.connections.find(pe as usize) {
        let at = addr.expose_provenance();
        return match (connection.remote(), connection.pe_of_job(member)) {
            (Some(_), Some(own)) => addr_accessible(name, addr, own as c_int),
            (Some(_), None) => connection.other_holds(space, at, 1).into(),
            (None, _) => connection.translate(space, at, 1, member).is_some().into(),
        };
    }
    match space.kind(addr.addr(), 1) {
        MemoryKind::NotSymmetric => 0,
        MemoryKind::Globals => (!rt.node.transport.runs_other_program(pe as usize)).into(),
        MemoryKind::Heap => 1,
    }
}

/// Where PE `pe`'s copy of `dest` can be loaded and stored; null if it is not symmetric, or the
/// PE is on another node.
pub fn ptr(name: &'static str, dest: *const c_void, pe: c_int) -> *mut c_void {
    let rt = runtime::get(name);
    let pe = rt.call(name, CTX_DEFAULT, pe).pe;
    rt.node.transport.pointer(dest, pe)
}

/// Ends the program if it was compiled with `-DSHMEM_NATIVE_ONLY` and cannot run so here.
pub fn require_native(name: &'static str) {
    offload::queue_nothing();
    fast_path::require_native(&runtime::get(name).node, name);
}
