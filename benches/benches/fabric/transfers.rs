//! Single operations between two hosts, by turns.

use anyhow::{Context, Result};
use ferroshmem_benches::microbench::{self, Point};
use ferroshmem_benches::{Options, Sheet, Spread, sheet};
use ferroshmem_cluster::hosts::{Distribution, Placement};

use crate::contenders::{Field, Program};

/// What is measured: a program's word for it, and whether this library is to be faster.
#[derive(Debug)]
struct Item {
    name: &'static str,
    program: &'static str,
    quantity: &'static str,
    operation: &'static str,
    bytes: usize,
    judged: bool,
}

const fn item(
    name: &'static str,
    (program, quantity): (&'static str, &'static str),
    operation: &'static str,
    bytes: usize,
    judged: bool,
) -> Item {
    Item {
        name,
        program,
        quantity,
        operation,
        bytes,
        judged,
    }
}

const LATENCY: (&str, &str) = ("latency", "latency");
const BANDWIDTH: (&str, &str) = ("bandwidth", "bandwidth");

const ITEMS: [Item; 8] = [
    item("put/8B", LATENCY, "put", 8, true),
    item("get/8B", LATENCY, "get", 8, true),
    item("put/1MiB", LATENCY, "put", 1 << 20, false),
    item("get/1MiB", LATENCY, "get", 1 << 20, false),
    item("put_nbi/8B", BANDWIDTH, "put_nbi", 8, false),
    item("put_nbi/1MiB", BANDWIDTH, "put_nbi", 1 << 20, false),
    item("fetch_add/8B", ("atomics", "latency"), "fetch_add", 8, true),
    item(
        "reduce/64KiB",
        ("collectives", "latency"),
        "reduce",
        64 << 10,
        true,
    ),
];

/// So many times the rate of puts that are completed one by one have those that are not.
const NON_BLOCKING: f64 = 5.0;

const PLACE: Placement = Placement {
    pes: 2,
    hosts: 2,
    distribution: Distribution::Block,
};

/// Nanoseconds of each item (index), contender and turn.
type Times = Vec<Vec<Vec<f64>>>;

/// Measures all items that are wanted.
///
/// # Errors
/// If a program prints what it should not.
pub(crate) fn run(field: &mut Field<'_>, options: &Options) -> Result<()> {
    let wanted: Vec<_> = ITEMS.iter().filter(|i| options.wants(i.name)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (turns, time) = if options.full { (15, 500) } else { (5, 200) };
    let labels: Vec<_> = field.contenders.iter().map(|c| c.label).collect();
    let mut times: Times = vec![vec![Vec::new(); labels.len()]; wanted.len()];
    for turn in 0..turns {
        for (item, times) in wanted.iter().zip(&mut times) {
            for place in 0..labels.len() {
                // Nobody always comes first.
                let contender = (place + turn) % labels.len();
                times[contender].extend(measure(field, contender, item, time)?);
            }
        }
    }
    println!("\ntwo hosts, a PE on each: us per operation, OSHM / ours");
    let sheet = Sheet::new("", &labels, " ratio       10%..90%");
    for (item, times) in wanted.iter().zip(&times) {
        let median = |times: &Vec<f64>| Spread::of(times.iter().copied()).map(|s| s.median);
        let columns: Vec<_> = times.iter().map(median).collect();
        let rest = ratio(times).map_or(String::new(), |ratio| {
            let verdict = if item.judged {
                sheet::verdict(ratio.median > 1.0)
            } else {
                ""
            };
            format!("{}  {verdict}", sheet::ratio(ratio))
        });
        sheet.line(item.name, &columns, &rest);
    }
    non_blocking(&wanted, &times);
    Ok(())
}

fn measure(field: &mut Field<'_>, contender: usize, item: &Item, time: u32) -> Result<Option<f64>> {
    let Item {
        program,
        operation,
        bytes,
        ..
    } = item;
    let sizes = match *program {
        // They are of one size.
        "atomics" => String::new(),
        _ => format!("-m {bytes} -M {bytes}"),
    };
    let arguments = format!("-t {time} {sizes} {operation}");
    let Some(output) = field.run(contender, Program::Micro(program), &arguments, &PLACE) else {
        return Ok(None);
    };
    let is_it = |p: &Point| {
        p.operation == *operation && p.quantity == item.quantity && p.bytes == item.bytes
    };
    let point = microbench::points(&output)?.into_iter().find(is_it);
    let point = point.with_context(|| format!("{program} {arguments} did not measure it"))?;
    Ok(Some(point.nanoseconds()))
}

/// How many times as long as this library the peer takes, turn by turn.
fn ratio(times: &[Vec<f64>]) -> Option<Spread> {
    let [ours, theirs] = times else { return None };
    Spread::of(ours.iter().zip(theirs).map(|(ours, theirs)| theirs / ours))
}

/// Puts that are completed together beside those that are completed one by one.
fn non_blocking(wanted: &[&Item], times: &Times) {
    let of = |name| Some(&times[wanted.iter().position(|i| i.name == name)?][0]);
    let (Some(each), Some(together)) = (of("put/8B"), of("put_nbi/8B")) else {
        return;
    };
    if let Some(ratio) = Spread::of(each.iter().zip(together).map(|(a, b)| a / b)) {
        println!(
            "ours: put_nbi/8B has {} times the rate of put/8B (>= {NON_BLOCKING})  {}",
            sheet::ratio(ratio).trim(),
            sheet::verdict(ratio.median >= NON_BLOCKING)
        );
    }
}
