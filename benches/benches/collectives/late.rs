//! The barrier with one PE that comes late: from its arrival until all PEs go on.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table;
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: usize = 2;
/// Microseconds after the other PEs, and how many times as fast as the fastest peer this library is to be.
const LATENESS: [(usize, f64); 6] = [(1, 1.0), (10, 1.0), (100, 1.0), (1_000, 1.0), (10_000, 1.0), (1_000_000, 1.0)];
const OPERATION: &str = "late/barrier";
const ELEMENT: usize = 8;

/// Measures it for each lateness, beside all peers and a barrier of bare processes.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    let wanted = options.wanted(&LATENESS, |(us, _)| item(us));
    if wanted.is_empty() {
        return Ok(());
    }
    let mut variants = vec![Variant::new("ours", Family::FerroShmem), Variant::new("counter", Family::Processes)];
    variants.extend(testbed.peers(PES, &[]));
    let labels: Vec<_> = variants.iter().map(|v| v.label.as_str()).collect();
    println!("\nbarrier of {PES} PEs, of which one comes late: us from its arrival until all go on");
    println!("counter: bare processes that poll and yield; ratio: fastest peer / ours");
    let live = LiveTable::new("", &labels, " ratio       10%..90%      bar  to");
    let operation = OPERATION;
    let entries: Vec<_> = (0..variants.len()).map(|job| Entry { job, operation }).collect();
    let mut comparison = Comparison::new(testbed.start(&variants, PES, ELEMENT), &entries);
    for (us, bar) in wanted {
        let name = item(us);
        let outcome = measure(&mut comparison, &name, us, Testbed::effort(options, PES));
        let rest = table::beside_fastest(&outcome, 2..entries.len(), &labels, bar);
        live.line(&name, &outcome.medians(), &rest);
    }
    report_failures(&comparison.into_jobs(), &variants)
}

fn item(us: usize) -> String {
    format!("late/{us}us/barrier")
}
