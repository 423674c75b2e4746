//! Long transfers between 2 PEs, compared with all peers.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table;
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Testbed, Variant, measure, report_failures};

const PES: usize = 2;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Operations of the measuring program, and how many bytes of a PE they transfer or exchange.
const TRANSFERS: [(&str, &[usize]); 3] = [
    ("put_signal", &[64 * KIB, 256 * KIB, MIB, 8 * MIB]),
    ("isx", &[2 * MIB, 16 * MIB, 64 * MIB]),
    // The last, as it ends the jobs of libraries without one-sided operations.
    ("put", &[4 * KIB, 64 * KIB, MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB]),
];
/// How many times as fast as the fastest peer this library is to be.
const BAR: f64 = 1.0;
/// Puts all allocated blocks on huge pages.
const HUGE_PAGES: (&str, &str) = ("SHMEM_HUGE_PAGES", "1");

/// Measures all of them, with the default pages and with huge ones.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    let all = TRANSFERS.map(|(name, sizes)| {
        let wanted = options.wanted(sizes, |bytes| item(name, bytes));
        (name, wanted)
    });
    let Some(&largest) = all.iter().flat_map(|(_, sizes)| sizes).max() else {
        return Ok(());
    };
    let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
    variants.push(Variant {
        variable: Some((HUGE_PAGES.0, HUGE_PAGES.1.to_owned())),
        ..Variant::new("ours.huge", Family::FerroShmem)
    });
    let peers = variants.len();
    variants.extend(testbed.peers(PES, &[]));
    let labels: Vec<_> = variants.iter().map(|v| v.label.as_str()).collect();
    println!("\ntransfers between {PES} PEs: us per call, fastest peer / ours");
    println!("put_signal there and back; of isx, half of the bytes stay; MPI's sources lie on huge pages");
    let live = LiveTable::new("", &labels, " ratio       10%..90%      bar  to");
    let mut jobs = testbed.start(&variants, PES, largest);
    for (operation, sizes) in all {
        let entries: Vec<_> = (0..variants.len()).map(|job| Entry { job, operation }).collect();
        let mut comparison = Comparison::new(jobs, &entries);
        for bytes in sizes {
            let name = item(operation, bytes);
            let effort = Testbed::effort(options, PES);
            let outcome = measure(&mut comparison, &name, bytes, effort);
            let rest = table::beside_fastest(&outcome, peers..entries.len(), &labels, BAR);
            live.line(&name, &outcome.medians(), &rest);
        }
        jobs = comparison.into_jobs();
    }
    report_failures(&jobs, &variants)
}

fn item(operation: &str, bytes: usize) -> String {
    format!("transfers/{operation}/{}", table::size(bytes))
}
