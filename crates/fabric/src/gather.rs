//! Small writes to one PE, gathered into one operation while others are under way.
//!
//! A write of 8 bytes costs almost as much as one of 256. So the first is sent at once, and
//! those that follow before it has arrived are kept together; they go when there is no more
//! room, or when anybody waits or lets the provider work, the helper thread included.

use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::Remote;
use crate::context::Counts;
use crate::engine::Engine;
use crate::peer::Spot;
use crate::record::{INLINE, Record, Tally, lock};
use crate::sys;

/// Pieces of remote memory in one operation at most.
pub(crate) const PIECES: usize = 4;
/// Writes up to this length in bytes are gathered.
pub(crate) const SMALL: usize = 64;
const SLOTS: usize = 16;

/// Remote memory of one PE, piece by piece.
#[derive(Clone, Copy)]
pub(crate) struct Pieces {
    pub list: [sys::fi_rma_iov; PIECES],
    pub n: usize,
    pub bytes: usize,
}

impl Pieces {
    pub(crate) const NONE: Pieces = Pieces {
        list: [sys::fi_rma_iov {
            addr: 0,
            len: 0,
            key: 0,
        }; PIECES],
        n: 0,
        bytes: 0,
    };

    /// Adds `len` bytes at a spot, to the last piece if they follow it. False: no room.
    pub(crate) fn add(&mut self, spot: Spot, len: usize, limit: usize) -> bool {
        if let Some(last) = self.n.checked_sub(1).map(|i| &mut self.list[i])
            && last.key == spot.key
            && last.addr.wrapping_add(last.len as u64) == spot.address
        {
            last.len += len;
        } else if self.n < limit {
            self.list[self.n] = sys::fi_rma_iov {
                addr: spot.address,
                len,
                key: spot.key,
            };
            self.n += 1;
        } else {
            return false;
        }
        self.bytes += len;
        true
    }
}

/// Writes that are kept back, in a record that has not begun.
struct Kept {
    record: NonNull<Record>,
    pe: usize,
    counts: *const Counts,
    pieces: Pieces,
}

/// A write of few bytes.
struct Small<'c> {
    pe: usize,
    counts: &'c Counts,
    spot: Spot,
    from: *const u8,
    len: usize,
}

// SAFETY: the record is this one's alone until it begins; the counts are only compared.
unsafe impl Send for Kept {}

#[derive(Default)]
pub(crate) struct Gathers {
    slots: [Mutex<Option<Kept>>; SLOTS],
    /// Slots that have something.
    kept: AtomicUsize,
}

impl Gathers {
    /// Begins what was kept back, of all streams.
    #[inline]
    pub(crate) fn flush(&self, engine: &Engine) {
        if self.kept.load(Relaxed) != 0 {
            self.flush_all(engine);
        }
    }

    pub(crate) fn any(&self) -> bool {
        self.kept.load(Acquire) != 0
    }

    /// Returns when nothing is kept back that was put before, by no thread.
    pub(crate) fn settle(&self, engine: &Engine) {
        while self.any() {
            // What another thread has taken, it is about to begin.
            self.flush_all(engine);
            std::hint::spin_loop();
        }
    }

    #[cold]
    fn flush_all(&self, engine: &Engine) {
        for slot in &self.slots {
            // Whoever holds it adds to it, and is done in a moment.
            let kept = slot.try_lock().ok().and_then(|mut slot| slot.take());
            if let Some(kept) = kept {
                self.begin(engine, kept);
            }
        }
    }

    /// Not to be called with a slot locked: if the PE is lost, its owner is told from here,
    /// and may put to others before it ends the process.
    fn begin(&self, engine: &Engine, kept: Kept) {
        // SAFETY: the record's data has as many bytes as its pieces say.
        unsafe { engine.write_record(kept.record, kept.pe, &kept.pieces) };
        self.kept.fetch_sub(1, Release);
    }

    /// Adds a write to what is kept. False: it must go first.
    ///
    /// # Safety
    /// The source is readable.
    unsafe fn add(engine: &Engine, kept: &mut Kept, new: &Small) -> bool {
        let at = kept.pieces.bytes;
        let fits = kept.pe == new.pe
            && ptr::eq(kept.counts, new.counts)
            && at + new.len <= INLINE
            && kept.pieces.add(new.spot, new.len, engine.pieces);
        if fits {
            // SAFETY: within the record's data; the caller's promise.
            unsafe {
                let data = Record::data(kept.record).add(at);
                ptr::copy_nonoverlapping(new.from, data, new.len);
            }
        }
        fits
    }

    /// Writes up to [`SMALL`] bytes, now or with others.
    ///
    /// # Safety
    /// The source is readable.
    pub(crate) unsafe fn put(
        &self,
        engine: &Engine,
        counts: &Counts,
        to: Remote,
        from: *const u8,
        len: usize,
    ) {
        let lane = engine.lane(counts, to.pe, true);
        let new = Small {
            pe: to.pe,
            counts,
            spot: engine.spot(engine.peer(to.pe), to),
            from,
            len,
        };
        let which = (ptr::from_ref(counts).addr() >> 6 ^ to.pe) % SLOTS;
        let mut slot = loop {
            let mut slot = lock(&self.slots[which]);
            let Some(kept) = &mut *slot else { break slot };
            // SAFETY: the caller's promise.
            if unsafe { Gathers::add(engine, kept, &new) } {
                return;
            }
            let kept = slot.take();
            drop(slot);
            if let Some(kept) = kept {
                self.begin(engine, kept);
            }
        };
        let idle = lane.under_way() == 0;
        let record = engine.record(to.pe, Tally::stream(counts, lane, true));
        // SAFETY: the record's data has room; the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from, Record::data(record), len) };
        let mut pieces = Pieces::NONE;
        pieces.add(new.spot, len, 1);
        if idle {
            drop(slot);
            // SAFETY: the data is there.
            unsafe { engine.write_record(record, to.pe, &pieces) };
        } else {
            *slot = Some(Kept {
                record,
                pe: to.pe,
                counts,
                pieces,
            });
            self.kept.fetch_add(1, Relaxed);
        }
    }
}
