//! Connections with PEs of other jobs, from their first synchronisation to their last.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use ferroshmem_core::connection::invitation::Invitation;
use ferroshmem_core::connection::link::Watch;
use ferroshmem_core::connection::remote_job::ThisPe;
use ferroshmem_core::connection::{Connection, ConnectionError, Role};
use ferroshmem_core::constants::GROUP_INVALID;
use ferroshmem_core::failure::fatal::{self, fatal};
use ferroshmem_core::hooks;
use ferroshmem_core::job::service::StartedJob;
use ferroshmem_core::team::{FIRST_CONNECTION, MAX_CONNECTIONS, Team};

use crate::runtime::Runtime;

/// Maps the other job's memory and waits for all members; the handle of the group.
///
/// # Errors
/// If the other group, which is independent, ends before. On all members.
pub fn connect(name: &str, rt: &Runtime, started: &StartedJob, role: Role) -> Result<usize, ConnectionError> {
    let (node, space) = (&rt.node, rt.node.transport.memory.space);
    let connection = Connection::establish(name, node.job, space, started, role);
    match connection {
        Ok(connection) => Ok(insert(name, rt, connection)),
        Err(why @ ConnectionError::Abandoned) => Err(why),
        Err(why) => fatal(name, why),
    }
}

/// Connects this PE with a job to which it is invited, where members are on several nodes; the handle of the group.
/// `coordinator` is the thread of the coordinator, at the PE that has it; `all` says whether all members of this group
/// have connected, to each of which it is given whether it has.
///
/// # Errors
/// If the other group, which is independent, ends before. On all members.
pub fn join(
    name: &'static str,
    rt: &Runtime,
    invitation: &Invitation,
    role: Role,
    coordinator: Option<JoinHandle<()>>,
    all: impl FnOnce(bool) -> bool,
) -> Result<usize, ConnectionError> {
    let node = &rt.node;
    let this_pe = ThisPe {
        job: node.job,
        space: node.transport.memory.space,
        heap_mark: node.transport.memory.heap().mark(),
        settings: &node.settings.fabric,
    };
    let watch = Watch { routine: name, timeout: node.settings.fabric_timeout, spawns: role.is_started };
    let connection = Connection::join(watch, this_pe, invitation, role, coordinator);
    let connection = match invitation.independent {
        true if all(connection.is_ok()) => connection?,
        true => return Err(connection.err().unwrap_or(ConnectionError::Abandoned)),
        false => connection.unwrap_or_else(|e| fatal(name, e)),
    };
    if let Some(hooks) = hooks::get() {
        (hooks.native_ordered)(false);
    }
    Ok(insert(name, rt, connection))
}

/// Adds a connection; the handle of the group.
fn insert(name: &str, rt: &Runtime, connection: Connection) -> usize {
    if let Some(hooks) = hooks::get() {
        let number = |member: usize| (connection.first + member) as u32;
        let members = 0..connection.len();
        let mapped = members.filter_map(|m| Some((number(m), connection.offset(m)? as u64)));
        (hooks.native_added)(&mapped.collect::<Vec<_>>());
    }
    let connection = Arc::new(connection);
    let place = rt.node.transport.connections.insert(connection.clone());
    let Some(place) = place.filter(|place| *place < MAX_CONNECTIONS) else {
        fatal(name, format_args!("there are {MAX_CONNECTIONS} groups: disconnect some"));
    };
    if !connection.is_independent() {
        fatal::share_reports(connection.number(), &connection.control.header().reporter);
    }
    rt.teams.insert_connection(connection, place)
}

/// Connects this PE with the PEs that its job was started for, if there are such.
pub(super) fn connect_with_parents(name: &str, rt: &Runtime) {
    let job = rt.node.job;
    let parents = job.parents.lock().unwrap_or_else(|e| e.into_inner()).take();
    let Some(parents) = parents else {
        return;
    };
    let header = job.control.header();
    // The PEs of a new job have given no number yet.
    let first = job.n_pes();
    let role = Role {
        group: 1,
        index: job.index,
        first,
        reproducible: rt.node.settings.reproducible,
        is_started: true,
        is_leader: job.index == 0,
    };
    let handle = connect(name, rt, &parents, role).unwrap_or_else(|why| fatal(name, why));
    if let Some(connection) = rt.teams.get(handle).and_then(|t| t.connection()) {
        let end = first + connection.len();
        header.next_pe.fetch_max(end as u32, Ordering::Relaxed);
    }
    rt.parents.store(handle, Ordering::Relaxed);
}

/// Ends a connection, collectively over both groups; false if the other one has failed before.
pub fn disconnect(name: &str, rt: &Runtime, group: usize, connection: &Connection) -> bool {
    rt.quiet_all();
    let round = connection.leave(name);
    let has_ended = connection.wait_for_end(name, round);
    forget(name, rt, group);
    has_ended
}

/// Connections that this PE uses no more, and the rendezvous in which all members do so.
pub(super) type Left = Vec<(Arc<Connection>, u32)>;

/// Leaves all groups, and waits for none: other PEs may end theirs in another order.
pub(super) fn leave_all(name: &str, rt: &Runtime) -> Left {
    let connections = rt.node.transport.connections.iter();
    connections.map(|(_, c)| (c.clone(), c.leave(name))).collect()
}

/// Ends all groups, which this PE has left.
pub(super) fn end_all(name: &str, rt: &Runtime, left: &Left) {
    for (connection, round) in left {
        connection.wait_for_end(name, *round);
    }
    let of_connections = |id: &usize| *id >= FIRST_CONNECTION;
    for id in rt.teams.ids().into_iter().filter(of_connections) {
        if let Some(handle) = rt.teams.by_id(id).map(Team::handle) {
            forget(name, rt, handle);
        }
    }
}

/// Drops what this PE has of a group that no member uses any more.
fn forget(name: &str, rt: &Runtime, group: usize) {
    for context in rt.contexts.of_team(group) {
        rt.destroy_context(name, context);
    }
    let Some(team) = rt.teams.get(group) else {
        return;
    };
    let (id, members) = (team.id, team.members.clone());
    if let Some(connection) = team.connection() {
        fatal::unshare_reports(connection.number());
    }
    if let Some(hooks) = hooks::get() {
        let numbers: Vec<_> = (0..members.size).map(|m| members.pe(m) as u32).collect();
        (hooks.native_removed)(&numbers);
    }
    let none = GROUP_INVALID;
    let _ = rt.parents.compare_exchange(group, none, Ordering::Relaxed, Ordering::Relaxed);
    let connections = &rt.node.transport.connections;
    connections.remove(id - FIRST_CONNECTION);
    rt.teams.remove(id);
    if let Some(hooks) = hooks::get()
        && !connections.has_remote()
    {
        (hooks.native_ordered)(true);
    }
}
