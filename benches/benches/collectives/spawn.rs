//! PEs that are started while a job runs, beside the peers' processes: from the call over a first put or message to
//! each of them, to the end of the connection.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table;
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Setting, Testbed, Variant, measure, report_failures};

/// PEs that one PE starts.
const NUMBERS: [usize; 4] = [1, 2, 8, 32];
/// How many times as fast as the fastest MPI this library is to be.
const BAR: f64 = 20.0;
const OPERATION: &str = "spawn";

/// Measures each number of PEs beside every MPI. OpenSHMEM has no such routine.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    let wanted = options.wanted(&NUMBERS, item);
    if wanted.is_empty() {
        return Ok(());
    }
    let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
    let peers = testbed.peers(1, &[]);
    variants.extend(peers.into_iter().filter(|peer| peer.family.is_mpi()));
    // MPICH starts no process from one that is bound.
    for variant in &mut variants {
        variant.setting = Setting::Free;
    }
    let labels: Vec<_> = variants.iter().map(|v| v.label.as_str()).collect();
    println!("\nspawn of PEs by one PE, a put or message to each, and disconnect: us; one after the other");
    println!("ratio: fastest peer / ours, also that of PEs started in a second");
    let live = LiveTable::new("", &labels, " ratio       10%..90%      bar  to");
    let entries: Vec<_> = (0..variants.len()).map(|job| Entry { job, operation: OPERATION }).collect();
    for number in wanted {
        // An element stands for a PE.
        let bytes = number * size_of::<f64>();
        let jobs = testbed.start(&variants, 1, bytes);
        let mut comparison = Comparison::new(jobs, &entries);
        let name = item(number);
        let outcome = measure(&mut comparison, &name, bytes, Testbed::effort(options, number));
        let rest = table::beside_fastest(&outcome, 1..entries.len(), &labels, BAR);
        live.line(&name, &outcome.medians(), &rest);
        report_failures(&comparison.into_jobs(), &variants)?;
    }
    Ok(())
}

fn item(number: usize) -> String {
    format!("spawn/{number}")
}
