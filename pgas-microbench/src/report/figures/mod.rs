//! The figures: those that mirror Figures 3 to 17 of Namashivayam et al., "Native Mode-Based
//! Optimizations of Remote Memory Accesses in OpenSHMEM for Intel Xeon Phi" (PGAS 2014), and,
//! after them, what else was measured.

mod atomics;
mod bandwidth;
mod collectives;
mod latency;
mod nas;
mod panels;
mod reduction;
mod stream;

use super::figure::{Figure, Finding, Panel};
use super::palette::Palette;
use super::rows::Rows;
use crate::measurement::Measurement;

/// How the numbers of most figures came about.
const SAMPLED: &str = "Lines are medians of the samples, bands reach from a tenth to nine tenths \
                       of them.";
/// What solid and dashed lines are.
const FORMS: &str = "Solid: library calls; dashed: loads and stores in the program through \
                     shmem_ptr. Where both coincide, the dashes lie on the solid line.";

/// What figures are drawn from.
struct Data<'a> {
    rows: Rows<'a>,
    palette: Palette<'a>,
}

/// A figure without its place in the report.
struct Content {
    title: String,
    caption: String,
    panels: Vec<Panel>,
    findings: Vec<Finding>,
}

/// A figure that is drawn if its rows are there.
struct Plan {
    number: u32,
    slug: &'static str,
    /// What it would show.
    subject: &'static str,
    /// The rows that it needs.
    needs: &'static str,
    draw: fn(&Data<'_>) -> Option<Content>,
}

/// A figure that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    /// Its number.
    pub number: u32,
    /// What it would have shown.
    pub subject: String,
    /// The rows that it would have needed.
    pub needs: String,
}

/// The figures for which there are rows, and what is left out.
pub(super) fn all(measurements: &[Measurement]) -> (Vec<Figure>, Vec<Missing>) {
    let rows = Rows::new(measurements);
    let palette = Palette::new(&rows);
    let data = Data { rows, palette };
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for plan in plans() {
        match (plan.draw)(&data).filter(|content| !content.panels.is_empty()) {
            Some(content) => figures.push(Figure {
                number: plan.number,
                slug: plan.slug.to_owned(),
                title: content.title,
                caption: content.caption,
                panels: content.panels,
                findings: content.findings,
            }),
            None => missing.push(Missing {
                number: plan.number,
                subject: plan.subject.to_owned(),
                needs: plan.needs.to_owned(),
            }),
        }
    }
    (figures, missing)
}

#[rustfmt::skip] // One figure per line.
fn plans() -> Vec<Plan> {
    let plan = |number, slug, subject, needs, draw| Plan { number, slug, subject, needs, draw };
    vec![
        plan(3, "latency-put", "latency of put", "latency: put, 1 pair", latency::put),
        plan(4, "latency-get", "latency of get", "latency: get, 1 pair", latency::get),
        plan(5, "latency-strided", "latency of iput and iget", "latency: iput, iget, 1 pair", latency::strided),
        plan(6, "scalars", "single elements by p and g", "latency, bandwidth: p, g, 1 pair", latency::scalars),
        plan(7, "bandwidth-put", "bandwidth of put", "bandwidth: put, put_nbi, 1 pair", bandwidth::put),
        plan(8, "bandwidth-get", "bandwidth of get", "bandwidth: get, get_nbi, 1 pair", bandwidth::get),
        plan(9, "bandwidth-put-pairs", "bandwidth of put by pairs", "bandwidth: put", bandwidth::put_by_pairs),
        plan(10, "bandwidth-get-pairs", "bandwidth of get by pairs", "bandwidth: get", bandwidth::get_by_pairs),
        plan(11, "stream-local", "STREAM over own memory", "stream: local, threads", stream::local),
        plan(12, "stream-remote", "STREAM over a neighbour's memory", "stream: putget, ptr", stream::remote),
        plan(13, "reduction-algorithms", "algorithms of reductions", "collectives: reduce with an algorithm", reduction::algorithms),
        plan(14, "reduction-peers", "sums of double beside others", "collectives: reduce", reduction::peers),
        plan(15, "synchronisation", "barrier, collectives of 8 bytes, atomics", "collectives, atomics: 8 B", collectives::small),
        plan(16, "is", "NAS IS", "is: rate", nas::is),
        plan(17, "sp", "NAS SP", "sp: rate", nas::sp),
        plan(18, "latency-put-pairs", "latency of put by pairs", "latency: put", latency::put_by_pairs),
        plan(19, "latency-get-pairs", "latency of get by pairs", "latency: get", latency::get_by_pairs),
        plan(20, "bandwidth-strided", "bandwidth of iput and iget", "bandwidth: iput, iget, 1 pair", bandwidth::strided),
        plan(21, "message-rate", "messages per second", "bandwidth: rate of put, p", bandwidth::messages),
        plan(22, "mpi-latency", "put beside MPI's ways", "latency: rma, sendrecv, 1 pair", latency::mpi),
        plan(23, "atomics-pairs", "atomics by pairs", "atomics", atomics::by_pairs),
        plan(24, "atomics-contended", "atomics on one object", "atomics: contended", atomics::contended),
        plan(25, "broadcast", "broadcast", "collectives: broadcast", collectives::broadcast),
        plan(26, "collect", "collect", "collectives: collect", collectives::collect),
        plan(27, "fcollect", "fcollect", "collectives: fcollect", collectives::fcollect),
        plan(28, "alltoall", "alltoall", "collectives: alltoall", collectives::alltoall),
        plan(29, "alltoalls", "alltoalls", "collectives: alltoalls", collectives::alltoalls),
        plan(30, "reduce-int", "sums of int", "collectives: reduce_int", collectives::reduce_int),
        plan(31, "inscan", "inclusive scan", "collectives: sum_inscan", collectives::inscan),
        plan(32, "exscan", "exclusive scan", "collectives: sum_exscan", collectives::exscan),
    ]
}
