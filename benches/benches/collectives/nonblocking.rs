//! Collectives by requests that are waited for at once: those that are begun, beside the routines that wait, and those
//! of neighbours, beside puts with signals; and both beside MPI's. Short ones by requests that persist, too.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table::{self, verdict};
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: [usize; 2] = [2, 4];
/// What each is measured beside, and how many times as long it is to take at most.
const OPERATIONS: [(&str, &str, f64); 9] = [
    ("nb/sum", "sum", 1.2),
    ("nb/broadcast", "broadcast", 1.2),
    ("nb/fcollect", "fcollect", 1.2),
    ("nb/alltoall", "alltoall", 1.2),
    ("start/sum", "sum", 1.0),
    ("start/broadcast", "broadcast", 1.0),
    ("start/fcollect", "fcollect", 1.0),
    ("start/alltoall", "alltoall", 1.0),
    ("neighbor", "neighbor/by-hand", 1.05),
];
const SIZES: [usize; 6] = [8, 64, 1 << 10, 64 << 10, 1 << 20, 8 << 20];
/// Those of requests that persist, of 2 PEs and this library alone: Open MPI 4.1 has none.
const STARTED: [usize; 1] = [8];

/// Measures them; each has a limit.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    for pes in PES {
        for (operation, beside, limit) in OPERATIONS {
            let item = |bytes| format!("{operation}/{pes}-PEs/{}", table::size(bytes));
            let is_started = operation.starts_with("start/");
            let sizes: &[usize] = match is_started {
                true if pes == 2 => &STARTED,
                true => &[],
                false => &SIZES,
            };
            let wanted = options.wanted(sizes, item);
            if wanted.is_empty() {
                continue;
            }
            let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
            let mut peers = testbed.peers(pes, &[]);
            peers.retain(|peer| !is_started && peer.family != Family::OpenShmem);
            variants.extend(peers);
            let mut labels = vec![beside];
            labels.extend(variants.iter().map(|v| v.label.as_str()));
            println!("\n{operation} of {pes} PEs: us from its begin to the end of its request");
            let live = LiveTable::new("", &labels, " of first     10%..90%      limit");
            let mut entries = vec![Entry { job: 0, operation: beside }];
            entries.extend((0..variants.len()).map(|job| Entry { job, operation }));
            let mut comparison = Comparison::new(testbed.start(&variants, pes, SIZES[SIZES.len() - 1] * 4), &entries);
            for bytes in wanted {
                let outcome = measure(&mut comparison, &item(bytes), bytes, Testbed::effort(options, pes));
                let rest = outcome.ratio(1, 0).map(|spread| {
                    let (ratio, verdict) = (table::ratio(spread), verdict(spread.median <= limit));
                    format!("{ratio}  <= {limit:.2}  {verdict}{}", table::disturbed(&outcome))
                });
                live.line(&item(bytes), &outcome.medians(), &rest.unwrap_or_default());
            }
            report_failures(&comparison.into_jobs(), &variants)?;
        }
    }
    Ok(())
}
