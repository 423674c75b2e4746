//! Active sets (deprecated by the standard, "Active-set-based collectives"). The first call on a set
//! makes a team for it, synchronised by the work array, or by the world team where the set is all PEs. Later calls with
//! the same set and work array find this team, so they cost the same as a team's collectives.

use std::collections::BTreeMap;
use std::ffi::c_long;
use std::sync::RwLock;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::{Group, WorkArray};
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{Health, Members, Teams, health};
use ferroshmem_layout::WaitKind;

use super::split;

/// An active set and its work array. Two threads may use one set at the same time if their work
/// arrays differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    start: i32,
    log_stride: i32,
    size: i32,
    work_array: usize,
}

/// A set's PEs, and the id of its team, or None if no id was left at the first call. All members agree, because all of
/// them took part in the first call.
#[derive(Debug, Clone, Copy)]
struct Set {
    members: &'static Members,
    id: Option<usize>,
    health: Option<&'static Health>,
}

/// The sets that this PE has used, for good.
#[derive(Debug, Default)]
pub struct ActiveSets {
    known: RwLock<BTreeMap<Key, Set>>,
}

impl ActiveSets {
    fn find(&self, key: &Key) -> Option<Set> {
        let known = self.known.read().unwrap_or_else(|e| e.into_inner());
        known.get(key).copied()
    }

    /// Forgets all sets: PEs that have taken the numbers of others know of none.
    pub fn forget(&self) {
        self.known.write().unwrap_or_else(|e| e.into_inner()).clear();
    }

    fn add(&self, key: Key, set: Set) {
        let mut known = self.known.write().unwrap_or_else(|e| e.into_inner());
        known.insert(key, set);
    }
}

/// Enters a collective of an active set.
pub fn enter<'a>(
    node: &'a Node,
    teams: &'a Teams,
    sets: &ActiveSets,
    name: &'static str,
    (start, log_stride, size): (i32, i32, i32),
    work_array: *mut c_long,
) -> Group<'a> {
    let key = Key { start, log_stride, size, work_array: work_array.expose_provenance() };
    let Set { members, id, health } = sets.find(&key).unwrap_or_else(|| {
        let members = Box::leak(Box::new(members_of(node, name, key)));
        let since = teams.world().health().map(Health::since);
        let health = since.map(|since| {
            let (failures, revoked) = (node.job.control.failures(), &health::NOT_REVOKED);
            let health = Health::new(failures, members.clone(), revoked, since);
            &*Box::leak(Box::new(health))
        });
        let array = over_work_array(node, name, key, members, health);
        check_work_array(node, &array, key);
        // Programs forget the barrier after which no PE initialises the array any more. Several threads may be in their
        // first calls on all PEs at the same time, in any order.
        let first = match members.size == node.n_pes && !node.job.block().is_threaded() {
            true => Group::over_slots(node, name, teams.world(), WaitKind::ActiveSet),
            false => array,
        };
        let set = Set { members, id: split::create_for_active_set(node, teams, &first), health };
        sets.add(key, set);
        set
    });
    match id.and_then(|id| teams.by_id(id)) {
        Some(team) => Group::over_slots(node, name, team, WaitKind::ActiveSet),
        None => over_work_array(node, name, key, members, health),
    }
}

/// Ends the job if the work array is not initialised: its flags would let this PE pass, or hold it for ever.
fn check_work_array(node: &Node, set: &Group<'_>, key: Key) {
    let array = WorkArray::new(&node.transport, set.name, set.members(), key.work_array, None);
    if let Some((element, value)) = array.uninitialised_element(set.me) {
        fatal(
            set.name,
            format_args!(
                "pSync at {:#x} is not initialised: its element {element} is {value}; set all elements to \
                    SHMEM_SYNC_VALUE on all PEs, and call shmem_barrier_all, before its first use",
                key.work_array
            ),
        );
    }
}

/// A group of an active set without a team.
fn over_work_array<'a>(
    node: &'a Node,
    name: &'static str,
    key: Key,
    members: &'a Members,
    health: Option<&'a Health>,
) -> Group<'a> {
    let me = members.index_of(node.me).expect("this PE is in its active set");
    let array = WorkArray::new(&node.transport, name, members, key.work_array, health);
    Group::over_work_array(array, me, node.settings.reproducible)
}

/// The PEs of an active set. One that is not of this job's PEs, or without this PE, ends the job.
fn members_of(node: &Node, name: &str, key: Key) -> Members {
    let Key { start, log_stride, size, .. } = key;
    let describe = format_args!("PE_start = {start}, logPE_stride = {log_stride}, PE_size = {size}");
    let world = Members::world(node.n_pes);
    let members = (0..31).contains(&log_stride).then(|| world.strided(start, 1 << log_stride, size)).flatten();
    let Some(members) = members else {
        fatal(name, format_args!("{describe} is not a set of PEs of this job (0 to {})", node.n_pes - 1));
    };
    if members.index_of(node.me).is_none() {
        fatal(name, format_args!("this PE is not in the active set ({describe})"));
    }
    members
}
