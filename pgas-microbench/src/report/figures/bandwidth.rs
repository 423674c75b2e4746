//! Bytes and messages per second.

use super::super::axis::Axis;
use super::super::comparison::message;
use super::super::figure::{Finding, Panel};
use super::super::rows::Rows;
use super::panels::{count_text, findings_by_size, main_forms, matches, neutral, share_axis};
use super::{Content, Data, FORMS, SAMPLED};
use crate::measurement::Quantity::{Bandwidth, Rate};

const AXIS: &str = "Bytes per second (log scale)";
const QUOTIENT: &str = "Bandwidth of calls ÷ bandwidth through shmem_ptr";
const COPY: &str = "memcpy through shmem_ptr";

pub(super) fn put(data: &Data<'_>) -> Option<Content> {
    between_two(
        data,
        &[
            ("put", "put after put", COPY),
            ("put_nbi", "many put_nbi, one quiet", COPY),
        ],
    )
}

pub(super) fn get(data: &Data<'_>) -> Option<Content> {
    between_two(
        data,
        &[
            ("get", "get after get", COPY),
            ("get_nbi", "many get_nbi, one quiet", COPY),
        ],
    )
}

pub(super) fn strided(data: &Data<'_>) -> Option<Content> {
    let stores = "loops of stores through shmem_ptr";
    let loads = "loops of loads through shmem_ptr";
    between_two(
        data,
        &[
            ("iput", "iput after iput", stores),
            ("iget", "iget after iget", loads),
        ],
    )
}

/// Operations between two PEs, by call and through `shmem_ptr`: of each its name, how it is
/// repeated, and what it is compared with.
fn between_two(data: &Data<'_>, operations: &[(&str, &str, &str)]) -> Option<Content> {
    let mut panels: Vec<Panel> = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    let mut title = None;
    for (operation, how, direct) in operations {
        let all = data.rows.of("bandwidth", operation, Bandwidth).pairs(1);
        let rows = main_forms(&all);
        let routine = format!("shmem_{operation}");
        panels.extend(data.by_bytes(&rows, &format!("{how}, 1 pair of PEs"), AXIS));
        panels.extend(data.call_to_direct(
            &all,
            &format!("{operation} beside shmem_ptr"),
            QUOTIENT,
        ));
        findings.extend(findings_by_size(&rows, "1 pair", "call", &routine, direct));
        title = title.or_else(|| ours_beside_direct(&rows, &routine, direct));
    }
    let names = operations
        .iter()
        .map(|operation| operation.0)
        .collect::<Vec<_>>();
    Some(Content {
        title: title.unwrap_or_else(|| neutral(&names.join(" and "), Bandwidth)),
        caption: format!(
            "Bytes per second between one pair of PEs, by the bytes of one operation, and calls \
             beside the same copies through shmem_ptr (at 1× both are equal; above, calls are \
             faster). Steps down show where data no longer fit a cache. {FORMS} {SAMPLED}"
        ),
        panels,
        findings,
    })
}

pub(super) fn put_by_pairs(data: &Data<'_>) -> Option<Content> {
    by_pairs(data, "put")
}

pub(super) fn get_by_pairs(data: &Data<'_>) -> Option<Content> {
    by_pairs(data, "get")
}

fn by_pairs(data: &Data<'_>, operation: &str) -> Option<Content> {
    let rows = main_forms(&data.rows.of("bandwidth", operation, Bandwidth));
    let routine = format!("shmem_{operation}");
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    for pairs in rows.values(|m| m.pairs) {
        let words = count_text(pairs, "pair");
        let some = rows.pairs(pairs);
        panels.extend(data.by_bytes(&some, &format!("{words} of PEs"), AXIS));
        findings.extend(findings_by_size(&some, &words, "call", &routine, COPY));
    }
    share_axis(&mut panels);
    let title = ours_beside_direct(&rows, &routine, COPY);
    Some(Content {
        title: title.unwrap_or_else(|| neutral(&routine, Bandwidth)),
        caption: format!(
            "Bytes per second of all pairs together, by the bytes of one {operation}. Look at \
             how the sum grows with the number of pairs: as long as there are cores, and as \
             memory allows. All panels have the same vertical axis. {FORMS} {SAMPLED}"
        ),
        panels,
        findings,
    })
}

pub(super) fn messages(data: &Data<'_>) -> Option<Content> {
    let all = data
        .rows
        .filter(|m| m.program == "bandwidth" && m.quantity == Rate);
    let rows = main_forms(&all);
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    for pairs in rows.values(|m| m.pairs) {
        let some = rows.pairs(pairs);
        let names = some.values(|m| m.operation.clone());
        let words = count_text(pairs, "pair");
        panels.extend(data.bars(
            &some,
            &format!("{words} of PEs"),
            ("Operation", &names),
            |m| m.operation.clone(),
            |unit, values| {
                let values = values.iter().copied();
                Axis::logarithmic("Millions of messages per second (log scale)", unit, values)
            },
        ));
        for name in &names {
            let one = some.filter(|m| m.operation == *name);
            let routine = format!("shmem_{name}");
            let stores = "stores through shmem_ptr";
            findings.extend(findings_by_size(&one, &words, "call", &routine, stores));
        }
    }
    let ours = rows.ours();
    let pairs = matches(&ours.forms(&["call"]), &ours.forms(&["ptr"]));
    let title = message(&pairs, "FerroSHMEM, by call,", "stores through shmem_ptr");
    Some(Content {
        title: title.unwrap_or_else(|| neutral("small messages", Rate)),
        caption: "Messages of 8 bytes per second of all pairs together: puts or single elements, \
                  each to a place of its own, then one quiet. Marks are medians of the samples, \
                  whiskers reach from a tenth to nine tenths of them."
            .to_owned(),
        panels,
        findings,
    })
}

fn ours_beside_direct(rows: &Rows<'_>, routine: &str, direct: &str) -> Option<String> {
    let ours = rows.ours();
    message(
        &matches(&ours.forms(&["call"]), &ours.forms(&["ptr"])),
        routine,
        direct,
    )
}
