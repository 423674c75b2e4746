//! `oshrun --trace`: every call of every PE, on one clock.
//!
//! ```text
//! flow      which call another one waited for
//! chrome    JSON for Chrome's viewer
//! perfetto  Perfetto's protobuf
//! page      a timeline that needs nothing else
//! shares    what a row of it does in each part of the time
//! ```

#[cfg(test)]
mod browser;
mod chrome;
mod flow;
mod page;
mod perfetto;
#[cfg(test)]
pub(crate) mod schema;
mod shares;

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::profile::{Clock, Event, Events, Kind, PeRecord, Position, Symbols};

pub use self::flow::Flow;
#[cfg(test)]
pub(crate) use self::page::grouped;
#[cfg(test)]
pub(crate) use self::perfetto::slices;

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A page.
    Page,
    /// Chrome's JSON.
    Chrome,
    /// Perfetto's protobuf.
    Perfetto,
}

impl Format {
    /// The format that a file's name asks for.
    pub fn of(file: &Path) -> Option<Self> {
        match file.extension().and_then(OsStr::to_str)? {
            "html" | "htm" => Some(Self::Page),
            "json" => Some(Self::Chrome),
            "pftrace" | "perfetto-trace" | "perfetto" => Some(Self::Perfetto),
            _ => None,
        }
    }
}

/// A call site, as all formats show it.
#[derive(Debug)]
pub(crate) struct Label {
    pub kind: Kind,
    pub name: String,
    pub position: Position,
    /// Calls that are shown.
    pub calls: u64,
}

/// A call on the common clock, in nanoseconds from the start of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub begin: u64,
    pub end: u64,
    pub site: usize,
    pub thread: u32,
    /// The PE that it concerns.
    pub pe: Option<usize>,
    pub bytes: u64,
    pub address: u64,
}

/// The part of a trace that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// From this time on, in nanoseconds from the start of the trace.
    pub from: Option<u64>,
    /// Until this time.
    pub to: Option<u64>,
    /// These PEs; all, if it is empty.
    pub pes: BTreeSet<usize>,
}

impl Part {
    fn has(&self, pe: usize) -> bool {
        self.pes.is_empty() || self.pes.contains(&pe)
    }

    /// Whether something that begins and ends at these times is shown, in part at least.
    fn overlaps(&self, begin: u64, end: u64) -> bool {
        self.from.is_none_or(|from| end >= from) && self.to.is_none_or(|to| begin <= to)
    }
}

/// What a PE's record has of the trace.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Threads that made calls.
    pub threads: BTreeSet<u32>,
    /// Calls of the part that is shown.
    pub calls: u64,
    /// Older calls, which the record has no more.
    pub lost: u64,
    /// When the first call begins that it has.
    pub first: u64,
}

/// The trace of a job. Its calls are read anew each time, as they may be more than the memory holds.
#[derive(Debug)]
pub struct Trace<'a> {
    records: &'a [PeRecord],
    clock: &'a Clock,
    part: Part,
    /// By record and place in the file: the number of the label.
    labels_of: Vec<Vec<usize>>,
    labels: Vec<Label>,
    flows: Vec<Flow>,
    /// Arrows in all.
    all_flows: u64,
    begin: u64,
    end: u64,
    /// By record.
    kept: Vec<Kept>,
}

impl<'a> Trace<'a> {
    /// Of this part of these records, at least one.
    pub fn new(records: &'a [PeRecord], clock: &'a Clock, symbols: &mut Symbols, part: Part) -> Self {
        let mut labels: Vec<Label> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let mut labels_of = Vec::new();
        for record in records {
            let of_site = |site: &Option<crate::profile::Site>| {
                let Some(site) = site else {
                    return 0;
                };
                let key = (site.name.clone(), site.object.clone(), site.place);
                *known.entry(key).or_insert_with(|| {
                    labels.push(Label {
                        kind: site.kind,
                        name: site.name.clone(),
                        position: symbols.position(site.object.as_ref(), site.place),
                        calls: 0,
                    });
                    labels.len() - 1
                })
            };
            labels_of.push(record.sites.iter().map(of_site).collect());
        }
        let spans = records.iter().enumerate().map(|(i, r)| {
            let (begin, end) = r.span();
            (clock.time(i, begin), clock.time(i, end))
        });
        let spans: Vec<_> = spans.collect();
        let mut trace = Self {
            records,
            clock,
            part,
            labels_of,
            labels,
            flows: Vec::new(),
            all_flows: 0,
            begin: spans.iter().map(|s| s.0).min().unwrap_or(0),
            end: spans.iter().map(|s| s.1).max().unwrap_or(0),
            kept: Vec::new(),
        };
        let waited = trace.count();
        trace.find_flows(waited);
        trace
    }

    /// Counts the calls, and finds the places that PEs wait for.
    fn count(&mut self) -> flow::Waited {
        let mut waited = flow::Waited::default();
        for (index, record) in self.records.iter().enumerate() {
            let mut kept = Kept { first: u64::MAX, ..Kept::default() };
            let events = Events::new(record);
            kept.lost = events.lost();
            // One that has become unreadable has no events.
            for event in events.map_while(Result::ok) {
                let call = self.call(index, &event);
                waited.add(record.pe, &event, self.kind(index, &event));
                kept.first = kept.first.min(call.begin);
                if self.shows(record.pe, &call) {
                    kept.threads.insert(event.thread);
                    kept.calls += 1;
                    if let Some(label) = self.labels.get_mut(call.site) {
                        label.calls += 1;
                    }
                }
            }
            self.kept.push(kept);
        }
        waited
    }

    /// Takes all calls in the order of their beginnings, and joins them by arrows.
    fn find_flows(&mut self, waited: flow::Waited) {
        let lossy = self.records.iter().zip(&self.kept);
        let lossy = lossy.filter(|(_, kept)| kept.lost > 0);
        let lossy = lossy.map(|(record, _)| record.pe).collect();
        let mut finder = flow::Finder::new(self.part.clone(), waited, lossy);
        let mut streams: Vec<_> = self.records.iter().map(Events::new).collect();
        let mut next: Vec<Option<Event>> = Vec::new();
        let mut queue = BinaryHeap::new();
        for (index, stream) in streams.iter_mut().enumerate() {
            let event = stream.next().and_then(Result::ok);
            queue.extend(event.map(|e| Reverse((self.call(index, &e).begin, index))));
            next.push(event);
        }
        while let Some(mut first) = queue.peek_mut() {
            let index = first.0.1;
            if let Some(event) = next[index].take() {
                let call = self.call(index, &event);
                let kind = self.kind(index, &event);
                finder.add(&self.records[index], &event, &call, kind);
            }
            next[index] = streams[index].next().and_then(Result::ok);
            match &next[index] {
                Some(event) => *first = Reverse((self.call(index, event).begin, index)),
                None => {
                    PeekMut::pop(first);
                }
            }
        }
        (self.flows, self.all_flows) = finder.finish();
    }

    fn kind(&self, index: usize, event: &Event) -> Kind {
        let site = self.records[index].sites.get(event.site);
        site.and_then(|s| s.as_ref()).map_or(Kind::Other, |s| s.kind)
    }

    fn call(&self, index: usize, event: &Event) -> Call {
        let time = |t: u64| self.clock.time(index, t).saturating_sub(self.begin);
        let is_collective = self.kind(index, event).is_collective();
        let pe = (event.subject as usize).checked_sub(1).filter(|_| !is_collective);
        Call {
            begin: time(event.begin),
            end: time(event.end),
            site: self.labels_of[index].get(event.site).copied().unwrap_or(0),
            thread: event.thread,
            pe,
            bytes: event.bytes,
            address: event.address,
        }
    }

    fn shows(&self, pe: usize, call: &Call) -> bool {
        self.part.has(pe) && self.part.overlaps(call.begin, call.end)
    }

    /// The records of the PEs that are shown, by their places, and what they have.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (usize, &'a PeRecord, &Kept)> {
        let records = self.records.iter().zip(&self.kept).enumerate();
        records.map(|(index, (record, kept))| (index, record, kept)).filter(|(_, record, _)| self.part.has(record.pe))
    }

    /// The calls of a record that are shown, in the order of their ends.
    pub(crate) fn calls(&self, index: usize) -> impl Iterator<Item = io::Result<Call>> {
        let record = &self.records[index];
        let calls = Events::new(record).map(move |event| Ok(self.call(index, &event?)));
        calls.filter(|call| match call {
            Ok(call) => self.shows(record.pe, call),
            Err(_) => true,
        })
    }

    /// When the part that is shown begins and ends.
    pub(crate) fn span(&self) -> (u64, u64) {
        let end = self.end.saturating_sub(self.begin).max(1);
        let from = self.part.from.unwrap_or(0).min(end - 1);
        (from, self.part.to.unwrap_or(end).clamp(from + 1, end))
    }

    /// Calls that are shown.
    pub(crate) fn number(&self) -> u64 {
        self.shown().map(|(_, _, kept)| kept.calls).sum()
    }

    /// Older calls that the records have no more.
    pub(crate) fn lost(&self) -> u64 {
        self.shown().map(|(_, _, kept)| kept.lost).sum()
    }

    /// How much it is, for the terminal.
    pub fn describe(&self) -> String {
        let (number, lost) = (self.number(), self.lost());
        let mut line = format!("a trace of {} calls", crate::profile::count(number));
        if self.part.from.is_some() || self.part.to.is_some() {
            let (from, to) = self.span();
            let (from, to) = (crate::profile::time(from), crate::profile::time(to));
            line += &format!(" from {from} to {to}");
        }
        if lost > 0 {
            line += &format!(
                " ({:.0}% of all: {} older ones are lost; a larger SHMEM_TRACE_SIZE keeps more)",
                number as f64 * 100.0 / (number + lost) as f64,
                crate::profile::count(lost)
            );
        }
        line += " is";
        line
    }

    /// Writes it. The number of calls that the file has in sums only, not one by one.
    ///
    /// # Errors
    /// If `to` cannot be written, or a PE's record not be read.
    pub fn write(&self, format: Format, to: &mut dyn io::Write) -> io::Result<u64> {
        match format {
            Format::Page => page::write(self, to),
            Format::Chrome => chrome::write(self, to).map(|()| 0),
            Format::Perfetto => perfetto::write(self, to).map(|()| 0),
        }
    }
}

/// How a place in the symmetric memory is shown.
pub(crate) fn place(address: u64) -> Option<String> {
    /// The bit of places in the globals; all bits mean none (as of the library).
    const GLOBALS: u64 = 1 << 62;
    match address {
        0 | u64::MAX => None,
        a if a & GLOBALS != 0 => Some(format!("globals+{:#x}", a & !GLOBALS)),
        a => Some(format!("heap+{a:#x}")),
    }
}
