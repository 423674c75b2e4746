//! Where this process has the memory of other PEs, as `shmem_ptr` gives it.

use std::ops::Range;

use crate::job::ThisPe;

/// More bytes than a heap or a program has.
const MARGIN: usize = 1 << 40;

/// What is to be added to an own address of a heap, or of the variables, by PE.
#[derive(Debug)]
pub(super) struct OtherPes {
    distances: Vec<(usize, usize)>,
    /// All of it, and more.
    bounds: Range<usize>,
}

impl OtherPes {
    /// Of the memory that has the address `at`.
    pub(super) fn of(job: &ThisPe, at: usize) -> Self {
        let others = (0..job.n_pes).filter(|pe| *pe != job.me);
        let distances: Vec<_> = others.filter_map(|pe| Some((pe, job.library.ptr(at, pe)?.wrapping_sub(at)))).collect();
        let places = || distances.iter().map(|(_, distance)| at.wrapping_add(*distance));
        let bounds = match (places().min(), places().max()) {
            (Some(low), Some(high)) => low.saturating_sub(MARGIN)..high.saturating_add(MARGIN),
            _ => 0..0,
        };
        Self { distances, bounds }
    }

    /// The PE that has an address, and this PE's own address of the same, by which `is_own` knows it.
    pub(super) fn find(&self, at: usize, is_own: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
        let is_near = self.bounds.contains(&at);
        let mut all = self.distances.iter().map(|(pe, distance)| (*pe, at.wrapping_sub(*distance)));
        is_near.then(|| all.find(|(_, own)| is_own(*own))).flatten()
    }
}
