//! Who takes part in a collective.

/// The members of a team or active set, by their numbers in the world: an arithmetic sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Members {
    /// The first one.
    pub start: i32,
    /// From one to the next; may be negative.
    pub stride: i32,
    /// How many.
    pub size: usize,
}

impl Members {
    /// The sequence, None unless all of it are among `n_pes` PEs.
    pub fn of(start: i32, stride: i32, size: usize, n_pes: usize) -> Option<Self> {
        let steps = i64::try_from(size).ok()?.checked_sub(1)?;
        let last = i64::from(stride).checked_mul(steps)?;
        let last = i64::from(start).checked_add(last)?;
        let all = 0..i64::try_from(n_pes).ok()?;
        let is_inside = size > 0 && all.contains(&start.into()) && all.contains(&last);
        is_inside.then_some(Self { start, stride, size })
    }

    /// As words.
    pub(crate) fn words(&self) -> [u64; 3] {
        [self.start as u64, self.stride as u64, self.size as u64]
    }

    /// From such words.
    pub(crate) fn of_words([start, stride, size]: [u64; 3], n_pes: usize) -> Option<Self> {
        Self::of(start as i32, stride as i32, size as usize, n_pes)
    }

    /// All PEs.
    pub fn world(n_pes: usize) -> Self {
        Self { start: 0, stride: 1, size: n_pes }
    }

    /// Member number `index`, None if there is none.
    pub fn pe(&self, index: usize) -> Option<usize> {
        (index < self.size).then(|| (self.start + self.stride * index as i32) as usize)
    }

    /// All of them.
    pub fn pes(self) -> impl Iterator<Item = usize> {
        (0..self.size).filter_map(move |index| self.pe(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_a_sequence() {
        let members = Members::of(5, -2, 3, 6).unwrap();
        assert_eq!(members.pes().collect::<Vec<_>>(), [5, 3, 1]);
        assert_eq!(members.pe(3), None);
        assert_eq!(members.pe(usize::MAX), None);
    }

    #[test]
    fn members_that_are_no_pes_are_none() {
        assert_eq!(Members::of(5, -2, 4, 6), None);
        assert_eq!(Members::of(0, 2, 4, 6), None);
        assert_eq!(Members::of(-1, 1, 2, 6), None);
        assert_eq!(Members::of(0, i32::MIN, usize::MAX, 6), None);
        assert_eq!(Members::of(0, 1, 0, 6), None);
        assert_eq!(Members::of(0, 1, 6, 6), Some(Members::world(6)));
    }
}
