//! Records of PEs of other nodes that this PE has not looked at, in the order in which they came.
//!
//! Whichever thread makes progress with the fabric adds them. How many bytes there are is bounded by what each sender
//! may have under way ([`super::remote`]).

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use ferroshmem_layout::inbox::{Envelope, RendezvousControl};

use super::wire;

/// Bytes of which a queue that is empty keeps no more.
const SPARE: usize = 1 << 20;

/// This process's arrivals.
pub static ARRIVALS: Arrivals = Arrivals { records: Mutex::new(Vec::new()), count: AtomicU32::new(0) };

/// A queue of records.
#[derive(Debug)]
pub struct Arrivals {
    /// For each record its sender and its length, as two words, and its bytes.
    records: Mutex<Vec<u8>>,
    /// Records that are in the queue, or taken from it and not yet [looked at](Self::count_down).
    count: AtomicU32,
}

impl Arrivals {
    /// Adds a record; false if it is none. Waits for nothing.
    pub fn add(&self, pe: usize, record: &[u8]) -> bool {
        if wire::parse(record).is_none() {
            return false;
        }
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.extend_from_slice(&(pe as u32).to_ne_bytes());
        records.extend_from_slice(&(record.len() as u32).to_ne_bytes());
        records.extend_from_slice(record);
        self.count.fetch_add(1, Ordering::Release);
        true
    }

    /// Records that are to be looked at.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Takes all that are in the queue.
    fn take(&self, into: &mut Vec<u8>) {
        into.clear();
        into.shrink_to(SPARE);
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *records, into);
    }

    /// Forgets all, taken ones too.
    pub fn clear(&self) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        *records = Vec::new();
        self.count.store(0, Ordering::Relaxed);
    }

    fn count_down(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Records that were taken from the queue, of which the first have been looked at.
#[derive(Debug, Default)]
pub(super) struct QueuedRecords {
    records: Vec<u8>,
    at: usize,
}

impl QueuedRecords {
    /// The next record and its sender.
    pub(super) fn next(&mut self) -> Option<(usize, Envelope, RendezvousControl, &[u8])> {
        if self.at == self.records.len() {
            self.at = 0;
            ARRIVALS.take(&mut self.records);
        }
        let (pe, rest) = self.records[self.at..].split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let record = rest.get(..u32::from_ne_bytes(*len) as usize)?;
        self.at += 8 + record.len();
        ARRIVALS.count_down();
        let (envelope, control, data) = wire::parse(record)?;
        let pe = u32::from_ne_bytes(*pe) as usize;
        Some((pe, envelope, control, data))
    }
}
