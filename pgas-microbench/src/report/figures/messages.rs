//! Two-sided messages, and what programs exchange by them.

use super::super::axis::Scale;
use super::super::comparison::{Beside, Pair};
use super::super::rows::Rows;
use super::panels::{beside_best, count_text, size_text, telling_sizes};
use super::{Content, Data, FASTEST, MARKS, SAMPLED};
use crate::Measurement;
use crate::measurement::Quantity;
use crate::measurement::Quantity::{Bandwidth, Latency, Rate};

/// Time, bandwidth, rate, and the time behind receives that do not match.
pub(super) fn messages(data: &Data<'_>) -> Content {
    let caption = format!(
        "Messages between one pair of PEs: half a round trip, and windows of 64 messages that the receiver answers, by \
         bytes; messages of 8 bytes per second in the same windows, and puts; and half a round trip of 8 bytes \
         behind receives that do not match. {SAMPLED} {MARKS}"
    );
    let mut content = Content::new("messages", Latency, caption);
    let rows = data.rows.forms(&["sendrecv"]).pairs(1);
    let of = |operation: &str, quantity: Quantity| rows.operation(operation).filter(|m| m.quantity == quantity);
    let (times, bandwidths) = (of("sendrecv", Latency), of("sendrecv", Bandwidth));
    let (rates, deep) = (of("sendrecv", Rate), of("sendrecv_deep", Latency));
    let label = "Half a round trip (log scale)";
    let panels = [
        data.by_bytes(&times, "One message", label),
        data.by_bytes(&bandwidths, "Message after message", "Bytes per second (log scale)"),
    ];
    content.panels.extend(panels.into_iter().flatten());
    let near = times.bytes(8);
    let depths = rows.filter(|m| near.has(m) || deep.has(m));
    let depth = |m: &Measurement| {
        let receives = if m.operation == "sendrecv" { "0" } else { "1,000" };
        receives.to_owned()
    };
    let puts = data.rows.of("bandwidth", "put", Rate).pairs(1);
    let both = data.rows.filter(|m| rates.has(m) || (puts.has(m) && m.form != "ptr"));
    let panels = [
        data.bars(
            &both,
            "8 bytes, many at once",
            ("Way", &["put".to_owned(), "sendrecv".to_owned()]),
            |m| m.operation.clone(),
            (Scale::Log, "Millions per second (log scale)"),
        ),
        data.bars(
            &depths,
            "8 bytes behind other receives",
            ("Receives that do not match", &["0".to_owned(), "1,000".to_owned()]),
            depth,
            (Scale::Log, label),
        ),
    ];
    content.panels.extend(panels.into_iter().flatten());
    let mut add = |rows: &Rows<'_>, at: &str| {
        let pairs = beside_best(rows);
        content.findings.extend(pairs.iter().map(|pair| pair.beside_maker(at.to_owned(), "a message")));
    };
    for (rows, what) in [(&times, "half a round trip"), (&bandwidths, "bandwidth")] {
        for size in telling_sizes(&rows.ours()) {
            add(&rows.bytes(size), &format!("{what}, {}", size_text(size)));
        }
    }
    add(&rates, "rate, 8 B");
    add(&deep, "behind 1,000 receives, 8 B");
    content.compare(&beside_best(&times), "A message", Beside::Others, "the fastest MPI's");
    content
}

/// Both PEs of a pair send to each other at once.
pub(super) fn exchange(data: &Data<'_>) -> Content {
    let caption = format!(
        "An application that does nothing but communicate: the two PEs of a pair send the same number of bytes to each \
         other, and wait until they have received as many. By put with signal, or by non-blocking messages (dotted). \
         {SAMPLED}"
    );
    let mut content = Content::new("an exchange", Latency, caption);
    let rows = data.rows.of("latency", "exchange", Latency).pairs(1);
    let panel = data.by_bytes(&rows, "One exchange, 1 pair of PEs", "Time of an exchange (log scale)");
    content.panels.extend(panel);
    let all = rows.ours();
    for (form, subject) in [("call", "put with signal"), ("sendrecv", "messages")] {
        let ours = all.forms(&[form]);
        for size in telling_sizes(&ours) {
            let Some(ours) = ours.bytes(size).last() else {
                continue;
            };
            if let Some(other) = rows.peers().bytes(size).best() {
                let at = format!("{}, {}", size_text(size), count_text(1, "pair"));
                content.findings.push(Pair { ours, other }.beside_maker(at, subject));
            }
        }
    }
    let pair = |ours| Some(Pair { ours, other: rows.peers().bytes(ours.bytes).best()? });
    let calls = all.forms(&["call"]);
    let pairs: Vec<Pair<'_>> = calls.iter().filter_map(pair).collect();
    content.compare(&pairs, "An exchange by put with signal", Beside::Others, FASTEST);
    // Without others: what notifying by put costs beside a message.
    let messages = all.forms(&["sendrecv"]);
    let pair = |ours| Some(Pair { ours, other: messages.bytes(ours.bytes).last()? });
    let own: Vec<Pair<'_>> = calls.iter().filter_map(pair).collect();
    content.compare(&own, "An exchange by put with signal", Beside::Itself, "by messages");
    if content.findings.is_empty() {
        content.findings.extend(own.iter().map(|pair| {
            let at = size_text(pair.ours.bytes);
            pair.finding(at, "put with signal", "messages")
        }));
    }
    content
}
