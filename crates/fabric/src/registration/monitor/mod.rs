//! Notices when watched memory is unmapped, moved or discarded.
//!
//! The kernel reports it by a userfaultfd: memory is registered there for write protection,
//! which is never applied, so that the program's accesses never fault; what is wanted are the
//! events, and a system call that unmaps waits until its event is read. The README of
//! `registration` has what follows from that.

mod kernel;
mod reader;
mod slots;

use std::fmt;
use std::sync::{Arc, OnceLock};

use self::reader::Reader;
use self::slots::Loss;
use super::span::Span;

/// How the cache notices that memory goes away. Clones are the same monitor.
#[derive(Clone)]
pub struct Monitor(State);

#[derive(Clone)]
enum State {
    On(&'static Reader),
    Off(Arc<str>),
}

/// What a [`Monitor`] is; printed in the words of `oshmem_info`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The kernel reports changes by a userfaultfd.
    Userfaultfd,
    /// Nothing is noticed, for this reason.
    Off(Arc<str>),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Userfaultfd => write!(f, "userfaultfd"),
            Kind::Off(reason) => write!(f, "none ({reason})"),
        }
    }
}

impl Monitor {
    /// The monitor of this process, the same for all callers, with a thread of its own from
    /// the first call to the end of the process. It is off where the kernel does not offer
    /// what it takes (Linux 5.19), or forbids it (the default of many containers).
    pub fn of_process() -> Monitor {
        static READER: OnceLock<Result<&'static Reader, Arc<str>>> = OnceLock::new();
        Monitor(match READER.get_or_init(|| Reader::start().map_err(Arc::from)) {
            Ok(reader) => State::On(reader),
            Err(reason) => State::Off(reason.clone()),
        })
    }

    /// A monitor that notices nothing, for a reason to be shown to the user.
    pub fn off(reason: &str) -> Monitor {
        Monitor(State::Off(reason.into()))
    }

    /// Whether the monitor is on, and if not, why.
    pub fn kind(&self) -> Kind {
        match &self.0 {
            State::On(_) => Kind::Userfaultfd,
            State::Off(reason) => Kind::Off(reason.clone()),
        }
    }

    /// Waits a moment until all watches know what was unmapped before this call, by other
    /// threads too. False if that may still not be so.
    pub(super) fn drain(&self) -> bool {
        match self.0 {
            State::On(reader) => reader.drain(),
            State::Off(_) => false,
        }
    }

    /// Watches a span from now on; None if that is not possible with this memory.
    pub(super) fn watch(&self, span: Span) -> Option<Watch> {
        let State::On(reader) = self.0 else {
            return None;
        };
        let slot = reader.arm(span)?;
        Some(Watch { reader, slot })
    }

    /// How many watches have lost something so far.
    pub(super) fn losses(&self) -> u64 {
        match self.0 {
            State::On(reader) => reader.slots.losses(),
            State::Off(_) => 0,
        }
    }
}

/// A span that is being watched until this is dropped.
pub(super) struct Watch {
    reader: &'static Reader,
    slot: usize,
}

impl Watch {
    /// Whether all memory of the span is still the same, as far as the monitor has noticed.
    pub(super) fn intact(&self) -> bool {
        self.reader.slots.loss(self.slot) == Loss::None
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.reader.disarm(self.slot);
    }
}
