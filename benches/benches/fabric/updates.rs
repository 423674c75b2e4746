//! Updates and reads of random words: plain operations, which are aggregated, and streams, beside bale's conveyors over
//! this library.

use std::env;

use anyhow::Result;
use ferroshmem_benches::{Options, table};
use ferroshmem_cluster::hosts::{Distribution, Placement};
use pgas_microbench::Spread;

use crate::testbed::{Program, Testbed, numbers};

/// Least rate of plain updates, in times of the conveyors'.
const BAR: f64 = 0.5;
/// Least rate of plain updates, in times of the streams'.
const BESIDE_STREAMS: f64 = 0.9;
/// The prefix under which conveyors are installed, which were built with this library's compiler wrapper.
pub(crate) const CONVEYORS: &str = "CONVEYORS_PREFIX";

/// Measures what is wanted, by turns within one job each.
///
/// # Errors
/// If the output of the program has another format.
pub(crate) fn run(testbed: &mut Testbed<'_>, options: &Options) -> Result<()> {
    let mut wanted = Vec::new();
    for what in ["add", "gather"] {
        for pes in [2, 4] {
            let name = format!("updates/{what}/2x{}", pes / 2);
            if options.wants(&name) {
                wanted.push((name, what, pes));
            }
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    if env::var_os(CONVEYORS).is_none() {
        println!("\n{CONVEYORS} names no installation of bale's conveyors: updates/... are left out");
        return Ok(());
    }
    let turns = if options.full { 31 } else { 9 };
    println!(
        "\nrandom words on hosts x PEs of each, millions per second of all PEs; plain / conveyors, plain / streams"
    );
    println!("{:24}{:>11}{:>9}{:>9}   ratio       10%..90%", "", "conveyors", "plain", "streams");
    for (name, what, pes) in wanted {
        let place = Placement { pes, hosts: 2, distribution: Distribution::Block };
        let arguments = format!("{what} {turns} 300000");
        let Some(output) = testbed.run(0, Program::Conveyors, &arguments, &place) else {
            return Ok(());
        };
        let turns = numbers::<3>(&output)?;
        let median = |which: usize| Spread::of(turns.iter().map(|turn| turn[which])).map_or(0.0, |s| s.median);
        let ratio = |which: usize, bar: f64| {
            let ratio = Spread::of(turns.iter().map(|turn| turn[1] / turn[which]));
            ratio.map_or(String::new(), |ratio| {
                // Reads are answered in two ways alike: the bars are for updates.
                let verdict = match what {
                    "add" => format!("  >= {bar}  {}", table::verdict(ratio.median >= bar)),
                    _ => String::new(),
                };
                format!("{}{verdict}", table::ratio(ratio))
            })
        };
        table::clear();
        let [conveyors, plain, streams] = [0, 1, 2].map(median);
        println!("{name:24}{conveyors:>11.1}{plain:>9.1}{streams:>9.1}  {}", ratio(0, BAR));
        println!("{:53}  {}", "", ratio(2, BESIDE_STREAMS));
    }
    Ok(())
}
