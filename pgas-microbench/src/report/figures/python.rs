//! Puts from Python beside those from C.

use super::panels::{matches, size_text, telling_sizes};
use super::{Content, Data, SAMPLED};
use crate::measurement::Quantity::Latency;

pub(super) fn puts(data: &Data<'_>) -> Content {
    let caption = format!(
        "The time of one put by its bytes, with shmem_quiet: by shmem4py, by an assignment of NumPy to a view that \
         shmem.ptr has made (dashed), and in C. Between the first and the last is what Python takes for a call. \
         {SAMPLED}"
    );
    // Without a comparison: beside a store, its bar would leave the others no room in the picture of all figures.
    let mut content = Content::new("a put from Python", Latency, caption);
    let rows = data.rows.filter(|m| m.program == "python");
    let calls = data.rows.of("latency", "put", Latency).pairs(1).ours().forms(&["call"]);
    if rows.is_empty() {
        return content;
    }
    let both = data.rows.filter(|m| rows.has(m) || calls.has(m));
    content.panels.extend(data.by_bytes(&both, "One put", "Time of a put (log scale)"));
    let puts = rows.forms(&["python"]);
    for (form, subject) in [("python", "a put from Python"), ("view", "a store to a view")] {
        let sizes = telling_sizes(&puts);
        let pairs = matches(&rows.forms(&[form]), &calls);
        let telling = pairs.iter().filter(|pair| sizes.contains(&pair.ours.bytes));
        let found = telling.map(|pair| pair.finding(size_text(pair.ours.bytes), subject, "a put from C"));
        content.findings.extend(found);
    }
    content
}
