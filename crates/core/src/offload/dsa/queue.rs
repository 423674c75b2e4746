//! A work queue of a device.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::descriptor::{Descriptor, Record, status};
use super::portal::{Portal, Submitted};
use crate::failure::fatal::debug;

/// What a queue takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes that a descriptor may copy.
    pub transfer: u32,
    /// Descriptors of a batch; below 2: it takes none.
    pub batch: u32,
    /// Descriptors that may be there at once, where the device does not say that there is no room.
    pub entries: Option<u32>,
    /// Whether data can go to the cache.
    pub to_cache: bool,
}

/// A queue that this process may use.
#[derive(Debug)]
pub(crate) struct Queue {
    portal: Box<dyn Portal>,
    limits: Limits,
    /// The path.
    name: String,
    /// Descriptors that are not complete.
    running: AtomicU32,
    takes_batches: AtomicBool,
    is_lost: AtomicBool,
}

impl Queue {
    pub(super) fn new(name: String, portal: Box<dyn Portal>, limits: Limits) -> Self {
        Self {
            portal,
            limits,
            name,
            running: AtomicU32::new(0),
            takes_batches: AtomicBool::new(limits.batch > 1),
            is_lost: AtomicBool::new(false),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many descriptors a batch may have.
    pub(super) fn batch(&self) -> usize {
        match self.takes_batches.load(Ordering::Relaxed) {
            true => self.limits.batch as usize,
            false => 1,
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Does without batches from now on.
    pub(super) fn lose_batches(&self) {
        self.takes_batches.store(false, Ordering::Relaxed);
    }

    /// Does without the queue from now on.
    pub(super) fn lose(&self, why: &str) {
        if !self.is_lost.swap(true, Ordering::Relaxed) {
            let name = &self.name;
            debug(|| format!("{name} is not used any more: {why}"));
        }
    }

    /// Submits a descriptor.
    pub(super) fn submit(&self, descriptor: &Descriptor) -> Submitted {
        /// A queue that many share is soon free again, or not at all soon.
        const TRIES: u32 = 16;

        for _ in 0..TRIES {
            let running = self.running.load(Ordering::Relaxed);
            if self.is_lost() {
                return Submitted::Refused;
            }
            if self.limits.entries.is_some_and(|room| running >= room) {
                return Submitted::Busy;
            }
            match self.portal.submit(descriptor) {
                Submitted::Accepted => {
                    self.running.fetch_add(1, Ordering::Relaxed);
                    return Submitted::Accepted;
                }
                Submitted::Refused => self.lose("it takes no descriptors"),
                Submitted::Busy => std::hint::spin_loop(),
            }
        }
        Submitted::Busy
    }

    /// A descriptor is complete.
    pub(super) fn completed(&self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }

    /// Has the device copy some bytes; what is wrong, if it does not.
    pub(super) fn test(&self) -> Result<(), String> {
        /// Thousands of times what it takes.
        const LONGEST: Duration = Duration::from_millis(500);
        const BYTES: usize = 64;

        struct Exchange {
            record: Record,
            source: [u8; BYTES],
            dest: [u8; BYTES],
        }

        let exchange = Box::into_raw(Box::new(Exchange {
            record: Record::empty(),
            source: [0xa5; BYTES],
            dest: [0; BYTES],
        }));
        // SAFETY: allocated above; the device alone writes `dest` until the record is written, which is atomic.
        let (dest, source, record) = unsafe {
            (
                &raw mut (*exchange).dest,
                &raw const (*exchange).source,
                &(*exchange).record,
            )
        };
        let copy = Descriptor::copy(dest.cast(), source.cast(), BYTES as u32, 0, record);
        if self.submit(&copy) != Submitted::Accepted {
            return Err("it takes no descriptors".to_owned());
        }
        let begin = Instant::now();
        while record.status() == status::NONE {
            if begin.elapsed() > LONGEST {
                // The device may yet write to the memory, so no other copy gets it.
                return Err("it does not answer".to_owned());
            }
            std::thread::yield_now();
        }
        self.completed();
        let status = record.status();
        // SAFETY: allocated above, and the device has done with it.
        let exchange = unsafe { Box::from_raw(exchange) };
        match exchange.source == exchange.dest {
            true => Ok(()),
            false => Err(format!("a copy ended with status {status:#x}")),
        }
    }
}
