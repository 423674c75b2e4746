//! What a contest was like.

use crate::Spread;

/// Nanoseconds per call, by block.
pub type Times = Vec<f64>;

/// Fewer blocks say too little.
pub const FEWEST: usize = 5;

/// What a contest's lanes did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    times: Vec<Times>,
    /// Whether others used the machine in too many blocks to leave those out.
    pub disturbed: bool,
}

impl Outcome {
    /// Leaves out the blocks that were not `quiet`, if there are enough others.
    pub fn new(mut times: Vec<Times>, quiet: &[bool]) -> Self {
        let disturbed = quiet.iter().filter(|quiet| **quiet).count() < FEWEST;
        if !disturbed {
            // Who sat out is shown by the blocks that there are.
            for times in times.iter_mut().filter(|t| t.len() == quiet.len()) {
                let mut quiet = quiet.iter();
                times.retain(|_| *quiet.next().unwrap_or(&true));
            }
        }
        Self { times, disturbed }
    }

    /// How many times as long as in lane `to` a call in lane `of` took, block by block.
    pub fn ratio(&self, of: usize, to: usize) -> Option<Spread> {
        let blocks = self.times[of].iter().zip(&self.times[to]);
        Spread::of(blocks.map(|(of, to)| of / to))
    }

    /// The median of a lane: nanoseconds per call.
    pub fn median(&self, lane: usize) -> Option<f64> {
        Spread::of(self.times[lane].iter().copied()).map(|spread| spread.median)
    }

    /// All lanes' medians.
    pub fn medians(&self) -> Vec<Option<f64>> {
        (0..self.times.len())
            .map(|lane| self.median(lane))
            .collect()
    }

    /// Which of some lanes has the lowest median.
    pub fn fastest(&self, among: impl IntoIterator<Item = usize>) -> Option<usize> {
        among
            .into_iter()
            .filter_map(|lane| Some((lane, self.median(lane)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(lane, _)| lane)
    }
}

/// The geometric mean of at least one value.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|v| v.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(times: &[&[f64]], quiet: &[bool]) -> Outcome {
        Outcome::new(times.iter().map(|t| t.to_vec()).collect(), quiet)
    }

    #[test]
    fn ratios_are_of_the_same_block() {
        let outcome = outcome(&[&[20.0, 60.0, 40.0], &[10.0, 20.0], &[]], &[true; 3]);
        assert_eq!(outcome.ratio(0, 1).unwrap().median, 2.5);
        assert_eq!(outcome.ratio(0, 2), None);
    }

    #[test]
    fn the_lowest_median_is_fastest() {
        let outcome = outcome(&[&[1.0, 9.0, 9.0], &[], &[5.0, 4.0, 5.0]], &[true; 3]);
        assert_eq!(outcome.fastest(0..3), Some(2));
        assert_eq!(outcome.fastest([0]), Some(0));
        assert_eq!(outcome.fastest([1]), None);
    }

    #[test]
    fn disturbed_blocks_are_left_out_if_enough_remain() {
        let times: Vec<f64> = (0..8).map(f64::from).collect();
        let mut quiet = [true; 8];
        quiet[6] = false;
        let outcome_of = |quiet: &[bool]| outcome(&[&times, &[3.0]], quiet);
        let all = outcome_of(&quiet);
        assert!(!all.disturbed);
        assert_eq!(all.times[0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
        assert_eq!(all.times[1], [3.0]);
        quiet[..4].fill(false);
        let few = outcome_of(&quiet);
        assert!(few.disturbed && few.times[0] == times);
    }

    #[test]
    fn means_are_geometric() {
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_none());
    }
}
