//! Who takes part in a collective.

use crate::shared::mixed;

/// The members of a team or active set, by their numbers in the world: an arithmetic sequence, or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Members {
    /// The first one; of a list, a number that tells it from others.
    pub start: i32,
    /// From one to the next; may be negative. 0 of several: a list.
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
        let is_list = stride == 0 && size > 1;
        let is_inside = size > 0 && (is_list || all.contains(&start.into()) && all.contains(&last));
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

    /// These PEs of a job of `n_pes`, and in this order.
    pub fn of_list(pes: &[i32], n_pes: usize) -> Option<Self> {
        let stride = pes.get(1).map_or(1, |second| second.wrapping_sub(pes[0]));
        if pes.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == stride) {
            return Self::of(*pes.first()?, stride, pes.len(), n_pes);
        }
        let number = pes.iter().fold(0, |sum, pe| mixed(sum, *pe as u64));
        Some(Self { start: number as i32, stride: 0, size: pes.len() })
    }

    /// Whether their numbers are not known from this alone.
    pub fn is_list(&self) -> bool {
        self.stride == 0 && self.size > 1
    }

    /// Member number `index` of a sequence, None if there is none.
    fn pe(&self, index: usize) -> Option<usize> {
        (index < self.size).then(|| (self.start + self.stride * index as i32) as usize)
    }

    /// All of a sequence.
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
        assert_eq!((members.pe(usize::MAX), members.is_list()), (None, false));
    }

    #[test]
    fn members_of_a_list_have_a_number_of_their_own() {
        assert_eq!(Members::of_list(&[5, 3, 1], 6), Members::of(5, -2, 3, 6));
        let [one, other] = [[0, 2, 5], [0, 3, 4]].map(|pes| Members::of_list(&pes, 6).unwrap());
        assert!(one.is_list() && one != other);
        assert_eq!(Members::of_words(one.words(), 6), Some(one));
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
