//! Messages (extension).

use std::ffi::{c_int, c_void};

use ferroshmem_core::constants::{TEAM_INVALID, TEAM_WORLD};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::team::Team;
use ferroshmem_core::wait::progress::after_idle_test;
use ferroshmem_layout::WaitKind;
use ferroshmem_message::request::{Pattern, Requests};
use ferroshmem_message::{Dead, SENT, TeamPeer, reason, take};
use ferroshmem_runtime::{self as runtime, Runtime};

pub use ferroshmem_message::request::Status;

/// `SHMEMX_ANY_SOURCE` and `SHMEMX_ANY_TAG`.
const ANY: c_int = -1;

/// The team of a call; None if it is invalid.
#[inline(always)]
fn find<'a>(name: &'static str, rt: &'a Runtime, team: usize) -> Option<&'a Team> {
    if team == TEAM_WORLD {
        return Some(rt.teams.world());
    }
    find_other(name, rt, team)
}

/// Looks a team up that is not the world.
#[inline(never)]
fn find_other<'a>(name: &'static str, rt: &'a Runtime, team: usize) -> Option<&'a Team> {
    let found = rt.teams.find(name, team)?;
    if found.connection().is_some() {
        elsewhere(name);
    }
    Some(found)
}

#[cold]
fn elsewhere(name: &str) -> ! {
    fatal(name, "messages are for the PEs of one job alone: use put with signal between jobs");
}

#[inline(always)]
fn peer_of(name: &'static str, team: &Team, pe: c_int) -> TeamPeer {
    let peer = if pe == ANY { ANY } else { team.world_pe(name, pe) as i32 };
    TeamPeer { team: team.id as u16, me: team.index, peer }
}

/// The messages that a call takes, and whose they are.
#[inline(always)]
fn pattern(name: &'static str, team: &Team, pe: c_int, tag: c_int) -> (Pattern, c_int) {
    check_tag(name, tag, ANY);
    let TeamPeer { team, peer, .. } = peer_of(name, team, pe);
    let pattern = Pattern { team, source: pe, tag };
    (pattern, peer)
}

#[inline(always)]
fn check_tag(name: &str, tag: c_int, least: c_int) {
    if tag < least {
        no_tag(name, tag);
    }
}

#[cold]
fn no_tag(name: &str, tag: c_int) -> ! {
    fatal(name, format_args!("tag = {tag} is out of range: give 0 to 2147483647"))
}

/// # Safety
/// `status` is null or can be written.
unsafe fn write(status: *mut Status, value: Status) {
    if !status.is_null() {
        // SAFETY: the caller promises that `status` is null or writable; it is not null here.
        unsafe { status.write(value) };
    }
}

/// Begins a send; its handle, or None if the team is invalid.
///
/// # Safety
/// `buf` is readable for `nbytes` bytes until the send is complete.
#[inline(always)]
unsafe fn begin(
    name: &'static str,
    team: usize,
    buf: *const c_void,
    nbytes: usize,
    pe: c_int,
    tag: c_int,
) -> Option<u64> {
    let rt = runtime::get(name);
    let team = find(name, rt, team)?;
    check_tag(name, tag, 0);
    if pe == ANY {
        // A receive may be of any PE, a send goes to one.
        team.world_pe(name, pe);
    }
    // SAFETY: the caller promises that the buffer is valid for `nbytes` bytes until the request is
    // complete.
    Some(unsafe { rt.messages.send(&rt.node, peer_of(name, team, pe), tag, buf.cast(), nbytes as u64) })
}

/// Sends a message, and waits until its buffer may be changed: 0, or -1 for an invalid team.
///
/// # Safety
/// `buf` is readable for `nbytes` bytes.
#[inline]
pub unsafe fn send(name: &'static str, team: usize, buf: *const c_void, nbytes: usize, pe: c_int, tag: c_int) -> c_int {
    if team == TEAM_WORLD
        && let Some(rt) = runtime::current()
        // SAFETY: the caller promises that the buffer is readable.
        && unsafe {
            rt.messages
                .send_short(&rt.node, pe, tag, buf.cast(), nbytes)
        }
    {
        return 0;
    }
    // SAFETY: as above.
    unsafe { send_and_wait(name, team, buf, nbytes, pe, tag) }
}

/// As [`send`], whatever the message.
#[inline(never)]
unsafe fn send_and_wait(
    name: &'static str,
    team: usize,
    buf: *const c_void,
    nbytes: usize,
    pe: c_int,
    tag: c_int,
) -> c_int {
    // SAFETY: the caller's promise; this call waits.
    match unsafe { begin(name, team, buf, nbytes, pe, tag) } {
        None => -1,
        Some(SENT) => 0,
        Some(handle) => await_one(name, handle),
    }
}

/// Waits for a live request: 0 or its error.
#[cold]
#[inline(never)]
fn await_one(name: &'static str, handle: u64) -> c_int {
    let rt = runtime::get(name);
    let Some(reason) = rt.messages.reason(name, handle) else {
        dead(name);
    };
    let mut error = 0;
    rt.messages.wait(&rt.node, &reason, &mut |requests| match take(requests, handle) {
        Ok(done) => done.inspect(|status| error = status.error).is_some(),
        Err(Dead) => dead(name),
    });
    error
}

#[cold]
fn dead(name: &str) -> ! {
    fatal(name, "the request is not live: it was waited for, tested or cancelled before")
}

/// Receives a message: 0, `SHMEMX_MSG_TRUNCATED`, or -1 for an invalid team.
///
/// # Safety
/// `buf` is writable for `nbytes` bytes; `status` is null or can be written.
#[inline]
pub unsafe fn recv(
    name: &'static str,
    team: usize,
    buf: *mut c_void,
    nbytes: usize,
    pe: c_int,
    tag: c_int,
    status: *mut Status,
) -> c_int {
    if team == TEAM_WORLD
        && let Some(rt) = runtime::current()
        // SAFETY: the caller promises that the buffer is writable, and `status` null or writable.
        && let Some(error) = unsafe {
            rt.messages
                .receive_short(&rt.node, (pe, tag), buf.cast(), nbytes, status)
        }
    {
        return error;
    }
    // SAFETY: as above.
    unsafe { recv_any(name, team, buf, nbytes, pe, tag, status) }
}

/// As [`recv`], whatever the message.
#[inline(never)]
unsafe fn recv_any(
    name: &'static str,
    team: usize,
    buf: *mut c_void,
    nbytes: usize,
    pe: c_int,
    tag: c_int,
    status: *mut Status,
) -> c_int {
    let rt = runtime::get(name);
    let Some(team) = find(name, rt, team) else {
        return -1;
    };
    let (pattern, peer) = pattern(name, team, pe, tag);
    // SAFETY: the caller's promise; this call waits.
    let received = unsafe {
        let (buf, bytes) = (buf.cast(), nbytes as u64);
        rt.messages.receive_now(&rt.node, name, pattern, peer, buf, bytes)
    };
    // SAFETY: the caller promises that `status` is null or writable.
    unsafe { write(status, received) };
    received.error
}

/// Begins a send: 0, or -1 for an invalid team.
///
/// # Safety
/// `buf` is readable for `nbytes` bytes until the request is complete; `request` can be written.
pub unsafe fn isend(
    name: &'static str,
    team: usize,
    buf: *const c_void,
    nbytes: usize,
    pe: c_int,
    tag: c_int,
    request: *mut usize,
) -> c_int {
    // SAFETY: the caller promises that the buffer stays readable and unchanged until the request is
    // complete.
    let begun = unsafe { begin(name, team, buf, nbytes, pe, tag) };
    // SAFETY: the caller promises that `request` is writable.
    unsafe { request.write(begun.unwrap_or(0) as usize) };
    if begun.is_some() { 0 } else { -1 }
}

/// Begins a receive: 0, or -1 for an invalid team.
///
/// # Safety
/// `buf` is writable for `nbytes` bytes until the request is complete; `request` can be written.
pub unsafe fn irecv(
    name: &'static str,
    team: usize,
    buf: *mut c_void,
    nbytes: usize,
    pe: c_int,
    tag: c_int,
    request: *mut usize,
) -> c_int {
    let rt = runtime::get(name);
    let begun = find(name, rt, team).map(|team| {
        let (pattern, peer) = pattern(name, team, pe, tag);
        // SAFETY: the caller promises that the buffer is valid for `nbytes` bytes until the request
        // is complete.
        unsafe { rt.messages.receive(&rt.node, pattern, peer, buf.cast(), nbytes as u64) }
    });
    // SAFETY: the caller promises that `request` is writable.
    unsafe { request.write(begun.unwrap_or(0) as usize) };
    if begun.is_some() { 0 } else { -1 }
}

/// Waits for a message, and leaves it: 0, or -1 for an invalid team.
///
/// # Safety
/// `status` is null or can be written.
pub unsafe fn probe(name: &'static str, team: usize, pe: c_int, tag: c_int, status: *mut Status) -> c_int {
    let rt = runtime::get(name);
    let Some(team) = find(name, rt, team) else {
        return -1;
    };
    let (pattern, peer) = pattern(name, team, pe, tag);
    let reason = reason(name, pattern.team, peer, false, tag);
    let found = rt.messages.await_message(&rt.node, &reason, &pattern);
    // SAFETY: the caller promises that `status` is null or writable.
    unsafe { write(status, found) };
    found.error
}

/// Whether a message is there: 1 or 0.
///
/// # Safety
/// As [`probe`].
pub unsafe fn iprobe(name: &'static str, team: usize, pe: c_int, tag: c_int, status: *mut Status) -> c_int {
    let rt = runtime::get(name);
    let found = find(name, rt, team).and_then(|team| {
        let (pattern, _) = pattern(name, team, pe, tag);
        rt.messages.probe(&rt.node, &pattern)
    });
    if let Some(found) = found {
        // SAFETY: the caller promises that `status` is null or writable.
        unsafe { write(status, found) };
    }
    yield_core(found.is_some())
}

/// The result of a look: one that finds nothing makes progress with streams, and gives up the core where PEs outnumber
/// cores.
fn yield_core(is_found: bool) -> c_int {
    if !is_found {
        after_idle_test(WaitKind::Message);
    }
    is_found.into()
}

/// Takes a receive back: 1, or 0 if a message has matched it.
///
/// # Safety
/// `request` is a request's variable.
pub unsafe fn cancel(name: &'static str, request: *mut usize) -> c_int {
    let rt = runtime::get(name);
    // SAFETY: the caller's promise, here and below.
    let handle = unsafe { request.read() } as u64;
    if handle == 0 {
        return 0;
    }
    let Some(is_cancelled) = rt.messages.cancel(&rt.node, handle) else {
        dead(name);
    };
    if is_cancelled {
        // SAFETY: as above.
        unsafe { request.write(0) };
    }
    is_cancelled.into()
}

/// Which requests a wait or a test is for.
#[derive(Clone, Copy)]
struct Set {
    requests: *mut usize,
    n: usize,
}

impl Set {
    /// Ends the first request that is complete, or with `is_all` all if they are: its index, or that there are none.
    ///
    /// # Safety
    /// The requests are `n` variables, the statuses null or as many as are asked for.
    unsafe fn take(
        &self,
        name: &str,
        live: &mut Requests,
        is_all: bool,
        statuses: *mut Status,
    ) -> Option<(usize, c_int)> {
        let mut error = 0;
        let (mut first, mut has_live) = (None, false);
        for i in 0..self.n {
            // SAFETY: the caller promises that all `n` requests are readable; `i` is less than `n`.
            let handle = unsafe { self.requests.add(i).read() } as u64;
            if handle == 0 {
                continue;
            }
            has_live = true;
            if handle != SENT && live.get(handle).is_none() {
                dead(name);
            }
            let is_complete = handle == SENT
                || live.get(handle).is_some_and(|r| r.phase == ferroshmem_message::request::Phase::Complete);
            match (is_complete, is_all) {
                (false, true) => return None,
                (true, false) => {
                    first = Some(i);
                    break;
                }
                _ => {}
            }
        }
        let range = match (is_all, first) {
            (true, _) => 0..self.n,
            (false, Some(i)) => i..i + 1,
            (false, None) => return (!has_live).then_some((usize::MAX, 0)),
        };
        for i in range {
            // SAFETY: the caller promises that all `n` requests are readable; `i` is less than `n`.
            let handle = unsafe { self.requests.add(i).read() } as u64;
            let status = match handle {
                0 => Status::default(),
                _ => take(live, handle).ok().flatten().unwrap_or_default(),
            };
            error |= status.error;
            if !statuses.is_null() {
                // SAFETY: the caller promises that there is a status for each request that may be
                // reported.
                unsafe { statuses.add(if is_all { i } else { 0 }).write(status) };
            }
            // SAFETY: the caller promises that all `n` requests are writable; `i` is less than `n`.
            unsafe { self.requests.add(i).write(0) };
        }
        Some((first.unwrap_or(0), error))
    }

    /// # Safety
    /// As [`take`](Self::take).
    unsafe fn test(&self, name: &'static str, is_all: bool, statuses: *mut Status) -> Option<(usize, c_int)> {
        let rt = runtime::get(name);
        let found = rt.messages.look(&rt.node, &mut |live| {
            // SAFETY: the caller promises it of requests and statuses.
            unsafe { self.take(name, live, is_all, statuses) }
        });
        yield_core(found.is_some());
        found
    }

    /// # Safety
    /// As [`take`](Self::take).
    unsafe fn wait(&self, name: &'static str, is_all: bool, statuses: *mut Status) -> (usize, c_int) {
        let rt = runtime::get(name);
        // SAFETY: the caller's promise, here and below.
        let mut handles = (0..self.n).map(|i| unsafe { self.requests.add(i).read() } as u64);
        let reason = handles.find_map(|handle| rt.messages.reason(name, handle));
        let reason = reason.unwrap_or_else(|| reason_of_none(name));
        let mut found = None;
        rt.messages.wait(&rt.node, &reason, &mut |live| {
            // SAFETY: as above.
            found = unsafe { self.take(name, live, is_all, statuses) };
            found.is_some()
        });
        found.unwrap_or((usize::MAX, 0))
    }
}

fn reason_of_none(name: &'static str) -> ferroshmem_core::wait::WaitReason<'static> {
    reason(name, 0, ANY, false, ANY)
}

/// Whether a request is complete, which then ends: 1 or 0.
///
/// # Safety
/// For this and all functions below: the requests are variables, the statuses null or can be written.
pub unsafe fn test(name: &'static str, request: *mut usize, status: *mut Status) -> c_int {
    // SAFETY: the caller's promise, here and below.
    let found = unsafe { Set { requests: request, n: 1 }.test(name, true, status) };
    found.is_some().into()
}

/// Waits for a request, which ends: 0 or an error.
///
/// # Safety
/// As [`test()`].
pub unsafe fn wait(name: &'static str, request: *mut usize, status: *mut Status) -> c_int {
    // SAFETY: the caller promises that `requests` has `n` entries, and that there is room for the
    // statuses.
    unsafe { Set { requests: request, n: 1 }.wait(name, true, status) }.1
}

/// Ends a request that is complete: its index, or `SIZE_MAX` if none is.
///
/// # Safety
/// As [`test()`].
pub unsafe fn testany(name: &'static str, n: usize, requests: *mut usize, status: *mut Status) -> usize {
    // SAFETY: the caller promises that `requests` has `n` entries, and that there is room for the
    // statuses.
    let found = unsafe { Set { requests, n }.test(name, false, status) };
    found.map_or(usize::MAX, |(index, _)| index)
}

/// Ends all requests if they are complete: 1 or 0.
///
/// # Safety
/// As [`test()`].
pub unsafe fn testall(name: &'static str, n: usize, requests: *mut usize, statuses: *mut Status) -> c_int {
    // SAFETY: the caller promises that `requests` has `n` entries, and that there is room for the
    // statuses.
    unsafe { Set { requests, n }.test(name, true, statuses) }.is_some().into()
}

/// Waits for one of several requests, which ends: its index, or `SIZE_MAX` if none is live.
///
/// # Safety
/// As [`test()`].
pub unsafe fn waitany(name: &'static str, n: usize, requests: *mut usize, status: *mut Status) -> usize {
    // SAFETY: the caller promises that `requests` has `n` entries, and that there is room for the
    // statuses.
    unsafe { Set { requests, n }.wait(name, false, status) }.0
}

/// Waits for all requests, which end: 0, or an error if one has one.
///
/// # Safety
/// As [`test()`].
pub unsafe fn waitall(name: &'static str, n: usize, requests: *mut usize, statuses: *mut Status) -> c_int {
    // SAFETY: the caller promises that `requests` has `n` entries, and that there is room for the
    // statuses.
    unsafe { Set { requests, n }.wait(name, true, statuses) }.1
}

const _: () = assert!(TEAM_INVALID == 0);
