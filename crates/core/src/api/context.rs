//! Context, ordering and session routines (standard, "Communication Management" and
//! "Memory Ordering Routines").

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{Ordering, fence as order};

use super::constants::CTX_OPTIONS;
use crate::context::{self, INVALID_HANDLE, stream, team_of, world_pe};
use crate::runtime::{self, Runtime};
use crate::team::Team;

/// A new context of `team`; None if the options are not the standard's.
pub(super) fn make(rt: &Runtime, team: &Team, options: c_long) -> Option<usize> {
    if options & !CTX_OPTIONS != 0 {
        return None;
    }
    rt.contexts.create(team, options)
}

/// Makes a context that numbers PEs as the world does.
///
/// # Safety
/// `ctx` is valid.
pub unsafe fn create(name: &'static str, options: c_long, ctx: *mut usize) -> c_int {
    let rt = runtime::get(name);
    let made = make(rt, rt.teams.world(), options);
    // SAFETY: the caller's promise.
    unsafe { ctx.write(made.unwrap_or(INVALID_HANDLE)) };
    if made.is_some() { 0 } else { -1 }
}

/// Destroys a context.
pub fn destroy(name: &'static str, ctx: usize) {
    context::destroy(runtime::get(name), name, ctx);
}

/// The team of a context: 0, or -1 for `SHMEM_CTX_INVALID`.
///
/// # Safety
/// `team` is valid.
pub unsafe fn get_team(name: &'static str, ctx: usize, team: *mut usize) -> c_int {
    let rt = runtime::get(name);
    if ctx == INVALID_HANDLE {
        // SAFETY: the caller's promise.
        unsafe { team.write(crate::team::INVALID_HANDLE) };
        return -1;
    }
    let handle = team_of(rt, name, ctx).handle();
    // SAFETY: the caller's promise.
    unsafe { team.write(handle) };
    0
}

/// Begins a session: a hint that many operations follow. On a node nothing is gained by
/// batching stores, so the context's validity is all that is looked at.
pub fn session_start(
    name: &'static str,
    ctx: usize,
    _options: c_long,
    _config: *const c_void,
    _mask: c_long,
) {
    valid(name, ctx);
}

/// Ends a session.
pub fn session_stop(name: &'static str, ctx: usize) {
    valid(name, ctx);
}

/// Nothing is done on `SHMEM_CTX_INVALID` (standard: fence, quiet and sessions on it are
/// no operations); another handle that names no context ends the job.
fn valid(name: &'static str, ctx: usize) -> bool {
    let rt = runtime::get(name);
    if ctx != INVALID_HANDLE {
        team_of(rt, name, ctx);
    }
    ctx != INVALID_HANDLE
}

/// Orders puts and atomics to each PE before later ones.
#[inline]
pub fn fence(name: &'static str, ctx: usize) {
    if valid(name, ctx)
        && let rt = runtime::get(name)
        && let Some(link) = rt.link
    {
        link.fabric().fence(stream(rt, name, ctx));
    }
    order(Ordering::Release);
}

/// Completes all operations of the context. One without completion of its stores
/// (`SHMEM_CTX_NOSTORE`) needs no fence of the CPU.
#[inline]
pub fn quiet(name: &'static str, ctx: usize) {
    if !valid(name, ctx) {
        return;
    }
    let rt = runtime::get(name);
    if let Some(link) = rt.link {
        let _shown = rt.show_wait(name);
        link.fabric().quiet(stream(rt, name, ctx));
    }
    if !context::is_nostore(rt, ctx) {
        order(Ordering::SeqCst);
    }
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
            // SAFETY: the caller's promise.
            let pe = world_pe(rt, name, ctx, unsafe { *pes.add(i) });
            if let Some(link) = rt.link {
                let _shown = rt.show_wait(name);
                link.fabric().quiet_pe(stream(rt, name, ctx), pe);
            }
        }
    }
    order(Ordering::SeqCst);
}
