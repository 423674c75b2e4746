//! Arrows of a trace: which call of another PE a call waited for.

use std::collections::HashMap;

use super::Call;
use crate::profile::{Event, Kind, PeRecord, Team};

/// An arrow from one PE's call to another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The PE that was waited for, and when its call began.
    pub from: (usize, u32, u64),
    /// The PE that waited, its thread, and when its call ended.
    pub to: (usize, u32, u64),
}

/// Most arrows of one kind that are looked for.
const MOST: usize = 400_000;

type Update = (u64, usize, u32);
type Entry = (usize, u32, u64, u64);

/// Collects calls that arrows may join.
#[derive(Default)]
pub(super) struct Finder {
    /// Updates of a place of a PE: when they began, by whom.
    updates: HashMap<(usize, u64), Vec<Update>>,
    /// Waits for a place: PE, thread, begin, end.
    waits: Vec<(u64, Entry)>,
    /// Members of collectives.
    collectives: HashMap<(Team, u64), Vec<Entry>>,
    /// Messages from a PE to another.
    sends: HashMap<(usize, usize), Vec<Update>>,
    receives: HashMap<(usize, usize), Vec<Entry>>,
    number: usize,
}

impl Finder {
    pub(super) fn add(&mut self, record: &PeRecord, event: &Event, call: &Call, kind: Kind) {
        /// A put that a PE may wait for.
        const UPDATE: u64 = 8;
        if self.number > MOST {
            return;
        }
        let entry = (record.pe, call.thread, call.begin, call.end);
        let update = (call.begin, record.pe, call.thread);
        match (kind, call.pe) {
            (Kind::Put, Some(pe)) if event.bytes <= UPDATE && pe != record.pe => {
                self.updates
                    .entry((pe, event.address))
                    .or_default()
                    .push(update);
            }
            (Kind::Signal | Kind::Atomic, Some(pe)) if pe != record.pe => {
                self.updates
                    .entry((pe, event.address))
                    .or_default()
                    .push(update);
            }
            (Kind::PutSignal, Some(pe)) if pe != record.pe => {
                self.updates
                    .entry((pe, event.extra))
                    .or_default()
                    .push(update);
            }
            (Kind::Wait, _) => self.waits.push((event.address, entry)),
            (Kind::Send, Some(pe)) => {
                self.sends.entry((record.pe, pe)).or_default().push(update);
            }
            (Kind::Receive, Some(pe)) => {
                self.receives
                    .entry((pe, record.pe))
                    .or_default()
                    .push(entry);
            }
            _ if kind.is_collective() => {
                let team = (event.subject & u64::from(u16::MAX)) as usize;
                let Some(team) = record.teams.get(team) else {
                    return;
                };
                let key = (*team, event.subject >> 16);
                self.collectives.entry(key).or_default().push(entry);
            }
            _ => return,
        }
        self.number += 1;
    }

    /// The arrows, in the order of their ends.
    pub(super) fn find(mut self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for updates in self.updates.values_mut() {
            updates.sort_unstable();
        }
        for (place, (pe, thread, begin, end)) in &self.waits {
            let Some(updates) = self.updates.get(&(*pe, *place)) else {
                continue;
            };
            let before = updates.partition_point(|u| u.0 <= *end);
            if let Some((at, by, by_thread)) = before.checked_sub(1).map(|i| updates[i]) {
                // One that was there before the wait held nothing up.
                if at >= *begin {
                    flows.push(Flow {
                        from: (by, by_thread, at),
                        to: (*pe, *thread, *end),
                    });
                }
            }
        }
        for ((team, _), members) in &self.collectives {
            let last = members.iter().max_by_key(|m| m.2);
            let Some(last) = last.filter(|_| members.len() == team.size) else {
                continue;
            };
            for (pe, thread, begin, end) in members {
                if *pe != last.0 && *begin < last.2 && last.2 <= *end {
                    flows.push(Flow {
                        from: (last.0, last.1, last.2),
                        to: (*pe, *thread, *end),
                    });
                }
            }
        }
        for (key, receives) in &mut self.receives {
            let Some(sends) = self.sends.get_mut(key) else {
                continue;
            };
            sends.sort_unstable();
            receives.sort_unstable_by_key(|r| r.2);
            for (send, (pe, thread, _, end)) in sends.iter().zip(receives.iter()) {
                if send.0 <= *end {
                    flows.push(Flow {
                        from: (send.1, send.2, send.0),
                        to: (*pe, *thread, *end),
                    });
                }
            }
        }
        flows.sort_unstable_by_key(|f| (f.to.2, f.to.0, f.from.2));
        flows
    }
}
