//! Limits of ratios.

use std::fmt;

use crate::Round;

/// A limit of the ratio between library and bare hardware.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// The library takes at most this many times the time.
    Time(f64),
    /// The library has at least this fraction of the bandwidth.
    Bandwidth(f64),
    /// The library takes at most so many nanoseconds.
    Nanoseconds(f64),
}

impl Bar {
    /// The ratio of a round that is limited.
    pub fn ratio(self, round: &Round) -> f64 {
        match self {
            Self::Time(_) => round.ours / round.bare,
            Self::Bandwidth(_) => round.bare / round.ours,
            Self::Nanoseconds(most) => round.ours / most,
        }
    }

    /// Whether a ratio is within the limit.
    pub fn met(self, ratio: f64) -> bool {
        match self {
            Self::Time(most) => ratio <= most,
            Self::Bandwidth(least) => ratio >= least,
            Self::Nanoseconds(_) => ratio <= 1.0,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(most) => write!(f, "<= {most:.2}"),
            Self::Bandwidth(least) => write!(f, ">= {least:.2}"),
            Self::Nanoseconds(most) => write!(f, "<= {most:.0} ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_the_inverse_of_time() {
        let round = Round { bare: 4.0, ours: 5.0 };
        assert_eq!(Bar::Time(1.2).ratio(&round), 1.25);
        assert_eq!(Bar::Bandwidth(0.95).ratio(&round), 0.8);
        assert!(!Bar::Time(1.2).met(1.25) && Bar::Time(1.25).met(1.25));
        assert!(!Bar::Bandwidth(0.95).met(0.8) && Bar::Bandwidth(0.8).met(0.8));
    }

    #[test]
    fn a_limit_in_nanoseconds_depends_on_the_library_alone() {
        let round = Round { bare: 4.0, ours: 300.0 };
        let bar = Bar::Nanoseconds(200.0);
        assert_eq!(bar.ratio(&round), 1.5);
        assert!(!bar.met(1.5) && bar.met(1.0));
    }
}
