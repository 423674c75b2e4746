//! IS on one host and on two.

use anyhow::{Context, Result};
use ferroshmem_benches::{LiveTable, Options};
use ferroshmem_cluster::hosts::{Distribution, Placement};
use pgas_microbench::Spread;

use crate::testbed::{Program, Testbed};

const CLASS: &str = "A";
const PES: usize = 4;

/// Sorts on one host and on two, in turn, with this library only.
///
/// # Errors
/// If the output of the program has another format.
pub(crate) fn run(testbed: &mut Testbed<'_>, options: &Options) -> Result<()> {
    let turns = if options.full { 7 } else { 3 };
    let places = [1, 2].map(|hosts| Placement { pes: PES, hosts, distribution: Distribution::Block });
    let name = |place: &Placement| format!("IS/{CLASS}/{}x{}", place.hosts, PES / place.hosts);
    let wanted: Vec<_> = places.iter().filter(|p| options.wants(&name(p))).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut times = vec![Vec::new(); wanted.len()];
    for _ in 0..turns {
        for (place, times) in wanted.iter().zip(&mut times) {
            if let Some(output) = testbed.run(0, Program::Keys, CLASS, place) {
                times.push(seconds(&output)? * 1e9);
            }
        }
    }
    println!("\nIS class {CLASS}, {PES} PEs on hosts x PEs of each: us, verified");
    let table = LiveTable::new("", &["ours"], "       10%..90%");
    for (place, times) in wanted.iter().zip(times) {
        let spread = Spread::of(times);
        let rest = spread.map_or(String::new(), |s| format!("{:.0}..{:.0}", s.low / 1e3, s.high / 1e3));
        table.line(&name(place), &[spread.map(|s| s.median)], &rest);
    }
    Ok(())
}

/// The time in the program's output. Its exit status says that the result is right.
fn seconds(output: &str) -> Result<f64> {
    let line = output.lines().find(|line| line.trim().starts_with("Time in seconds"));
    let value = line.and_then(|line| line.split('=').nth(1)?.trim().parse().ok());
    value.with_context(|| format!("IS printed no time: {output:?}"))
}
