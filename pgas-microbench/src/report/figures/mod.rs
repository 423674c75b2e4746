//! The figures: those that mirror Figures 3 to 17 of Namashivayam et al., "Native Mode-Based
//! Optimizations of Remote Memory Accesses in OpenSHMEM for Intel Xeon Phi" (PGAS 2014), followed
//! by those of everything else that is measured.

mod atomics;
mod collectives;
mod messages;
mod offload;
mod panels;
mod programs;
mod python;
mod transfers;
mod updates;

use super::comparison::{Beside, Comparison, Pair};
use super::figure::{Figure, Finding, Panel};
use super::palette::Palette;
use super::rows::Rows;
use crate::measurement::{Measurement, Quantity};

/// How the numbers of most figures are sampled.
const SAMPLED: &str = "Lines are medians of the samples, bands reach from the 10th to the 90th \
                       percentile.";
/// The meaning of marks and whiskers.
const MARKS: &str = "Marks are medians of the samples, whiskers reach from the 10th to the 90th \
                     percentile.";
/// The meaning of solid and dashed lines.
const FORMS: &str = "Solid: library calls; dashed: loads and stores in the program through \
                     shmem_ptr. Where both coincide, the dashes lie on the solid line.";

/// What most figures are compared with.
const FASTEST: &str = "the fastest other library";
/// The same where bytes or operations per time are compared.
const HIGHEST: &str = "the best other library";

/// The data of all figures.
struct Data<'a> {
    rows: Rows<'a>,
    palette: Palette<'a>,
}

/// The content of a figure, which is filled part by part.
struct Content {
    /// The comparisons of the message, the one with others first.
    comparisons: Vec<Comparison>,
    /// The title if the data allow no message.
    subject: String,
    caption: String,
    panels: Vec<Panel>,
    findings: Vec<Finding>,
}

impl Content {
    fn new(noun: &str, quantity: Quantity, caption: String) -> Self {
        let value = match quantity {
            Quantity::Latency => "Time",
            Quantity::Bandwidth => "Bandwidth",
            Quantity::Rate => "Rate",
        };
        Self {
            comparisons: Vec::new(),
            subject: format!("{value} of {noun}"),
            caption,
            panels: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Adds a comparison to the message, if there are points, unless there is one of its kind.
    fn compare(&mut self, pairs: &[Pair<'_>], subject: &str, beside: Beside, object: &str) {
        let same = |one: &Comparison| one.beside == beside;
        if self.comparisons.iter().any(same) {
            return;
        }
        self.comparisons.extend(Comparison::new(pairs, subject, beside, object));
        self.comparisons.sort_by_key(|one| one.beside != Beside::Others);
    }

    fn title(&self) -> String {
        let words = self.comparisons.iter().map(|one| one.words.as_str());
        let words: Vec<&str> = words.collect();
        match words.is_empty() {
            true => self.subject.clone(),
            false => words.join("; "),
        }
    }
}

/// A figure, which is drawn if its rows exist.
struct FigureSpec {
    number: u32,
    slug: &'static str,
    /// What it shows.
    subject: &'static str,
    /// The rows that it needs.
    needs: &'static str,
    content: fn(&Data<'_>) -> Content,
}

/// A figure that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing {
    /// Its number.
    pub number: u32,
    /// What it would show.
    pub subject: String,
    /// The rows that it needs.
    pub needs: String,
}

/// The figures for which there are rows, and those left out.
pub(super) fn all(measurements: &[Measurement]) -> (Vec<Figure>, Vec<Missing>) {
    let rows = Rows::new(measurements);
    let palette = Palette::new(&rows);
    let data = Data { rows, palette };
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for spec in specs() {
        let content = (spec.content)(&data);
        if content.panels.is_empty() {
            missing.push(Missing {
                number: spec.number,
                subject: spec.subject.to_owned(),
                needs: spec.needs.to_owned(),
            });
        } else {
            figures.push(Figure {
                number: spec.number,
                slug: spec.slug.to_owned(),
                subject: spec.subject.to_owned(),
                title: content.title(),
                comparison: content.comparisons.into_iter().next(),
                caption: content.caption,
                panels: content.panels,
                findings: content.findings,
            });
        }
    }
    (figures, missing)
}

#[rustfmt::skip] // One figure per line.
fn specs() -> Vec<FigureSpec> {
    use collectives::collective;
    use transfers::{BANDWIDTH, LATENCY, LOAD, STORE, COPY, by_pairs};
    let spec = |number, slug, subject, needs, content| FigureSpec { number, slug, subject, needs, content };
    vec![
        spec(3, "latency-put", "latency of put", "latency: put, 1 pair", |d| transfers::latency(d, "put", STORE)),
        spec(4, "latency-get", "latency of get", "latency: get, 1 pair", |d| transfers::latency(d, "get", LOAD)),
        spec(5, "latency-strided", "latency of iput and iget", "latency: iput, iget, 1 \
            pair", transfers::strided_latency),
        spec(6, "scalars", "single elements by p and g", "latency, bandwidth: p, g, 1 pair", transfers::scalars),
        spec(7, "bandwidth-put", "bandwidth of put", "bandwidth: put, put_nbi, 1 \
            pair", |d| transfers::bandwidth(d, &[("put", "put after put", COPY), ("put_nbi", "many put_nbi, one \
                quiet", COPY)])),
        spec(8, "bandwidth-get", "bandwidth of get", "bandwidth: get, get_nbi, 1 \
            pair", |d| transfers::bandwidth(d, &[("get", "get after get", COPY), ("get_nbi", "many get_nbi, one \
                quiet", COPY)])),
        spec(9, "bandwidth-put-pairs", "bandwidth of put by pairs", "bandwidth: \
            put", |d| by_pairs(d, &BANDWIDTH, "put", COPY)),
        spec(10, "bandwidth-get-pairs", "bandwidth of get by pairs", "bandwidth: \
            get", |d| by_pairs(d, &BANDWIDTH, "get", COPY)),
        spec(11, "stream-local", "STREAM over own memory", "stream: local, threads", programs::stream_local),
        spec(12, "stream-remote", "STREAM over a neighbour's memory", "stream: putget, ptr", programs::stream_remote),
        spec(13, "reduction-algorithms", "algorithms of reductions", "collectives: reduce with an \
            algorithm", collectives::algorithms),
        spec(14, "reduction-peers", "sums of double beside others", "collectives: reduce", collectives::reduce),
        spec(15, "synchronisation", "barrier, collectives of 8 bytes, atomics", "collectives, atomics: 8 \
            B", collectives::small),
        spec(16, "is", "NAS IS", "is: rate", |d| programs::nas(d, "is", "IS", "keys ranked")),
        spec(17, "sp", "NAS SP", "sp: rate", |d| programs::nas(d, "sp", "SP", "floating-point operations")),
        spec(18, "latency-put-pairs", "latency of put by pairs", "latency: \
            put", |d| by_pairs(d, &LATENCY, "put", STORE)),
        spec(19, "latency-get-pairs", "latency of get by pairs", "latency: \
            get", |d| by_pairs(d, &LATENCY, "get", LOAD)),
        spec(20, "bandwidth-strided", "bandwidth of iput and iget", "bandwidth: iput, iget, 1 \
            pair", |d| transfers::bandwidth(d, &[("iput", "iput after iput", "loops of stores through \
                shmem_ptr"), ("iget", "iget after iget", "loops of loads through shmem_ptr")])),
        spec(21, "message-rate", "messages per second", "bandwidth: rate of put, p", transfers::messages),
        spec(22, "mpi-latency", "put beside MPI's ways", "latency: rma, sendrecv, 1 pair", transfers::mpi),
        spec(23, "atomics-pairs", "atomics by pairs", "atomics", atomics::by_pairs),
        spec(24, "atomics-contended", "atomics on one object", "atomics: contended", atomics::contended),
        spec(25, "broadcast", "broadcast", "collectives: broadcast", |d| collective(d, "broadcast", "what the root \
            sends")),
        spec(26, "collect", "collect", "collectives: collect", |d| collective(d, "collect", "what each PE contributes; \
            the lengths need not agree")),
        spec(27, "fcollect", "fcollect", "collectives: fcollect", |d| collective(d, "fcollect", "what each PE \
            contributes, the same of all")),
        spec(28, "alltoall", "alltoall", "collectives: alltoall", |d| collective(d, "alltoall", "what each PE sends to \
            each other")),
        spec(29, "alltoalls", "alltoalls", "collectives: alltoalls", |d| collective(d, "alltoalls", "what each PE \
            sends to each other, in strides")),
        spec(30, "reduce-int", "sums of int", "collectives: reduce_int", |d| collective(d, "reduce_int", "what each PE \
            contributes to a sum of int")),
        spec(31, "inscan", "inclusive scan", "collectives: sum_inscan", |d| collective(d, "sum_inscan", "what each PE \
            contributes to sums of all up to itself")),
        spec(32, "exscan", "exclusive scan", "collectives: sum_exscan", |d| collective(d, "sum_exscan", "what each PE \
            contributes to sums of all before it")),
        spec(33, "updates", "operations on random words", "updates", updates::updates),
        spec(34, "graph500", "Graph500's search", "graph500: rate", programs::graph500),
        spec(35, "messages", "two-sided messages", "latency, bandwidth: sendrecv, 1 pair", messages::messages),
        spec(36, "exchange", "exchange between two PEs", "latency: exchange, 1 pair", messages::exchange),
        spec(37, "stencil", "five-point stencil", "stencil: latency", programs::stencil),
        spec(38, "packing", "packing of blocks", "packing: latency", offload::packing),
        spec(39, "puts", "many puts to many PEs", "puts: rate", offload::puts),
        spec(40, "overlap", "overlap with computing", "overlap: put, get", offload::overlap),
        spec(41, "copy", "copies within a PE", "latency: copy, 1 pair", offload::copies),
        spec(42, "halo", "exchange of a halo", "halo: latency", offload::halo),
        spec(43, "python", "puts from Python", "python; latency: put, 1 pair", python::puts),
    ]
}
