//! The barrier and the smallest reduction with more PEs than cores.

use anyhow::Result;
use ferroshmem_benches::comparison::{Comparison, Entry};
use ferroshmem_benches::table::{self, verdict};
use ferroshmem_benches::{LiveTable, Options};
use pgas_microbench::implementation::Family;

use crate::testbed::{Setting, Testbed, Variant, measure, report_failures};

/// Numbers of PEs, and how many times as fast as Open MPI's OpenSHMEM this library is to be.
const PES: [(usize, Option<f64>); 4] = [(2, None), (4, None), (16, Some(4.0)), (64, Some(4.0))];
/// Operations, their names in the heading, and whether linear reductions change them.
const OPERATIONS: [(&str, &str, bool); 2] = [("barrier", "barrier", false), ("sum", "double sum of one element", true)];
/// Operations of bare processes.
const BARE: [&str; 3] = ["yields", "barrier", "ring"];
const ELEMENT: usize = 8;

/// Measures them on all numbers of PEs.
///
/// # Errors
/// If this library's job fails.
pub(crate) fn run(testbed: &Testbed, options: &Options) -> Result<()> {
    for (operation, title, linear) in OPERATIONS {
        let wanted = options.wanted(&PES, |(pes, _)| item(operation, pes));
        if wanted.is_empty() {
            continue;
        }
        println!("\n{title}: us per call; peer is Open MPI's OpenSHMEM by default / ours");
        println!("bare processes: all yield once; meet at a counter; pass a token around");
        println!("limit: ours / the faster of yields and counter");
        let columns = ["ours", "OSHM", "OSHM.free", "OSHM.lin", "yields", "counter", "ring"];
        let table = LiveTable::new("", &columns, "  peer       10%..90%      bar           limit");
        for (pes, bar) in wanted {
            line(testbed, options, &table, operation, pes, bar, linear)?;
        }
    }
    Ok(())
}

fn item(operation: &str, pes: usize) -> String {
    format!("crowd/{pes}-PEs/{operation}")
}

fn line(
    testbed: &Testbed,
    options: &Options,
    table: &LiveTable,
    operation: &'static str,
    pes: usize,
    bar: Option<f64>,
    linear: bool,
) -> Result<()> {
    let peer = Family::OpenShmem;
    let mut variants =
        vec![Variant::new("ours", Family::FerroShmem), Variant::new("bare processes", Family::Processes)];
    let peers = testbed.peers(pes, if linear { &[Family::OpenShmem] } else { &[] });
    variants.extend(peers.into_iter().filter(|variant| variant.family == peer));

    let mut entries = vec![Entry { job: 0, operation }];
    entries.extend(BARE.map(|operation| Entry { job: 1, operation }));
    entries.extend((2..variants.len()).map(|job| Entry { job, operation }));
    let name = item(operation, pes);
    let mut comparison = Comparison::new(testbed.start(&variants, pes, ELEMENT), &entries);
    let outcome = measure(&mut comparison, &name, ELEMENT, Testbed::effort(options, pes));

    let entry_of = |setting| {
        let is_it = |v: &Variant| v.family == peer && v.setting == setting;
        Some(variants.iter().position(is_it)? + entries.len() - variants.len())
    };
    let time = |entry: Option<usize>| outcome.median(entry?);
    let [bound, free, linear] = [Setting::Bound, Setting::Free, Setting::Linear].map(entry_of);
    let columns = [Some(0), bound, free, linear, Some(1), Some(2), Some(3)].map(time);

    let by_default = outcome.fastest(bound.into_iter().chain(free));
    let mut rest = format!("{:>34}", "");
    if let Some(spread) = by_default.and_then(|entry| outcome.ratio(entry, 0)) {
        let judged = bar.map_or_else(String::new, |bar| format!(">= {bar:.2}  {}", verdict(spread.median >= bar)));
        rest = format!("{}  {judged:15}", table::ratio(spread));
    }
    let limit = outcome.fastest([1, 2]);
    if let Some(spread) = limit.and_then(|entry| outcome.ratio(0, entry)) {
        rest += &table::ratio(spread);
    }
    rest += table::disturbed(&outcome);
    table.line(&name, &columns, &rest);
    report_failures(&comparison.into_jobs(), &variants)
}
