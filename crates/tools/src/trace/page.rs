//! The trace as a page: a timeline that holds the longest calls one by one, and the others as grey.

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::{Call, Trace, place};
use crate::profile::{Kind, assemble, time};

const TEMPLATE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

/// Calls on a page: browsers take a second or two for them.
const MOST_CALLS: usize = 1 << 19;
/// Arrows on a page.
const MOST_FLOWS: usize = 20_000;
/// Parts of the time that the grey is drawn in.
const PARTS: usize = 2000;

#[derive(Serialize)]
struct Row {
    pe: usize,
    thread: u32,
    name: String,
    first: usize,
    count: usize,
    density: Option<Vec<u8>>,
}

#[derive(Serialize)]
struct SiteData<'a> {
    name: &'a str,
    kind: &'static str,
    path: &'a str,
    function: Option<&'a str>,
}

#[derive(Serialize)]
struct PageData<'a> {
    title: &'a str,
    about: String,
    length: u64,
    rows: Vec<Row>,
    sites: Vec<SiteData<'a>>,
    flows: Vec<(usize, u32, u64, usize, u32, u64)>,
}

/// The colour's name.
fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Put | Kind::PutSignal | Kind::Send => "put",
        Kind::Get => "get",
        Kind::Atomic | Kind::Signal => "atomic",
        Kind::Wait | Kind::Test | Kind::Lock | Kind::Receive => "wait",
        Kind::Barrier | Kind::Broadcast | Kind::Scan | Kind::Exchange => "collective",
        Kind::Allocate | Kind::Free => "memory",
        Kind::Region => "region",
        Kind::Quiet | Kind::Fence | Kind::Unlock | Kind::Other => "other",
    }
}

/// A call in six words.
fn encode(call: &Call, to: &mut Vec<u8>) {
    let heap_or_globals = match place(call.address) {
        None => 0,
        Some(text) => {
            let bit = u32::from(text.starts_with('g')) << 31;
            bit | (call.address as u32 & (u32::MAX >> 1))
        }
    };
    let subject = call.pe.map_or(0, |pe| pe as u32 + 1).min(0xffff);
    let words = [
        call.begin as u32,
        (call.begin >> 32) as u32 & 0xffff,
        ((call.end - call.begin) as f32).to_bits(),
        call.site.min(0xffff) as u32 | subject << 16,
        (call.bytes as f32).to_bits(),
        heap_or_globals,
    ];
    to.extend(words.iter().flat_map(|w| w.to_le_bytes()));
}

/// Takes the longest `most` calls out, and returns how much of each part of the time the others take.
fn divide(calls: &mut Vec<Call>, most: usize, length: u64) -> Option<Vec<u8>> {
    if calls.len() <= most {
        return None;
    }
    let mut lengths: Vec<_> = calls.iter().map(|c| c.end - c.begin).collect();
    let at = lengths.len() - most;
    let (_, shortest, _) = lengths.select_nth_unstable(at);
    let shortest = *shortest;
    let longer = calls.iter().filter(|c| c.end - c.begin > shortest).count();
    // Of as long ones, the first.
    let mut room = most - longer;
    let part = (length / PARTS as u64).max(1);
    let mut busy = vec![0_u64; PARTS + 1];
    calls.retain(|c| {
        let is_as_long = c.end - c.begin == shortest && room > 0;
        room -= usize::from(is_as_long);
        let is_kept = c.end - c.begin > shortest || is_as_long;
        if !is_kept {
            busy[((c.begin / part) as usize).min(PARTS)] += c.end - c.begin;
        }
        is_kept
    });
    // A short call is seen all the same.
    let share = |ns: &u64| {
        if *ns == 0 {
            0
        } else {
            (ns * 255 / part).clamp(1, 255) as u8
        }
    };
    Some(busy[..PARTS].iter().map(share).collect())
}

pub(super) fn write(trace: &Trace<'_>, to: &mut dyn Write) -> io::Result<()> {
    let length = trace.end.saturating_sub(trace.begin).max(1);
    let most = MOST_CALLS / trace.records.len();
    let (mut rows, mut bytes, mut first, mut hidden) = (Vec::new(), Vec::new(), 0, 0);
    for (index, record) in trace.records.iter().enumerate() {
        let mut threads: BTreeMap<u32, Vec<Call>> = BTreeMap::new();
        threads.insert(1, Vec::new());
        for call in trace.calls(index)? {
            threads.entry(call.thread).or_default().push(call);
        }
        let each = most / threads.len();
        for (thread, mut calls) in threads {
            let before = calls.len();
            let density = divide(&mut calls, each.max(1), length);
            hidden += before - calls.len();
            for call in &calls {
                encode(call, &mut bytes);
            }
            let name = match thread {
                1 => format!("PE {}", record.pe),
                thread => format!("PE {}.{thread}", record.pe),
            };
            rows.push(Row {
                pe: record.pe,
                thread,
                name,
                first,
                count: calls.len(),
                density,
            });
            first += calls.len();
        }
    }
    let mut about = format!(
        "{} calls of {} PEs in {}.",
        trace.kept,
        trace.records.len(),
        time(length)
    );
    if trace.lost > 0 {
        about += &format!(" {} older calls were lost.", trace.lost);
    }
    if hidden > 0 {
        about += &format!(
            " The {hidden} shortest are not on this page one by one but as grey; --trace FILE.pftrace has all."
        );
    }
    if trace.clock.error > 0 {
        about += &format!(
            " Clocks of hosts agree to within {}.",
            time(trace.clock.error)
        );
    }
    // The longest waits say most.
    let mut flows: Vec<_> = trace.flows.iter().collect();
    if flows.len() > MOST_FLOWS {
        flows.sort_unstable_by_key(|f| std::cmp::Reverse(f.to.2.saturating_sub(f.from.2)));
        about += &format!(" {MOST_FLOWS} of {} arrows are on this page.", flows.len());
        flows.truncate(MOST_FLOWS);
    }
    let title = format!("Trace of {}", trace.records[0].command());
    let data = PageData {
        title: &title,
        about,
        length,
        rows,
        sites: trace
            .labels
            .iter()
            .map(|l| SiteData {
                name: &l.name,
                kind: colour(l.kind),
                path: &l.position.path,
                function: l.position.function.as_deref(),
            })
            .collect(),
        flows: flows
            .iter()
            .map(|f| (f.from.0, f.from.1, f.from.2, f.to.0, f.to.1, f.to.2))
            .collect(),
    };
    let data = serde_json::to_string(&data).map_err(io::Error::other)?;
    let (before, after) = TEMPLATE.split_once("@CALLS@").unwrap_or((TEMPLATE, ""));
    to.write_all(assemble(before, &title, &data, SCRIPT).as_bytes())?;
    to.write_all(STANDARD.encode(&bytes).as_bytes())?;
    to.write_all(assemble(after, &title, &data, SCRIPT).as_bytes())
}
