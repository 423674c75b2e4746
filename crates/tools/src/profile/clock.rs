//! One time for the PEs of all hosts.
//!
//! Processes of one kernel share its clock. Between hosts, collectives bound the difference of two clocks: no PE
//! leaves a barrier before the last one has entered it. Where a job died before any, its PEs' beginnings must do.

use std::collections::HashMap;

use ferroshmem_layout::profile::header;

use super::record::{Kind, PeRecord, Team};

/// What is to be added to the times of each PE, and by how much it may be wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock {
    /// By PE's place in the list of records.
    pub offsets: Vec<i64>,
    /// Nanoseconds; 0 on one host.
    pub error: u64,
}

type Bounds = (i64, i64);

/// Nanoseconds within which PEs leave the synchronisation of the start-up, where their time begins.
const START: u64 = 10_000_000;

impl Clock {
    /// Compares the clocks of all hosts with that of the first PE's.
    pub fn new(records: &[PeRecord]) -> Self {
        let mut hosts: Vec<&[u64]> = Vec::new();
        let host_of: Vec<usize> = records
            .iter()
            .map(|r| {
                hosts.iter().position(|h| *h == r.boot()).unwrap_or_else(|| {
                    hosts.push(r.boot());
                    hosts.len() - 1
                })
            })
            .collect();
        if hosts.len() < 2 {
            return Self { offsets: vec![0; records.len()], error: 0 };
        }
        let mut bounds: Vec<Bounds> = vec![(i64::MIN, i64::MAX); hosts.len()];
        for intervals in synchronisations(records).values() {
            // When the last PE of each host entered, and the first one left.
            let mut ends = vec![(0_i64, i64::MAX); hosts.len()];
            for (index, entered, left) in intervals {
                let (last, first) = &mut ends[host_of[*index]];
                *last = (*last).max(*entered as i64);
                *first = (*first).min(*left as i64);
            }
            for (host, (last, first)) in ends.iter().enumerate().skip(1) {
                let (reference_last, reference_first) = ends[0];
                if *last == 0 || reference_last == 0 {
                    continue;
                }
                // With `t + offset` on the first host's clock.
                let (low, high) = &mut bounds[host];
                *low = (*low).max(reference_last - first);
                *high = (*high).min(reference_first - last);
            }
        }
        let mut begins = vec![0; hosts.len()];
        for (record, host) in records.iter().zip(&host_of) {
            begins[*host] = record.header(header::BEGIN).max(begins[*host]);
        }
        let found = bounds.iter().zip(&begins).map(|(bounds, begin)| match *bounds {
            (i64::MIN, _) | (_, i64::MAX) => (begins[0].wrapping_sub(*begin) as i64, START),
            (low, high) => (low + (high - low) / 2, (high - low).unsigned_abs() / 2),
        });
        let found: Vec<_> = found.collect();
        Self {
            offsets: host_of.iter().map(|h| if *h == 0 { 0 } else { found[*h].0 }).collect(),
            error: found.iter().skip(1).map(|f| f.1).max().unwrap_or(0),
        }
    }

    /// A time of a PE on the common clock.
    pub fn time(&self, index: usize, time: u64) -> u64 {
        time.saturating_add_signed(self.offsets[index])
    }
}

type Intervals = Vec<(usize, u64, u64)>;

/// When PEs entered and left barriers and other collectives that synchronise all their members.
fn synchronisations(records: &[PeRecord]) -> HashMap<(Option<Team>, u64), Intervals> {
    let mut found: HashMap<_, Intervals> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        if record.is_complete() {
            let times = (record.header(header::END_ENTERED), record.header(header::END));
            found.entry((None, 0)).or_default().push((index, times.0, times.1));
        }
        for call in &record.calls {
            let kind = record.sites.get(call.site).and_then(|s| s.as_ref()).map(|s| s.kind);
            if !matches!(kind, Some(Kind::Barrier | Kind::Exchange)) {
                continue;
            }
            if let Some(team) = record.teams.get(call.team) {
                let key = (Some(*team), call.sequence);
                found.entry(key).or_default().push((index, call.entered, call.left));
            }
        }
    }
    found
}
