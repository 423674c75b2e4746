//! Non-blocking collectives and their requests (extension; specification, pull request 456). Those that begin one
//! return 0, or -1 for `SHMEM_TEAM_INVALID`.

use std::ffi::{c_int, c_void};
use std::panic::Location;
use std::{ptr, thread};

use ferroshmem_collective::nonblocking::{Operation, first_of_one_team};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::wait::progress::after_idle_test;
use ferroshmem_layout::WaitKind;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::Operator;

use super::agree::agree_in;
pub use super::on_group::Collective;
use super::on_group::{Arrays, OnGroup};

/// What `shmemx_req_test` returns of a request that is not complete.
const UNDER_WAY: c_int = 1;

/// What the members compare before any of them executes a collective, and where the program has begun it.
#[derive(Debug, Clone, Copy)]
pub struct Agreement {
    /// The same on all members, and another than that of earlier collectives of the team.
    pub word: u64,
    /// Where it has begun.
    pub place: &'static Location<'static>,
}

/// Begins a collective of the team.
///
/// # Safety
/// `request` can be written; the arrays are as the collective needs them until the request is complete.
unsafe fn begin(
    name: &'static str,
    team: usize,
    arrays: (*mut c_void, *const c_void),
    request: *mut usize,
    collective: Collective,
) -> c_int {
    // SAFETY: the caller's promises.
    let begun = unsafe { begin_agreed(name, team, arrays, collective, None) };
    // SAFETY: as above.
    unsafe { request.write(begun) };
    if begun != 0 { 0 } else { -1 }
}

/// Begins a collective of the team; its request, or 0 for no team.
///
/// # Safety
/// The arrays are as the collective needs them until the request is complete.
pub unsafe fn begin_agreed(
    name: &'static str,
    team: usize,
    (dest, source): (*mut c_void, *const c_void),
    collective: Collective,
    agreement: Option<Agreement>,
) -> usize {
    let rt = runtime::get(name);
    let arrays = Arrays { dest: dest.cast(), source: source.cast() };
    rt.teams.find(name, team).map_or(0, |team| {
        if team.connection.is_some() {
            fatal(name, "non-blocking collectives are for the teams of one job: use the routine that waits");
        }
        let operation = Operation::new(collective.bytes(team.members.size), move |node, shadow| {
            // Whole, as it is what may go to another thread.
            let arrays: Arrays = arrays;
            let group = Group::of_team(node, name, shadow);
            if let Some(Agreement { word, place }) = agreement
                && let Err(other) = agree_in(&group, word)
            {
                fatal(
                    name,
                    format_args!(
                        "PE {} begins another collective of the team, or with another array, length, type, operator or \
                            root: all members must begin the same ones in the same order; begun at {place}",
                        other.pe
                    ),
                );
            }
            // SAFETY: the caller promises valid arrays until the request is complete.
            unsafe { OnGroup { node, group: &group }.execute(&collective, arrays) };
        });
        rt.collectives.begin(&rt.node, team, operation) as usize
    })
}

/// Begins to synchronise a team.
///
/// # Safety
/// For this and all functions below: `dest` and `source` are symmetric, and valid for the lengths that the standard
/// demands of the same routine without `_nb`, until the request is complete; `request` can be written.
pub unsafe fn sync(name: &'static str, team: usize, request: *mut usize) -> c_int {
    // SAFETY: the caller's promise, here and below.
    unsafe { begin(name, team, (ptr::null_mut(), ptr::null()), request, Collective::Sync) }
}

/// Begins to copy the root's `source` to every member's `dest`.
///
/// # Safety
/// As [`sync`].
pub unsafe fn broadcast(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    root: c_int,
    request: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe { begin(name, team, (dest, source), request, Collective::Broadcast { bytes, root, to_root: true }) }
}

/// Begins to gather all sources, which may differ in length, on every member.
///
/// # Safety
/// As [`sync`].
pub unsafe fn collect(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    request: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe { begin(name, team, (dest, source), request, Collective::Collect { bytes }) }
}

/// Begins to gather all sources, of one length, on every member.
///
/// # Safety
/// As [`sync`].
pub unsafe fn fcollect(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    request: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe { begin(name, team, (dest, source), request, Collective::Fcollect { bytes }) }
}

/// Begins to exchange blocks of `bytes` bytes between all members.
///
/// # Safety
/// As [`sync`].
pub unsafe fn alltoall(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    request: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe { begin(name, team, (dest, source), request, Collective::Alltoall { bytes }) }
}

/// Begins to exchange blocks of `n` bytes that are `dst` and `sst` bytes apart.
///
/// # Safety
/// As [`sync`].
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn alltoalls(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    n: usize,
    request: *mut usize,
) -> c_int {
    // SAFETY: as above.
    unsafe { begin(name, team, (dest, source), request, Collective::Alltoalls { dst, sst, n, elem: 1 }) }
}

/// Begins to reduce element by element over all members. An operator that the type does not have ends the job.
///
/// # Safety
/// As [`sync`].
pub unsafe fn reduce(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    n: usize,
    op: Option<&'static Operator>,
    request: *mut usize,
) -> c_int {
    let op = known(name, op);
    // SAFETY: as above.
    unsafe { begin(name, team, (dest, source), request, Collective::Reduce { n, op }) }
}

/// Begins to add up the sources of the members before, and with `is_inclusive` not 0 of the own one.
///
/// # Safety
/// As [`sync`].
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn scan(
    name: &'static str,
    team: usize,
    dest: *mut c_void,
    source: *const c_void,
    n: usize,
    op: Option<&'static Operator>,
    is_inclusive: c_int,
    request: *mut usize,
) -> c_int {
    let (op, inclusive) = (known(name, op), is_inclusive != 0);
    // SAFETY: as above.
    unsafe { begin(name, team, (dest, source), request, Collective::Scan { n, op, inclusive }) }
}

fn known(name: &str, op: Option<&'static Operator>) -> &'static Operator {
    op.unwrap_or_else(|| fatal(name, "the type does not have the operator: see the table of shmemx_reduce_nb"))
}

/// The requests of a call.
///
/// # Safety
/// There are `count` requests, which no other thread uses.
unsafe fn slice<'a>(requests: *mut usize, count: usize) -> &'a mut [usize] {
    // SAFETY: the caller's promise; a slice without elements may have any address that is not null.
    if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(requests, count) } }
}

/// Whether a request is complete, as one is that has ended; makes progress with it.
pub fn is_complete(name: &'static str, request: usize) -> bool {
    let rt = runtime::get(name);
    rt.collectives.test(&rt.node, request as u64)
}

/// Ends a request that is complete: its index.
fn end_any(name: &'static str, requests: &mut [usize]) -> Option<usize> {
    let found = requests.iter().position(|request| *request != 0 && is_complete(name, *request));
    match found {
        Some(i) => requests[i] = 0,
        None => after_idle_test(WaitKind::Team),
    }
    found
}

/// Whether a request is complete: 0 if it is, and then ended; else 1.
///
/// # Safety
/// `request` is a request's variable.
pub unsafe fn test(name: &'static str, request: *mut usize) -> c_int {
    // SAFETY: the caller's promise, here and below.
    unsafe { testall(name, 1, request) }
}

/// Waits until a request is complete, and ends it.
///
/// # Safety
/// As [`test`].
pub unsafe fn wait(name: &'static str, request: *mut usize) -> c_int {
    // SAFETY: as above.
    unsafe { waitall(name, 1, request) }
}

/// Ends a request whose collective goes on.
///
/// # Safety
/// As [`test`].
pub unsafe fn free(name: &'static str, request: *mut usize) {
    runtime::get(name);
    // SAFETY: as above.
    unsafe { request.write(0) };
}

/// Whether all of several requests are complete: 0 if they are, and then ended; else 1.
///
/// # Safety
/// There are `count` requests, which no other thread uses.
pub unsafe fn testall(name: &'static str, count: usize, requests: *mut usize) -> c_int {
    // SAFETY: as above.
    let requests = unsafe { slice(requests, count) };
    if !requests.iter().all(|request| is_complete(name, *request)) {
        after_idle_test(WaitKind::Team);
        return UNDER_WAY;
    }
    requests.fill(0);
    0
}

/// The index of a request that is complete, and then ended; `usize::MAX` if there is none.
///
/// # Safety
/// As [`testall`].
pub unsafe fn testany(name: &'static str, count: usize, requests: *mut usize) -> usize {
    // SAFETY: as above.
    end_any(name, unsafe { slice(requests, count) }).unwrap_or(usize::MAX)
}

/// Waits until all of several requests are complete, and ends them.
///
/// # Safety
/// As [`testall`].
pub unsafe fn waitall(name: &'static str, count: usize, requests: *mut usize) -> c_int {
    let rt = runtime::get(name);
    // SAFETY: as above.
    for request in unsafe { slice(requests, count) } {
        rt.collectives.wait(&rt.node, *request as u64);
        *request = 0;
    }
    0
}

/// Waits until one of several requests is complete, and ends it: its index, or `usize::MAX` if there are none.
///
/// # Safety
/// As [`testall`].
pub unsafe fn waitany(name: &'static str, count: usize, requests: *mut usize) -> usize {
    let rt = runtime::get(name);
    // SAFETY: as above.
    let requests = unsafe { slice(requests, count) };
    while requests.iter().any(|request| *request != 0) {
        if let Some(found) = end_any(name, requests) {
            return found;
        }
        if let Some(first) = first_of_one_team(requests) {
            rt.collectives.wait(&rt.node, requests[first] as u64);
            requests[first] = 0;
            return first;
        }
        thread::yield_now();
    }
    usize::MAX
}
