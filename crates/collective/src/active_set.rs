//! Active sets (deprecated by the standard, "Active-set-based collectives"). The first call on a set
//! makes a team for it, synchronised by the work array. Later calls with the same set and work
//! array find this team, so they cost the same as a team's collectives.

use std::collections::BTreeMap;
use std::ffi::c_long;
use std::sync::RwLock;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::{Group, WorkArray};
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{Members, Teams};
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

/// The sets that this PE has used, each with the id of its team, or None if no id was left at the
/// first call. All members agree, because all of them took part in the first call.
#[derive(Debug, Default)]
pub struct ActiveSets {
    known: RwLock<BTreeMap<Key, Option<usize>>>,
}

impl ActiveSets {
    fn find(&self, key: &Key) -> Option<Option<usize>> {
        let known = self.known.read().unwrap_or_else(|e| e.into_inner());
        known.get(key).copied()
    }

    fn add(&self, key: Key, id: Option<usize>) {
        let mut known = self.known.write().unwrap_or_else(|e| e.into_inner());
        known.insert(key, id);
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
    let id = sets.find(&key).unwrap_or_else(|| {
        let first = over_work_array(node, name, key);
        check_work_array(node, &first, key);
        let id = split::create_for_active_set(node, teams, &first);
        sets.add(key, id);
        id
    });
    match id.and_then(|id| teams.by_id(id)) {
        Some(team) => Group::over_slots(node, name, team, WaitKind::ActiveSet),
        None => over_work_array(node, name, key),
    }
}

/// Ends the job if the work array is not initialised: its flags would let this PE pass, or hold it for ever.
fn check_work_array(node: &Node, set: &Group<'_>, key: Key) {
    let array = WorkArray::new(&node.transport, set.name, *set.members(), key.work_array);
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

/// A group of an active set without a team. A set that is not of this job's PEs, or without this
/// PE, ends the job.
fn over_work_array<'a>(node: &'a Node, name: &'static str, key: Key) -> Group<'a> {
    let Key { start, log_stride, size, work_array } = key;
    let describe = format_args!("PE_start = {start}, logPE_stride = {log_stride}, PE_size = {size}");
    let world = Members::world(node.n_pes);
    let members = (0..31).contains(&log_stride).then(|| world.strided(start, 1 << log_stride, size)).flatten();
    let Some(members) = members else {
        fatal(name, format_args!("{describe} is not a set of PEs of this job (0 to {})", node.n_pes - 1));
    };
    let Some(me) = members.index_of(node.me) else {
        fatal(name, format_args!("this PE is not in the active set ({describe})"));
    };
    let array = WorkArray::new(&node.transport, name, members, work_array);
    Group::over_work_array(array, me, node.settings.reproducible)
}
