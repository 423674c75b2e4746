//! The part of the shared file that the checks for races have.
//!
//! ```text
//! vectors   what each PE knows now of all
//! history   the same at its last times
//! meetings  the same as PEs entered collectives, by team
//! objects   what those knew that updated a variable atomically, or had a lock
//! index     pages of symmetric memory that were accessed, by PE
//! shadow    who accessed their words last
//! ```

use std::ops::Range;

/// Words of a page's shadow: four accesses of two words for each eight bytes.
pub(super) const CELLS: usize = 4;
pub(super) const GRANULE_WORDS: usize = 2 * CELLS;
pub(super) const PAGE: usize = 4096;
pub(super) const GRANULE: usize = 8;
pub(super) const GRANULES: usize = PAGE / GRANULE;

/// Pages that there is shadow for.
pub(super) const PAGES: usize = 1 << 16;
/// Variables that are updated atomically, and locks.
pub(super) const OBJECTS: usize = 8192;
/// Collectives of a team whose entries are kept.
pub(super) const KEPT: usize = 4;

/// Where the parts are, for a number of PEs.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub n_pes: usize,
    /// Times that each PE's history has.
    pub times: usize,
    /// Teams that each PE's meetings have.
    pub teams: usize,
    pub vectors: Range<usize>,
    pub history: Range<usize>,
    pub meetings: Range<usize>,
    pub objects: Range<usize>,
    pub index: Range<usize>,
    pub shadow: Range<usize>,
}

impl Layout {
    pub(super) fn new(n_pes: usize) -> Self {
        let times = ((1 << 22) / (n_pes * n_pes).max(1)).clamp(4, 1024);
        let teams = if n_pes <= 256 { 64 } else { 4 };
        let mut end = 0;
        let mut part = |words: usize| {
            let start = end;
            end += words;
            start..end
        };
        Self {
            n_pes,
            times,
            teams,
            vectors: part(n_pes * n_pes),
            history: part(n_pes * times * n_pes),
            meetings: part(n_pes * teams * KEPT * (2 + n_pes)),
            objects: part(OBJECTS * (2 + n_pes)),
            index: part(PAGES * 2),
            shadow: part(PAGES * GRANULES * GRANULE_WORDS),
        }
    }

    pub(super) fn words(&self) -> usize {
        self.shadow.end
    }
}
