//! One round of a measurement.

use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// The same work done twice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Time of the bare hardware, in nanoseconds per operation.
    pub bare: f64,
    /// Time of the library, in nanoseconds per operation.
    pub ours: f64,
}

impl FromStr for Round {
    type Err = anyhow::Error;

    /// Reads the line that a program prints for a round.
    fn from_str(line: &str) -> Result<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [bare, ours] = words[..] else {
            bail!("not two times: {line:?}");
        };
        let time = |text: &str| -> Result<f64> {
            let time: f64 = text
                .parse()
                .with_context(|| format!("not a time: {line:?}"))?;
            anyhow::ensure!(time > 0.0, "not a positive time: {line:?}");
            Ok(time)
        };
        Ok(Self {
            bare: time(bare)?,
            ours: time(ours)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let round: Round = "1.5 20\n".parse().unwrap();
        assert_eq!(
            round,
            Round {
                bare: 1.5,
                ours: 20.0
            }
        );
        for line in ["", "1.0", "x 1.0", "0.0 1.0", "1 2 3"] {
            assert!(line.parse::<Round>().is_err(), "{line}");
        }
    }
}
