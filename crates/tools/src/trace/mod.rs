//! `oshrun --trace`: every call of every PE, on one clock.
//!
//! ```text
//! flow      which call another one waited for
//! chrome    JSON for Chrome's viewer
//! perfetto  Perfetto's protobuf
//! page      a timeline that needs nothing else
//! ```

mod chrome;
mod flow;
mod page;
mod perfetto;
#[cfg(test)]
pub(crate) mod schema;

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::profile::{Clock, Event, Kind, PeRecord, Position, Symbols};

pub use self::flow::Flow;
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
}

/// A call on the common clock, in nanoseconds from the start of the trace.
#[derive(Debug, Clone, Copy)]
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

/// The trace of a job.
#[derive(Debug)]
pub struct Trace<'a> {
    records: &'a [PeRecord],
    clock: &'a Clock,
    /// By record and place in the file: the number of the label.
    labels_of: Vec<Vec<usize>>,
    labels: Vec<Label>,
    flows: Vec<Flow>,
    begin: u64,
    end: u64,
    kept: u64,
    lost: u64,
}

impl<'a> Trace<'a> {
    /// Of these records, at least one.
    pub fn new(records: &'a [PeRecord], clock: &'a Clock, symbols: &mut Symbols) -> Self {
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
            labels_of,
            labels,
            flows: Vec::new(),
            begin: spans.iter().map(|s| s.0).min().unwrap_or(0),
            end: spans.iter().map(|s| s.1).max().unwrap_or(0),
            kept: 0,
            lost: 0,
        };
        let mut finder = flow::Finder::default();
        for (index, record) in records.iter().enumerate() {
            // One that has become unreadable has no events.
            let (events, lost) = record.events().unwrap_or_default();
            trace.kept += events.len() as u64;
            trace.lost += lost;
            for event in &events {
                let call = trace.call(index, event);
                finder.add(record, event, &call, trace.kind(index, event));
            }
        }
        trace.flows = finder.find();
        trace
    }

    fn kind(&self, index: usize, event: &Event) -> Kind {
        let site = self.records[index].sites.get(event.site);
        site.and_then(|s| s.as_ref())
            .map_or(Kind::Other, |s| s.kind)
    }

    fn call(&self, index: usize, event: &Event) -> Call {
        let time = |t: u64| self.clock.time(index, t).saturating_sub(self.begin);
        let is_collective = self.kind(index, event).is_collective();
        let pe = (event.subject as usize)
            .checked_sub(1)
            .filter(|_| !is_collective);
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

    /// The calls of a record, by their beginnings.
    pub(crate) fn calls(&self, index: usize) -> io::Result<Vec<Call>> {
        let (events, _) = self.records[index].events()?;
        let mut calls: Vec<_> = events.iter().map(|e| self.call(index, e)).collect();
        calls.sort_by_key(|c| (c.begin, std::cmp::Reverse(c.end)));
        Ok(calls)
    }

    /// How much it is, for the terminal.
    pub fn describe(&self) -> String {
        let mut line = format!("a trace of {} calls", crate::profile::count(self.kept));
        if self.lost > 0 {
            line += &format!(
                " ({:.0}% of all: {} older ones are lost; a larger SHMEM_TRACE_SIZE keeps more)",
                self.kept as f64 * 100.0 / (self.kept + self.lost) as f64,
                crate::profile::count(self.lost)
            );
        }
        line += " is";
        line
    }

    /// Writes it.
    ///
    /// # Errors
    /// If `to` cannot be written, or a PE's record not be read.
    pub fn write(&self, format: Format, to: &mut dyn io::Write) -> io::Result<()> {
        match format {
            Format::Page => page::write(self, to),
            Format::Chrome => chrome::write(self, to),
            Format::Perfetto => perfetto::write(self, to),
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
