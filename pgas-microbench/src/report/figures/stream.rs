//! STREAM over own and over a neighbour's memory.

use std::cmp::Reverse;

use super::super::axis::Axis;
use super::super::comparison::{self, Pair, message};
use super::super::figure::Panel;
use super::super::rows::Rows;
use super::panels::{count_text, neutral};
use super::{Content, Data};
use crate::measurement::Quantity::Bandwidth;

const KERNELS: [&str; 4] = ["copy", "scale", "add", "triad"];
const RULES: &str = "Arrays are larger than caches; bytes are counted as STREAM counts them, of \
                     all PEs together. Bars are medians of the repetitions, whiskers reach from a \
                     tenth to nine tenths of them.";

pub(super) fn local(data: &Data<'_>) -> Option<Content> {
    let rows = kernels(data).forms(&["local", "threads"]);
    let (ours, threads) = (rows.ours().forms(&["local"]), rows.forms(&["threads"]));
    let pairs = matches_of_any_size(&ours, &threads);
    let findings = pairs.iter().map(|pair| {
        let at = format!(
            "{}, {}",
            pair.ours.operation,
            count_text(pair.ours.pes, "PE")
        );
        pair.finding(at, "FerroSHMEM", "as many OpenMP threads")
    });
    let title = message(&pairs, "STREAM on PEs", "as many OpenMP threads");
    Some(Content {
        title: title.unwrap_or_else(|| neutral("STREAM over own memory", Bandwidth)),
        caption: format!(
            "Each PE works on arrays in its own symmetric memory, as many OpenMP threads on \
             theirs: the library is not called in between, so that what differs is where memory \
             lies and how it is mapped. {RULES}"
        ),
        panels: panels(data, &rows),
        findings: findings.collect(),
    })
}

pub(super) fn remote(data: &Data<'_>) -> Option<Content> {
    let rows = kernels(data).forms(&["putget", "ptr"]);
    let ours = rows.ours();
    let pairs = matches_of_any_size(&ours.forms(&["putget"]), &ours.forms(&["ptr"]));
    let mut findings = Vec::new();
    for pair in &pairs {
        let at = format!(
            "{}, {}",
            pair.ours.operation,
            count_text(pair.ours.pes, "PE")
        );
        findings.push(pair.finding(at.clone(), "put/get", "loads and stores through shmem_ptr"));
        let peers = rows.peers().forms(&["putget"]).pes(pair.ours.pes);
        let peers = peers.filter(|m| m.operation == pair.ours.operation);
        if let Some(other) = peers.best() {
            let ours = pair.ours;
            let object = comparison::maker(other);
            findings.push(Pair { ours, other }.finding(at, "put/get", &object));
        }
    }
    let title = message(
        &pairs,
        "STREAM by put/get",
        "loads and stores through shmem_ptr",
    );
    Some(Content {
        title: title.unwrap_or_else(|| neutral("STREAM over a neighbour's memory", Bandwidth)),
        caption: format!(
            "The source arrays belong to the neighbour PE. Put/get variants move them by library \
             calls, the others read them through shmem_ptr as if they were their own. {RULES}"
        ),
        panels: panels(data, &rows),
        findings,
    })
}

fn kernels<'a>(data: &Data<'a>) -> Rows<'a> {
    data.rows.filter(|m| {
        m.program == "stream" && m.quantity == Bandwidth && KERNELS.contains(&m.operation.as_str())
    })
}

/// One panel for each number of PEs.
fn panels(data: &Data<'_>, rows: &Rows<'_>) -> Vec<Panel> {
    let names = KERNELS.map(str::to_owned);
    let numbers = rows.values(|m| m.pes);
    let panel = |pes: u32| {
        data.bars(
            &rows.pes(pes),
            &count_text(pes, "PE"),
            ("Kernel", &names),
            |m| m.operation.clone(),
            |unit, values| Axis::from_zero("Bytes per second", unit, values.iter().copied()),
        )
    };
    numbers.into_iter().filter_map(panel).collect()
}

/// Pairs that agree in all but the size of arrays: each program chooses its own. Those that are
/// most telling come first.
fn matches_of_any_size<'a>(ours: &Rows<'a>, others: &Rows<'a>) -> Vec<Pair<'a>> {
    let pair = |ours: &'a crate::Measurement| {
        let same = |m: &crate::Measurement| m.operation == ours.operation && m.pes == ours.pes;
        let other = others.filter(same).last()?;
        Some(Pair { ours, other })
    };
    let mut pairs: Vec<Pair<'a>> = ours.iter().filter_map(pair).collect();
    // Triad of all PEs is what STREAM is known by.
    pairs.sort_by_key(|pair| (pair.ours.operation != "triad", Reverse(pair.ours.pes)));
    pairs
}
