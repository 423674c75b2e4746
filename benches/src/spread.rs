//! Where many noisy values lie.

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
    /// The spread of some values; none if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let at = |percent: usize| {
            // Between the two nearest values, if there is none at this very place.
            let (below, rest) = (last * percent / 100, last * percent % 100);
            let above = (below + 1).min(last);
            values[below] + (values[above] - values[below]) * rest as f64 / 100.0
        };
        Some(Self {
            low: at(10),
            median: at(50),
            high: at(90),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few_values() {
        assert_eq!(Spread::of([]), None);
        let one = Spread {
            low: 7.0,
            median: 7.0,
            high: 7.0,
        };
        assert_eq!(Spread::of([7.0]), Some(one));
        let eleven = Spread::of((0..=10).rev().map(f64::from)).unwrap();
        assert_eq!(
            eleven,
            Spread {
                low: 1.0,
                median: 5.0,
                high: 9.0
            }
        );
        assert_eq!(Spread::of([1.0, 2.0]).unwrap().median, 1.5);
    }
}
