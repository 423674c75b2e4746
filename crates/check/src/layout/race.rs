//! The part of the shared file that the checks for races have.
//!
//! ```text
//! clocks    the vector clock of each PE
//! history   the same at the ends of its last epochs
//! arrivals  the same as it entered collectives, by team
//! objects   the clocks of those that updated a variable atomically, or had a lock
//! index     pages of symmetric memory that were accessed, by PE
//! shadow    who accessed their words last
//! ```

use std::ops::Range;

/// Words of a page's shadow: four accesses of two words for each eight bytes.
pub(crate) const CELLS: usize = 4;
pub(crate) const GRANULE_WORDS: usize = 2 * CELLS;
pub(crate) const PAGE: usize = 4096;
pub(crate) const GRANULE: usize = 8;
pub(crate) const GRANULES: usize = PAGE / GRANULE;

/// Pages that there is shadow for.
pub(crate) const PAGES: usize = 1 << 16;
/// Variables that are updated atomically, and locks, which there is room for.
pub(crate) const OBJECTS: usize = 8192;
/// Words of an object before the clock: its key, and 1 while a PE changes it.
pub(crate) const OBJECT_HEAD: usize = 2;
/// Words of an arrival before the clock: the team, and the number of the collective plus 1.
pub(crate) const ARRIVAL_HEAD: usize = 2;
/// Collectives of a team whose arrivals are kept.
pub(crate) const KEPT: usize = 4;

/// Words of a clock for each PE.
pub(crate) const COMPONENTS: usize = 2;

/// Where the parts are, for a number of PEs.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Words of a clock.
    pub clock: usize,
    /// Epochs that each PE's history has.
    pub epochs: usize,
    /// Teams that each PE's arrivals have.
    pub teams: usize,
    pub clocks: Range<usize>,
    pub history: Range<usize>,
    pub arrivals: Range<usize>,
    pub objects: Range<usize>,
    pub index: Range<usize>,
    pub shadow: Range<usize>,
}

impl Layout {
    pub(crate) fn new(n_pes: usize) -> Self {
        let clock = COMPONENTS * n_pes;
        let epochs = ((1 << 22) / (n_pes * clock).max(1)).clamp(4, 1024);
        let teams = if n_pes <= 256 { 64 } else { 4 };
        let mut end = 0;
        let mut part = |words: usize| {
            let start = end;
            end += words;
            start..end
        };
        Self {
            clock,
            epochs,
            teams,
            clocks: part(n_pes * clock),
            history: part(n_pes * epochs * clock),
            arrivals: part(n_pes * teams * KEPT * (ARRIVAL_HEAD + clock)),
            objects: part(OBJECTS * (OBJECT_HEAD + clock)),
            index: part(PAGES * 2),
            shadow: part(PAGES * GRANULES * GRANULE_WORDS),
        }
    }

    pub(crate) fn words(&self) -> usize {
        self.shadow.end
    }
}
