//! The barrier and the smallest reduction, where PEs outnumber cores.

use anyhow::{Result, bail};
use ferroshmem_benches::contest::{Contest, Lane};
use ferroshmem_benches::sheet::{self, verdict};
use ferroshmem_benches::{Implementation, Options, Setting, Sheet};

use crate::field::{Entrant, Field};

/// Numbers of PEs, and how many times as fast as Open MPI's OpenSHMEM this library is to be.
const PES: [(usize, Option<f64>); 4] = [(2, None), (4, None), (16, Some(4.0)), (64, Some(4.0))];
/// Operations, what they are called in the heading, and whether linear reductions change them.
const OPERATIONS: [(&str, &str, bool); 2] = [
    ("barrier", "barrier", false),
    ("sum", "double sum of one element", true),
];
/// Operations of bare processes.
const BARE: [&str; 3] = ["yields", "barrier", "ring"];
const ELEMENT: usize = 8;

/// Measures them on all numbers of PEs.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(field: &Field, options: &Options) -> Result<()> {
    for (operation, title, linear) in OPERATIONS {
        let wanted = options.wanted(&PES, |(pes, _)| item(operation, pes));
        if wanted.is_empty() {
            continue;
        }
        println!("\n{title}: us per call; peer is Open MPI's OpenSHMEM by default / ours");
        println!("bare processes: all yield once; meet at a counter; pass a token around");
        println!("limit: ours / the faster of yields and counter");
        let columns = [
            "ours",
            "OSHM",
            "OSHM.free",
            "OSHM.lin",
            "yields",
            "counter",
            "ring",
        ];
        let sheet = Sheet::new(
            "",
            &columns,
            "  peer       10%..90%      bar           limit",
        );
        for (pes, bar) in wanted {
            line(field, options, &sheet, operation, pes, bar, linear)?;
        }
    }
    Ok(())
}

fn item(operation: &str, pes: usize) -> String {
    format!("crowd/{pes}-PEs/{operation}")
}

fn line(
    field: &Field,
    options: &Options,
    sheet: &Sheet,
    operation: &'static str,
    pes: usize,
    bar: Option<f64>,
    linear: bool,
) -> Result<()> {
    let peer = [Implementation::OpenShmem];
    let mut entrants = vec![
        Entrant::new("ours", Implementation::FerroShmem),
        Entrant::new("bare processes", Implementation::Processes),
    ];
    let peers = field.peers(pes, if linear { &peer } else { &[] });
    entrants.extend(
        peers
            .into_iter()
            .filter(|e| peer.contains(&e.implementation)),
    );

    let mut lanes = vec![Lane { job: 0, operation }];
    lanes.extend(BARE.map(|operation| Lane { job: 1, operation }));
    lanes.extend((2..entrants.len()).map(|job| Lane { job, operation }));
    let name = item(operation, pes);
    let mut contest = Contest::new(field.start(&entrants, pes, ELEMENT), &lanes);
    let outcome = contest.run(ELEMENT, options.effort(Field::crowded(pes)), |block| {
        sheet::progress(&format!("{name} block {}", block + 1));
    });

    let lane_of = |setting| {
        let has = |e: &Entrant| e.implementation == peer[0] && e.setting == setting;
        Some(entrants.iter().position(has)? + lanes.len() - entrants.len())
    };
    let time = |lane: Option<usize>| outcome.median(lane?);
    let [bound, free, linear] = [Setting::Bound, Setting::Free, Setting::Linear].map(lane_of);
    let columns = [Some(0), bound, free, linear, Some(1), Some(2), Some(3)].map(time);

    let by_default = outcome.fastest(bound.into_iter().chain(free));
    let mut rest = format!("{:>34}", "");
    if let Some(spread) = by_default.and_then(|lane| outcome.ratio(lane, 0)) {
        let judged = bar.map_or_else(String::new, |bar| {
            format!(">= {bar:.2}  {}", verdict(spread.median >= bar))
        });
        rest = format!("{}  {judged:15}", sheet::ratio(spread));
    }
    let limit = outcome.fastest([1, 2]);
    if let Some(spread) = limit.and_then(|lane| outcome.ratio(0, lane)) {
        rest += &sheet::ratio(spread);
    }
    rest += sheet::disturbed(&outcome);
    sheet.line(&name, &columns, &rest);
    for (job, error) in contest.failures() {
        if job == 0 {
            bail!("{error:#}");
        }
        println!("{} failed: {error:#}", entrants[job].label);
    }
    Ok(())
}
