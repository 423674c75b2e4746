//! The calls of a trace, read from a PE's file a part at a time: a file may be larger than the memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use ferroshmem_layout::profile::{WORD, event, header};

use super::record::PeRecord;

/// One call of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// When it began.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// The site, by its place in the file.
    pub site: usize,
    /// The thread, from 1 on.
    pub thread: u32,
    /// For operations on a PE, its number plus 1; for collectives, team and number: as of the file.
    pub subject: u64,
    /// Bytes.
    pub bytes: u64,
    /// Where in the symmetric memory.
    pub address: u64,
    /// The signal of a put.
    pub extra: u64,
}

/// Events that are read at a time: thousands of PEs are read together.
const PART: usize = 1024;

/// The events of a record in the order of their ends, oldest first.
#[derive(Debug)]
pub struct Events<'a> {
    record: &'a PeRecord,
    /// Events in the ring, the place of the oldest, and events in the newest chunk.
    in_ring: usize,
    first: usize,
    newest: usize,
    /// The next one, of the ring and then of the newest chunk.
    next: usize,
    part: Vec<u64>,
    /// Events of `part` that have been taken.
    taken: usize,
    lost: u64,
}

impl<'a> Events<'a> {
    /// Those of a record.
    pub fn new(record: &'a PeRecord) -> Self {
        let layout = record.layout();
        let total = record.header(header::EVENTS_TOTAL);
        let room = record.header(header::EVENTS_ROOM).min(layout.events as u64);
        let newest = (total % layout.chunk().max(1) as u64) as usize;
        let written = total - newest as u64;
        let in_ring = written.min(room) as usize;
        let first = if written > room && room > 0 { (written % room) as usize } else { 0 };
        let kept = (in_ring + newest).min(layout.events);
        Self {
            record,
            in_ring,
            first,
            newest,
            next: in_ring + newest - kept,
            part: Vec::new(),
            taken: 0,
            lost: total - kept as u64,
        }
    }

    /// Events that the record has no more.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Reads the next part; false where there is none.
    fn read(&mut self) -> io::Result<bool> {
        let layout = self.record.layout();
        self.taken = 0;
        if let Some(place) = self.next.checked_sub(self.in_ring) {
            let count = self.newest - place;
            let start = layout.newest().start + place * event::WORDS;
            self.part.clear();
            self.part.extend_from_slice(self.record.part(start, count * event::WORDS));
            self.next += count;
            return Ok(count > 0);
        }
        // The oldest event is anywhere in the ring.
        let place = (self.first + self.next) % self.in_ring;
        let count = PART.min(self.in_ring - self.next).min(self.in_ring - place);
        let start = layout.events().start + place * event::WORDS;
        self.next += count;
        let Some(path) = self.record.file() else {
            self.part.clear();
            self.part.extend_from_slice(self.record.part(start, count * event::WORDS));
            return Ok(true);
        };
        // Opened anew: more PEs than a process may have open files are read together.
        let file = File::open(path)?;
        let mut bytes = vec![0; count * event::WORDS * WORD];
        let mut read = 0;
        while read < bytes.len() {
            match file.read_at(&mut bytes[read..], (start * WORD + read) as u64) {
                // The file of a PE that has died may be shorter.
                Ok(0) => break,
                Ok(more) => read += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let (words, _) = bytes[..read].as_chunks::<WORD>();
        self.part.clear();
        self.part.extend(words.iter().map(|w| u64::from_le_bytes(*w)));
        Ok(true)
    }
}

impl Iterator for Events<'_> {
    type Item = io::Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.taken * event::WORDS;
            let Some(w) = self.part.get(at..at + event::WORDS) else {
                match self.read() {
                    Ok(true) => continue,
                    Ok(false) => return None,
                    Err(e) => {
                        // It is said once.
                        (self.next, self.newest) = (self.in_ring, 0);
                        return Some(Err(e));
                    }
                }
            };
            self.taken += 1;
            if w[event::END] == 0 && w[event::BEGIN] == 0 {
                continue;
            }
            return Some(Ok(Event {
                begin: w[event::BEGIN],
                // A clock may jump.
                end: w[event::END].max(w[event::BEGIN]),
                site: w[event::SITE] as u32 as usize,
                thread: (w[event::SITE] >> 32) as u32,
                subject: w[event::PE],
                bytes: w[event::BYTES],
                address: w[event::ADDRESS],
                extra: w[event::EXTRA],
            }));
        }
    }
}
