//! Rounds of a measurement: the same work on the bare hardware and with the library.

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use pgas_microbench::job::Session;

/// The times of the same work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Time of the bare hardware, in nanoseconds per operation.
    pub bare: f64,
    /// Time of the library, in nanoseconds per operation.
    pub ours: f64,
}

impl Round {
    /// Lets a job (`c/rounds.h` is its other end) measure `rounds` rounds of the series `name`.
    ///
    /// # Errors
    /// If the job ends, whose error output is in the error, or prints something else.
    pub fn measure(session: &mut Session, name: &str, rounds: usize) -> Result<Vec<Self>> {
        session.send(&format!("{name} {rounds}"))?;
        let round = |_| session.receive()?.parse();
        (0..rounds).map(round).collect::<Result<_>>().with_context(|| name.to_owned())
    }
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
            let time: f64 = text.parse().with_context(|| format!("not a time: {line:?}"))?;
            anyhow::ensure!(time > 0.0, "not a positive time: {line:?}");
            Ok(time)
        };
        Ok(Self { bare: time(bare)?, ours: time(ours)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let round: Round = "1.5 20\n".parse().unwrap();
        assert_eq!(round, Round { bare: 1.5, ours: 20.0 });
        for line in ["", "1.0", "x 1.0", "0.0 1.0", "1 2 3"] {
            assert!(line.parse::<Round>().is_err(), "{line}");
        }
    }
}
