//! Handles of groups (extension): who the PEs of the other group are, and the end of a group.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use ferroshmem_core::connection::Connection;
use ferroshmem_core::constants::{GROUP_CONNECTED, GROUP_DISCONNECTED, GROUP_FAILED, GROUP_INVALID, TEAM_INVALID};
use ferroshmem_core::failure::fatal::{fatal, warn};
use ferroshmem_core::team::Team;
use ferroshmem_runtime::lifecycle::connections;
use ferroshmem_runtime::{self as runtime, Runtime};

/// Gives the caller the handle of what was made, or else `invalid`: 0, or -1.
///
/// # Safety
/// `to` can be written.
pub(crate) unsafe fn give(to: *mut usize, made: Option<usize>, invalid: usize) -> c_int {
    // SAFETY: the caller promises that `to` can be written.
    unsafe { to.write(made.unwrap_or(invalid)) };
    if made.is_some() { 0 } else { -1 }
}

/// The group of the PEs that have started this job; `SHMEMX_GROUP_INVALID` if there are none, or they are
/// disconnected.
pub fn parents(name: &'static str) -> usize {
    runtime::get(name).parents.load(Ordering::Relaxed)
}

/// Whether this PE is in a group that is not disconnected.
pub fn has_groups(name: &'static str) -> bool {
    let connections = &runtime::get(name).node.transport.connections;
    connections.iter().next().is_some()
}

/// The connection that a handle names; None for `SHMEMX_GROUP_INVALID`. Another handle that names none ends
/// the job.
pub(crate) fn find(name: &str, rt: &'static Runtime, group: usize) -> Option<(&'static Team, &'static Connection)> {
    if group == GROUP_INVALID {
        return None;
    }
    let team = rt.teams.get(group);
    let found = team.and_then(|team| Some((team, team.connection()?)));
    if found.is_none() {
        fatal(name, format_args!("{group:#x} is not a live group: was it disconnected?"));
    }
    found
}

/// Number of PEs of a group; -1 for `SHMEMX_GROUP_INVALID`.
pub fn n_pes(name: &'static str, group: usize) -> c_int {
    let found = find(name, runtime::get(name), group);
    found.map_or(-1, |(_, connection)| connection.others().len() as c_int)
}

/// The number by which this PE's job reaches PE `pe` of a group; -1 for `SHMEMX_GROUP_INVALID`, or if the group
/// has no such PE.
pub fn pe(name: &'static str, group: usize, pe: c_int) -> c_int {
    let Some((_, connection)) = find(name, runtime::get(name), group) else {
        return -1;
    };
    let others = connection.others();
    match usize::try_from(pe) {
        Ok(pe) if pe < others.len() => (connection.first + others.start + pe) as c_int,
        _ => -1,
    }
}

/// Whether members of a group may be on several nodes: there is no team of both groups.
pub fn is_remote(name: &'static str, group: usize) -> bool {
    let found = find(name, runtime::get(name), group);
    found.is_some_and(|(_, connection)| connection.remote().is_some())
}

/// Whether this PE is of the group that has started the other, or has accepted it.
pub fn is_first_group(name: &'static str, group: usize) -> bool {
    let found = find(name, runtime::get(name), group);
    found.is_some_and(|(_, connection)| connection.groups.own == 0)
}

/// The team of the members of both groups; `SHMEM_TEAM_INVALID` for `SHMEMX_GROUP_INVALID`.
pub fn team(name: &'static str, group: usize) -> usize {
    match find(name, runtime::get(name), group) {
        None => TEAM_INVALID,
        Some((_, connection)) if connection.remote().is_some() => {
            warn(
                name,
                "the group's PEs are on several nodes, or started by another launcher than oshrun: there is no team of \
                    both groups; use the routines for groups",
            );
            TEAM_INVALID
        }
        Some((team, _)) => team.handle(),
    }
}

/// Ends a group, collectively over both groups: 0, or -1 if the other group has failed before, or for
/// `SHMEMX_GROUP_INVALID`.
pub fn disconnect(name: &'static str, group: usize) -> c_int {
    let rt = runtime::get(name);
    match find(name, rt, group) {
        Some((_, connection)) if connections::disconnect(name, rt, group, connection) => 0,
        _ => -1,
    }
}

/// Whether a group is connected, has failed, or is disconnected, as handles are that never named a group.
pub fn state(name: &'static str, group: usize) -> c_int {
    let team = runtime::get(name).teams.get(group);
    match team.and_then(|team| team.connection()) {
        None => GROUP_DISCONNECTED,
        Some(connection) if connection.has_failed() => GROUP_FAILED,
        Some(_) => GROUP_CONNECTED,
    }
}

/// Ends the job over a routine that a team of two jobs cannot be given.
pub(crate) fn refuse_team_of_connection(name: &str, team: &Team) {
    if team.connection().is_some() {
        fatal(name, "the team is that of a group, with PEs of two jobs: give a team of this job");
    }
}
