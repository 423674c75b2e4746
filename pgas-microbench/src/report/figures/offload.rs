//! Work that threads of a PE share or make beside computing, many puts to many PEs, and the halo exchange.

use super::super::axis::Scale;
use super::super::comparison::{Beside, Pair};
use super::super::rows::{Rows, is_our_name};
use super::panels::{
    beside_best, beside_direct, calls_and_peers, count_text, findings_by_size, main_forms, matches, operation_text,
    size_text,
};
use super::{Content, Data, FASTEST, HIGHEST, MARKS, SAMPLED};
use crate::measurement::Quantity::{Latency, Rate};
use crate::plan::WORKERS;

/// The pairs of the shortest and of the longest transfers.
fn ends<'a, 'p>(pairs: &'p [Pair<'a>]) -> impl Iterator<Item = &'p Pair<'a>> {
    pairs.iter().filter(|pair| pair.ours.bytes <= 8 || pair.ours.bytes >= 1 << 20)
}

/// Time over the length of a block: by a PE alone, with the library's workers, and by two PEs at the same time.
pub(super) fn packing(data: &Data<'_>) -> Content {
    let caption = format!(
        "8 MiB in blocks of some bytes, which lie as far apart as they are long, go to one place of the partner (pack: \
            a \
         strided or block put, by MPI a one-sided put of a vector datatype) or come from it (unpack). With workers, \
         threads of the library on the \
         cores that idle take part in the calls. {SAMPLED}"
    );
    let mut content = Content::new("packing", Latency, caption);
    let rows = data.rows.filter(|m| m.program == "packing");
    let alone = rows.filter(|m| m.algorithm.is_empty());
    let helped = rows.filter(|m| m.algorithm == WORKERS || m.form == "ptr" && m.pes == 1);
    for operation in ["pack", "unpack"] {
        let of = |pes| alone.pes(pes).operation(operation);
        let label = "Time of 8 MiB (log scale)";
        let shared = helped.pes(1).operation(operation);
        let panels = [
            data.by_bytes(&main_forms(&of(1)), &format!("{operation}, 1 PE"), label),
            data.by_bytes(&shared, &format!("{operation}, 1 PE with workers"), label),
            data.by_bytes(&main_forms(&of(2)), &format!("{operation}, 2 PEs"), label),
        ];
        content.panels.extend(panels.into_iter().flatten());
    }
    let calls = alone.forms(&["call"]);
    let others = beside_best(&calls_and_peers(&alone));
    let with_workers = helped.ours().forms(&["call"]);
    let gains = matches(&with_workers, &calls.ours());
    let at = |pair: &Pair<'_>| {
        let pes = count_text(pair.ours.pes, "PE");
        format!("{}, {}, {pes}", pair.ours.operation, size_text(pair.ours.bytes))
    };
    let direct = beside_direct(&alone, "call");
    let findings = &mut content.findings;
    findings.extend(ends(&gains).map(|pair| pair.finding(at(pair), "with workers", "without them")));
    findings.extend(ends(&others).map(|pair| pair.beside_maker(at(pair), "FerroSHMEM")));
    findings.extend(ends(&direct).map(|pair| pair.finding(at(pair), "a call", "a loop of the program")));
    content.compare(&others, "Packing", Beside::Others, FASTEST);
    content.compare(&gains, "Packing with workers", Beside::Itself, "without them");
    content
}

/// Puts per second of one PE to all, and of all to all.
pub(super) fn puts(data: &Data<'_>) -> Content {
    let caption = format!(
        "Non-blocking puts of 8 bytes of one PE to all PEs, and of all to all in turn, 64 before each quiet, per \
            second, \
         of all PEs together. {MARKS}"
    );
    let mut content = Content::new("many puts to many PEs", Rate, caption);
    let rows = data.rows.filter(|m| m.program == "puts");
    let names = ["one_to_all", "all_to_all"].map(str::to_owned);
    for pes in rows.values(|m| m.pes) {
        content.panels.extend(data.bars(
            &rows.pes(pes),
            &count_text(pes, "PE"),
            ("Operation", &names),
            |m| m.operation.clone(),
            (Scale::Log, "Millions of puts per second (log scale)"),
        ));
    }
    let pairs = beside_best(&rows);
    content.findings.extend(pairs.iter().map(|pair| pair.beside_maker(operation_text(pair), "FerroSHMEM")));
    let object = format!("{HIGHEST}'s");
    content.compare(&pairs, "One of many puts", Beside::Others, &object);
    content
}

/// Time of a halo exchange over the length of a row: one panel for each number of PEs, without threads and with them.
pub(super) fn halo(data: &Data<'_>) -> Content {
    let caption = format!(
        "PEs in rows and columns, each with a tile of 8 MiB of double, put its first and last row and column to their \
            four \
         neighbours, a PE alone to itself; MPI by messages, the columns by a vector datatype. The tile is one column \
         at the \
         left, one row at the right. The first thread of a PE communicates, and its others wait: as many as fill the \
         cores. \
         {SAMPLED}"
    );
    let mut content = Content::new("a halo exchange", Latency, caption);
    let rows = data.rows.filter(|m| m.program == "halo");
    let drawn = rows.filter(|m| match m.form.as_str() {
        "ptr" => is_our_name(&m.implementation),
        form => form != "rma",
    });
    let name = |operation: &str, pes: u32| match operation.ends_with("threads") {
        true => format!("{}, threads", count_text(pes, "PE")),
        false => count_text(pes, "PE"),
    };
    for (pes, operation) in drawn.values(|m| (m.pes, m.operation.clone())) {
        let panel = drawn.pes(pes).operation(&operation);
        content.panels.extend(data.by_bytes(&panel, &name(&operation, pes), "Time of an exchange (log scale)"));
    }
    let calls = rows.ours().forms(&["call"]);
    let others = beside_best(&calls_and_peers(&rows));
    let direct = beside_direct(&rows, "call");
    let threads = calls.filter(|m| m.operation.ends_with("threads"));
    let mut gains = Vec::new();
    for ours in threads.iter() {
        let alone = calls.operation("halo").pes(ours.pes).bytes(ours.bytes).last();
        gains.extend(alone.map(|other| Pair { ours, other }));
    }
    let at = |pair: &Pair<'_>| format!("{}, {}", size_text(pair.ours.bytes), name(&pair.ours.operation, pair.ours.pes));
    let findings = &mut content.findings;
    findings.extend(ends(&others).map(|pair| pair.beside_maker(at(pair), "FerroSHMEM")));
    findings.extend(ends(&gains).map(|pair| pair.finding(at(pair), "with threads", "without them")));
    findings.extend(ends(&direct).map(|pair| pair.finding(at(pair), "a call", "a loop of the program")));
    let subject = "A halo exchange";
    content.compare(&others, subject, Beside::Others, FASTEST);
    content.compare(&gains, "One with threads", Beside::Itself, "one without them");
    content
}

/// Time that a transfer adds to computing, over bytes.
pub(super) fn overlap(data: &Data<'_>) -> Content {
    let caption = format!(
        "A PE alone begins a non-blocking put or get to itself, computes in registers for twice as long as the \
            transfer, or one \
         thread's copy, takes, and completes it: how much longer that takes than computing. A transfer that is \
         hidden adds what its call and its completion take. With workers, threads of the library on the cores \
         that idle make it; the other libraries have none. {SAMPLED}"
    );
    let mut content = Content::new("a transfer beside computing", Latency, caption);
    let rows = data.rows.filter(|m| m.program == "overlap");
    let alone = rows.filter(|m| m.algorithm.is_empty());
    let helped = rows.filter(|m| m.algorithm == WORKERS);
    let beside = rows.filter(|m| m.algorithm == WORKERS || !is_our_name(&m.implementation));
    let label = "Time added to computing (log scale)";
    for operation in ["put", "get"] {
        let of = |rows: &Rows<'_>, title: &str| {
            data.by_bytes(&rows.operation(operation), &format!("{operation}, {title}"), label)
        };
        let panels = [of(&beside, "with workers"), of(&alone, "without workers")];
        content.panels.extend(panels.into_iter().flatten());
    }
    let others = beside_best(&beside);
    let gains = matches(&helped, &alone.ours());
    let large = |pair: &&Pair<'_>| pair.ours.bytes >= 1 << 20;
    let at = |pair: &Pair<'_>| format!("{}, {}", pair.ours.operation, size_text(pair.ours.bytes));
    let with = "FerroSHMEM with workers";
    let findings = &mut content.findings;
    findings.extend(others.iter().filter(large).map(|pair| pair.beside_maker(at(pair), with)));
    findings.extend(gains.iter().filter(large).map(|pair| pair.finding(at(pair), with, "FerroSHMEM without them")));
    let subject = "A transfer beside computing";
    content.compare(&others, subject, Beside::Others, FASTEST);
    content.compare(&gains, subject, Beside::Itself, "one without workers");
    content
}

/// Time of a copy within a PE, over bytes.
pub(super) fn copies(data: &Data<'_>) -> Content {
    let caption = format!(
        "The time of one copy within the memory of a PE by its bytes: a put of the PE to itself and shmem_quiet, or \
         memcpy in the program (dashed). Every transfer within a node takes as long at least. {SAMPLED}"
    );
    let mut content = Content::new("a copy within a PE", Latency, caption);
    let rows = data.rows.of("latency", "copy", Latency).pairs(1);
    let panel = data.by_bytes(&rows, "One copy", "Time of a copy (log scale)");
    content.panels.extend(panel);
    let (subject, direct) = ("a put to itself", "memcpy");
    content.findings = findings_by_size(&rows, "within a PE", subject, direct);
    let subject = "A put of a PE to itself";
    content.compare(&beside_best(&calls_and_peers(&rows)), subject, Beside::Others, FASTEST);
    content.compare(&beside_direct(&rows, "call"), subject, Beside::Itself, direct);
    content
}
