//! Percentiles of noisy values.

/// The 10th, 50th and 90th percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// A tenth of the values are below.
    pub low: f64,
    /// Half of the values are below.
    pub median: f64,
    /// A tenth of the values are above.
    pub high: f64,
}

impl Spread {
    /// The percentiles of some values, interpolated between neighbours; none without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |percent: usize| {
            let (below, rest) = (last * percent / 100, last * percent % 100);
            let above = (below + 1).min(last);
            values[below] + (values[above] - values[below]) * rest as f64 / 100.0
        };
        Some(Self { low: at(10), median: at(50), high: at(90) })
    }

    /// A value without spread.
    pub fn exactly(value: f64) -> Self {
        Self { low: value, median: value, high: value }
    }

    /// These values divided by others: median by median, and the widest range that the ends allow.
    pub fn over(self, other: Self) -> Self {
        Self { low: self.low / other.high, median: self.median / other.median, high: self.high / other.low }
    }

    /// Whether the ranges from low to high overlap.
    pub fn overlaps(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few_values() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([7.0]), Some(Spread::exactly(7.0)));
        let eleven = Spread::of((0..=10).rev().map(f64::from)).unwrap();
        assert_eq!([eleven.low, eleven.median, eleven.high], [1.0, 5.0, 9.0]);
        assert_eq!(Spread::of([1.0, 2.0]).unwrap().median, 1.5);
    }
}
