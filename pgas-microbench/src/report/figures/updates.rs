//! Operations on random words.

use super::super::comparison::Beside;
use super::panels::{beside_best, count_text, operation_text};
use super::{Content, Data, HIGHEST, MARKS};
use crate::measurement::Quantity::Rate;

pub(super) fn updates(data: &Data<'_>) -> Content {
    let rows = data.rows.filter(|m| m.program == "updates" && m.quantity == Rate);
    let caption = format!(
        "Operations on random words of a table that is spread over all PEs (random_put, random_add: \
         GUPS and histogram; random_get: index gather), or of the other PE of each pair (pair_put, \
         pair_add), per second, of all PEs together. {MARKS}"
    );
    let mut content = Content::new("operations on random words", Rate, caption);
    for pes in rows.values(|m| m.pes) {
        let label = "Millions of operations per second (log scale)";
        content.panels.extend(data.by_operation(&rows.pes(pes), &count_text(pes, "PE"), label));
    }
    let pairs = beside_best(&rows);
    content.findings.extend(pairs.iter().map(|pair| pair.beside_maker(operation_text(pair), &pair.ours.operation)));
    let object = format!("{HIGHEST}'s");
    content.compare(&pairs, "An operation on a random word", Beside::Others, &object);
    content
}
