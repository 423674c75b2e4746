//! Barriers, collectives, and the algorithms of reductions.

use super::super::axis::{Axis, Unit};
use super::super::comparison::{Beside, Pair};
use super::super::figure::{Finding, Series};
use super::super::palette::{COUNT_HUES, Stroke, Style};
use super::super::rows::Rows;
use super::panels::{
    beside_best, bytes, count_text, findings_by_size, line_panel, matches, points, share_axis, size_text, telling_sizes,
};
use super::{Content, Data, FASTEST, SAMPLED, atomics};
use crate::measurement::Quantity::Latency;

const CALL: &str = "Time of one call (log scale)";
const REDUCTION: &str = "Time of one reduction (log scale)";

fn theirs() -> String {
    format!("{FASTEST}'s")
}

fn of<'a>(data: &Data<'a>, operation: &str) -> Rows<'a> {
    data.rows.of("collectives", operation, Latency)
}

pub(super) fn small(data: &Data<'_>) -> Content {
    const OTHERS: [&str; 5] = ["broadcast", "reduce", "fcollect", "collect", "alltoall"];
    let caption = format!(
        "The cost of synchronisation: barriers and collectives of 8 bytes by the number of PEs, and \
         atomic operations between two PEs. A broadcast does not wait until all PEs have come, a \
         barrier does. Where PEs outnumber cores, the least possible time is that of running each PE \
         once. {SAMPLED}"
    );
    let noun = "barriers, small collectives and atomics";
    let mut content = Content::new(noun, Latency, caption);
    let mut barriers = Vec::new();
    for operation in ["barrier_all", "sync_all"] {
        let rows = of(data, operation);
        content.panels.extend(data.by_pes(&rows, operation, CALL));
        content.findings.extend(by_pes(&rows, operation, operation));
        barriers.extend(beside_best(&rows));
    }
    for operation in OTHERS {
        let rows = of(data, operation).bytes(8);
        let words = format!("{operation}, 8 bytes");
        content.panels.extend(data.by_pes(&rows, &words, CALL));
        content.findings.extend(by_pes(&rows, &words, operation));
    }
    let (panel, findings) = atomics::one_pair(data);
    content.panels.extend(panel);
    content.findings.extend(findings);
    content.compare(&barriers, "A barrier", Beside::Others, &theirs());
    content
}

/// This library compared with the best other one, for each number of PEs.
fn by_pes(rows: &Rows<'_>, what: &str, subject: &str) -> Vec<Finding> {
    let at = |pair: &Pair<'_>| format!("{what}, {}", count_text(pair.ours.pes, "PE"));
    beside_best(rows).iter().map(|pair| pair.beside_maker(at(pair), subject)).collect()
}

/// A collective by its bytes, whose meaning the caption explains.
pub(super) fn collective(data: &Data<'_>, operation: &str, meaning: &str) -> Content {
    let caption = format!(
        "Time of one {operation} by bytes: {meaning}. Each library chooses its algorithm; MPI \
         libraries do the same by the collective that corresponds. Time is that of the slowest PE. \
         {SAMPLED}"
    );
    let content = Content::new(operation, Latency, caption);
    by_bytes(data, content, operation, CALL, (operation, operation))
}

pub(super) fn reduce(data: &Data<'_>) -> Content {
    let caption = format!(
        "A sum of double over all PEs by the bytes that each contributes, by the algorithm that each \
         library chooses itself; MPI libraries by MPI_Allreduce. Time is that of the slowest PE. \
         {SAMPLED}"
    );
    let content = Content::new("a sum of double", Latency, caption);
    let subjects = ("the sum", "A sum of double");
    by_bytes(data, content, "reduce", REDUCTION, subjects)
}

/// Adds a panel over bytes for each number of PEs. The subjects are those of findings and of the
/// message.
fn by_bytes(
    data: &Data<'_>,
    mut content: Content,
    operation: &str,
    axis: &str,
    (subject, message_subject): (&str, &str),
) -> Content {
    let rows = of(data, operation);
    for pes in rows.values(|m| m.pes) {
        let some = rows.pes(pes);
        let words = count_text(pes, "PE");
        content.panels.extend(data.by_bytes(&some, &words, axis));
        let findings = findings_by_size(&some, &words, subject, "direct stores");
        content.findings.extend(findings);
    }
    content.compare(&beside_best(&rows), message_subject, Beside::Others, &theirs());
    content
}

/// The forced algorithms of a reduction, in both forms.
pub(super) fn algorithms(data: &Data<'_>) -> Content {
    const ALGORITHMS: [(&str, &str); 4] =
        [("flat", "Flat tree"), ("rd", "Recursive doubling"), ("bruck", "Bruck"), ("rsag", "Rabenseifner")];
    let caption = format!(
        "A sum of double over all PEs by each of the paper's four algorithms, by the bytes that each \
         PE contributes: put/get, as between nodes, and direct, by loads from the other PEs' memory. \
         The direct form is faster where the dashed line of a colour is below the solid one. All \
         panels have the same vertical axis. {SAMPLED}"
    );
    let mut content = Content::new("reductions by algorithm", Latency, caption);
    let ours = data.rows.ours();
    let forced = ours.filter(|m| {
        (m.program.as_str(), m.operation.as_str()) == ("collectives", "reduce")
            && m.quantity == Latency
            && ALGORITHMS.iter().any(|(name, _)| *name == m.algorithm)
    });
    let numbers = some_of(forced.values(|m| m.pes));
    let mut pairs = Vec::new();
    for (algorithm, words) in ALGORITHMS {
        let rows = forced.filter(|m| m.algorithm == algorithm);
        let mut lines = Vec::new();
        for (pes, hue) in numbers.iter().zip(COUNT_HUES) {
            for (form, name) in [("putget", "put/get"), ("ptr", "direct")] {
                let stroke = Stroke::of(form);
                lines.push(Series {
                    label: format!("{}, {name}", count_text(*pes, "PE")),
                    style: Style { hue, stroke },
                    points: points(&rows.pes(*pes).forms(&[form]), bytes),
                });
            }
        }
        let x = "Bytes of each PE (log scale)";
        let panel = line_panel(words, (Axis::bytes, x), (Unit::Time, REDUCTION), lines);
        content.panels.extend(panel);
        let of_algorithm = matches(&rows.forms(&["ptr"]), &rows.forms(&["putget"]));
        let telling = telling_sizes(&rows);
        for pair in &of_algorithm {
            if telling.contains(&pair.ours.bytes) && numbers.last() == Some(&pair.ours.pes) {
                let size = size_text(pair.ours.bytes);
                let at = format!("{words}, {size}, {}", count_text(pair.ours.pes, "PE"));
                let finding = pair.finding(at, "the direct form", "put/get");
                content.findings.push(finding);
            }
        }
        pairs.extend(of_algorithm);
    }
    share_axis(&mut content.panels);
    let subject = "A reduction by direct loads and stores";
    content.compare(&pairs, subject, Beside::Itself, "put/get");
    content
}

/// The smallest, the middle and the largest of several numbers of PEs.
fn some_of(numbers: Vec<u32>) -> Vec<u32> {
    match numbers.as_slice() {
        [first, _, _, .., last] => vec![*first, numbers[numbers.len() / 2], *last],
        _ => numbers,
    }
}
