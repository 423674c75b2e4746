//! Atomic operations.

use super::super::axis::Axis;
use super::super::comparison::message;
use super::super::figure::{Finding, Panel};
use super::super::rows::Rows;
use super::panels::{beside_best, count_text, findings_by_size, main_forms, matches, neutral};
use super::{Content, Data, SAMPLED};
use crate::measurement::Quantity::Latency;

const AXIS: &str = "Time of one operation (log scale)";
const CONTENDED: &str = "_contended";
const MARKS: &str = "Marks are medians of the samples, whiskers reach from a tenth to nine tenths \
                     of them.";

/// The panel of all operations between two PEs.
pub(super) fn of_one_pair(data: &Data<'_>) -> Option<Panel> {
    let rows = apart(data).pairs(1);
    panel(data, &rows, "Atomic operations on long, 1 pair of PEs")
}

/// Its main numbers.
pub(super) fn findings_of_one_pair(data: &Data<'_>) -> Vec<Finding> {
    findings(&apart(data).pairs(1), "1 pair")
}

pub(super) fn by_pairs(data: &Data<'_>) -> Option<Content> {
    let rows = apart(data);
    let numbers = rows.values(|m| m.pairs);
    // One pair alone is part of Figure 15.
    if numbers.iter().all(|pairs| *pairs <= 1) {
        return None;
    }
    let mut panels = Vec::new();
    let mut found = Vec::new();
    for operation in rows.values(|m| m.operation.as_str()) {
        let one = rows.filter(|m| m.operation == operation);
        panels.extend(data.by_pairs(&one, operation, AXIS));
    }
    for pairs in numbers.into_iter().filter(|pairs| *pairs > 1) {
        let words = count_text(pairs, "pair");
        let fetch_add = rows.pairs(pairs).filter(|m| m.operation == "fetch_add");
        found.extend(findings(&fetch_add, &words));
    }
    let title = beside_processor(&rows);
    Some(Content {
        title: title.unwrap_or_else(|| neutral("atomic operations by pairs", Latency)),
        caption: format!(
            "Time of one atomic operation on a long while several pairs of PEs work, each on an \
             object of its own: by call, and by C11 atomics through shmem_ptr. {SAMPLED}"
        ),
        panels,
        findings: found,
    })
}

pub(super) fn contended(data: &Data<'_>) -> Option<Content> {
    let rows = main_forms(&all(data).filter(|m| m.operation.ends_with(CONTENDED)));
    let mut panels = Vec::new();
    let mut found = Vec::new();
    for pes in rows.values(|m| m.pes) {
        let words = count_text(pes, "PE");
        panels.extend(panel(data, &rows.pes(pes), &words));
        found.extend(findings(&rows.pes(pes), &words));
    }
    let title = beside_processor(&rows);
    Some(Content {
        title: title.unwrap_or_else(|| neutral("contended atomic operations", Latency)),
        caption: format!(
            "Time of one atomic operation while all PEs do the same on one object of one PE: the \
             cache line travels from core to core. {MARKS}"
        ),
        panels,
        findings: found,
    })
}

fn all<'a>(data: &Data<'a>) -> Rows<'a> {
    data.rows
        .filter(|m| m.program == "atomics" && m.quantity == Latency)
}

/// Operations on objects that belong to one pair each.
fn apart<'a>(data: &Data<'a>) -> Rows<'a> {
    main_forms(&all(data).filter(|m| !m.operation.ends_with(CONTENDED)))
}

fn panel(data: &Data<'_>, rows: &Rows<'_>, title: &str) -> Option<Panel> {
    let name = |operation: &str| operation.trim_end_matches(CONTENDED).to_owned();
    let names = rows.values(|m| name(&m.operation));
    data.bars(
        rows,
        title,
        ("Operation", &names),
        |m| name(&m.operation),
        |unit, values| Axis::logarithmic(AXIS, unit, values.iter().copied()),
    )
}

fn findings(rows: &Rows<'_>, place: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for operation in rows.values(|m| m.operation.as_str()) {
        let one = rows.filter(|m| m.operation == operation);
        let name = operation.trim_end_matches(CONTENDED);
        let routine = format!("shmem_atomic_{name}");
        let at = format!("{name}, {place}");
        let sized = findings_by_size(&one, "", "call", &routine, "the same through shmem_ptr");
        found.extend(sized.into_iter().map(|finding| Finding {
            at: at.clone(),
            ..finding
        }));
    }
    found
}

/// This library's calls beside the processor's atomics, or else beside the best other library.
fn beside_processor(rows: &Rows<'_>) -> Option<String> {
    let ours = rows.ours();
    let pairs = matches(&ours.forms(&["call"]), &ours.forms(&["ptr"]));
    message(
        &pairs,
        "An atomic operation by call",
        "the same through shmem_ptr",
    )
    .or_else(|| {
        let best = "the fastest other library's";
        message(&beside_best(&ours), "An atomic operation", best)
    })
}
