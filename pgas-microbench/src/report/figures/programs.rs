//! Whole programs: STREAM, NAS IS and SP, Graph500.

use std::cmp::Reverse;

use super::super::axis::Scale;
use super::super::comparison::{self, Beside, Pair};
use super::super::figure::Panel;
use super::super::rows::Rows;
use super::panels::{beside_best, beside_direct, calls_and_peers, count_text, operation_text};
use super::{Content, Data, HIGHEST};
use crate::Measurement;
use crate::measurement::Quantity::{Bandwidth, Latency, Rate};

const KERNELS: [&str; 4] = ["copy", "scale", "add", "triad"];
const STREAM_RULES: &str = "Arrays are larger than caches; bytes are counted as STREAM counts them, \
                            of all PEs together. Bars are medians of the repetitions, whiskers \
                            reach from the 10th to the 90th percentile.";
const DIRECT: &str = "loads and stores through shmem_ptr";

pub(super) fn stream_local(data: &Data<'_>) -> Content {
    let caption = format!(
        "Each PE works on arrays in its own symmetric memory, as many OpenMP threads on theirs: the \
         kernels do not call the library, so that the only difference is where memory lies and how \
         it is mapped. {STREAM_RULES}"
    );
    let mut content = Content::new("STREAM over own memory", Bandwidth, caption);
    let rows = kernels(data).forms(&["local", "threads"]);
    let pairs = kernel_matches(&rows.ours().forms(&["local"]), &rows.forms(&["threads"]));
    let threads = "as many OpenMP threads";
    content.findings.extend(pairs.iter().map(|pair| pair.finding(operation_text(pair), "FerroSHMEM", threads)));
    content.compare(&pairs, "STREAM on PEs", Beside::Others, threads);
    content.panels = kernel_panels(data, &rows);
    content
}

pub(super) fn stream_remote(data: &Data<'_>) -> Content {
    let caption = format!(
        "The source arrays belong to the neighbour PE. Put/get variants move them by library calls, \
         the others read them through shmem_ptr like their own. {STREAM_RULES}"
    );
    let noun = "STREAM over a neighbour's memory";
    let mut content = Content::new(noun, Bandwidth, caption);
    let rows = kernels(data).forms(&["putget", "ptr"]);
    let ours = rows.ours();
    let pairs = kernel_matches(&ours.forms(&["putget"]), &ours.forms(&["ptr"]));
    let mut others = Vec::new();
    for pair in &pairs {
        let at = operation_text(pair);
        content.findings.push(pair.finding(at.clone(), "put/get", DIRECT));
        let ours = pair.ours;
        if let Some(other) = rows.peers().forms(&["putget"]).pes(ours.pes).operation(&ours.operation).best() {
            let pair = Pair { ours, other };
            content.findings.push(pair.beside_maker(at, "put/get"));
            others.push(pair);
        }
    }
    let subject = "STREAM by put/get";
    content.compare(&others, subject, Beside::Others, HIGHEST);
    content.compare(&pairs, subject, Beside::Itself, DIRECT);
    content.panels = kernel_panels(data, &rows);
    content
}

fn kernels<'a>(data: &Data<'a>) -> Rows<'a> {
    data.rows.filter(|m| m.program == "stream" && m.quantity == Bandwidth && KERNELS.contains(&m.operation.as_str()))
}

/// One panel for each number of PEs.
fn kernel_panels(data: &Data<'_>, rows: &Rows<'_>) -> Vec<Panel> {
    let names = KERNELS.map(str::to_owned);
    let panel = |pes: u32| {
        data.bars(
            &rows.pes(pes),
            &count_text(pes, "PE"),
            ("Kernel", &names),
            |m| m.operation.clone(),
            (Scale::Linear, "Bytes per second"),
        )
    };
    let numbers = rows.values(|m| m.pes);
    numbers.into_iter().filter_map(panel).collect()
}

/// Pairs that agree in kernel and number of PEs: each program chooses its own size of arrays. Triad
/// of all PEs, by which STREAM is known, comes first.
fn kernel_matches<'a>(ours: &Rows<'a>, others: &Rows<'a>) -> Vec<Pair<'a>> {
    let pair = |ours: &'a Measurement| {
        let other = others.operation(&ours.operation).pes(ours.pes).last()?;
        Some(Pair { ours, other })
    };
    let mut pairs: Vec<Pair<'a>> = ours.iter().filter_map(pair).collect();
    pairs.sort_by_key(|pair| (pair.ours.operation != "triad", Reverse(pair.ours.pes)));
    pairs
}

/// The rate of a benchmark: one panel for each class, one group of bars for each number of PEs.
pub(super) fn nas(data: &Data<'_>, program: &str, name: &str, counted: &str) -> Content {
    let caption = format!(
        "{name} of the NAS Parallel Benchmarks by class and number of PEs, from one source: a put/get \
         variant, and one that loads and stores through shmem_ptr. Operations are {counted}, as the \
         benchmark counts them. Bars are medians of the runs, whiskers reach from the lowest to the \
         highest."
    );
    let mut content = Content::new(name, Rate, caption);
    let rows = data.rows.of(program, program, Rate);
    let mut classes = rows.values(|m| m.class.clone());
    // From the smallest: S and W come before A.
    classes.sort_by_key(|class| "SWABCDEF".find(class.as_str()));
    for class in &classes {
        let some = rows.filter(|m| m.class == *class);
        let label = "Millions of operations per second";
        content.panels.extend(data.bars_by_pes(&some, &format!("Class {class}"), label));
    }
    for class in classes.iter().rev() {
        for pair in nas_pairs(&rows.filter(|m| m.class == *class)) {
            let at = format!("class {class}, {}", count_text(pair.ours.pes, "PE"));
            content.findings.push(pair.beside_maker(at, &comparison::maker(pair.ours)));
        }
    }
    let put_get = rows.filter(|m| m.form != "ptr");
    let subject = format!("{name} by put/get");
    let best = "the same source under the best other library";
    content.compare(&beside_best(&put_get), &subject, Beside::Others, best);
    content.compare(&beside_direct(&rows, "putget"), &subject, Beside::Itself, DIRECT);
    content
}

/// Edges that a search traverses per second: one panel for each scale, one group of bars for each number of PEs.
pub(super) fn graph500(data: &Data<'_>) -> Content {
    let caption = "Breadth-first searches of Kronecker graphs with 2^scale vertices and 16 times as many edges, by \
                   one-sided operations. A PE with threads has one for each core. Bars are medians of the searches, \
                   whiskers reach from the first to the third quartile."
        .to_owned();
    let mut content = Content::new("Graph500's search", Rate, caption);
    let rows = data.rows.filter(|m| m.program == "graph500");
    for scale in rows.values(|m| m.operation.as_str()) {
        content.panels.extend(data.bars_by_pes(&rows.operation(scale), scale, "Millions of edges per second"));
    }
    let pairs = beside_best(&rows);
    let found = pairs.iter().rev().map(|pair| pair.beside_maker(operation_text(pair), &comparison::maker(pair.ours)));
    content.findings.extend(found);
    let best = "the same source under the best other library";
    content.compare(&pairs, "Graph500's search", Beside::Others, best);
    content
}

/// Time of a step: one group of bars for each number of PEs, and for PEs whose threads fill the cores.
pub(super) fn stencil(data: &Data<'_>) -> Content {
    let caption =
        "A step of the five-point stencil on 1282 x 1282 points of double, whose rows are spread over the PEs. \
                   Neighbours exchange rows of 10,256 bytes by put with signal, or load them through \
                   shmem_ptr; MPI by non-blocking messages. PEs with threads have as many as fill the cores. \
                   Bars are medians of the samples, whiskers reach from the 10th to the 90th percentile."
            .to_owned();
    let mut content = Content::new("the five-point stencil", Latency, caption);
    let rows = data.rows.filter(|m| m.program == "stencil" && m.quantity == Latency);
    let name = |m: &Measurement| {
        let pes = count_text(m.pes, "PE");
        match m.operation.ends_with("threads") {
            true => format!("{pes}, threads"),
            false => pes,
        }
    };
    let mut names = Vec::new();
    for row in rows.iter() {
        let name = name(row);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    content.panels.extend(data.bars(&rows, "One step", ("PEs", &names), name, (Scale::Linear, "Time of a step")));
    let pairs = beside_best(&calls_and_peers(&rows));
    let direct = beside_direct(&rows, "call");
    let step = "a step by put with signal";
    content.findings.extend(pairs.iter().map(|pair| pair.beside_maker(name(pair.ours), step)));
    content.findings.extend(direct.iter().map(|pair| pair.finding(name(pair.ours), step, DIRECT)));
    let subject = "A step of the stencil by put with signal";
    let best = "the same grid under the fastest other library";
    content.compare(&pairs, subject, Beside::Others, best);
    content.compare(&direct, subject, Beside::Itself, DIRECT);
    content
}

/// This library's put/get compared with loads and stores, and with the best other library's put/get,
/// the highest rate first.
fn nas_pairs<'a>(rows: &Rows<'a>) -> Vec<Pair<'a>> {
    let mut pairs = beside_best(&rows.filter(|m| m.form != "ptr"));
    pairs.extend(beside_direct(rows, "putget"));
    pairs.sort_by(|a, b| b.ours.median.total_cmp(&a.ours.median));
    pairs
}
