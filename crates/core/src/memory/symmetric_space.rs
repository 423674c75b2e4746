//! Symmetric spaces: parts of the symmetric heap with a kind of memory of their own, from which a team allocates.
//!
//! A space of all PEs is a block of the heap. The PEs outside of a smaller team do not know of its spaces, and must
//! come to the same addresses by their next allocation as the members: so these spaces are taken from the heap's
//! end downwards, at an address that is free on all members, and the heap grows up to the lowest of them.

use std::ops::Range;

use super::heap::Heap;

/// A symmetric space.
#[derive(Debug)]
pub struct SymmetricSpace {
    /// The handle of its team.
    pub team: usize,
    /// Whether that has all PEs of the job.
    pub is_of_all: bool,
    /// Bytes from the heap's start.
    pub range: Range<u64>,
    /// Its blocks.
    pub blocks: Heap,
}

/// The spaces that this PE is in, by their starts. There are few.
#[derive(Debug, Default)]
pub struct Spaces(Vec<SymmetricSpace>);

impl Spaces {
    /// Adds a space.
    pub fn insert(&mut self, space: SymmetricSpace) {
        let above = |other: &SymmetricSpace| other.range.start > space.range.start;
        let place = self.0.iter().position(above).unwrap_or(self.0.len());
        self.0.insert(place, space);
    }

    /// The space that begins at `start`.
    pub fn get(&mut self, start: u64) -> Option<&mut SymmetricSpace> {
        self.0.iter_mut().find(|space| space.range.start == start)
    }

    /// The space that the byte at `offset` is in.
    pub fn around(&self, offset: u64) -> Option<&SymmetricSpace> {
        self.0.iter().find(|space| space.range.contains(&offset))
    }

    /// Removes the space that begins at `start`.
    pub fn remove(&mut self, start: u64) -> Option<SymmetricSpace> {
        let place = self.0.iter().position(|space| space.range.start == start)?;
        Some(self.0.remove(place))
    }

    /// The start of a space of a team (None: of any).
    pub fn of_team(&self, team: Option<usize>) -> Option<u64> {
        let is_of_team = |s: &&SymmetricSpace| team.is_none_or(|team| s.team == team);
        self.0.iter().find(is_of_team).map(|space| space.range.start)
    }

    /// Where the lowest space of a smaller team begins.
    pub fn lowest(&self) -> u64 {
        let lowest = self.0.iter().find(|space| !space.is_of_all);
        lowest.map_or(u64::MAX, |space| space.range.start)
    }

    /// The highest multiple of `align` from `floor` on at which `len` bytes are free and end by `bound`.
    pub fn highest_free(&self, floor: u64, bound: u64, len: u64, align: u64) -> Option<u64> {
        let mut top = bound;
        loop {
            let start = top.checked_sub(len)? / align * align;
            if start < floor {
                return None;
            }
            let overlaps = |s: &&SymmetricSpace| s.range.start < start + len && s.range.end > start;
            match self.0.iter().find(overlaps) {
                Some(space) => top = space.range.start,
                None => return Some(start),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(range: Range<u64>, is_of_all: bool) -> SymmetricSpace {
        SymmetricSpace { team: 3, is_of_all, blocks: Heap::within(range.clone(), range.start), range }
    }

    #[test]
    fn room_is_found_from_the_end_downwards() {
        let mut spaces = Spaces::default();
        let room = |spaces: &Spaces, bound| spaces.highest_free(8192, bound, 4096, 4096);
        assert_eq!(room(&spaces, 65_536), Some(61_440));
        spaces.insert(space(57_344..65_536, false));
        spaces.insert(space(45_056..49_152, false));
        assert_eq!(room(&spaces, 65_536), Some(53_248));
        assert_eq!(room(&spaces, 53_248), Some(49_152));
        assert_eq!(room(&spaces, 53_000), Some(40_960));
        assert_eq!(room(&spaces, 12_287), None);
        assert_eq!(room(&spaces, 12_288), Some(8192));
        assert_eq!(spaces.lowest(), 45_056);
        assert_eq!(room(&spaces, 100), None);
    }

    #[test]
    fn spaces_are_found() {
        let mut spaces = Spaces::default();
        spaces.insert(space(4096..8192, true));
        spaces.insert(space(16_384..20_480, false));
        assert_eq!(spaces.lowest(), 16_384);
        assert!(spaces.around(4095).is_none() && spaces.around(8192).is_none());
        assert_eq!(spaces.around(8191).unwrap().range, 4096..8192);
        assert_eq!(spaces.of_team(Some(3)), Some(4096));
        assert_eq!(spaces.of_team(Some(4)), None);
        assert!(spaces.remove(16_384).is_some() && spaces.get(16_384).is_none());
        assert_eq!((spaces.lowest(), spaces.of_team(None)), (u64::MAX, Some(4096)));
    }
}
