//! Context, ordering and session routines (standard, "Communication Management" and
//! "Memory Ordering Routines").

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{Ordering, fence as order};

use ferroshmem_core::constants::{
    CTX_INVALID, CTX_OPTIONS, CTX_PRIVATE, CTX_SERIALIZED, CTX_SESSION_BATCH, TEAM_INVALID,
};
use ferroshmem_core::offload;
use ferroshmem_core::team::Team;
use ferroshmem_core::transport::Transport;
use ferroshmem_core::transport::request::COMPLETE;
use ferroshmem_runtime::{self as runtime, Runtime};

/// A new context of `team`, or if `of_group` of the group that this is the team of; None if the options are not
/// the standard's.
pub(crate) fn make(rt: &Runtime, team: &Team, options: c_long, of_group: bool) -> Option<usize> {
    if options & !CTX_OPTIONS != 0 {
        return None;
    }
    // Below this level, threads do not contend for an endpoint.
    let has_threads = rt.node.job.block().is_threaded();
    let is_of_thread = has_threads && options & (CTX_PRIVATE | CTX_SERIALIZED) != 0;
    rt.contexts.create(team.handle(), of_group, is_of_thread)
}

/// Makes a context that numbers PEs as the world does.
///
/// # Safety
/// `ctx` is valid.
pub unsafe fn create(name: &'static str, options: c_long, ctx: *mut usize) -> c_int {
    let rt = runtime::get(name);
    let made = make(rt, rt.teams.world(), options, false);
    // SAFETY: the caller promises that the result can be written.
    unsafe { super::handles::give(ctx, made, CTX_INVALID) }
}

/// Destroys a context, whose operations are complete then.
pub fn destroy(name: &'static str, ctx: usize) {
    runtime::get(name).destroy_context(name, ctx);
    order(Ordering::SeqCst);
}

/// The team of a context: 0, or -1 for `SHMEM_CTX_INVALID`, and for a context of a group, whose PEs are no team of
/// this PE.
///
/// # Safety
/// `team` is valid.
pub unsafe fn get_team(name: &'static str, ctx: usize, team: *mut usize) -> c_int {
    let rt = runtime::get(name);
    if ctx == CTX_INVALID || rt.numbers_group(name, ctx) {
        // SAFETY: the caller promises that the result can be written.
        unsafe { team.write(TEAM_INVALID) };
        return -1;
    }
    let handle = rt.team_of_context(name, ctx).handle();
    // SAFETY: the caller promises that the result can be written.
    unsafe { team.write(handle) };
    0
}

/// Begins a session: a hint that many operations follow. With `SHMEM_CTX_SESSION_BATCH`, the context's short puts
/// to other nodes all go together. On a node nothing is gained by batching stores.
pub fn session_start(name: &'static str, ctx: usize, options: c_long, _config: *const c_void, _mask: c_long) {
    if valid(name, ctx) {
        let is_batch = options & CTX_SESSION_BATCH != 0;
        runtime::get(name).context(name, ctx).expect_batch(is_batch);
    }
}

/// Ends a session.
pub fn session_stop(name: &'static str, ctx: usize) {
    if valid(name, ctx) {
        runtime::get(name).context(name, ctx).expect_batch(false);
    }
}

/// Nothing is done on `SHMEM_CTX_INVALID` (standard: fence, quiet and sessions on it are
/// no operations); another handle that names no context ends the job.
fn valid(name: &'static str, ctx: usize) -> bool {
    let rt = runtime::get(name);
    if ctx != CTX_INVALID {
        rt.team_of_context(name, ctx);
    }
    ctx != CTX_INVALID
}

/// Orders puts and atomics to each PE before later ones.
#[inline]
pub fn fence(name: &'static str, ctx: usize) {
    if valid(name, ctx) {
        let rt = runtime::get(name);
        if offload::has_pending() {
            // As their stores are those of other threads, nothing less than their end orders them.
            Transport::complete_copies(rt.context(name, ctx));
        }
        if let Some(internode) = rt.node.transport.internode() {
            internode.fabric().fence(rt.context(name, ctx));
        }
        rt.node.transport.connections.fence();
    }
    order(Ordering::Release);
}

/// Completes all operations of the context. `SHMEM_CTX_NOSTORE` spares the program's own stores alone, and on a node
/// puts are stores.
#[inline]
pub fn quiet(name: &'static str, ctx: usize) {
    if !valid(name, ctx) {
        return;
    }
    let rt = runtime::get(name);
    if offload::has_pending() {
        Transport::complete_copies(rt.context(name, ctx));
    }
    if rt.node.transport.has_remote() {
        let _shown = Transport::show_wait(name);
        rt.node.transport.quiet(rt.context(name, ctx));
    }
    order(Ordering::SeqCst);
}

/// Completes the operations of all contexts.
pub fn quiet_all(name: &'static str) {
    runtime::get(name).quiet_all();
    order(Ordering::SeqCst);
}

/// Completes the operations to some PEs.
///
/// # Safety
/// `pes` is valid for `n` elements.
pub unsafe fn pe_quiet(name: &'static str, ctx: usize, pes: *const c_int, n: usize) {
    if valid(name, ctx) {
        let rt = runtime::get(name);
        for i in 0..n {
            // SAFETY: the caller promises that `pes` is valid for `n` elements.
            let call = rt.call(name, ctx, unsafe { *pes.add(i) });
            rt.node.transport.quiet_pe(&call);
        }
    }
    order(Ordering::SeqCst);
}

/// Begins a quiet, of [`quiet`]'s operations.
///
/// # Safety
/// `request` can be written.
pub unsafe fn quiet_nb(name: &'static str, ctx: usize, request: *mut usize) {
    let rt = runtime::get(name);
    order(Ordering::SeqCst);
    let begun = if valid(name, ctx) { rt.node.transport.quiet_nb(rt.context(name, ctx)) } else { COMPLETE };
    // SAFETY: the caller promises that the request can be written.
    unsafe { request.write(begun) };
}
