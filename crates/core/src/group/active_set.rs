//! Active sets (deprecated by the standard, "Active-set-based collectives"): a team in all
//! but name. The first call on a set makes a team for it, by way of the work array; later
//! calls with the same set and work array find it, so they cost what a team's cost.

use std::collections::BTreeMap;
use std::ffi::c_long;
use std::sync::RwLock;

use super::{Group, Link, SYNC_SIZE, Traffic, WorkArray};
use crate::fatal::fatal;
use crate::job::region::WaitKind;
use crate::runtime::Runtime;
use crate::team::{self, Members};
use crate::wait::POLICY;

/// An active set and its work array: what a caller names. Two threads may use one set at the
/// same time if their work arrays differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    start: i32,
    log_stride: i32,
    size: i32,
    work_array: usize,
}

/// The sets that this PE has met, each with the id of its team, or None if no id was left
/// when it was met. All members agree about that: they were all in the first call.
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

impl<'a> Group<'a> {
    /// A collective of an active set, entered now.
    pub fn of_active_set(
        rt: &'a Runtime,
        name: &'static str,
        start: i32,
        log_stride: i32,
        size: i32,
        work_array: *mut c_long,
    ) -> Self {
        let key = Key {
            start,
            log_stride,
            size,
            work_array: work_array.expose_provenance(),
        };
        if rt.settings.check {
            rt.own(name, "pSync", work_array.cast(), SYNC_SIZE * 8);
        }
        let id = rt.active_sets.find(&key).unwrap_or_else(|| {
            let first = Self::over_work_array(rt, name, key);
            let id = team::create_for_active_set(rt, &first);
            rt.active_sets.add(key, id);
            id
        });
        match id.and_then(|id| rt.teams.by_id(id)) {
            Some(team) => Self::over_slots(rt, name, team, WaitKind::ActiveSet),
            None => Self::over_work_array(rt, name, key),
        }
    }

    fn over_work_array(rt: &'a Runtime, name: &'static str, key: Key) -> Self {
        let Key {
            start,
            log_stride,
            size,
            work_array,
        } = key;
        let describe =
            format_args!("PE_start = {start}, logPE_stride = {log_stride}, PE_size = {size}");
        let world = Members::world(rt.n_pes);
        let members = (0..31)
            .contains(&log_stride)
            .then(|| world.strided(start, 1 << log_stride, size))
            .flatten();
        let Some(members) = members else {
            fatal(
                name,
                format_args!(
                    "{describe} is not a set of PEs of this job (0 to {})",
                    rt.n_pes - 1
                ),
            );
        };
        let Some(me) = members.index_of(rt.me) else {
            fatal(
                name,
                format_args!("this PE is not in the active set ({describe})"),
            );
        };
        let array = WorkArray {
            rt,
            name,
            members,
            address: work_array,
        };
        Self {
            name,
            me,
            size: members.size,
            reproducible: rt.settings.reproducible,
            crowded: POLICY.oversubscribed(),
            members,
            link: Link::WorkArray(array),
            traffic: Traffic::default(),
        }
    }
}
