//! The times of a comparison.

use pgas_microbench::Spread;

/// Nanoseconds per call, by block.
pub type Times = Vec<f64>;

/// The fewest blocks that a median is taken of.
pub const FEWEST: usize = 5;

/// The times of all entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    times: Vec<Times>,
    /// Whether other processes ran in too many blocks to leave those out.
    pub disturbed: bool,
}

impl Outcome {
    /// Leaves out blocks in which other processes ran (`idle` is false), if enough blocks remain.
    pub fn new(mut times: Vec<Times>, idle: &[bool]) -> Self {
        let disturbed = idle.iter().filter(|idle| **idle).count() < FEWEST;
        if !disturbed {
            // Entries that skipped blocks keep all that they have.
            for times in times.iter_mut().filter(|t| t.len() == idle.len()) {
                let mut idle = idle.iter();
                times.retain(|_| *idle.next().unwrap_or(&true));
            }
        }
        Self { times, disturbed }
    }

    /// The time of entry `of` divided by the time of entry `to`, block by block.
    pub fn ratio(&self, of: usize, to: usize) -> Option<Spread> {
        let blocks = self.times[of].iter().zip(&self.times[to]);
        Spread::of(blocks.map(|(of, to)| of / to))
    }

    /// The median of an entry: nanoseconds per call.
    pub fn median(&self, entry: usize) -> Option<f64> {
        Spread::of(self.times[entry].iter().copied()).map(|spread| spread.median)
    }

    /// The medians of all entries.
    pub fn medians(&self) -> Vec<Option<f64>> {
        (0..self.times.len()).map(|entry| self.median(entry)).collect()
    }

    /// The entry with the lowest median among some.
    pub fn fastest(&self, among: impl IntoIterator<Item = usize>) -> Option<usize> {
        among
            .into_iter()
            .filter_map(|entry| Some((entry, self.median(entry)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(entry, _)| entry)
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

    fn outcome(times: &[&[f64]], idle: &[bool]) -> Outcome {
        Outcome::new(times.iter().map(|t| t.to_vec()).collect(), idle)
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
        let mut idle = [true; 8];
        idle[6] = false;
        let outcome_of = |idle: &[bool]| outcome(&[&times, &[3.0]], idle);
        let all = outcome_of(&idle);
        assert!(!all.disturbed);
        assert_eq!(all.times[0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
        assert_eq!(all.times[1], [3.0]);
        idle[..4].fill(false);
        let few = outcome_of(&idle);
        assert!(few.disturbed && few.times[0] == times);
    }

    #[test]
    fn means_are_geometric() {
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_none());
    }
}
