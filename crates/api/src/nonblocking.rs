//! Non-blocking collectives, and requests, of one-sided operations, too (extension; specification, pull request 456).
//! Those that begin a collective return 0, or -1 for `SHMEM_TEAM_INVALID`; so do their persistent forms, which make a
//! request that begins it later.

use std::ffi::{c_int, c_void};
use std::panic::Location;
use std::{ptr, thread};

use ferroshmem_collective::nonblocking::Operation;
use ferroshmem_collective::nonblocking::exchange::{self, Combination};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::memory::Argument;
use ferroshmem_core::team::{Team, health};
use ferroshmem_core::transport::Transport;
use ferroshmem_core::transport::request::{COMPLETE, is_one_sided};
use ferroshmem_core::wait::progress::after_idle_test;
use ferroshmem_layout::WaitKind;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::Operator;

use super::agree::agree_in;
pub use super::on_group::Collective;
use super::on_group::{Arrays, OnGroup, Part, of_one_body};

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

/// Begins a collective of the team, or makes a persistent request of it.
///
/// # Safety
/// `request` can be written; the arrays are as the collective needs them until the request is complete.
unsafe fn begin<const PERSISTENT: bool>(
    name: &'static str,
    team: usize,
    arrays: (*mut c_void, *const c_void),
    request: *mut usize,
    collective: Collective,
) -> c_int {
    // SAFETY: the caller's promises.
    let begun = unsafe { begin_agreed(name, team, arrays, collective, None, PERSISTENT) };
    // SAFETY: as above.
    unsafe { request.write(begun) };
    if begun != 0 { 0 } else { -1 }
}

/// Begins a collective of the team, or makes a persistent request of it; its request, or 0 for no team.
///
/// # Safety
/// The arrays are as the collective needs them until the request is complete.
#[inline(never)]
pub unsafe fn begin_agreed(
    name: &'static str,
    team: usize,
    (dest, source): (*mut c_void, *const c_void),
    collective: Collective,
    agreement: Option<Agreement>,
    is_persistent: bool,
) -> usize {
    let rt = runtime::get(name);
    let arrays = Arrays { dest: dest.cast(), source: source.cast() };
    let Some(team) = rt.teams.find(name, team) else {
        return 0;
    };
    if team.connection().is_some() {
        fatal(name, "non-blocking collectives are for the teams of one job: use the routine that waits");
    }
    // Members that compare what they begin do so before they send values.
    if agreement.is_none()
        && let Some(exchange) = exchange(name, rt, (team.members.size, arrays), &collective)
        // SAFETY: the caller promises arrays as the collective needs them.
        && let Some(request) = unsafe { rt.collectives.begin_exchange(name, &rt.node, team, exchange, is_persistent) }
    {
        return request as usize;
    }
    // SAFETY: as above.
    let operation = unsafe { operation(name, team, arrays, collective, agreement) };
    rt.collectives.begin(name, &rt.node, team, operation, is_persistent) as usize
}

/// A collective that compares before, if it is to, what the members begin.
///
/// # Safety
/// The arrays are as the collective needs them until it is complete.
#[inline(never)]
unsafe fn operation(
    name: &'static str,
    team: &Team,
    arrays: Arrays,
    collective: Collective,
    agreement: Option<Agreement>,
) -> Operation {
    // SAFETY: the caller promises arrays as the collective needs them.
    let bytes = unsafe { collective.bytes(team.members.size) };
    Operation::new(bytes, move |node, shadow| {
        // Whole, as it is what may go to another thread.
        let (arrays, collective): (Arrays, Collective) = (arrays, collective);
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
    })
}

/// How an exchange executes a collective; looks at its arrays.
fn exchange(
    name: &'static str,
    rt: &runtime::Runtime,
    (members, Arrays { dest, source }): (usize, Arrays),
    collective: &Collective,
) -> Option<(Combination, exchange::Arrays)> {
    let (result, bytes) = match *collective {
        Collective::Sync => (Combination::Blocks { differ: false }, 0),
        Collective::Fcollect { bytes } => (Combination::Blocks { differ: false }, bytes),
        Collective::Alltoall { bytes } => (Combination::Blocks { differ: true }, bytes),
        Collective::Reduce { n, op } => (Combination::Reduction(op), n.saturating_mul(op.size())),
        Collective::Broadcast { bytes, root, to_root: true } if (root as usize) < members => {
            (Combination::Broadcast(root as usize), bytes)
        }
        _ => return None,
    };
    if bytes > 0 {
        let blocks = |are_blocks| if are_blocks { bytes.saturating_mul(members) } else { bytes };
        let own = |argument, addr, length| {
            rt.node.transport.memory.own(Argument { routine: name, name: argument }, addr, length);
        };
        own("dest", dest.cast_const().cast(), blocks(matches!(result, Combination::Blocks { .. })));
        own("source", source.cast(), blocks(matches!(result, Combination::Blocks { differ: true })));
    }
    Some((result, exchange::Arrays { dest, source, bytes }))
}

/// Begins to synchronise a team; this and the next ones, if `PERSISTENT`, as often as their request starts.
///
/// # Safety
/// For this and all functions below: `dest` and `source` are symmetric, and valid for the lengths that the standard
/// demands of the same routine without `_nb`, until the request is complete; `request` can be written.
pub unsafe fn sync<const PERSISTENT: bool>(name: &'static str, team: usize, request: *mut usize) -> c_int {
    // SAFETY: the caller's promise, here and below.
    unsafe { begin::<PERSISTENT>(name, team, (ptr::null_mut(), ptr::null()), request, Collective::Sync) }
}

/// Collectives with arrays, by the routine's name and what comes after the arrays: those of
/// [`collective`](super::collective), which it begins.
macro_rules! beginnings {
    ($($(#[$doc:meta])* $name:ident($routine:ident, $($argument:ident: $type:ty),*) = $collective:expr;)*) => {$(
        #[doc = concat!("Begins [`", stringify!($name), "`](fn@super::collective::", stringify!($name), ").")]
        ///
        $(#[$doc])*
        ///
        /// # Safety
        /// As [`sync`]; arrays of displacements and counts are as it needs them until then, too.
        #[allow(clippy::too_many_arguments, reason = "C's signature")]
        pub unsafe fn $name<const PERSISTENT: bool>(
            $routine: &'static str,
            team: usize,
            dest: *mut c_void,
            source: *const c_void,
            $($argument: $type,)*
            request: *mut usize,
        ) -> c_int {
            // SAFETY: the caller's promises.
            unsafe { begin::<PERSISTENT>($routine, team, (dest, source), request, $collective) }
        }
    )*};
}

beginnings! {
    broadcast(name, bytes: usize, root: c_int) = Collective::Broadcast { bytes, root, to_root: true };
    collect(name, bytes: usize) = Collective::Collect { bytes };
    fcollect(name, bytes: usize) = Collective::Fcollect { bytes };
    alltoall(name, bytes: usize) = Collective::Alltoall { bytes };
    alltoalls(name, dst: isize, sst: isize, n: usize, elem: usize) = Collective::Alltoalls { dst, sst, n, elem };
    reduce_op(name, n: usize, op: Option<&'static Operator>) = Collective::Reduce { n, op: known(name, op) };
}
of_one_body!(beginnings);

/// The operator of a call.
pub(super) fn known(name: &str, op: Option<&'static Operator>) -> &'static Operator {
    op.unwrap_or_else(|| fatal(name, "the type does not have the operator: see the table of shmemx_reduce"))
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
    rt.collectives.test(name, &rt.node, request as u64)
}

/// -1 for a request of a team of which a PE has failed, else 0.
#[inline]
fn error_of(name: &'static str, request: usize) -> c_int {
    if health::is_on() && runtime::get(name).collectives.has_failed(name, request as u64) { -1 } else { 0 }
}

/// Ends a request that is complete: its index.
fn end_any(name: &'static str, requests: &mut [usize]) -> Option<usize> {
    let collectives = &runtime::get(name).collectives;
    let is_found = |request: &usize| collectives.is_active(name, *request as u64) && is_complete(name, *request);
    let found = requests.iter().position(is_found);
    match found {
        Some(i) => collectives.end(name, &mut requests[i]),
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

/// Waits until a request is complete, and ends it: 0, or -1 if a PE of its team has failed.
///
/// # Safety
/// As [`test()`].
pub unsafe fn wait(name: &'static str, request: *mut usize) -> c_int {
    // SAFETY: as above.
    unsafe { waitall(name, 1, request) }
}

/// Ends a request whose collective goes on, or a persistent one that has not started.
///
/// # Safety
/// As [`test()`].
pub unsafe fn free(name: &'static str, request: *mut usize) {
    // SAFETY: as above.
    let request = unsafe { &mut *request };
    runtime::get(name).collectives.free(name, *request as u64);
    *request = 0;
}

/// Starts the collective of a persistent request.
///
/// # Safety
/// As [`test()`], and its arrays are as the collective needs them.
pub unsafe fn start(name: &'static str, request: *mut usize) {
    // SAFETY: as above.
    unsafe { startall(name, 1, request) };
}

/// Starts the collectives of several persistent requests, in their order.
///
/// # Safety
/// As [`testall`], and their arrays are as the collectives need them.
pub unsafe fn startall(name: &'static str, count: usize, requests: *mut usize) {
    let rt = runtime::get(name);
    // SAFETY: as above.
    for request in unsafe { slice(requests, count) } {
        rt.collectives.start(name, &rt.node, *request as u64);
    }
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
    let mut result = 0;
    for request in requests {
        result |= error_of(name, *request);
        runtime::get(name).collectives.end(name, request);
    }
    result
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
    let mut result = 0;
    // SAFETY: as above.
    for request in unsafe { slice(requests, count) } {
        let waited = *request;
        if waited == COMPLETE {
            *request = 0;
            continue;
        }
        rt.collectives.wait(name, &rt.node, request);
        result |= error_of(name, waited);
    }
    result
}

/// Waits until one of several requests is complete, and ends it: its index, or `usize::MAX` if there are none.
///
/// # Safety
/// As [`testall`].
pub unsafe fn waitany(name: &'static str, count: usize, requests: *mut usize) -> usize {
    let rt = runtime::get(name);
    // SAFETY: as above.
    let requests = unsafe { slice(requests, count) };
    let _shown = requests.iter().any(|request| is_one_sided(*request)).then(|| Transport::show_wait(name));
    while requests.iter().any(|request| rt.collectives.is_active(name, *request as u64)) {
        if let Some(found) = end_any(name, requests) {
            return found;
        }
        if let Some(first) = rt.collectives.first_of_one_team(name, requests) {
            rt.collectives.wait(name, &rt.node, &mut requests[first]);
            return first;
        }
        thread::yield_now();
    }
    usize::MAX
}
