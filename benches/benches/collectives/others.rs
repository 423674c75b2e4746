//! The collectives other than reductions, compared with all peers.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Effort, Entry};
use ferroshmem_benches::table::{self, verdict};
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: [usize; 3] = [2, 4, 16];
/// Those of all peers, and those that version 1.4 of OpenSHMEM lacks.
const OPERATIONS: [&str; 4] = ["broadcast", "fcollect", "collect", "alltoall"];
const NEWER: [&str; 5] = ["scan", "gather", "scatter", "reduce", "reduce_scatter"];
const SIZES: [usize; 4] = [8, 1 << 10, 64 << 10, 1 << 20];
/// A block that no cache holds, and the most PEs that exchange such blocks.
const LARGE: usize = 8 << 20;
const LARGE_PES: usize = 4;
/// How many times as fast as the fastest peer this library is to be with such blocks.
const LARGE_BAR: f64 = 1.0;

/// Measures all of them on all numbers of PEs. Those of large blocks that all peers have have a limit.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    for pes in PES {
        let mut sizes = SIZES.to_vec();
        sizes.extend((pes <= LARGE_PES).then_some(LARGE));
        let wanted = |operation| options.wanted(&sizes, |bytes| item(operation, pes, bytes));
        let all =
            OPERATIONS.into_iter().chain(NEWER).map(|operation| (operation, wanted(operation))).collect::<Vec<_>>();
        if all.iter().any(|(_, sizes)| !sizes.is_empty()) {
            table(testbed, options, pes, &all)?;
        }
    }
    Ok(())
}

fn item(operation: &str, pes: usize, bytes: usize) -> String {
    format!("others/{operation}/{pes}-PEs/{}", table::size(bytes))
}

fn table(testbed: &Testbed, options: &Options, pes: usize, wanted: &[(&'static str, Vec<usize>)]) -> Result<()> {
    let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
    variants.extend(testbed.peers(pes, &[]));
    let labels: Vec<_> = variants.iter().map(|v| v.label.as_str()).collect();
    println!("\nother collectives ({pes}): us per call, fastest peer / ours");
    println!("sizes are those of one PE's block; MPI gets the sizes that collect has to exchange");
    let live = LiveTable::new("", &labels, " ratio       10%..90%  to");
    let largest = wanted.iter().flat_map(|(_, sizes)| sizes).max();
    // The arrays have a block for each PE.
    let mut jobs = testbed.start(&variants, pes, largest.unwrap_or(&0) * pes);
    for (operation, sizes) in wanted {
        let is_newer = NEWER.contains(operation);
        let entries: Vec<_> = (0..variants.len())
            .filter(|job| !is_newer || variants[*job].family != Family::OpenShmem)
            .map(|job| Entry { job, operation })
            .collect();
        let mut comparison = Comparison::new(jobs, &entries);
        for bytes in sizes {
            let name = item(operation, pes, *bytes);
            let outcome = measure(&mut comparison, &name, *bytes, effort(options, pes));
            let column = |job| outcome.median(entries.iter().position(|e| e.job == job)?);
            let columns: Vec<_> = (0..variants.len()).map(column).collect();
            let rest = outcome.fastest(1..entries.len()).and_then(|entry| {
                let spread = outcome.ratio(entry, 0)?;
                let label = labels[entries[entry].job];
                let disturbed = table::disturbed(&outcome);
                let limited = *bytes == LARGE && !is_newer;
                let verdict = if limited {
                    let verdict = verdict(spread.median >= LARGE_BAR);
                    format!("  >= {LARGE_BAR:.2}  {verdict}")
                } else {
                    String::new()
                };
                let ratio = table::ratio(spread);
                Some(format!("{ratio}{verdict}  {label}{disturbed}"))
            });
            live.line(&name, &columns, &rest.unwrap_or_default());
        }
        jobs = comparison.into_jobs();
    }
    report_failures(&jobs, &variants)
}

/// Less than elsewhere, as there is no limit.
fn effort(options: &Options, pes: usize) -> Effort {
    let effort = Testbed::effort(options, pes);
    Effort { blocks: effort.blocks * 2 / 3, ..effort }
}
