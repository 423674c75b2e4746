//! Work that threads of a PE share or make beside computing, many puts to many PEs, and the halo exchange.

use super::super::axis::Scale;
use super::super::comparison::{self, Beside, Pair};
use super::super::rows::{Rows, is_our_name};
use super::panels::{beside_best, calls_and_peers, count_text, findings_by_size, main_forms, matches, size_text};
use super::{Content, Data, FASTEST, HIGHEST, MARKS, SAMPLED};
use crate::measurement::Measurement;
use crate::measurement::Quantity::{Latency, Rate};
use crate::plan::WORKERS;

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
        let of = |pes| alone.pes(pes).filter(|m| m.operation == operation);
        let label = "Time of 8 MiB (log scale)";
        let shared = helped.pes(1).filter(|m| m.operation == operation);
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
    let mut add = |pair: &Pair<'_>, subject: &str, object: &str| {
        let pes = count_text(pair.ours.pes, "PE");
        let at = format!("{}, {}, {pes}", pair.ours.operation, size_text(pair.ours.bytes));
        content.findings.push(pair.finding(at, subject, object));
    };
    let ends = |bytes: u64| bytes <= 8 || bytes >= 1 << 20;
    for pair in gains.iter().filter(|pair| ends(pair.ours.bytes)) {
        add(pair, "with workers", "without them");
    }
    for pair in others.iter().filter(|pair| ends(pair.ours.bytes)) {
        add(pair, "FerroSHMEM", &comparison::maker(pair.other));
    }
    let direct = matches(&calls.ours(), &alone.ours().forms(&["ptr"]));
    for pair in direct.iter().filter(|pair| ends(pair.ours.bytes)) {
        add(pair, "a call", "a loop of the program");
    }
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
    content.findings.extend(pairs.iter().map(|pair| {
        let at = format!("{}, {}", pair.ours.operation, count_text(pair.ours.pes, "PE"));
        pair.finding(at, "FerroSHMEM", &comparison::maker(pair.other))
    }));
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
        let panel = drawn.pes(pes).filter(|m| m.operation == operation);
        let title = name(&operation, pes);
        content.panels.extend(data.by_bytes(&panel, &title, "Time of an exchange (log scale)"));
    }
    let calls = rows.ours().forms(&["call"]);
    let others = beside_best(&calls_and_peers(&rows));
    let direct = matches(&calls, &rows.ours().forms(&["ptr"]));
    let threads = calls.filter(|m| m.operation.ends_with("threads"));
    let mut gains = Vec::new();
    for ours in threads.iter() {
        let same = |m: &Measurement| m.pes == ours.pes && m.bytes == ours.bytes;
        let alone = calls.filter(|m| same(m) && m.operation == "halo").last();
        gains.extend(alone.map(|other| Pair { ours, other }));
    }
    let mut add = |pair: &Pair<'_>, subject: &str, object: &str| {
        let bytes = size_text(pair.ours.bytes);
        let at = format!("{bytes}, {}", name(&pair.ours.operation, pair.ours.pes));
        content.findings.push(pair.finding(at, subject, object));
    };
    let ends = |bytes: u64| bytes <= 8 || bytes >= 1 << 20;
    for pair in others.iter().filter(|pair| ends(pair.ours.bytes)) {
        add(pair, "FerroSHMEM", &comparison::maker(pair.other));
    }
    for pair in gains.iter().filter(|pair| ends(pair.ours.bytes)) {
        add(pair, "with threads", "without them");
    }
    for pair in direct.iter().filter(|pair| ends(pair.ours.bytes)) {
        add(pair, "a call", "a loop of the program");
    }
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
            let rows = rows.filter(|m| m.operation == operation);
            data.by_bytes(&rows, &format!("{operation}, {title}"), label)
        };
        let panels = [of(&beside, "with workers"), of(&alone, "without workers")];
        content.panels.extend(panels.into_iter().flatten());
    }
    let others = beside_best(&beside);
    let gains = matches(&helped, &alone.ours());
    let large = |bytes: u64| bytes >= 1 << 20;
    let mut add = |pair: &Pair<'_>, object: &str| {
        let at = format!("{}, {}", pair.ours.operation, size_text(pair.ours.bytes));
        let subject = "FerroSHMEM with workers";
        content.findings.push(pair.finding(at, subject, object));
    };
    for pair in others.iter().filter(|pair| large(pair.ours.bytes)) {
        add(pair, &comparison::maker(pair.other));
    }
    for pair in gains.iter().filter(|pair| large(pair.ours.bytes)) {
        add(pair, "FerroSHMEM without them");
    }
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
    let others = beside_best(&calls_and_peers(&rows));
    content.compare(&others, subject, Beside::Others, FASTEST);
    let ours = rows.ours();
    let alone = matches(&ours.forms(&["call"]), &ours.forms(&["ptr"]));
    content.compare(&alone, subject, Beside::Itself, direct);
    content
}
