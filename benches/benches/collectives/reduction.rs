//! The double sum beside all peers.

use anyhow::{Result, bail};
use ferroshmem_benches::contest::{Contest, Lane};
use ferroshmem_benches::outcome::geometric_mean;
use ferroshmem_benches::sheet::{self, verdict};
use ferroshmem_benches::{Implementation, Options, Outcome, Setting, Sheet};

use crate::field::{Entrant, Field};

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
    /// Its name in names of items.
    pub name: &'static str,
    /// What is called, in words.
    pub title: &'static str,
    /// The operations of this library's program; the first one is judged.
    pub ours: &'static [&'static str],
    /// That of the peers' programs.
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

/// Measures a reduction on all numbers of PEs, and judges it.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(field: &Field, options: &Options, reduction: Reduction) -> Result<()> {
    let mut ratios = Ratios::default();
    for pes in PES {
        let name = |bytes| item(reduction, pes, bytes);
        let wanted = options.wanted(&sizes(options.full), name);
        if !wanted.is_empty() {
            table(field, options, reduction, pes, &wanted, &mut ratios)?;
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
    println!(
        "  geometric mean of fastest peer / ours:        {mean:.2}, bar >= 2.00  {}",
        verdict(mean >= 2.0)
    );
    if let Some(mean) = geometric_mean(&ratios.by_default) {
        println!("  the same with the peers' default algorithms:  {mean:.2}");
    }
    Ok(())
}

fn item(reduction: Reduction, pes: usize, bytes: usize) -> String {
    format!("{}/{pes}-PEs/{}", reduction.name, sheet::size(bytes))
}

fn table(
    field: &Field,
    options: &Options,
    reduction: Reduction,
    pes: usize,
    sizes: &[usize],
    ratios: &mut Ratios,
) -> Result<()> {
    let mut entrants = vec![Entrant::new("ours", Implementation::FerroShmem)];
    entrants.extend(field.peers(pes, &[Implementation::OpenShmem, Implementation::OpenMpi]));
    let ours = reduction.ours;
    let mut labels = ours.to_vec();
    labels.extend(entrants[1..].iter().map(|e| e.label.as_str()));
    let lane = |job, operation| Lane { job, operation };
    let mut lanes: Vec<_> = ours.iter().map(|operation| lane(0, operation)).collect();
    lanes.extend((1..entrants.len()).map(|job| lane(job, reduction.theirs)));

    println!(
        "\n{} ({pes}): us per call, fastest peer / ours",
        reduction.title
    );
    let sheet = Sheet::new("", &labels, "ratio       10%..90%  to");
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let mut contest = Contest::new(field.start(&entrants, pes, largest), &lanes);
    for bytes in sizes {
        let name = item(reduction, pes, *bytes);
        let outcome = contest.run(*bytes, options.effort(Field::crowded(pes)), |block| {
            sheet::progress(&format!("{name} block {}", block + 1));
        });
        let rest = judge(&outcome, lanes.len(), ours.len(), &entrants, ratios);
        sheet.line(&name, &outcome.medians(), &rest);
    }
    for (job, error) in contest.failures() {
        if job == 0 {
            bail!("{error:#}");
        }
        println!("{} failed: {error:#}", entrants[job].label);
    }
    Ok(())
}

/// Holds the first of `lanes` lanes against the peers', which begin at `peers`.
fn judge(
    outcome: &Outcome,
    lanes: usize,
    peers: usize,
    entrants: &[Entrant],
    ratios: &mut Ratios,
) -> String {
    let entrant = |lane: usize| &entrants[lane - peers + 1];
    let default = (peers..lanes).filter(|lane| entrant(*lane).setting != Setting::Linear);
    let default = outcome
        .fastest(default)
        .and_then(|lane| outcome.ratio(lane, 0));
    ratios
        .by_default
        .extend(default.map(|spread| spread.median));
    let Some((lane, spread)) = outcome
        .fastest(peers..lanes)
        .and_then(|lane| Some((lane, outcome.ratio(lane, 0)?)))
    else {
        return String::new();
    };
    let met = spread.median > 1.0;
    ratios.all.push(spread.median);
    ratios.missed += usize::from(!met);
    let label = &entrant(lane).label;
    let disturbed = sheet::disturbed(outcome);
    format!(
        "{}  {label:9}  {}{disturbed}",
        sheet::ratio(spread),
        verdict(met)
    )
}
