//! The double sum, compared with all peers.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::outcome::geometric_mean;
use ferroshmem_benches::table::{self, verdict};
use ferroshmem_benches::{LiveTable, Options, Outcome};
use pgas_microbench::implementation::Family;

use crate::testbed::{Setting, Testbed, Variant, measure, report_failures};

/// Numbers of PEs.
pub(crate) const PES: [usize; 4] = [2, 4, 16, 64];

/// Sizes of the reduced array, in bytes.
pub(crate) fn sizes(full: bool) -> Vec<usize> {
    let every: Vec<usize> = (3..=23).map(|k| 1 << k).collect();
    let some = [3, 6, 9, 12, 15, 18, 21, 23].map(|k| 1 << k);
    if full { every } else { some.to_vec() }
}

/// Which reduction is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    /// First part of the names of its items.
    pub name: &'static str,
    /// Its name in words.
    pub title: &'static str,
    /// The operations of this library's program; the limit is for the first one.
    pub ours: &'static [&'static str],
    /// The operation of the peers' programs.
    pub theirs: &'static str,
}

/// From a source to a dest.
pub(crate) const SUM: Reduction = Reduction {
    name: "reduction",
    title: "double sum, source to dest, on all PEs",
    ours: &["sum", "sum_to_all"],
    theirs: "sum",
};

/// In place.
pub(crate) const IN_PLACE: Reduction = Reduction {
    name: "in-place",
    title: "double sum, dest to dest (MPI_IN_PLACE), on all PEs",
    ours: &["sum_in_place"],
    theirs: "sum_in_place",
};

/// The ratios of a table, of the fastest peer to this library.
#[derive(Debug, Default)]
struct Ratios {
    /// Of all settings.
    all: Vec<f64>,
    /// Of those without the linear reductions.
    by_default: Vec<f64>,
    missed: usize,
}

/// Measures a reduction on all numbers of PEs, and checks the limits.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options, reduction: Reduction) -> Result<()> {
    let mut ratios = Ratios::default();
    for pes in PES {
        let name = |bytes| item(reduction, pes, bytes);
        let wanted = options.wanted(&sizes(options.full), name);
        if !wanted.is_empty() {
            table(testbed, options, reduction, pes, &wanted, &mut ratios)?;
        }
    }
    let Some(mean) = geometric_mean(&ratios.all) else {
        return Ok(());
    };
    let points = ratios.all.len();
    println!("\n{}: {points} points", reduction.title);
    println!(
        "  faster than the fastest peer at every point:  {} of {points}  {}",
        points - ratios.missed,
        verdict(ratios.missed == 0)
    );
    println!("  geometric mean of fastest peer / ours:        {mean:.2}, bar >= 2.00  {}", verdict(mean >= 2.0));
    if let Some(mean) = geometric_mean(&ratios.by_default) {
        println!("  the same with the peers' default algorithms:  {mean:.2}");
    }
    Ok(())
}

fn item(reduction: Reduction, pes: usize, bytes: usize) -> String {
    format!("{}/{pes}-PEs/{}", reduction.name, table::size(bytes))
}

fn table(
    testbed: &Testbed,
    options: &Options,
    reduction: Reduction,
    pes: usize,
    sizes: &[usize],
    ratios: &mut Ratios,
) -> Result<()> {
    let mut variants = vec![Variant::new("ours", Family::FerroShmem)];
    variants.extend(testbed.peers(pes, &[Family::OpenShmem, Family::OpenMpi]));
    let ours = reduction.ours;
    let mut labels = ours.to_vec();
    labels.extend(variants[1..].iter().map(|v| v.label.as_str()));
    let entry = |job, operation| Entry { job, operation };
    let mut entries: Vec<_> = ours.iter().map(|operation| entry(0, operation)).collect();
    entries.extend((1..variants.len()).map(|job| entry(job, reduction.theirs)));

    println!("\n{} ({pes}): us per call, fastest peer / ours", reduction.title);
    let live = LiveTable::new("", &labels, "ratio       10%..90%  to");
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let mut comparison = Comparison::new(testbed.start(&variants, pes, largest), &entries);
    for bytes in sizes {
        let name = item(reduction, pes, *bytes);
        let outcome = measure(&mut comparison, &name, *bytes, Testbed::effort(options, pes));
        let rest = judge(&outcome, entries.len(), ours.len(), &variants, ratios);
        live.line(&name, &outcome.medians(), &rest);
    }
    report_failures(&comparison.into_jobs(), &variants)
}

/// Compares the first of `entries` entries with the peers', which begin at `peers`.
fn judge(outcome: &Outcome, entries: usize, peers: usize, variants: &[Variant], ratios: &mut Ratios) -> String {
    let variant = |entry: usize| &variants[entry - peers + 1];
    let default = (peers..entries).filter(|entry| variant(*entry).setting != Setting::Linear);
    let default = outcome.fastest(default).and_then(|entry| outcome.ratio(entry, 0));
    ratios.by_default.extend(default.map(|spread| spread.median));
    let Some((entry, spread)) =
        outcome.fastest(peers..entries).and_then(|entry| Some((entry, outcome.ratio(entry, 0)?)))
    else {
        return String::new();
    };
    let met = spread.median > 1.0;
    ratios.all.push(spread.median);
    ratios.missed += usize::from(!met);
    let label = &variant(entry).label;
    let disturbed = table::disturbed(outcome);
    format!("{}  {label:9}  {}{disturbed}", table::ratio(spread), verdict(met))
}
