//! Time of single puts, gets and their like.

use super::super::comparison::{self, Pair, message};
use super::super::figure::{Finding, Panel};
use super::super::rows::Rows;
use super::panels::{
    count_text, findings_by_size, main_forms, matches, neutral, share_axis, size_text,
    telling_sizes,
};
use super::{Content, Data, FORMS, SAMPLED};
use crate::measurement::Quantity::{Bandwidth, Latency};

const STORE: &str = "a store through shmem_ptr";
const LOAD: &str = "a load through shmem_ptr";
const AXIS: &str = "Time of one operation (log scale)";
const QUOTIENT: &str = "Time of the call ÷ time through shmem_ptr";

pub(super) fn put(data: &Data<'_>) -> Option<Content> {
    one_operation(data, "put", "shmem_put", STORE)
}

pub(super) fn get(data: &Data<'_>) -> Option<Content> {
    one_operation(data, "get", "shmem_get", LOAD)
}

/// An operation between two PEs, by call and through `shmem_ptr`.
fn one_operation(data: &Data<'_>, operation: &str, routine: &str, direct: &str) -> Option<Content> {
    let all = data.rows.of("latency", operation, Latency).pairs(1);
    let rows = main_forms(&all);
    let panels = [
        data.by_bytes(&rows, &format!("One {operation}, 1 pair of PEs"), AXIS),
        data.call_to_direct(&all, "The call beside loads and stores", QUOTIENT),
    ];
    Some(Content {
        title: call_message(&rows, routine, direct),
        caption: format!(
            "First, the time of one {operation} by its bytes{}; then how many times as long a call \
             takes as the same through shmem_ptr, for each library: at 1× a program has nothing \
             to gain from avoiding calls. MPI libraries by one-sided transfers with flush. {FORMS} \
             {SAMPLED}",
            completion(operation)
        ),
        panels: panels.into_iter().flatten().collect(),
        findings: findings_by_size(&rows, "1 pair", "call", routine, direct),
    })
}

pub(super) fn strided(data: &Data<'_>) -> Option<Content> {
    const LOOPS: [(&str, &str); 2] = [
        ("iput", "a loop of stores through shmem_ptr"),
        ("iget", "a loop of loads through shmem_ptr"),
    ];
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    let mut title = None;
    for (operation, direct) in LOOPS {
        let all = data.rows.of("latency", operation, Latency).pairs(1);
        let rows = main_forms(&all);
        let routine = format!("shmem_{operation}");
        panels.extend(data.by_bytes(&rows, &format!("One {operation}, 1 pair of PEs"), AXIS));
        panels.extend(data.call_to_direct(&all, &format!("{operation} beside a loop"), QUOTIENT));
        findings.extend(findings_by_size(&rows, "1 pair", "call", &routine, direct));
        title = title.or_else(|| ours_beside_direct(&rows, &routine, direct));
    }
    Some(Content {
        title: title.unwrap_or_else(|| neutral("iput and iget", Latency)),
        caption: format!(
            "Time of one strided transfer by its bytes: every second element at the other PE, \
             all elements here. Libraries that move elements one by one, each by a call of its \
             own, take many times as long. {FORMS} {SAMPLED}"
        ),
        panels,
        findings,
    })
}

pub(super) fn scalars(data: &Data<'_>) -> Option<Content> {
    let mut panels: Vec<Panel> = Vec::new();
    let mut findings: Vec<Finding> = Vec::new();
    let mut title = None;
    for (operation, direct) in [("p", STORE), ("g", LOAD)] {
        let rows = main_forms(&data.rows.of("latency", operation, Latency).pairs(1));
        let routine = format!("shmem_{operation}");
        panels.extend(data.by_bytes(&rows, &format!("One {operation}, 1 pair of PEs"), AXIS));
        findings.extend(findings_by_size(&rows, "1 pair", "call", &routine, direct));
        title = title.or_else(|| ours_beside_direct(&rows, &routine, direct));
    }
    for (operation, direct) in [("p", "stores"), ("g", "loads")] {
        let rows = main_forms(&data.rows.of("bandwidth", operation, Bandwidth).pairs(1));
        let heading = format!("A loop of {operation} over an array, 1 pair of PEs");
        let routine = format!("a loop of shmem_{operation}");
        let direct = format!("a loop of {direct} through shmem_ptr");
        panels.extend(data.by_bytes(&rows, &heading, "Bytes per second (log scale)"));
        findings.extend(findings_by_size(&rows, "1 pair", "call", &routine, &direct));
        title = title.or_else(|| ours_beside_direct(&rows, &routine, &direct));
    }
    Some(Content {
        title: title.unwrap_or_else(|| neutral("p and g", Latency)),
        caption: format!(
            "Time of one p (with quiet) and one g of 1 to 8 bytes, and the bandwidth of loops of \
             them over arrays. Look at how far a loop of calls stays below the same loop of \
             loads or stores, which compilers can vectorise. {FORMS} {SAMPLED}"
        ),
        panels,
        findings,
    })
}

pub(super) fn put_by_pairs(data: &Data<'_>) -> Option<Content> {
    by_pairs(data, "put", "shmem_put", STORE)
}

pub(super) fn get_by_pairs(data: &Data<'_>) -> Option<Content> {
    by_pairs(data, "get", "shmem_get", LOAD)
}

/// One pair and several at once. With one pair alone there is nothing that Figures 3 and 4 lack.
fn by_pairs(data: &Data<'_>, operation: &str, routine: &str, direct: &str) -> Option<Content> {
    let rows = main_forms(&data.rows.of("latency", operation, Latency));
    let numbers = rows.values(|m| m.pairs);
    if numbers.iter().all(|pairs| *pairs <= 1) {
        return None;
    }
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    for pairs in numbers {
        let words = count_text(pairs, "pair");
        let some = rows.pairs(pairs);
        panels.extend(data.by_bytes(&some, &format!("{words} of PEs"), AXIS));
        if pairs > 1 {
            findings.extend(findings_by_size(&some, &words, "call", routine, direct));
        }
    }
    share_axis(&mut panels);
    Some(Content {
        title: call_message(&rows.filter(|m| m.pairs > 1), routine, direct),
        caption: format!(
            "Time of one {operation} while 1 to 64 pairs of PEs do the same. Where PEs outnumber \
             cores they take turns, and the time of one operation grows with their number. All \
             panels have the same vertical axis. {FORMS} {SAMPLED}"
        ),
        panels,
        findings,
    })
}

/// A put beside MPI's ways to move the same bytes.
pub(super) fn mpi(data: &Data<'_>) -> Option<Content> {
    let mut panels = Vec::new();
    let mut findings = Vec::new();
    let measured = [
        ("latency", Latency, AXIS),
        ("bandwidth", Bandwidth, "Bytes per second (log scale)"),
    ];
    for (program, quantity, axis) in measured {
        let all = data
            .rows
            .filter(|m| m.program == program && m.quantity == quantity)
            .pairs(1);
        let puts = all.filter(|m| m.operation == "put");
        let (ours, one_sided) = (puts.ours().forms(&["call"]), puts.forms(&["rma"]));
        let messages = all.forms(&["sendrecv"]);
        if ours.last().is_none() || messages.last().is_none() {
            continue;
        }
        let rows = all.filter(|m| {
            [&ours, &one_sided, &messages]
                .iter()
                .any(|rows| rows.has(m))
        });
        panels.extend(data.by_bytes(&rows, &format!("{program}, 1 pair of processes"), axis));
        for size in telling_sizes(&ours) {
            let at = format!("{}, 1 pair", size_text(size));
            let Some(ours) = ours.bytes(size).last() else {
                continue;
            };
            for other in [&one_sided, &messages]
                .iter()
                .filter_map(|rows| rows.bytes(size).best())
            {
                let object = comparison::maker(other);
                findings.push(Pair { ours, other }.finding(at.clone(), "shmem_put", &object));
            }
        }
    }
    Some(Content {
        title: neutral(
            "put, and of MPI's one-sided and two-sided transfers",
            Latency,
        ),
        caption: format!(
            "A put beside what MPI programs do instead: one-sided transfers with flush, and \
             messages that the other process receives (dotted), of which half a round trip is \
             counted. A message also tells its receiver that data came; a put alone does not. \
             {SAMPLED}"
        ),
        panels,
        findings,
    })
}

/// The message of call against loads and stores, or none.
fn call_message(rows: &Rows<'_>, routine: &str, direct: &str) -> String {
    ours_beside_direct(rows, routine, direct).unwrap_or_else(|| neutral(routine, Latency))
}

fn ours_beside_direct(rows: &Rows<'_>, routine: &str, direct: &str) -> Option<String> {
    let ours = rows.ours();
    let pairs = matches(&ours.forms(&["call"]), &ours.forms(&["ptr"]));
    message(&pairs, routine, direct)
}

fn completion(operation: &str) -> &'static str {
    match operation {
        "put" => ", complete at the other PE (shmem_quiet)",
        _ => "",
    }
}
