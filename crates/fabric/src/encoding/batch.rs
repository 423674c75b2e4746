//! What a context has gathered for a PE.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst, fence};

use ferroshmem_platform::ShortLock;

use super::request::{LastPut, Request, SegmentAddress, Short, append_put, put_bytes};
use crate::batches::{self, Batches, Primitives};

/// The system's words, and locks that are given back by a plain store.
pub(crate) struct System;

impl Primitives for System {
    type Word = AtomicU32;
    type Lock<T> = ShortLock<T>;

    #[inline]
    fn fence() {
        fence(SeqCst);
    }
}

/// The batches of a context, by PE.
pub(crate) type ContextBatches = Batches<System, Batch>;

/// Items without a result, as they are in messages.
#[derive(Default)]
pub(crate) struct Batch {
    items: Vec<u8>,
    last_put: LastPut,
    /// What was handed over last was at least half a message, and the [idle period](batches::Registry::idle period)
    /// that came before it (0: it was not): items come fast, and the next batch is filled even if nothing is under way.
    stream: u32,
}

/// An item that may be gathered.
#[derive(Clone, Copy)]
pub(crate) enum BatchItem<'d> {
    /// An operation without a result.
    Post(Request),
    Put(&'d [u8]),
}

impl batches::Batch for Batch {
    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl Batch {
    /// Adds an item, if all take no more than `room` bytes.
    pub(crate) fn append(&mut self, item: BatchItem<'_>, place: SegmentAddress, room: usize) -> bool {
        const MOST: usize = 3 * size_of::<u64>();
        let bytes = match item {
            BatchItem::Post(_) => MOST,
            BatchItem::Put(data) => put_bytes(data.len()),
        };
        if self.items.len() + bytes > room {
            return false;
        }
        self.items.reserve_exact(room - self.items.len());
        match item {
            BatchItem::Post(request) => {
                request.append(&mut self.items, place);
                self.last_put = LastPut::NONE;
            }
            BatchItem::Put(data) => append_put(&mut self.items, &mut self.last_put, place, data),
        }
        true
    }

    /// Adds an item of few words behind others.
    #[inline]
    pub(crate) fn append_short(&mut self, item: Short, room: usize) -> bool {
        item.append(&mut self.items, &mut self.last_put, room)
    }

    pub(crate) fn items(&self) -> &[u8] {
        &self.items
    }

    /// Whether it is to be sent at once, of a context that has nothing else under way to the PE: there was an idle
    /// period since a stream of items.
    #[inline]
    pub(crate) fn is_urgent(&self, idle_period: u32) -> bool {
        self.stream != idle_period
    }

    /// A message has the items now, which is full with `room` bytes.
    pub(crate) fn clear(&mut self, room: usize, idle_period: u32) {
        let is_half_full = 2 * self.items.len() >= room;
        self.stream = if is_half_full { idle_period } else { 0 };
        self.items.clear();
        self.last_put = LastPut::NONE;
    }
}
