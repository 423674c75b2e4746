//! The trace as a page: a timeline that holds as many calls one by one as a browser opens in a moment, the longest, and
//! for rows with more of them what share of each part of the time each kind of call takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::shares::{self, Shares};
use super::{Call, Kept, Trace, flow, place};
use crate::page::assemble;
use crate::profile::{Kind, PeRecord, time};

const TEMPLATE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

/// Calls on a page that has all of them; one by one on a page that has not.
const ALL_CALLS: u64 = 1 << 19;
const LONGEST_CALLS: u64 = 1 << 18;
/// Arrows on a page.
const MOST_FLOWS: usize = 20_000;

#[derive(Serialize)]
struct Row {
    pe: usize,
    thread: u32,
    name: String,
    first: usize,
    count: usize,
    /// Its place among the rows that have shares.
    shares: Option<usize>,
    /// When the first call begins that is not lost.
    lost_until: Option<u64>,
}

#[derive(Serialize)]
struct SiteData<'a> {
    name: &'a str,
    kind: &'static str,
    path: &'a str,
    function: Option<&'a str>,
    calls: u64,
}

#[derive(Serialize)]
struct PageData<'a> {
    title: &'a str,
    about: String,
    from: u64,
    to: u64,
    /// How all calls of a part are had, where the page has not all of them.
    is_partial: bool,
    parts: usize,
    kinds: &'a [&'a str],
    rows: Vec<Row>,
    sites: Vec<SiteData<'a>>,
    flows: Vec<(usize, u32, u64, usize, u32, u64)>,
}

/// The colour's name.
fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Region => "region",
        _ => shares::NAMES[shares::kind(kind)],
    }
}

/// A call in six words. Of its beginning, 53 bits are kept, as the page computes by floating-point numbers, and of an
/// address 42 bits.
fn encode(call: &Call, to: &mut Vec<u8>) {
    let (address, globals) = match place(call.address) {
        None => (0, 0),
        Some(text) => (call.address, u32::from(text.starts_with('g')) << 31),
    };
    let subject = call.pe.map_or(0, |pe| pe as u32 + 1).min(0xffff);
    let words = [
        call.begin as u32,
        (call.begin >> 32) as u32 & 0x1f_ffff | ((address >> 31) as u32) << 21,
        ((call.end - call.begin) as f32).to_bits(),
        call.site.min(0xffff) as u32 | subject << 16,
        (call.bytes as f32).to_bits(),
        address as u32 & (u32::MAX >> 1) | globals,
    ];
    to.extend(words.iter().flat_map(|w| w.to_le_bytes()));
}

/// The longest calls of a row: of as long ones, the first that come.
#[derive(Default)]
struct Longest(BinaryHeap<Reverse<ByLength>>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ByLength {
    length: u64,
    call: Call,
}

impl Longest {
    fn add(&mut self, call: Call, most: usize) {
        let length = call.end - call.begin;
        if self.0.len() < most {
            self.0.push(Reverse(ByLength { length, call }));
        } else if let Some(mut shortest) = self.0.peek_mut()
            && length > shortest.0.length
        {
            *shortest = Reverse(ByLength { length, call });
        }
    }

    /// Those calls by their beginnings.
    fn sorted(self) -> Vec<Call> {
        let mut calls: Vec<_> = self.0.into_iter().map(|c| c.0.call).collect();
        calls.sort_unstable_by_key(|c| (c.begin, Reverse(c.end)));
        calls
    }
}

/// What the rows of one PE have.
struct PeRows {
    rows: Vec<Row>,
    calls: Vec<Call>,
    shares: Vec<Shares>,
}

/// Reads the calls of one PE. Each row has `most` calls, or all, and then no shares.
fn read(
    trace: &Trace<'_>,
    (index, record, kept): (usize, &PeRecord, &Kept),
    most: Option<usize>,
    parts: usize,
) -> io::Result<PeRows> {
    let span = trace.span();
    let mut threads: BTreeMap<u32, (Longest, Shares, usize)> = BTreeMap::new();
    let new = || {
        let parts = if most.is_some() { parts } else { 0 };
        (Longest::default(), Shares::new(span, parts), 0)
    };
    for thread in kept.threads.iter().copied().chain([1]) {
        threads.entry(thread).or_insert_with(new);
    }
    for call in trace.calls(index) {
        let call = call?;
        let (longest, shares, count) = threads.entry(call.thread).or_insert_with(new);
        let kind = trace.labels.get(call.site).map_or(Kind::Other, |l| l.kind);
        shares.add(kind, call.begin, call.end);
        longest.add(call, most.unwrap_or(usize::MAX));
        *count += 1;
    }
    let mut of_pe = PeRows { rows: Vec::new(), calls: Vec::new(), shares: Vec::new() };
    for (thread, (longest, shares, count)) in threads {
        let calls = longest.sorted();
        let name = match thread {
            1 => format!("PE {}", record.pe),
            thread => format!("PE {}.{thread}", record.pe),
        };
        let is_partial = calls.len() < count;
        of_pe.rows.push(Row {
            pe: record.pe,
            thread,
            name,
            first: of_pe.calls.len(),
            count: calls.len(),
            shares: is_partial.then_some(of_pe.shares.len()),
            lost_until: (kept.lost > 0).then_some(kept.first),
        });
        of_pe.calls.extend(calls);
        if is_partial {
            of_pe.shares.push(shares);
        }
    }
    Ok(of_pe)
}

pub(super) fn write(trace: &Trace<'_>, to: &mut dyn Write) -> io::Result<u64> {
    let (number, lost) = (trace.number(), trace.lost());
    let count: usize = trace.shown().map(|(_, _, k)| k.threads.len().max(1)).sum();
    let most = (number > ALL_CALLS).then(|| (LONGEST_CALLS as usize / count.max(1)).max(1));
    let parts = shares::parts(count);
    let (mut rows, mut bytes, mut shares) = (Vec::new(), Vec::new(), shares::Encoder::default());
    let mut singles = 0;
    for pe in trace.shown() {
        let of_pe = read(trace, pe, most, parts)?;
        for call in &of_pe.calls {
            encode(call, &mut bytes);
        }
        let with_shares = shares.rows();
        rows.extend(of_pe.rows.into_iter().map(|row| Row {
            first: row.first + singles,
            shares: row.shares.map(|place| place + with_shares),
            ..row
        }));
        singles += of_pe.calls.len();
        for row in &of_pe.shares {
            shares.add(row);
        }
    }
    let hidden = number - singles as u64;
    let (from, end) = trace.span();
    let mut about = format!("{} calls of {} PEs in {}", grouped(number), trace.shown().count(), time(end - from));
    if (from, end) != (0, trace.end.saturating_sub(trace.begin).max(1)) {
        about += &format!(", a part of the trace: from {} to {}", time(from), time(end));
    }
    about.push('.');
    if lost > 0 {
        about += &format!(" {} older calls were lost.", grouped(lost));
    }
    if hidden > 0 {
        about += &format!(
            " The {} longest are on this page one by one; the columns of colours are the share of the time that calls \
                of each kind take, short ones too.",
            grouped(singles as u64)
        );
    }
    if trace.clock.error > 0 {
        about += &format!(" Clocks of hosts agree to within {}.", time(trace.clock.error));
    }
    // The longest waits say most.
    let flows = flow::longest(&trace.flows, MOST_FLOWS);
    if trace.all_flows > flows.len() as u64 {
        about += &format!(
            " The {} longest of {} arrows are on this page.",
            grouped(flows.len() as u64),
            grouped(trace.all_flows)
        );
    }
    let title = format!("Trace of {}", trace.records[0].command());
    let data = PageData {
        title: &title,
        about,
        from,
        to: end,
        is_partial: hidden > 0,
        parts,
        kinds: &shares::NAMES,
        rows,
        sites: trace
            .labels
            .iter()
            .map(|l| SiteData {
                name: &l.name,
                kind: colour(l.kind),
                path: &l.position.path,
                function: l.position.function.as_deref(),
                calls: l.calls,
            })
            .collect(),
        flows: flows.iter().map(|f| (f.from.0, f.from.1, f.from.2, f.to.0, f.to.1, f.to.2)).collect(),
    };
    let data = serde_json::to_string(&data).map_err(io::Error::other)?;
    let mut rest = TEMPLATE;
    for (mark, words) in [("@CALLS@", bytes), ("@SHARES@", shares.finish())] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        to.write_all(assemble(before, &title, &data, SCRIPT).as_bytes())?;
        to.write_all(STANDARD.encode(&words).as_bytes())?;
        rest = after;
    }
    to.write_all(assemble(rest, &title, &data, SCRIPT).as_bytes())?;
    Ok(hidden)
}

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_calls_and_far_addresses_are_whole() {
        // After a hundred days, at the end of a heap of 4 TiB.
        let (begin, address) = (8_640_000_000_000_001, (4 << 40) - 8);
        let mut call = Call { begin, end: begin + 8, site: 7, thread: 1, pe: Some(3), bytes: 8, address };
        let words = |call: &Call| -> Vec<u64> {
            let mut bytes = Vec::new();
            encode(call, &mut bytes);
            bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word).into()).collect()
        };
        // As the page decodes them.
        let w = words(&call);
        assert_eq!(w[0] + ((w[1] & 0x1f_ffff) << 32), begin);
        assert_eq!((w[5] & 0x7fff_ffff) + (w[1] >> 21 << 31), address);
        call.address = 1 << 62 | 64;
        let w = words(&call);
        assert_eq!((w[5], w[1] >> 21), (1 << 31 | 64, 0));
    }
}
