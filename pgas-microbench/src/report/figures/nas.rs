//! NAS IS and SP.

use super::super::axis::Axis;
use super::super::comparison::{self, Pair, message};
use super::super::rows::Rows;
use super::panels::{beside_best, count_text, matches, neutral};
use super::{Content, Data};
use crate::measurement::Quantity::Rate;

pub(super) fn is(data: &Data<'_>) -> Option<Content> {
    benchmark(data, "is", "IS", "keys ranked")
}

pub(super) fn sp(data: &Data<'_>) -> Option<Content> {
    benchmark(data, "sp", "SP", "floating-point operations")
}

/// A benchmark's rate: one panel for each class, one group of bars for each number of PEs.
fn benchmark(data: &Data<'_>, program: &str, name: &str, counted: &str) -> Option<Content> {
    let rows = data.rows.of(program, program, Rate);
    let mut classes = rows.values(|m| m.class.clone());
    // From the smallest: S and W come before A.
    classes.sort_by_key(|class| "SWABCDEF".find(class.as_str()));
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    for class in classes.iter().rev() {
        let some = rows.filter(|m| m.class == *class);
        findings.extend(pairs_of(&some).iter().map(|pair| {
            let at = format!("class {class}, {}", count_text(pair.ours.pes, "PE"));
            let subject = comparison::maker(pair.ours);
            pair.finding(at, &subject, &comparison::maker(pair.other))
        }));
    }
    for class in &classes {
        let some = rows.filter(|m| m.class == *class);
        let names: Vec<String> = some.values(|m| m.pes).iter().map(u32::to_string).collect();
        panels.extend(data.bars(
            &some,
            &format!("Class {class}"),
            ("PEs", &names),
            |m| m.pes.to_string(),
            |unit, values| {
                let label = "Millions of operations per second";
                Axis::from_zero(label, unit, values.iter().copied())
            },
        ));
    }
    let put_get = rows.filter(|m| m.form != "ptr");
    let title = message(
        &beside_best(&put_get),
        &format!("{name} by put/get"),
        "the same source under the best other library",
    )
    .or_else(|| {
        let ours = rows.ours();
        let pairs = matches(&ours.forms(&["putget"]), &ours.forms(&["ptr"]));
        message(
            &pairs,
            &format!("{name} by put/get"),
            "loads and stores through shmem_ptr",
        )
    });
    Some(Content {
        title: title.unwrap_or_else(|| neutral(name, Rate)),
        caption: format!(
            "{name} of the NAS Parallel Benchmarks by class and number of PEs, from one source: a \
             put/get variant, and one that loads and stores through shmem_ptr. Operations are \
             {counted}, as the benchmark counts them. Bars are medians of the runs, whiskers reach \
             from the lowest to the highest."
        ),
        panels,
        findings,
    })
}

/// Put/get beside loads and stores, and beside the best other library's put/get.
fn pairs_of<'a>(rows: &Rows<'a>) -> Vec<Pair<'a>> {
    let put_get = rows.filter(|m| m.form != "ptr");
    let mut pairs = beside_best(&put_get);
    pairs.extend(matches(
        &rows.ours().forms(&["putget"]),
        &rows.ours().forms(&["ptr"]),
    ));
    // First where this machine does most.
    pairs.sort_by(|a, b| b.ours.median.total_cmp(&a.ours.median));
    pairs
}
