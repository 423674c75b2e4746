//! The part of a put that overlaps with computation.

use anyhow::{Context, Result, bail};
use ferroshmem_benches::{LiveTable, Options, table};
use ferroshmem_cluster::hosts::{Distribution, Placement};
use pgas_microbench::Spread;

use crate::testbed::{Program, Testbed};

/// Bytes of a put, and the times of computations in times of the put.
const PUTS: [(usize, &[&str]); 2] = [(8, &["100"]), (1 << 20, &["0.5", "1", "2", "4"])];

/// The overlap of two times that differ by this factor cannot be measured.
const COMPARABLE: f64 = 10.0;

const PLACE: Placement = Placement { pes: 2, hosts: 2, distribution: Distribution::Block };

/// A line of the program's output: times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// Which PE computes, and how long: the name of the row.
    what: String,
    computation: f64,
    put: f64,
    meanwhile: f64,
    together: f64,
}

impl Row {
    fn read(line: &str) -> Result<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [side, factor, times @ ..] = &words[..] else {
            bail!("not a line of times: {line:?}");
        };
        let times = times.iter().map(|word| word.parse::<f64>());
        let times: Vec<_> = times.collect::<Result<_, _>>().context(line.to_owned())?;
        let [computation, put, meanwhile, together] = times[..] else {
            bail!("not four times: {line:?}");
        };
        Ok(Self {
            what: format!("{side}/{factor}x"),
            computation: computation * 1e3,
            put: put * 1e3,
            meanwhile: meanwhile * 1e3,
            together: together * 1e3,
        })
    }

    /// The part of the shorter one, put or computation, that overlaps with the other; none if it is
    /// shorter than the variation of the other.
    fn hidden(&self) -> Option<f64> {
        let shorter = self.computation.min(self.put);
        let saved = self.computation + self.put - self.together;
        (self.computation.max(self.put) < COMPARABLE * shorter).then_some(saved / shorter)
    }
}

/// Measures all sizes that are wanted.
///
/// # Errors
/// If the output of the program has another format.
pub(crate) fn run(testbed: &mut Testbed<'_>, options: &Options) -> Result<()> {
    for (bytes, factors) in PUTS {
        let name = format!("overlap/{}", table::size(bytes));
        if options.wants(&name) {
            print_table(testbed, options, &name, &format!("{bytes} {}", factors.join(" ")))?;
        }
    }
    Ok(())
}

fn print_table(testbed: &mut Testbed<'_>, options: &Options, name: &str, arguments: &str) -> Result<()> {
    let turns = if options.full { 9 } else { 3 };
    let labels: Vec<_> = testbed.variants.iter().map(|c| c.label).collect();
    let mut runs: Vec<Vec<Vec<Row>>> = vec![Vec::new(); labels.len()];
    for turn in 0..turns {
        for index in 0..labels.len() {
            let variant = (index + turn) % labels.len();
            if let Some(output) = testbed.run(variant, Program::Overlap, arguments, &PLACE) {
                let rows = output.lines().map(Row::read);
                runs[variant].push(rows.collect::<Result<_>>()?);
            }
        }
    }
    println!("\n{name}: a put during a computation on one of two PEs, us; hidden, of the shorter one");
    let columns = ["alone", "put", "put too", "both"];
    let live = LiveTable::new("who computes", &columns, "hidden       10%..90%");
    for (label, runs) in labels.iter().zip(&runs) {
        let rows = runs.first().map_or(0, Vec::len);
        for row in 0..rows {
            let of = |value: fn(&Row) -> Option<f64>| {
                Spread::of(runs.iter().filter_map(|run| run.get(row)).filter_map(value))
            };
            let values =
                [of(|r| Some(r.computation)), of(|r| Some(r.put)), of(|r| Some(r.meanwhile)), of(|r| Some(r.together))];
            let medians = values.map(|spread| spread.map(|s| s.median));
            let hidden = of(Row::hidden).map(table::ratio).unwrap_or_default();
            live.line(&format!("{label}/{}", runs[0][row].what), &medians, &hidden);
        }
    }
    Ok(())
}
