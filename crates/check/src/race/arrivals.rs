//! What each PE knew as it entered the last collectives of its teams.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock;
use crate::layout::race::{ARRIVAL_HEAD as HEAD, KEPT, Layout};
use crate::members::Members;
use crate::shared::mixed;

/// The entries of all PEs. Teams whose keys fall on the same place take it from each other.
#[derive(Debug)]
pub(super) struct Arrivals {
    clock: usize,
    teams: usize,
    words: &'static [AtomicU64],
}

impl Arrivals {
    pub(super) fn new(layout: &Layout, words: &'static [AtomicU64]) -> Self {
        Self { clock: layout.clock, teams: layout.teams, words: &words[layout.arrivals.clone()] }
    }

    fn entry(&self, pe: usize, team: &Members, number: u64) -> &'static [AtomicU64] {
        let words = HEAD + self.clock;
        let team = key(team) as usize % self.teams;
        let at = ((pe * self.teams + team) * KEPT + number as usize % KEPT) * words;
        &self.words[at..][..words]
    }

    /// A PE with this clock enters collective `number` of a team.
    pub(super) fn enter(&self, pe: usize, team: &Members, number: u64, known: &[u64]) {
        let entry = self.entry(pe, team, number);
        entry[0].store(key(team), Ordering::Relaxed);
        clock::store(&entry[HEAD..], known);
        entry[1].store(number + 1, Ordering::Release);
    }

    /// The clock with which a PE entered it; None if that is no longer kept.
    pub(super) fn of(&self, pe: usize, team: &Members, number: u64) -> Option<&'static [AtomicU64]> {
        let entry = self.entry(pe, team, number);
        let entered = entry[1].load(Ordering::Acquire);
        let is_this = entered == number + 1 && entry[0].load(Ordering::Relaxed) == key(team);
        is_this.then_some(&entry[HEAD..])
    }
}

fn key(team: &Members) -> u64 {
    let ends = u64::from(team.start as u32) << 32 | u64::from(team.stride as u32);
    mixed(ends, team.size as u64) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_collectives_of_a_team_are_kept() {
        let layout = Layout::new(2);
        let words: Vec<_> = (0..layout.arrivals.end).map(|_| AtomicU64::new(0)).collect();
        let arrivals = Arrivals::new(&layout, words.leak());
        let team = Members::world(2);
        for number in 0..=KEPT as u64 {
            arrivals.enter(1, &team, number, &[number + 10, 0]);
        }
        let known = |number| Some(arrivals.of(1, &team, number)?[0].load(Ordering::Relaxed));
        assert_eq!(known(0), None);
        assert_eq!(known(1), Some(11));
        assert_eq!(known(KEPT as u64), Some(KEPT as u64 + 10));
        assert!(arrivals.of(0, &team, 1).is_none());
    }
}
