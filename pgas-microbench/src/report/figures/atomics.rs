//! Atomic operations.

use super::super::axis::Scale;
use super::super::comparison::Beside;
use super::super::figure::{Finding, Panel};
use super::super::rows::Rows;
use super::panels::{beside_best, beside_direct, calls_and_peers, count_text, findings_by_size, main_forms};
use super::{Content, Data, FASTEST, MARKS, SAMPLED};
use crate::measurement::Quantity::Latency;

const AXIS: &str = "Time of one operation (log scale)";
const CONTENDED: &str = "_contended";

/// The panel of all operations between two PEs, and its main numbers.
pub(super) fn one_pair(data: &Data<'_>) -> (Option<Panel>, Vec<Finding>) {
    let rows = uncontended(data).pairs(1);
    let panel = panel(data, &rows, "Atomic operations on long, 1 pair of PEs");
    (panel, findings(&rows, "1 pair"))
}

pub(super) fn by_pairs(data: &Data<'_>) -> Content {
    let rows = uncontended(data);
    let caption = format!(
        "Time of one atomic operation on a long while several pairs of PEs work, each on an object \
         of its own: by call, and by C11 atomics through shmem_ptr. {SAMPLED}"
    );
    let mut content = Content::new("atomic operations by pairs", Latency, caption);
    // One pair alone is part of Figure 15.
    let several = rows.filter(|m| m.pairs > 1);
    if several.is_empty() {
        return content;
    }
    for operation in rows.values(|m| m.operation.as_str()) {
        content.panels.extend(data.by_pairs(&rows.operation(operation), operation, AXIS));
    }
    for pairs in several.values(|m| m.pairs) {
        let words = count_text(pairs, "pair");
        content.findings.extend(findings(&rows.pairs(pairs).operation("fetch_add"), &words));
    }
    compare(&mut content, &rows);
    content
}

pub(super) fn contended(data: &Data<'_>) -> Content {
    let rows = main_forms(&all(data).filter(|m| m.operation.ends_with(CONTENDED)));
    let caption = format!(
        "Time of one atomic operation while all PEs do the same on one object of one PE: the cache \
         line moves from core to core. {MARKS}"
    );
    let mut content = Content::new("contended atomic operations", Latency, caption);
    for pes in rows.values(|m| m.pes) {
        let words = count_text(pes, "PE");
        let some = rows.pes(pes);
        content.panels.extend(panel(data, &some, &words));
        content.findings.extend(findings(&some, &words));
    }
    compare(&mut content, &rows);
    content
}

fn all<'a>(data: &Data<'a>) -> Rows<'a> {
    data.rows.filter(|m| m.program == "atomics" && m.quantity == Latency)
}

/// Operations on objects that belong to one pair each.
fn uncontended<'a>(data: &Data<'a>) -> Rows<'a> {
    main_forms(&all(data).filter(|m| !m.operation.ends_with(CONTENDED)))
}

fn panel(data: &Data<'_>, rows: &Rows<'_>, title: &str) -> Option<Panel> {
    let name = |operation: &str| operation.trim_end_matches(CONTENDED).to_owned();
    let names = rows.values(|m| name(&m.operation));
    data.bars(rows, title, ("Operation", &names), |m| name(&m.operation), (Scale::Log, AXIS))
}

fn findings(rows: &Rows<'_>, place: &str) -> Vec<Finding> {
    let of_operation = |operation: &str| {
        let name = operation.trim_end_matches(CONTENDED);
        let routine = format!("shmem_atomic_{name}");
        let at = format!("{name}, {place}");
        let sized = findings_by_size(&rows.operation(operation), "", &routine, "the same through shmem_ptr");
        sized.into_iter().map(move |finding| Finding { at: at.clone(), ..finding })
    };
    let operations = rows.values(|m| m.operation.as_str());
    operations.into_iter().flat_map(of_operation).collect()
}

/// Adds the comparisons of this library's calls with the best other library and with the processor's atomics.
fn compare(content: &mut Content, rows: &Rows<'_>) {
    let subject = "An atomic operation by call";
    content.compare(&beside_best(&calls_and_peers(rows)), subject, Beside::Others, &format!("{FASTEST}'s"));
    content.compare(&beside_direct(rows, "call"), subject, Beside::Itself, "the same through shmem_ptr");
}
