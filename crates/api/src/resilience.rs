//! Resilient jobs (extension): a PE fails, and the job goes on without it.

use std::ffi::c_int;
use std::slice;
use std::sync::atomic::Ordering;

use ferroshmem_collective::shrink;
use ferroshmem_core::constants::TEAM_INVALID;
use ferroshmem_core::failure::fatal::warn;
use ferroshmem_core::group::Group;
use ferroshmem_core::hooks;
use ferroshmem_core::team::{Team, health, out_of_range};
use ferroshmem_layout::{MAX_RESILIENT_NODES, MAX_RESILIENT_PES};
use ferroshmem_runtime::failure::{failed_pes, node_watch};
use ferroshmem_runtime::{self as runtime, Runtime};

use super::handles::{give, refuse_team_of_connection};
use super::team;

const ALIVE: c_int = 0;
/// `SHMEMX_PE_FAILED`.
pub const FAILED: c_int = 1;

/// From now on, the job goes on without PEs that fail. Collective over the world: 0, or -1 if this job cannot.
pub fn resilient(name: &'static str) -> c_int {
    let rt = runtime::get(name);
    let (job, world) = (rt.node.job, rt.teams.world());
    let failures = job.control.failures();
    if world.health().is_some() {
        return 0;
    }
    // Locks that are inlined whatever happens have no owner.
    let is_native = hooks::get().is_some_and(|hooks| (hooks.native_required)());
    let (pes, nodes) = (job.n_pes(), job.placement.nodes());
    let is_too_large = nodes > 1 && (pes > MAX_RESILIENT_PES || nodes > MAX_RESILIENT_NODES);
    if is_native || is_too_large || !is_watched(name, rt) {
        if rt.node.me == 0 {
            let why = match (is_native, is_too_large) {
                (true, _) => "compile the program without -DSHMEM_NATIVE_ONLY".to_owned(),
                (_, true) => format!(
                    "on several nodes, such jobs have {MAX_RESILIENT_PES} PEs and {MAX_RESILIENT_NODES} nodes at most"
                ),
                _ => "start it by oshrun, or another launcher that goes on".to_owned(),
            };
            warn(name, &format!("a PE that fails ends this job: {why}"));
        }
        return -1;
    }
    if let Some(internode) = rt.node.transport.internode() {
        failed_pes::connect_all(job, internode);
        internode.fabric().tolerate_failures();
    }
    rt.become_resilient(failures.count());
    if let Some(detector) = rt.failure_detector {
        detector.begin_lease();
    }
    // All look for failures before the first may happen that does not end the job.
    agree(name, world.handle(), &mut 1);
    failures.resilient.store(1, Ordering::Release);
    node_watch::begin(job);
    0
}

/// Whether somebody notices the end of each PE of a node: `oshrun`, else the others of the node. Collective.
fn is_watched(name: &'static str, rt: &Runtime) -> bool {
    let job = rt.node.job;
    let is_launched = job.control.header().launcher_pid != 0;
    if is_launched || job.n_pes() == 1 {
        return is_launched;
    }
    let mine = node_watch::prepare(job).cast_signed();
    let mut of_node = mine;
    let [world, shared] = [rt.teams.world(), rt.teams.shared()].map(Team::handle);
    agree(name, shared, &mut of_node);
    let mut all = c_int::from(mine != 0 && of_node == mine);
    agree(name, world, &mut all);
    all != 0
}

/// Where the PEs that have failed are counted.
pub fn failures(name: &'static str) -> *mut u64 {
    runtime::get(name).node.job.control.failures().count.as_ptr()
}

/// How many PEs have failed.
pub fn count(name: &'static str) -> u64 {
    runtime::get(name).node.job.control.failures().count() as u64
}

/// Whether the job goes on without PEs that fail.
pub fn is_on() -> bool {
    health::is_on()
}

/// Whether a PE of the job has failed.
pub fn pe_state(name: &'static str, pe: c_int) -> c_int {
    let node = &runtime::get(name).node;
    let found = usize::try_from(pe).ok().filter(|pe| *pe < node.n_pes);
    let Some(found) = found else { out_of_range(name, pe, node.n_pes, "job") };
    if failed_pes::has_failed(node.job, found) { FAILED } else { ALIVE }
}

/// The members of a team that have failed, by their numbers in it, `max` at most; how many there are, or -1.
///
/// # Safety
/// `pes` has room for `max` numbers.
pub unsafe fn team_failed(name: &'static str, team: usize, pes: *mut c_int, max: c_int) -> c_int {
    let room = usize::try_from(max).unwrap_or(0);
    // SAFETY: the caller promises that `pes` has room for `max` numbers; of none, the pointer is not looked at.
    let pes = if room == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(pes, room) } };
    let Some(found) = failed_members(name, team) else {
        return -1;
    };
    for (to, member) in pes.iter_mut().zip(&found) {
        *to = *member as c_int;
    }
    found.len() as c_int
}

/// The members of a team that have failed; None of no team.
pub fn failed_members(name: &'static str, team: usize) -> Option<Vec<usize>> {
    let team = runtime::get(name).teams.find(name, team)?;
    let health = team.health();
    let failed = health.map(|health| health.failed_members(health.count()).collect());
    Some(failed.unwrap_or_default())
}

fn survivors<'a>(name: &'static str, team: usize) -> Option<&'a Team> {
    let team = runtime::get(name).teams.find(name, team)?;
    refuse_team_of_connection(name, team);
    Some(team)
}

/// Has a team fail, also on its other members: 0, or -1 of no team, and in a job that is not resilient.
pub fn team_revoke(name: &'static str, team: usize) -> c_int {
    let rt = runtime::get(name);
    match survivors(name, team).filter(|team| team.health().is_some()) {
        None => -1,
        Some(team) => {
            team.revoke(&rt.node);
            0
        }
    }
}

/// Agrees on the bitwise and of the values of the members that are left; how many have failed, or -1.
///
/// # Safety
/// `value` can be read and written, by this thread alone.
pub unsafe fn team_agree(name: &'static str, team: usize, value: *mut c_int) -> c_int {
    // SAFETY: the caller promises that `value` can be read and written.
    let value = unsafe { &mut *value };
    let Some(failed) = agree(name, team, value) else {
        return -1;
    };
    failed as c_int
}

/// The same; None of no team.
#[inline(never)] // once for all routines
pub fn agree(name: &'static str, team: usize, value: &mut c_int) -> Option<usize> {
    let rt = runtime::get(name);
    let team = survivors(name, team)?;
    let agreed = Group::of_team(&rt.node, name, team).agree(value.cast_unsigned());
    *value = agreed.value.cast_signed();
    Some(team.health().map_or(0, |health| health.failed_members(agreed.failures).count()))
}

/// Makes a team of the members that are left.
///
/// # Safety
/// `new_team` can be written.
pub unsafe fn team_shrink(name: &'static str, team: usize, new_team: *mut usize) -> c_int {
    // SAFETY: the caller promises that `new_team` can be written.
    unsafe { give(new_team, shrink(name, team), TEAM_INVALID) }
}

/// The same: its handle, None if no team is left.
pub fn shrink(name: &'static str, team: usize) -> Option<usize> {
    let rt = runtime::get(name);
    let found = survivors(name, team)?;
    match found.health() {
        Some(health) => shrink::shrink(&rt.node, &rt.teams, name, (found, health)),
        // All are left.
        None => team::split_by(name, team, (Some(0), 0), &[], 0),
    }
}
