//! Samples of ratios: of each item as many rounds as take a time.

use std::time::{Duration, Instant};

use crate::{Bar, Options, Round, Table, table};

/// The fewest rounds of an item, however long they take.
const FEWEST: usize = 20;

/// What the command line asks for, and what was measured of it.
#[derive(Debug)]
pub struct Sampler {
    options: Options,
    /// The items that were measured.
    pub table: Table,
}

impl Sampler {
    /// None if the command line asks for help, which is printed.
    pub fn of_arguments(bench: &str) -> Option<Self> {
        let Some(options) = Options::parse(std::env::args().skip(1)) else {
            println!(
                "usage: cargo bench -p ferroshmem-benches --bench {bench} [-- [--full] [FILTER...]]\n\n\
                    Measures the items with one of FILTER in their names. --full takes four times as long."
            );
            return None;
        };
        Some(Self { options, table: Table::default() })
    }

    /// Measures an item, if it is asked for, for `time` and a tenth of it before. Called with 0 rounds, `measure`
    /// prepares itself, which is not timed.
    ///
    /// # Errors
    /// The first error of `measure`, which is not called again.
    pub fn sample<E>(
        &mut self,
        item: &str,
        bar: Option<Bar>,
        time: Duration,
        mut measure: impl FnMut(usize) -> Result<Vec<Round>, E>,
    ) -> Result<(), E> {
        if !self.options.wants(item) {
            return Ok(());
        }
        table::progress(item);
        measure(0)?;
        let time = if self.options.full { 4 * time } else { time };
        let (mut begun, mut batch) = (Instant::now(), 1);
        while begun.elapsed() < time / 10 {
            measure(batch)?;
            batch *= 2;
        }
        let mut rounds = Vec::new();
        begun = Instant::now();
        while begun.elapsed() < time || rounds.len() < FEWEST {
            rounds.extend(measure(batch)?);
        }
        table::clear();
        self.table.add(item, bar, &rounds);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_is_asked_for_has_enough_rounds() {
        let options = Options::parse(["barrier".to_owned()]).unwrap();
        let mut sampler = Sampler { options, table: Table::default() };
        let mut measured = 0;
        let mut measure = |rounds: usize| {
            measured += rounds;
            Ok::<_, ()>(vec![Round { bare: 1.0, ours: 2.0 }; rounds])
        };
        sampler.sample("latency/lock", None, Duration::ZERO, &mut measure).unwrap();
        assert!(sampler.table.is_empty());
        sampler.sample("latency/barrier", None, Duration::ZERO, &mut measure).unwrap();
        assert!(sampler.table.to_string().contains(&format!("{FEWEST}")) && measured == FEWEST);
        assert_eq!(sampler.sample("barrier", None, Duration::ZERO, |_| Err(7)), Err(7));
    }
}
