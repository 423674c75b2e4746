//! Single operations between two hosts, in turn.

use anyhow::{Context, Result};
use ferroshmem_benches::{LiveTable, Options, table};
use ferroshmem_cluster::hosts::{Distribution, Placement};
use pgas_microbench::output::microbench;
use pgas_microbench::{Measurement, Quantity, Spread};

use crate::testbed::{Program, Testbed};

/// A measured operation, and whether this library must be faster.
#[derive(Debug)]
struct Item {
    name: &'static str,
    program: &'static str,
    quantity: Quantity,
    operation: &'static str,
    bytes: usize,
    judged: bool,
}

const fn item(
    name: &'static str,
    (program, quantity): (&'static str, Quantity),
    operation: &'static str,
    bytes: usize,
    judged: bool,
) -> Item {
    Item { name, program, quantity, operation, bytes, judged }
}

const LATENCY: (&str, Quantity) = ("latency", Quantity::Latency);
const BANDWIDTH: (&str, Quantity) = ("bandwidth", Quantity::Bandwidth);

const ITEMS: [Item; 8] = [
    item("put/8B", LATENCY, "put", 8, true),
    item("get/8B", LATENCY, "get", 8, true),
    item("put/1MiB", LATENCY, "put", 1 << 20, false),
    item("get/1MiB", LATENCY, "get", 1 << 20, false),
    item("put_nbi/8B", BANDWIDTH, "put_nbi", 8, false),
    item("put_nbi/1MiB", BANDWIDTH, "put_nbi", 1 << 20, false),
    item("fetch_add/8B", ("atomics", Quantity::Latency), "fetch_add", 8, true),
    item("reduce/64KiB", ("collectives", Quantity::Latency), "reduce", 64 << 10, true),
];

/// The rate of non-blocking puts, in times of the rate of puts that are completed one by one.
const NON_BLOCKING: f64 = 5.0;

/// A PE on each host.
pub(crate) const PLACE: Placement = Placement { pes: 2, hosts: 2, distribution: Distribution::Block };

/// Nanoseconds by item (index), variant and turn.
type Times = Vec<Vec<Vec<f64>>>;

/// Measures all items that are wanted.
///
/// # Errors
/// If the output of a program has another format.
pub(crate) fn run(testbed: &mut Testbed<'_>, options: &Options) -> Result<()> {
    let wanted: Vec<_> = ITEMS.iter().filter(|i| options.wants(i.name)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (turns, time) = if options.full { (15, 500) } else { (5, 200) };
    let labels: Vec<_> = testbed.variants.iter().map(|c| c.label).collect();
    let mut times: Times = vec![vec![Vec::new(); labels.len()]; wanted.len()];
    for turn in 0..turns {
        for (item, times) in wanted.iter().zip(&mut times) {
            for index in 0..labels.len() {
                // The order differs from turn to turn.
                let variant = (index + turn) % labels.len();
                times[variant].extend(measure(testbed, variant, item, time)?);
            }
        }
    }
    println!("\ntwo hosts, a PE on each: us per operation, OSHM / ours");
    let live = LiveTable::new("", &labels, " ratio       10%..90%");
    for (item, times) in wanted.iter().zip(&times) {
        let median = |times: &Vec<f64>| Spread::of(times.iter().copied()).map(|s| s.median);
        let columns: Vec<_> = times.iter().map(median).collect();
        let rest = ratio(times).map_or(String::new(), |ratio| {
            let verdict = if item.judged { table::verdict(ratio.median > 1.0) } else { "" };
            format!("{}  {verdict}", table::ratio(ratio))
        });
        live.line(item.name, &columns, &rest);
    }
    non_blocking(&wanted, &times);
    Ok(())
}

fn measure(testbed: &mut Testbed<'_>, variant: usize, item: &Item, time: u32) -> Result<Option<f64>> {
    let Item { program, operation, bytes, .. } = item;
    let sizes = match *program {
        // They have one size.
        "atomics" => String::new(),
        _ => format!("-m {bytes} -M {bytes}"),
    };
    let arguments = format!("-t {time} {sizes} {operation}");
    let Some(output) = testbed.run(variant, Program::Micro(program), &arguments, &PLACE) else {
        return Ok(None);
    };
    let is_it = |m: &Measurement| {
        (m.form.as_str(), m.operation.as_str()) == ("call", *operation)
            && (m.quantity, m.bytes) == (item.quantity, item.bytes as u64)
    };
    let point = microbench::read(&output)?.into_iter().find(is_it);
    let point = point.with_context(|| format!("{program} {arguments} did not measure it"))?;
    Ok(Some(point.nanoseconds()))
}

/// The peer's time divided by this library's, turn by turn.
fn ratio(times: &[Vec<f64>]) -> Option<Spread> {
    let [ours, theirs] = times else { return None };
    Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| theirs / ours))
}

/// Compares puts that are completed together with puts that are completed one by one.
fn non_blocking(wanted: &[&Item], times: &Times) {
    let of = |name| Some(&times[wanted.iter().position(|i| i.name == name)?][0]);
    let (Some(each), Some(together)) = (of("put/8B"), of("put_nbi/8B")) else {
        return;
    };
    if let Some(ratio) = Spread::of(each.iter().zip(together).map(|(a, b)| a / b)) {
        println!(
            "ours: put_nbi/8B has {} times the rate of put/8B (>= {NON_BLOCKING})  {}",
            table::ratio(ratio).trim(),
            table::verdict(ratio.median >= NON_BLOCKING)
        );
    }
}
