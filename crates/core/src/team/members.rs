//! Which PEs a team or an active set consists of.

use std::sync::Arc;

use super::table::{SharedTables, Table};

/// World PE numbers in the order of a team: an arithmetic sequence, or where they are none, a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    start: i32,
    /// Distance from one PE to the next; may be negative. 0 if there is a list.
    stride: i32,
    /// Number of PEs.
    pub size: usize,
    list: Option<Arc<List>>,
}

/// PEs that are no arithmetic sequence.
#[derive(Debug, PartialEq, Eq)]
struct List {
    /// The PEs; then the number in the list of each PE from the lowest to the highest, [`NONE`] of others.
    table: Table,
    lowest: usize,
    digest: u32,
}

const NONE: u32 = u32::MAX;

impl Members {
    /// All PEs of a job.
    pub fn world(n_pes: usize) -> Self {
        Self::sequence(0, 1, n_pes)
    }

    /// `size` PEs from `start` on, `stride` apart.
    pub fn sequence(start: i32, stride: i32, size: usize) -> Self {
        Self { start, stride, size, list: None }
    }

    /// These PEs, at least one, and each once: a sequence if they are one.
    pub fn of(pes: Vec<u32>) -> Self {
        let number = |index: usize| pes[index] as i32;
        let size = pes.len();
        let stride = if size > 1 { number(1) - number(0) } else { 1 };
        if pes.windows(2).all(|pair| pair[1] as i32 - pair[0] as i32 == stride) {
            return Self::sequence(number(0), stride, size);
        }
        let lowest = pes.iter().min().map_or(0, |pe| *pe as usize);
        let highest = pes.iter().max().map_or(0, |pe| *pe as usize);
        let mut table = pes;
        table.resize(size + highest - lowest + 1, NONE);
        let mut digest = 0_u32;
        for index in 0..size {
            let pe = table[index];
            table[size + pe as usize - lowest] = index as u32;
            // By the golden ratio, as Fibonacci hashing has it.
            digest = (digest.rotate_left(5) ^ pe).wrapping_mul(0x9e37_79b9);
        }
        let list = List { table: Table::own(table), lowest, digest };
        Self { start: list.table[0] as i32, stride: 0, size, list: Some(Arc::new(list)) }
    }

    /// The distance from one PE to the next; 0 if they are a list.
    #[inline]
    pub fn stride(&self) -> i32 {
        self.stride
    }

    /// First PE, [stride](Self::stride) and number of PEs.
    pub fn triplet(&self) -> (i32, i32, u32) {
        (self.start, self.stride, self.size as u32)
    }

    /// The PEs, if they are a list; else none.
    pub fn list(&self) -> &[u32] {
        self.list.as_ref().map_or(&[], |list| &list.table[..self.size])
    }

    /// The words of their table, if they are a list: their [`list`](Self::list), and the way back.
    pub(super) fn table(&self) -> &[u32] {
        self.list.as_ref().map_or(&[], |list| &list.table)
    }

    /// Takes the table from what the PEs of the node share, if they are a list.
    pub(super) fn share_table(&mut self, tables: &mut SharedTables) {
        if let Some(list) = &self.list {
            let List { ref table, lowest, digest } = **list;
            self.list = Some(Arc::new(List { table: tables.read(table.len()), lowest, digest }));
        }
    }

    /// Most bytes of the table of some of these members.
    pub fn most_table_bytes(&self) -> usize {
        let span = self.stride.unsigned_abs() as usize * (self.size - 1) + 1;
        self.table().len().max(self.size + span) * size_of::<u32>()
    }

    /// Tells lists apart that have the same [triplet](Self::triplet). 0 of a sequence.
    pub fn digest(&self) -> u32 {
        self.list.as_ref().map_or(0, |list| list.digest)
    }

    /// World number of member `index`.
    #[inline]
    pub fn pe(&self, index: usize) -> usize {
        debug_assert!(index < self.size);
        match &self.list {
            None => (self.start + self.stride * index as i32) as usize,
            Some(list) => list.table[index] as usize,
        }
    }

    /// Number within these members of world PE `pe`, if it is one.
    #[inline(always)]
    pub fn index_of(&self, pe: usize) -> Option<usize> {
        if let Some(list) = &self.list {
            let index = list.table[self.size..].get(pe.checked_sub(list.lowest)?)?;
            return (*index != NONE).then_some(*index as usize);
        }
        let distance = pe as i32 - self.start;
        let index = match self.stride {
            0 => (distance == 0).then_some(0)?,
            s if distance % s == 0 => distance / s,
            _ => return None,
        };
        usize::try_from(index).ok().filter(|i| *i < self.size)
    }

    /// The members with these numbers, at least one, and each once.
    pub fn pick(&self, indices: impl IntoIterator<Item = usize>) -> Self {
        Self::of(indices.into_iter().map(|index| self.pe(index) as u32).collect())
    }

    /// The sub-sequence that starts at member `start` and takes every `stride`-th, `size` in all.
    /// None if it would leave these members, or is empty.
    pub fn strided(&self, start: i32, stride: i32, size: i32) -> Option<Self> {
        let count = usize::try_from(size).ok().filter(|s| *s > 0)?;
        if stride == 0 && count > 1 {
            return None;
        }
        let last = i64::from(start) + i64::from(stride) * i64::from(size - 1);
        let all = 0..self.size as i64;
        if !all.contains(&i64::from(start)) || !all.contains(&last) {
            return None;
        }
        if self.list.is_some() {
            return Some(self.pick((0..size).map(|i| (start + stride * i) as usize)));
        }
        let stride = self.stride * if count == 1 { 1 } else { stride };
        Some(Self::sequence(self.pe(start as usize) as i32, stride, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        let world = Members::world(12);
        let list = world.pick([3, 11, 0, 4, 7]);
        for m in [
            world.clone(),
            world.strided(1, 2, 5).unwrap(),
            world.strided(11, -3, 4).unwrap(),
            world.strided(3, 0, 1).unwrap(),
            world.strided(1, 2, 5).unwrap().strided(2, i32::MAX, 1).unwrap(),
            world.strided(11, -3, 4).unwrap().strided(3, -1, 4).unwrap(),
            list.clone(),
            list.strided(4, -1, 3).unwrap(),
            list.pick([1, 0, 4]),
        ] {
            for i in 0..m.size {
                assert_eq!(m.index_of(m.pe(i)), Some(i));
            }
            assert_eq!((0..20).filter_map(|pe| m.index_of(pe)).count(), m.size);
        }
    }

    #[test]
    fn a_list_that_is_a_sequence_becomes_one() {
        let world = Members::world(12);
        assert_eq!(world.pick([9, 6, 3]), world.strided(9, -3, 3).unwrap());
        assert_eq!(world.pick([5]), Members::sequence(5, 1, 1));
        let list = world.pick([0, 7, 2, 5]);
        assert_eq!((list.triplet(), list.list()), ((0, 0, 4), &[0, 7, 2, 5][..]));
        assert_eq!(list.strided(0, 2, 2).unwrap(), Members::sequence(0, 2, 2));
        assert_ne!(list.digest(), world.pick([0, 2, 7, 5]).digest());
        assert_eq!(list.strided(0, 2, 3), None);
    }

    #[test]
    fn sets_outside_the_parent_are_refused() {
        let world = Members::world(8);
        assert_eq!(world.strided(3, 3, 3), None);
        assert_eq!(world.strided(0, 1, 9), None);
        assert_eq!(world.strided(2, -1, 4), None);
        assert_eq!(world.strided(0, 0, 2), None);
        assert_eq!(world.strided(-1, 1, 2), None);
        assert_eq!(world.strided(0, 1, 0), None);
        assert_eq!(world.strided(0, i32::MAX, 3), None);
    }
}
