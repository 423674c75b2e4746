//! Collectives between work of different length on each PE: the time that is lost after the last arrival.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table;
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: usize = 2;
/// The distribution of the work, as `c/collectives/uneven.h` names it, and the operation.
const OPERATIONS: [&str; 10] = [
    "uneven/uniform/barrier", "uneven/exponential/barrier", "uneven/pareto/barrier", "uneven/slow-pe/barrier",
    "uneven/bursts/barrier", "uneven/uniform/sum", "uneven/exponential/sum", "uneven/pareto/sum", "uneven/slow-pe/sum",
    "uneven/bursts/sum",
];
/// Microseconds of work before a call, on average.
const MEANS: [usize; 3] = [10, 100, 1_000];
/// How many times as fast as the fastest peer this library is to be.
const BAR: f64 = 1.0;
const ELEMENT: usize = 8;

/// Measures each distribution beside all peers, and a barrier of bare processes.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    let of = |operation: &str| options.wanted(&MEANS, |mean| item(operation, mean));
    if OPERATIONS.iter().all(|operation| of(operation).is_empty()) {
        return Ok(());
    }
    println!("\ncollectives of {PES} PEs between uneven work: us from the last arrival until all go on");
    println!("counter: bare processes that poll and yield; ratio: fastest peer / ours");
    for operation in OPERATIONS {
        let means = of(operation);
        if !means.is_empty() {
            compare(testbed, options, operation, &means)?;
        }
    }
    Ok(())
}

/// Measures `operation` with each mean of the work.
fn compare(testbed: &Testbed, options: &Options, operation: &'static str, means: &[usize]) -> Result<()> {
    let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
    // Bare processes have a barrier alone.
    let bare = operation.ends_with("/barrier");
    if bare {
        variants.push(Variant::new("counter", Family::Processes));
    }
    variants.extend(testbed.peers(PES, &[]));
    let labels: Vec<_> = variants.iter().map(|v| v.label.as_str()).collect();
    let live = LiveTable::new("", &labels, " ratio       10%..90%      bar  to");
    let entries: Vec<_> = (0..variants.len()).map(|job| Entry { job, operation }).collect();
    let mut comparison = Comparison::new(testbed.start(&variants, PES, ELEMENT), &entries);
    for &mean in means {
        let item = item(operation, mean);
        let outcome = measure(&mut comparison, &item, mean, Testbed::effort(options, PES));
        let rest = table::beside_fastest(&outcome, 1 + usize::from(bare)..entries.len(), &labels, BAR);
        live.line(&item, &outcome.medians(), &rest);
    }
    report_failures(&comparison.into_jobs(), &variants)
}

fn item(operation: &str, mean: usize) -> String {
    format!("{operation}/{mean}us")
}
