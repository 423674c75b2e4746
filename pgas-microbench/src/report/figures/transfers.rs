//! Puts, gets and their like between pairs of PEs: time, bandwidth and rate.

use super::super::comparison::{Beside, Pair};
use super::super::rows::Rows;
use super::panels::{
    beside_best, beside_direct, calls_and_peers, count_text, findings_by_size, main_forms, share_axis, size_text,
    telling_sizes,
};
use super::{Content, Data, FASTEST, FORMS, HIGHEST, MARKS, SAMPLED};
use crate::measurement::Quantity;
use crate::measurement::Quantity::{Bandwidth, Latency, Rate};

pub(super) const STORE: &str = "a store through shmem_ptr";
pub(super) const LOAD: &str = "a load through shmem_ptr";
pub(super) const COPY: &str = "memcpy through shmem_ptr";

/// A quantity that a program measures, with the labels of its axes.
pub(super) struct Metric {
    program: &'static str,
    quantity: Quantity,
    axis: &'static str,
    quotient: &'static str,
}

pub(super) const LATENCY: Metric = Metric {
    program: "latency",
    quantity: Latency,
    axis: "Time of one operation (log scale)",
    quotient: "Speed of the call ÷ speed through shmem_ptr",
};
pub(super) const BANDWIDTH: Metric = Metric {
    program: "bandwidth",
    quantity: Bandwidth,
    axis: "Bytes per second (log scale)",
    quotient: "Bandwidth of calls ÷ bandwidth through shmem_ptr",
};

/// Adds a panel of an operation between two PEs, with one of calls divided by `direct` loads and
/// stores if it has a title.
fn one_pair(
    data: &Data<'_>,
    content: &mut Content,
    metric: &Metric,
    operation: &str,
    (title, quotient_title): (&str, Option<&str>),
    (subject, direct): (&str, &str),
) {
    let all = data.rows.of(metric.program, operation, metric.quantity);
    let all = all.pairs(1);
    let rows = main_forms(&all);
    let title = format!("{title}, 1 pair of PEs");
    content.panels.extend(data.by_bytes(&rows, &title, metric.axis));
    if let Some(title) = quotient_title {
        let panel = data.call_to_direct(&all, title, metric.quotient);
        content.panels.extend(panel);
    }
    content.findings.extend(findings_by_size(&rows, "1 pair", subject, direct));
    compare(content, &rows, subject, direct);
}

pub(super) fn latency(data: &Data<'_>, operation: &str, direct: &str) -> Content {
    let completion = match operation {
        "put" => ", complete at the other PE (shmem_quiet)",
        _ => "",
    };
    let routine = format!("shmem_{operation}");
    let caption = format!(
        "First the time of one {operation} by its bytes{completion}; then the speed of a call divided \
         by the speed of the same through shmem_ptr, for each library: at 1× a program gains nothing \
         by avoiding calls, below it does. MPI libraries by one-sided transfers with flush. {FORMS} {SAMPLED}"
    );
    let mut content = Content::new(&routine, Latency, caption);
    let titles = (&*format!("One {operation}"), Some("The call beside loads and stores"));
    one_pair(data, &mut content, &LATENCY, operation, titles, (&routine, direct));
    content
}

pub(super) fn strided_latency(data: &Data<'_>) -> Content {
    let caption = format!(
        "Time of one strided transfer by its bytes: every second element at the other PE, \
         contiguous elements at the calling PE. Libraries that move elements one by one, each by a \
         call of its own, take many times as long. {FORMS} {SAMPLED}"
    );
    let mut content = Content::new("iput and iget", Latency, caption);
    for (operation, direct) in
        [("iput", "a loop of stores through shmem_ptr"), ("iget", "a loop of loads through shmem_ptr")]
    {
        let quotient = format!("{operation} beside a loop");
        one_pair(
            data,
            &mut content,
            &LATENCY,
            operation,
            (&format!("One {operation}"), Some(&quotient)),
            (&format!("shmem_{operation}"), direct),
        );
    }
    content
}

pub(super) fn scalars(data: &Data<'_>) -> Content {
    let caption = format!(
        "Time of one p (with quiet) and one g of 1 to 8 bytes, and the bandwidth of loops of them \
         over arrays. A loop of calls is below the same loop of loads or stores, which compilers can \
         vectorise. {FORMS} {SAMPLED}"
    );
    let mut content = Content::new("p and g", Latency, caption);
    for (operation, direct) in [("p", STORE), ("g", LOAD)] {
        let title = format!("One {operation}");
        let words = (&*format!("shmem_{operation}"), direct);
        one_pair(data, &mut content, &LATENCY, operation, (&title, None), words);
    }
    for (operation, direct) in [("p", "stores"), ("g", "loads")] {
        one_pair(
            data,
            &mut content,
            &BANDWIDTH,
            operation,
            (&format!("A loop of {operation} over an array"), None),
            (&format!("a loop of shmem_{operation}"), &format!("a loop of {direct} through shmem_ptr")),
        );
    }
    content
}

/// Operations between two PEs: the name of each, how it is repeated, and what it is compared with.
pub(super) fn bandwidth(data: &Data<'_>, operations: &[(&str, &str, &str)]) -> Content {
    let names: Vec<_> = operations.iter().map(|operation| operation.0).collect();
    let caption = format!(
        "Bytes per second between one pair of PEs, by the bytes of one operation, and the bandwidth \
         of calls divided by that of the same copies through shmem_ptr (at 1× both are equal; above, \
         calls are faster). Steps down show where data no longer fit a cache. {FORMS} {SAMPLED}"
    );
    let mut content = Content::new(&names.join(" and "), Bandwidth, caption);
    for (operation, how, direct) in operations {
        let quotient = format!("{operation} beside shmem_ptr");
        let words = (&*format!("shmem_{operation}"), *direct);
        one_pair(data, &mut content, &BANDWIDTH, operation, (how, Some(&quotient)), words);
    }
    content
}

/// One pair and several at once.
pub(super) fn by_pairs(data: &Data<'_>, metric: &Metric, operation: &str, direct: &str) -> Content {
    let rows = main_forms(&data.rows.of(metric.program, operation, metric.quantity));
    let routine = format!("shmem_{operation}");
    let caption = match metric.quantity {
        Latency => format!(
            "Time of one {operation} while 1 to 64 pairs of PEs do the same. Where PEs outnumber \
             cores they take turns, and the time of one operation grows with their number."
        ),
        _ => format!(
            "Bytes per second of all pairs together, by the bytes of one {operation}. The sum grows \
             with the number of pairs while there are free cores, and as memory allows."
        ),
    };
    let caption = format!("{caption} All panels have the same vertical axis. {FORMS} {SAMPLED}");
    let mut content = Content::new(&routine, metric.quantity, caption);
    // Figures 3 and 4 show the latency of one pair.
    let fewest = if metric.quantity == Latency { 2 } else { 1 };
    let compared = rows.filter(|m| m.pairs >= fewest);
    if compared.is_empty() {
        return content;
    }
    for pairs in rows.values(|m| m.pairs) {
        let words = count_text(pairs, "pair");
        let title = format!("{words} of PEs");
        let panel = data.by_bytes(&rows.pairs(pairs), &title, metric.axis);
        content.panels.extend(panel);
        let some = compared.pairs(pairs);
        content.findings.extend(findings_by_size(&some, &words, &routine, direct));
    }
    share_axis(&mut content.panels);
    compare(&mut content, &compared, &routine, direct);
    content
}

pub(super) fn messages(data: &Data<'_>) -> Content {
    let all = data.rows.filter(|m| m.program == "bandwidth" && m.quantity == Rate);
    let rows = main_forms(&all);
    let caption = format!(
        "Messages of 8 bytes per second of all pairs together: puts or single elements, each to \
         another address, then one quiet. {MARKS}"
    );
    let mut content = Content::new("small messages", Rate, caption);
    let stores = "stores through shmem_ptr";
    for pairs in rows.values(|m| m.pairs) {
        let some = rows.pairs(pairs);
        let words = count_text(pairs, "pair");
        let label = "Millions of messages per second (log scale)";
        content.panels.extend(data.by_operation(&some, &format!("{words} of PEs"), label));
        for name in some.values(|m| m.operation.as_str()) {
            let routine = format!("shmem_{name}");
            content.findings.extend(findings_by_size(&some.operation(name), &words, &routine, stores));
        }
    }
    compare(&mut content, &rows, "FerroSHMEM, by call,", stores);
    content
}

/// A put, and a message, beside MPI's ways to move the same bytes.
pub(super) fn mpi(data: &Data<'_>) -> Content {
    let caption = format!(
        "A put and a message beside the transfers of MPI programs: one-sided transfers with flush, and messages \
         that the other process receives (dotted), of which half a round trip is counted. A message \
         also notifies its receiver; a put alone does not. {SAMPLED}"
    );
    let noun = "put, and of MPI's one-sided and two-sided transfers";
    let mut content = Content::new(noun, Latency, caption);
    let mut latencies = Vec::new();
    for metric in [LATENCY, BANDWIDTH] {
        let all = data.rows.filter(|m| m.program == metric.program && m.quantity == metric.quantity).pairs(1);
        let puts = all.operation("put");
        let (ours, one_sided) = (puts.ours().forms(&["call"]), puts.forms(&["rma"]));
        let messages = all.operation("sendrecv");
        let their_messages = messages.peers();
        if ours.is_empty() || their_messages.is_empty() {
            continue;
        }
        let rows = all.filter(|m| [&ours, &one_sided, &messages].iter().any(|r| r.has(m)));
        let our_messages = messages.ours();
        let title = format!("{}, 1 pair of processes", metric.program);
        content.panels.extend(data.by_bytes(&rows, &title, metric.axis));
        if metric.quantity == Latency {
            let theirs = rows.peers();
            latencies.extend(ours.iter().filter_map(|ours| {
                let other = theirs.bytes(ours.bytes).best()?;
                Some(Pair { ours, other })
            }));
        }
        for size in telling_sizes(&ours) {
            let at = format!("{}, 1 pair", size_text(size));
            let Some(ours) = ours.bytes(size).last() else {
                continue;
            };
            if let (Some(ours), Some(other)) = (our_messages.bytes(size).last(), their_messages.bytes(size).best()) {
                content.findings.push(Pair { ours, other }.beside_maker(at.clone(), "shmemx_msg_send"));
            }
            for other in [&one_sided, &their_messages].into_iter().filter_map(|rows| rows.bytes(size).best()) {
                content.findings.push(Pair { ours, other }.beside_maker(at.clone(), "shmem_put"));
            }
        }
    }
    let ways = "the fastest way of any MPI";
    content.compare(&latencies, "shmem_put", Beside::Others, ways);
    content
}

/// Adds the comparisons of this library's calls with the best other library and with loads and stores.
fn compare(content: &mut Content, rows: &Rows<'_>, subject: &str, direct: &str) {
    let best = match rows.iter().next().map(|row| row.quantity) {
        Some(Latency) => FASTEST,
        _ => HIGHEST,
    };
    content.compare(&beside_best(&calls_and_peers(rows)), subject, Beside::Others, best);
    content.compare(&beside_direct(rows, "call"), subject, Beside::Itself, direct);
}
