//! Local memory as an operation names it: a record's own, a bounce buffer, or the program's.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::time::Instant;

use crate::engine::Engine;
use crate::idle::Idle;
use crate::local::{Local, Place};
use crate::record::{Hold, Record, Scatter};
use crate::registration::Slot;

/// Local memory of an operation, and what keeps it.
pub(crate) struct Source {
    pub base: *mut u8,
    pub desc: *mut c_void,
    pub hold: Hold,
    pub scatter: Option<Scatter>,
}

impl Engine {
    /// A record's own data as local memory.
    pub(crate) fn inline(&self, record: NonNull<Record>, scatter: Option<Scatter>) -> Source {
        Source {
            base: Record::data(record),
            // SAFETY: a record that has not begun.
            desc: unsafe { (*record.as_ptr()).desc },
            hold: Hold::Nothing,
            scatter,
        }
    }

    /// A bounce buffer, and it as local memory.
    pub(crate) fn bounce(&self, pe: usize) -> Slot<Local> {
        match self.buffers.slot() {
            Some(slot) => slot,
            None => self.wait_for_buffer(pe),
        }
    }

    /// Not by giving up the core after each look: a provider may receive one message per look, and
    /// what was given up may come back after milliseconds.
    #[cold]
    fn wait_for_buffer(&self, pe: usize) -> Slot<Local> {
        let mut since = Instant::now();
        let mut idle = Idle::new(self.config.spin);
        loop {
            if self.progress() > 0 {
                since = Instant::now();
                idle.reset();
            }
            if let Some(slot) = self.buffers.slot() {
                return slot;
            }
            if since.elapsed() > self.config.peer_timeout {
                self.lost(pe, "no operation completes, and all buffers are in use");
            }
            idle.pause(&self.bell, &mut || false);
        }
    }

    /// A bounce buffer as local memory.
    pub(crate) fn slot_source(slot: Slot<Local>, scatter: Option<Scatter>) -> Source {
        Source {
            base: slot.as_ptr(),
            desc: slot.region().desc(),
            hold: Hold::Slot(slot),
            scatter,
        }
    }

    /// The program's memory, where it is. None: it cannot be registered.
    pub(crate) fn direct(&self, base: *mut u8, len: usize) -> Option<Source> {
        let source = |desc, hold| Source {
            base,
            desc,
            hold,
            scatter: None,
        };
        if !self.buffers.needed() {
            return Some(source(ptr::null_mut(), Hold::Nothing));
        }
        if let Some(desc) = self.segments.desc(base, len) {
            return Some(source(desc, Hold::Nothing));
        }
        match self.buffers.place(base, len) {
            Place::Ready(desc) => Some(source(desc, Hold::Nothing)),
            Place::Leased(lease) => Some(source(lease.desc(), Hold::Lease(lease))),
            Place::Refused => None,
        }
    }
}
