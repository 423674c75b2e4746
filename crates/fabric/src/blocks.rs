//! Writes and reads of blocks at regular distances.
//!
//! Short blocks travel several in an operation, in a buffer that holds them one after the
//! other; blocks that follow each other at the remote side are one piece there. Long blocks
//! go by themselves, from and to where they are.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::context::Counts;
use crate::engine::Engine;
use crate::gather::Pieces;
use crate::peer::Spot;
use crate::record::{INLINE, Record, Scatter, Tally};
use crate::source::Source;
use crate::transfer::{Way, waited};
use crate::{Blocks, Remote};

/// Blocks, and where the first one is.
#[derive(Clone, Copy)]
struct Strided {
    remote: Remote,
    local: *mut u8,
    blocks: Blocks,
}

impl Strided {
    /// # Safety
    /// There is such a block.
    unsafe fn local(&self, i: usize) -> *mut u8 {
        // SAFETY: the caller promises that block `i` lies in the local memory.
        unsafe { self.local.offset(self.blocks.local_stride * i as isize) }
    }

    fn remote(&self, i: usize) -> Remote {
        let offset = self.blocks.remote_stride.wrapping_mul(i as isize);
        Remote {
            offset: self.remote.offset.wrapping_add_signed(offset),
            ..self.remote
        }
    }
}

impl Blocks {
    fn is_empty(&self) -> bool {
        self.count == 0 || self.bytes == 0
    }

    fn contiguous(&self) -> bool {
        let stride = self.bytes as isize;
        self.count == 1 || self.remote_stride == stride && self.local_stride == stride
    }
}

/// An operation that is being filled with blocks.
struct Load {
    record: NonNull<Record>,
    source: Source,
    capacity: usize,
    pieces: Pieces,
    /// The first block in it, and how many.
    first: usize,
    n: usize,
}

impl Engine {
    /// # Safety
    /// See [`Fabric::put_blocks`](crate::Fabric::put_blocks).
    pub unsafe fn put_blocks(&self, counts: &Counts, to: Remote, from: *mut u8, blocks: Blocks) {
        if blocks.is_empty() {
            return;
        }
        if blocks.contiguous() {
            let len = blocks.bytes * blocks.count;
            // SAFETY: the caller's promise.
            unsafe { self.put(counts, to, from, len, false) };
            return;
        }
        let strided = Strided {
            remote: to,
            local: from,
            blocks,
        };
        let lane = self.lane(counts, to.pe, true);
        // SAFETY: the caller's promise.
        unsafe {
            if blocks.bytes > self.buffers.slot_len().min(self.longest) {
                self.each_direct(Way::Write, &strided);
            } else {
                let tally = || Tally::stream(counts, lane, true);
                self.each_loaded(Way::Write, &strided, &tally);
            }
        }
    }

    /// # Safety
    /// See [`Fabric::get_blocks`](crate::Fabric::get_blocks).
    pub unsafe fn get_blocks(&self, from: Remote, to: *mut u8, blocks: Blocks) {
        if blocks.is_empty() {
            return;
        }
        let strided = Strided {
            remote: from,
            local: to,
            blocks,
        };
        // SAFETY: the caller's promise.
        unsafe {
            if blocks.contiguous() {
                let len = blocks.bytes * blocks.count;
                self.get(None, to, from, len);
            } else if blocks.bytes > self.buffers.slot_len().min(self.longest) {
                self.each_direct(Way::Read, &strided);
            } else {
                let left = AtomicUsize::new(0);
                self.each_loaded(Way::Read, &strided, &|| waited(&left));
                self.wait(|| left.load(Acquire) == 0);
            }
        }
    }

    /// Moves the blocks by operations of their own, and waits for them.
    ///
    /// # Safety
    /// The blocks are there.
    unsafe fn each_direct(&self, way: Way, strided: &Strided) {
        let left = AtomicUsize::new(0);
        for i in 0..strided.blocks.count {
            // SAFETY: the caller's promise; the operations are complete on return.
            unsafe {
                let local = strided.local(i);
                let tally = || waited(&left);
                self.move_direct(way, strided.remote(i), local, strided.blocks.bytes, &tally);
            }
        }
        self.wait(|| left.load(Acquire) == 0);
    }

    /// Begins operations with as many blocks each as fit.
    ///
    /// # Safety
    /// The blocks are there, and stay until the operations are complete.
    unsafe fn each_loaded(&self, way: Way, strided: &Strided, tally: &dyn Fn() -> Tally) {
        let mut load: Option<Load> = None;
        let mut i = 0;
        while i < strided.blocks.count {
            let remote = strided.remote(i);
            let spot = self.spot(self.peer(remote.pe), remote);
            if let Some(current) = &mut load {
                // SAFETY: the caller's promise.
                if unsafe { self.add(way, current, strided, i, spot) } {
                    i += 1;
                    continue;
                }
                // SAFETY: as above.
                unsafe { self.leave(way, load.take(), strided) };
            }
            if spot.run < strided.blocks.bytes.min(self.longest) {
                // It crosses the end of what a key is good for.
                // SAFETY: as above.
                unsafe {
                    self.move_copied(way, remote, strided.local(i), strided.blocks.bytes, tally);
                }
                i += 1;
            } else {
                load = Some(self.load(strided, i, tally));
            }
        }
        // SAFETY: as above.
        unsafe { self.leave(way, load, strided) };
    }

    fn load(&self, strided: &Strided, first: usize, tally: &dyn Fn() -> Tally) -> Load {
        let adjacent = strided.blocks.remote_stride == strided.blocks.bytes as isize;
        let useful = if adjacent {
            strided.blocks.bytes * (strided.blocks.count - first)
        } else {
            strided.blocks.bytes * self.pieces.min(strided.blocks.count - first)
        };
        let slot = (useful > INLINE).then(|| self.bounce(strided.remote.pe));
        let record = self.record(strided.remote.pe, tally());
        let (source, capacity) = match slot {
            Some(slot) => {
                let capacity = slot.capacity();
                (Engine::slot_source(slot, None), capacity)
            }
            None => (self.inline(record, None), INLINE),
        };
        Load {
            record,
            source,
            capacity: capacity.min(self.longest),
            pieces: Pieces::NONE,
            first,
            n: 0,
        }
    }

    /// Adds a block. False: it does not fit.
    ///
    /// # Safety
    /// The block is there.
    unsafe fn add(
        &self,
        way: Way,
        load: &mut Load,
        strided: &Strided,
        i: usize,
        spot: Spot,
    ) -> bool {
        let at = load.pieces.bytes;
        let fits = at + strided.blocks.bytes <= load.capacity && strided.blocks.bytes <= spot.run;
        if !fits || !load.pieces.add(spot, strided.blocks.bytes, self.pieces) {
            return false;
        }
        if way == Way::Write {
            // SAFETY: room was checked; the caller's promise.
            unsafe {
                let to = load.source.base.add(at);
                std::ptr::copy_nonoverlapping(strided.local(i), to, strided.blocks.bytes);
            }
        }
        load.n += 1;
        true
    }

    /// # Safety
    /// As for `each_loaded`.
    unsafe fn leave(&self, way: Way, load: Option<Load>, strided: &Strided) {
        let Some(mut load) = load else { return };
        if way == Way::Read {
            load.source.scatter = Some(Scatter {
                from: load.source.base,
                // SAFETY: a block of the caller's.
                to: unsafe { strided.local(load.first) },
                step: strided.blocks.local_stride,
                block: strided.blocks.bytes,
                n: load.n,
            });
        }
        let pe = strided.remote.pe;
        // SAFETY: the buffer is kept by the operation.
        unsafe { self.begin(load.record, pe, way, load.source, &load.pieces) };
    }
}
