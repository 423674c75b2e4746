//! Non-blocking collectives whose requests are waited for at once: beside the routines that wait, and beside MPI's.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table::{self, verdict};
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: [usize; 2] = [2, 4];
/// What waits, and its non-blocking form.
const OPERATIONS: [(&str, &str); 4] =
    [("sum", "nb/sum"), ("broadcast", "nb/broadcast"), ("fcollect", "nb/fcollect"), ("alltoall", "nb/alltoall")];
const SIZES: [usize; 5] = [8, 1 << 10, 64 << 10, 1 << 20, 8 << 20];
/// How many times as long as the routine that waits the non-blocking one is to take at most.
const LIMIT: f64 = 1.2;

/// Measures them; each has a limit.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    for pes in PES {
        for (blocking, nonblocking) in OPERATIONS {
            let item = |bytes| format!("{nonblocking}/{pes}-PEs/{}", table::size(bytes));
            let wanted = options.wanted(&SIZES, item);
            if wanted.is_empty() {
                continue;
            }
            let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
            variants.extend(testbed.peers(pes, &[]).into_iter().filter(|peer| peer.family != Family::OpenShmem));
            let mut labels = vec!["blocking"];
            labels.extend(variants.iter().map(|v| v.label.as_str()));
            println!("\n{nonblocking} of {pes} PEs: us from its begin to the end of its request");
            let live = LiveTable::new("", &labels, " of blocking  10%..90%      limit");
            let mut entries = vec![Entry { job: 0, operation: blocking }];
            entries.extend((0..variants.len()).map(|job| Entry { job, operation: nonblocking }));
            let mut comparison = Comparison::new(testbed.start(&variants, pes, SIZES[SIZES.len() - 1] * pes), &entries);
            for bytes in wanted {
                let outcome = measure(&mut comparison, &item(bytes), bytes, Testbed::effort(options, pes));
                let rest = outcome.ratio(1, 0).map(|spread| {
                    let (ratio, verdict) = (table::ratio(spread), verdict(spread.median <= LIMIT));
                    format!("{ratio}  <= {LIMIT:.2}  {verdict}{}", table::disturbed(&outcome))
                });
                live.line(&item(bytes), &outcome.medians(), &rest.unwrap_or_default());
            }
            report_failures(&comparison.into_jobs(), &variants)?;
        }
    }
    Ok(())
}
