//! Copies by a device: a work queue of Intel's Data Streaming Accelerator (DSA), which Linux gives to programs as `/dev/dsa/wqD.Q`.
//!
//! ```text
//! descriptor  what the device reads and writes
//! portal      how descriptors come to it: by the driver, or
//! mapped      by the processor
//! queue       a work queue: what it takes, and whether it is used
//! discovery   which queues there are, or why none is used
//! copy        a copy under way: chunks, batches, what happens where a page is missing or the queue is busy
//! ```
//!
//! A device copies by the addresses of the process (PASID), without a thread, and without the caches of a core. It is given non-blocking copies without a
//! signal, before idle threads are. Who completes a copy looks at its completion records, and takes chunks that the device leaves:
//! a page that is not there ends a chunk early, and is made present; where this happens often, the queue is full, or the device reports an
//! error, the processor copies.
//!
//! Tests run against a model of the device in software (`model`); no such device has been tried.

pub mod descriptor;

mod copy;
mod discovery;
mod mapped;
mod portal;
mod queue;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

pub(super) use self::copy::{DeviceCopy, Progress};
use self::discovery::{Files, Refusal};
use self::queue::Queue;
use crate::config::DsaQueue;
use crate::failure::fatal::debug;

/// Opens the queue that is chosen; None: none is.
fn open(choice: DsaQueue) -> Option<Result<Queue, Refusal>> {
    match choice {
        DsaQueue::Off => None,
        DsaQueue::Auto => Some(Files::here().open_any(std::process::id())),
        DsaQueue::Path(path) => Some(Files::here().open(path)),
    }
}

/// Which queue would be used, or why none.
pub(super) fn overview(choice: DsaQueue) -> String {
    let found = |choice| match open(choice) {
        Some(Ok(queue)) => queue.name().to_owned(),
        Some(Err(refusal)) => format!("none: {refusal}"),
        None => "none".to_owned(),
    };
    match choice {
        DsaQueue::Off => {
            let auto = found(DsaQueue::Auto);
            format!("none (SHMEM_DSA is off, its default; auto would use {auto})")
        }
        choice => found(choice),
    }
}

/// The device of this process.
#[derive(Debug)]
pub(super) struct Device {
    is_on: AtomicBool,
    choice: Mutex<DsaQueue>,
    opened: OnceLock<Option<Queue>>,
}

impl Device {
    pub(super) const fn none() -> Self {
        Self {
            is_on: AtomicBool::new(false),
            choice: Mutex::new(DsaQueue::Off),
            opened: OnceLock::new(),
        }
    }

    pub(super) fn configure(&self, choice: DsaQueue) {
        *self.choice.lock().unwrap_or_else(PoisonError::into_inner) = choice;
        self.is_on.store(choice != DsaQueue::Off, Ordering::Relaxed);
    }

    /// Whether copies may be given to it.
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Its queue, which the first call opens.
    pub(super) fn queue(&self) -> Option<&Queue> {
        if !self.is_on() {
            return None;
        }
        let queue = self.opened.get_or_init(|| self.open()).as_ref();
        if queue.is_none_or(Queue::is_lost) {
            self.is_on.store(false, Ordering::Relaxed);
            return None;
        }
        queue
    }

    #[cold]
    fn open(&self) -> Option<Queue> {
        let choice = *self.choice.lock().unwrap_or_else(PoisonError::into_inner);
        match open(choice)? {
            Ok(queue) => {
                debug(|| format!("large non-blocking copies are made by {}", queue.name()));
                Some(queue)
            }
            Err(refusal) => {
                debug(|| format!("SHMEM_DSA has no effect: {refusal}"));
                None
            }
        }
    }

    /// A child of `fork` has neither the portal nor the address space that the device knows.
    pub(super) fn forget_in_child(&self) {
        self.is_on.store(false, Ordering::Relaxed);
    }
}
