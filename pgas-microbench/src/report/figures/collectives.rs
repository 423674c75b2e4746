//! Barriers and collectives.

use super::super::comparison::{self, message};
use super::super::figure::Finding;
use super::super::rows::Rows;
use super::panels::{beside_best, count_text, findings_by_size, neutral};
use super::{Content, Data, SAMPLED, atomics};
use crate::measurement::Quantity::Latency;

const AXIS: &str = "Time of one call (log scale)";

pub(super) fn small(data: &Data<'_>) -> Option<Content> {
    const BARRIERS: [&str; 2] = ["barrier_all", "sync_all"];
    const OTHERS: [&str; 5] = ["broadcast", "reduce", "fcollect", "collect", "alltoall"];
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    let mut barriers = Vec::new();
    for operation in BARRIERS {
        let rows = of(data, operation);
        panels.extend(data.by_pes(&rows, operation, AXIS));
        findings.extend(by_pes(&rows, operation, operation));
        barriers.extend(beside_best(&rows));
    }
    for operation in OTHERS {
        let rows = of(data, operation).bytes(8);
        let words = format!("{operation}, 8 bytes");
        panels.extend(data.by_pes(&rows, &words, AXIS));
        findings.extend(by_pes(&rows, &words, operation));
    }
    panels.extend(atomics::of_one_pair(data));
    findings.extend(atomics::findings_of_one_pair(data));
    let title = message(&barriers, "A barrier", "the fastest other library's");
    Some(Content {
        title: title.unwrap_or_else(|| neutral("barriers, small collectives and atomics", Latency)),
        caption: format!(
            "What synchronisation costs: barriers and collectives of 8 bytes by the number of \
             PEs, and atomic operations between two PEs. A broadcast lets PEs go on before others \
             have come, a barrier does not. Where PEs outnumber cores, the least possible time \
             is that of running each PE once. {SAMPLED}"
        ),
        panels,
        findings,
    })
}

fn of<'a>(data: &Data<'a>, operation: &str) -> Rows<'a> {
    data.rows.of("collectives", operation, Latency)
}

/// This library beside the best other one, for each number of PEs.
fn by_pes(rows: &Rows<'_>, what: &str, subject: &str) -> Vec<Finding> {
    let finding = |pair: comparison::Pair<'_>| {
        let at = format!("{what}, {}", count_text(pair.ours.pes, "PE"));
        let object = comparison::maker(pair.other);
        pair.finding(at, subject, &object)
    };
    beside_best(rows).into_iter().map(finding).collect()
}

pub(super) fn broadcast(data: &Data<'_>) -> Option<Content> {
    by_bytes(data, "broadcast", "what the root sends")
}

pub(super) fn collect(data: &Data<'_>) -> Option<Content> {
    by_bytes(
        data,
        "collect",
        "what each PE contributes; the lengths need not agree",
    )
}

pub(super) fn fcollect(data: &Data<'_>) -> Option<Content> {
    by_bytes(
        data,
        "fcollect",
        "what each PE contributes, the same of all",
    )
}

pub(super) fn alltoall(data: &Data<'_>) -> Option<Content> {
    by_bytes(data, "alltoall", "what each PE sends to each other")
}

pub(super) fn alltoalls(data: &Data<'_>) -> Option<Content> {
    by_bytes(
        data,
        "alltoalls",
        "what each PE sends to each other, in strides",
    )
}

pub(super) fn reduce_int(data: &Data<'_>) -> Option<Content> {
    by_bytes(
        data,
        "reduce_int",
        "what each PE contributes to a sum of int",
    )
}

pub(super) fn inscan(data: &Data<'_>) -> Option<Content> {
    by_bytes(
        data,
        "sum_inscan",
        "what each PE contributes to sums of all up to itself",
    )
}

pub(super) fn exscan(data: &Data<'_>) -> Option<Content> {
    by_bytes(
        data,
        "sum_exscan",
        "what each PE contributes to sums of all before it",
    )
}

/// A collective by its bytes, one panel for each number of PEs.
fn by_bytes(data: &Data<'_>, operation: &str, bytes: &str) -> Option<Content> {
    let rows = of(data, operation);
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    for pes in rows.values(|m| m.pes) {
        let some = rows.pes(pes);
        let words = count_text(pes, "PE");
        panels.extend(data.by_bytes(&some, &words, AXIS));
        findings.extend(findings_by_size(
            &some,
            &words,
            "call",
            operation,
            "direct stores",
        ));
    }
    let title = message(
        &beside_best(&rows),
        operation,
        "the fastest other library's",
    );
    Some(Content {
        title: title.unwrap_or_else(|| neutral(operation, Latency)),
        caption: format!(
            "Time of one {operation} by bytes: {bytes}. Each library chooses its algorithm; MPI \
             libraries do the same by the collective that corresponds. Time is that of the \
             slowest PE. {SAMPLED}"
        ),
        panels,
        findings,
    })
}
