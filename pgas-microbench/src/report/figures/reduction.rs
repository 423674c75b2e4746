//! Reductions: algorithms and forms, and what the library chooses.

use super::super::axis::{Axis, Unit};
use super::super::comparison::message;
use super::super::figure::{Line, Series};
use super::super::palette::{COUNT_HUES, Stroke, Style};
use super::panels::{
    beside_best, count_text, findings_by_size, line_panel, matches, neutral, points, share_axis,
    size_text, telling_sizes,
};
use super::{Content, Data, SAMPLED};
use crate::measurement::Quantity::Latency;

const ALGORITHMS: [(&str, &str); 4] = [
    ("flat", "Flat tree"),
    ("rd", "Recursive doubling"),
    ("bruck", "Bruck"),
    ("rsag", "Rabenseifner"),
];
const AXIS: &str = "Time of one reduction (log scale)";

pub(super) fn algorithms(data: &Data<'_>) -> Option<Content> {
    let forced = data.rows.ours().filter(|m| {
        m.program == "collectives"
            && m.operation == "reduce"
            && m.quantity == Latency
            && ALGORITHMS.iter().any(|(name, _)| *name == m.algorithm)
    });
    let numbers = some_of(forced.values(|m| m.pes));
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    let mut pairs = Vec::new();
    for (algorithm, words) in ALGORITHMS {
        let rows = forced.filter(|m| m.algorithm == algorithm);
        let mut lines = Vec::new();
        for (pes, hue) in numbers.iter().zip(COUNT_HUES) {
            for (form, name) in [("putget", "put/get"), ("ptr", "direct")] {
                let rows = rows.pes(*pes).forms(&[form]);
                let label = format!("{}, {name}", count_text(*pes, "PE"));
                let style = Style {
                    hue,
                    stroke: Stroke::of(form),
                };
                let line = Line {
                    series: Series { label, style },
                    points: points(&rows, super::panels::bytes),
                };
                lines.extend(Some(line).filter(|line| !line.points.is_empty()));
            }
        }
        panels.extend(line_panel(
            words,
            Axis::bytes,
            "Bytes of each PE (log scale)",
            AXIS,
            Unit::Time,
            lines,
        ));
        let of_algorithm = matches(&rows.forms(&["ptr"]), &rows.forms(&["putget"]));
        let telling = telling_sizes(&rows);
        for pair in &of_algorithm {
            if telling.contains(&pair.ours.bytes) && numbers.last() == Some(&pair.ours.pes) {
                let size = size_text(pair.ours.bytes);
                let at = format!("{words}, {size}, {}", count_text(pair.ours.pes, "PE"));
                findings.push(pair.finding(at, "the direct form", "put/get"));
            }
        }
        pairs.extend(of_algorithm);
    }
    share_axis(&mut panels);
    let title = message(&pairs, "A reduction by direct loads and stores", "put/get");
    Some(Content {
        title: title.unwrap_or_else(|| neutral("reductions by algorithm", Latency)),
        caption: format!(
            "A sum of double over all PEs by each of the paper's four algorithms, by the bytes \
             that each PE contributes: put/get, as between nodes, and direct, by loads from the \
             other PEs' memory. Look at where the dashed line of a colour leaves the solid one. \
             All panels have the same vertical axis. {SAMPLED}"
        ),
        panels,
        findings,
    })
}

/// The smallest, the middle and the largest of several numbers of PEs.
fn some_of(numbers: Vec<u32>) -> Vec<u32> {
    match numbers.as_slice() {
        [first, _, _, .., last] => vec![*first, numbers[numbers.len() / 2], *last],
        _ => numbers,
    }
}

pub(super) fn peers(data: &Data<'_>) -> Option<Content> {
    let rows = data.rows.of("collectives", "reduce", Latency);
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
            "the sum",
            "direct stores",
        ));
    }
    let title = message(
        &beside_best(&rows),
        "A sum of double",
        "the fastest other library's",
    );
    Some(Content {
        title: title.unwrap_or_else(|| neutral("a sum of double", Latency)),
        caption: format!(
            "A sum of double over all PEs by the bytes that each contributes, by the algorithm \
             that each library chooses itself; MPI libraries by MPI_Allreduce. Time is that of \
             the slowest PE. {SAMPLED}"
        ),
        panels,
        findings,
    })
}
