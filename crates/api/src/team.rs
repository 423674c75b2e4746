//! Team routines (standard, "Team Management Routines").

use std::ffi::{c_int, c_long, c_void};

use ferroshmem_collective::split;
use ferroshmem_core::constants::{
    CTX_INVALID, PREDEFINED_TEAMS, TEAM_CACHE, TEAM_INVALID, TEAM_NODE, TEAM_NUM_CONTEXTS, TEAM_NUMA, TEAM_SOCKET,
};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_platform::socket::last_level_cache;
use ferroshmem_runtime as runtime;

use super::handles::{give, refuse_team_of_connection};

/// `shmem_team_config_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TeamConfig {
    /// Contexts that the program means to create from the team.
    pub num_contexts: c_int,
}

/// This PE's number in a team, -1 for an invalid team.
pub fn my_pe(name: &'static str, team: usize) -> c_int {
    runtime::get(name).teams.find(name, team).map_or(-1, |t| t.index as c_int)
}

/// A team's number of PEs, -1 for an invalid team.
pub fn n_pes(name: &'static str, team: usize) -> c_int {
    runtime::get(name).teams.find(name, team).map_or(-1, |t| t.members.size as c_int)
}

/// The parameters that a team was made with.
///
/// # Safety
/// `config` is valid unless `mask` is 0.
pub unsafe fn get_config(name: &'static str, team: usize, mask: c_long, config: *mut TeamConfig) -> c_int {
    let Some(team) = runtime::get(name).teams.find(name, team) else {
        return -1;
    };
    if mask & TEAM_NUM_CONTEXTS != 0 {
        if config.is_null() {
            fatal(name, "config is a null pointer, but config_mask is not 0: give a configuration, or the mask 0");
        }
        // SAFETY: the caller promises that `config` is valid if the mask is not 0.
        unsafe { (*config).num_contexts = team.num_contexts };
    }
    0
}

/// The number in `dest_team` of PE `src_pe` of `src_team`, -1 if it is in neither.
pub fn translate_pe(name: &'static str, src_team: usize, src_pe: c_int, dest_team: usize) -> c_int {
    let rt = runtime::get(name);
    let (Some(from), Some(to)) = (rt.teams.find(name, src_team), rt.teams.find(name, dest_team)) else {
        return -1;
    };
    usize::try_from(src_pe)
        .ok()
        .filter(|pe| *pe < from.members.size)
        .and_then(|pe| to.index_of(from.number_of(pe)))
        .map_or(-1, |index| index as c_int)
}

/// The contexts asked for in a configuration.
///
/// # Safety
/// `config` is valid or null.
unsafe fn contexts_in(name: &str, config: *const TeamConfig, mask: c_long) -> c_int {
    if mask & TEAM_NUM_CONTEXTS == 0 {
        return 0;
    }
    // SAFETY: the caller promises that `config` is valid or null.
    match unsafe { config.as_ref() } {
        Some(config) if config.num_contexts >= 0 => config.num_contexts,
        Some(config) => fatal(name, format_args!("num_contexts = {} is negative", config.num_contexts)),
        None => fatal(name, "config is a null pointer, but config_mask is not 0: give a configuration, or the mask 0"),
    }
}

/// Makes a team of every `stride`-th PE of `parent` from `start` on.
///
/// # Safety
/// `config` is valid unless `mask` is 0; `new_team` is valid.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn split_strided(
    name: &'static str,
    parent: usize,
    start: c_int,
    stride: c_int,
    size: c_int,
    config: *const TeamConfig,
    mask: c_long,
    new_team: *mut usize,
) -> c_int {
    let rt = runtime::get(name);
    let made = rt.teams.find(name, parent).and_then(|parent| {
        refuse_team_of_connection(name, parent);
        let group = Group::of_team(&rt.node, name, parent);
        let same = [("start", start as u64), ("stride", stride as u64), ("size", size as u64)];
        group.check_matching(&rt.node, &same);
        // SAFETY: the caller promises that `config` is valid if the mask is not 0.
        let contexts = unsafe { contexts_in(name, config, mask) };
        split::split_strided(&rt.node, &rt.teams, name, parent, (start, stride, size), contexts)
    });
    // SAFETY: the caller promises that `new_team` can be written.
    unsafe { give(new_team, made, TEAM_INVALID) }
}

/// Makes row and column teams of `parent`, seen as rows of `xrange` PEs.
///
/// # Safety
/// The configurations are valid unless their mask is 0; the results are valid.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn split_2d(
    name: &'static str,
    parent: usize,
    xrange: c_int,
    xaxis_config: *const TeamConfig,
    xaxis_mask: c_long,
    xaxis_team: *mut usize,
    yaxis_config: *const TeamConfig,
    yaxis_mask: c_long,
    yaxis_team: *mut usize,
) -> c_int {
    let rt = runtime::get(name);
    let made = rt.teams.find(name, parent).and_then(|parent| {
        refuse_team_of_connection(name, parent);
        let group = Group::of_team(&rt.node, name, parent);
        group.check_matching(&rt.node, &[("xrange", xrange as u64)]);
        let width = usize::try_from(xrange).ok().filter(|x| *x > 0);
        let Some(width) = width else {
            fatal(name, format_args!("xrange = {xrange} must be 1 or more"));
        };
        // SAFETY: the caller promises that each configuration is valid if its mask is not 0.
        let contexts =
            unsafe { [contexts_in(name, xaxis_config, xaxis_mask), contexts_in(name, yaxis_config, yaxis_mask)] };
        split::split_2d(&rt.node, &rt.teams, name, parent, width, contexts)
    });
    let [x, y] = made.unwrap_or([TEAM_INVALID; 2]);
    // SAFETY: the caller promises that both results can be written.
    unsafe {
        xaxis_team.write(x);
        yaxis_team.write(y);
    }
    if made.is_some() { 0 } else { -1 }
}

/// Makes a team of some PEs of `parent`, in the order of the list.
///
/// # Safety
/// `pes` has `npes` elements; `config` is valid unless `mask` is 0; `new_team` is valid.
pub unsafe fn split_list(
    name: &'static str,
    parent: usize,
    pes: *const c_int,
    npes: c_int,
    config: *const TeamConfig,
    mask: c_long,
    new_team: *mut usize,
) -> c_int {
    let rt = runtime::get(name);
    let made = rt.teams.find(name, parent).and_then(|parent| {
        refuse_team_of_connection(name, parent);
        let Ok(len) = usize::try_from(npes) else {
            fatal(name, format_args!("npes = {npes} is negative: give the number of PEs in the list"));
        };
        let pes = match len {
            0 => &[],
            _ if pes.is_null() => fatal(name, "pes is a null pointer, but npes is not 0: give a list of PEs"),
            // SAFETY: the caller promises so many elements.
            _ => unsafe { std::slice::from_raw_parts(pes, len) },
        };
        check_list(name, pes, parent.members.size);
        let group = Group::of_team(&rt.node, name, parent);
        group.check_matching(&rt.node, &[("npes", npes as u64)]);
        if rt.node.settings.check {
            let shown: Vec<_> = (0..len).map(|i| format!("pes[{i}]")).collect();
            let words: Vec<_> = shown.iter().zip(pes).map(|(name, pe)| (&**name, *pe as u64)).collect();
            words.chunks(6).for_each(|some| group.check_matching(&rt.node, some));
        }
        // SAFETY: the caller promises that `config` is valid if the mask is not 0.
        let contexts = unsafe { contexts_in(name, config, mask) };
        let indices = pes.iter().map(|pe| *pe as usize);
        split::split_list(&rt.node, &rt.teams, name, parent, indices, contexts)
    });
    // SAFETY: the caller promises that `new_team` can be written.
    unsafe { give(new_team, made, TEAM_INVALID) }
}

/// Ends the job unless a list names PEs of a team of `size` PEs, and each of them once.
fn check_list(name: &str, pes: &[c_int], size: usize) {
    let mut named_by = vec![None; size];
    for (i, pe) in pes.iter().enumerate() {
        let Some(first) = usize::try_from(*pe).ok().and_then(|pe| named_by.get_mut(pe)) else {
            fatal(name, format_args!("pes[{i}] = {pe} is out of range: the parent team has PEs 0 to {}", size - 1));
        };
        if let Some(first) = first.replace(i) {
            fatal(name, format_args!("pes[{i}] = {pe} is also pes[{first}]: name each PE once"));
        }
    }
}

/// Makes a team of the PEs of `parent` that give the same color; no team if it is negative.
///
/// # Safety
/// `config` is valid unless `mask` is 0; `new_team` is valid.
pub unsafe fn split_color(
    name: &'static str,
    parent: usize,
    color: c_int,
    key: c_int,
    config: *const TeamConfig,
    mask: c_long,
    new_team: *mut usize,
) -> c_int {
    // SAFETY: the caller promises that `config` is valid if the mask is not 0.
    let contexts = unsafe { contexts_in(name, config, mask) };
    let made = split_by(name, parent, (u64::try_from(color).ok(), key.into()), &[], contexts);
    // SAFETY: the caller promises that `new_team` can be written.
    unsafe { give(new_team, made, TEAM_INVALID) }
}

/// Makes a team of the PEs of `parent` that share with this one what `kind` says.
///
/// # Safety
/// `config` is valid unless `mask` is 0; `new_team` is valid.
pub unsafe fn split_kind(
    name: &'static str,
    parent: usize,
    kind: c_int,
    config: *const TeamConfig,
    mask: c_long,
    new_team: *mut usize,
) -> c_int {
    // SAFETY: the caller promises that `config` is valid if the mask is not 0.
    let contexts = unsafe { contexts_in(name, config, mask) };
    let color = place(name, kind);
    let made = split_by(name, parent, (Some(color), 0), &[("kind", kind as u64)], contexts);
    // SAFETY: the caller promises that `new_team` can be written.
    unsafe { give(new_team, made, TEAM_INVALID) }
}

/// The part of the machines that this PE runs on, as a color: 0 on its node if the part of this kind is not known.
pub fn place(name: &str, kind: c_int) -> u64 {
    let node = &runtime::get(name).node;
    let locality = node.localities.of(node.job.index).unwrap_or_default();
    let part = match kind {
        TEAM_NODE => None,
        TEAM_SOCKET => locality.socket(),
        TEAM_NUMA => locality.numa(),
        TEAM_CACHE => last_level_cache(),
        _ => fatal(
            name,
            format_args!(
                "kind = {kind} is none: give SHMEMX_TEAM_NODE, SHMEMX_TEAM_SOCKET, SHMEMX_TEAM_NUMA or \
                    SHMEMX_TEAM_CACHE"
            ),
        ),
    };
    u64::from(node.job.placement.of(node.me).node) << 32 | part.map_or(0, |part| u64::from(part) + 1)
}

/// Makes a team of the PEs of `parent` that give the same color, numbered by their keys; all give the arguments `same`.
/// Returns its handle, 0 on a PE that gives no color, or None if no team is left.
pub fn split_by(
    name: &'static str,
    parent: usize,
    color_and_key: (Option<u64>, i64),
    same: &[(&str, u64)],
    contexts: c_int,
) -> Option<usize> {
    let rt = runtime::get(name);
    let parent = rt.teams.find(name, parent)?;
    refuse_team_of_connection(name, parent);
    Group::of_team(&rt.node, name, parent).check_matching(&rt.node, same);
    split::split_color(&rt.node, &rt.teams, name, parent, color_and_key, contexts)
}

/// Destroys a team.
pub fn destroy(name: &'static str, team: usize) {
    let rt = runtime::get(name);
    let Some(found) = rt.teams.find(name, team) else {
        return;
    };
    if found.id < PREDEFINED_TEAMS {
        fatal(name, "the predefined teams cannot be destroyed: remove this call");
    }
    if found.connection().is_some() {
        fatal(name, "the team is that of a group: disconnect the group instead");
    }
    for context in rt.contexts.of_team(team) {
        rt.destroy_context(name, context);
    }
    let id = found.id;
    // So that all messages of the team have come when its members have synchronised.
    rt.messages.drain(&rt.node, name);
    rt.collectives.drain(&rt.node, id);
    split::destroy(&rt.node, &rt.teams, name, found, || {
        rt.collectives.leave(&rt.node, id);
        if !rt.messages.leave_team(&rt.node, id) {
            fatal(name, "sends or receives of messages are under way on the team: wait for them before");
        }
    });
    rt.node.end_spaces(Some(team));
}

/// Where the copy of `dest` on PE `pe` of the team can be loaded and stored; null if `dest`
/// is not symmetric, the team invalid, or the PE on another node.
pub fn ptr(name: &'static str, team: usize, dest: *const c_void, pe: c_int) -> *mut c_void {
    let rt = runtime::get(name);
    let Some(team) = rt.teams.find(name, team) else {
        return std::ptr::null_mut();
    };
    rt.node.transport.pointer(dest, team.world_pe(name, pe))
}

/// Makes a context that numbers PEs as the team does.
///
/// # Safety
/// `ctx` is valid.
pub unsafe fn create_ctx(name: &'static str, team: usize, options: c_long, ctx: *mut usize) -> c_int {
    let rt = runtime::get(name);
    let made = rt.teams.find(name, team).and_then(|team| super::context::make(rt, team, options, false));
    // SAFETY: the caller promises that `ctx` can be written.
    unsafe { give(ctx, made, CTX_INVALID) }
}
