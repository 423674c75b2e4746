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
    /// The PEs; then their numbers in the list, each at the [place](Places::of) of its PE or, if that is taken, at the
    /// next one, and [`NONE`] elsewhere.
    table: Table,
    places: Places,
    digest: u32,
}

/// Where the number of a PE is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Places {
    lowest: usize,
    /// Bits of a PE's hash that say its place; 0 if each PE from the lowest to the highest has one of its own.
    bits: u32,
}

impl Places {
    /// Most places for each member. A hash has at least half as many, of which half are free.
    const MOST: usize = 4;

    #[inline]
    fn of(self, pe: usize) -> usize {
        if self.bits == 0 {
            return pe.wrapping_sub(self.lowest);
        }
        // MurmurHash3's last step: a product alone has PEs at some distances follow each other.
        let mut hash = pe as u32;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        (hash ^ (hash >> 16)) as usize & self.last()
    }

    /// The last place of a hash: the first one is next.
    fn last(self) -> usize {
        (1 << self.bits) - 1
    }
}

impl List {
    /// Out of line, for the sake of members at equal distances.
    #[inline(never)]
    fn index_of(&self, pe: usize, size: usize) -> Option<usize> {
        let (pes, numbers) = self.table.split_at(size);
        let mut place = self.places.of(pe);
        loop {
            let index = *numbers.get(place)? as usize;
            // There is no PE number `NONE`.
            if *pes.get(index)? as usize == pe {
                return Some(index);
            }
            place = (place + 1) & self.places.last();
        }
    }
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
        let span = highest - lowest + 1;
        let is_dense = span <= Places::MOST * size;
        let bits = if is_dense { 0 } else { (2 * size).next_power_of_two().ilog2() };
        let places = Places { lowest, bits };
        let mut table = pes;
        table.resize(size + if is_dense { span } else { 1 << bits }, NONE);
        let mut digest = 0_u32;
        for index in 0..size {
            let pe = table[index];
            let mut place = places.of(pe as usize);
            while table[size + place] != NONE {
                place = (place + 1) & places.last();
            }
            table[size + place] = index as u32;
            // By the golden ratio, as Fibonacci hashing has it.
            digest = (digest.rotate_left(5) ^ pe).wrapping_mul(0x9e37_79b9);
        }
        let list = List { table: Table::own(table), places, digest };
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
            let List { ref table, places, digest } = **list;
            self.list = Some(Arc::new(List { table: tables.read(table.len()), places, digest }));
        }
    }

    /// Most bytes of the table of some of these members: who are few among as many PEs have a hash, which is no longer
    /// than what all have.
    pub(super) fn most_table_bytes(&self) -> usize {
        let places = match &self.list {
            None => self.stride.unsigned_abs() as usize * (self.size - 1) + 1,
            Some(list) if list.places.bits == 0 => list.table.len() - self.size,
            Some(_) => usize::MAX,
        };
        (self.size + places.min(Places::MOST * self.size)) * size_of::<u32>()
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
            return list.index_of(pe, self.size);
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
            Members::world(20).pick([19, 0, 7]),
        ] {
            for i in 0..m.size {
                assert_eq!(m.index_of(m.pe(i)), Some(i));
            }
            assert_eq!((0..20).filter_map(|pe| m.index_of(pe)).count(), m.size);
        }
    }

    /// PEs at any distance, of which some change places.
    #[test]
    fn few_of_many_pes_are_found() {
        let world = Members::world(1 << 21);
        for (size, distance) in [(3, 5), (100, 6), (100, 144), (127, 4096), (128, 4181), (129, 1 << 13), (4096, 255)] {
            let list = world.pick((0..size).map(|i| (i ^ 1) * distance));
            let words = list.table().len();
            assert!(words <= 5 * size + 4 && size_of_val(list.table()) <= list.most_table_bytes(), "{size}: {words}");
            assert!(list.most_table_bytes() <= world.most_table_bytes());
            for i in 0..size {
                assert_eq!(list.index_of(list.pe(i)), Some(i), "{i} of {size}");
                assert_eq!(list.index_of(i * distance + 1), None, "{i} of {size}");
            }
            let some = list.pick((0..size).filter(|i| i % 5 < 2 || *i == size - 1));
            assert!(size_of_val(some.table()) <= list.most_table_bytes(), "{size}");
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
