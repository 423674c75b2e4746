//! Which PEs a team or an active set consists of.

/// An arithmetic sequence of world PE numbers: what every split of a team makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Members {
    /// World number of the first PE.
    pub start: i32,
    /// Distance from one PE to the next; may be negative.
    pub stride: i32,
    /// Number of PEs.
    pub size: usize,
}

impl Members {
    /// All PEs of a job.
    pub fn world(n_pes: usize) -> Self {
        Self { start: 0, stride: 1, size: n_pes }
    }

    /// World number of member `index`.
    #[inline]
    pub fn pe(&self, index: usize) -> usize {
        debug_assert!(index < self.size);
        (self.start + self.stride * index as i32) as usize
    }

    /// Number within these members of world PE `pe`, if it is one.
    #[inline(always)]
    pub fn index_of(&self, pe: usize) -> Option<usize> {
        let distance = pe as i32 - self.start;
        let index = match self.stride {
            0 => (distance == 0).then_some(0)?,
            s if distance % s == 0 => distance / s,
            _ => return None,
        };
        usize::try_from(index).ok().filter(|i| *i < self.size)
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
        let stride = self.stride * if stride == 0 { 1 } else { stride };
        Some(Self { start: self.pe(start as usize) as i32, stride, size: count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        let world = Members::world(12);
        for m in [
            world,
            world.strided(1, 2, 5).unwrap(),
            world.strided(11, -3, 4).unwrap(),
            world.strided(3, 0, 1).unwrap(),
            world.strided(11, -3, 4).unwrap().strided(3, -1, 4).unwrap(),
        ] {
            for i in 0..m.size {
                assert_eq!(m.index_of(m.pe(i)), Some(i));
            }
            assert_eq!((0..12).filter_map(|pe| m.index_of(pe)).count(), m.size);
        }
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
