//! Writes and reads of blocks at regular distances.
//!
//! Short blocks travel several in an operation, in a buffer that holds them one after the
//! other; blocks that follow each other at the remote side are one piece there. Long blocks
//! go by themselves, from and to where they are.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::Remote;
use crate::engine::Engine;
use crate::gather::Pieces;
use crate::peer::Spot;
use crate::record::{INLINE, Record, Scatter, Tally};
use crate::source::Source;
use crate::stream::Counts;
use crate::transfer::{Way, waited};

/// Blocks at regular distances, here and there.
#[derive(Clone, Copy)]
pub(crate) struct Blocks {
    pub remote: Remote,
    pub remote_step: isize,
    pub local: *mut u8,
    pub local_step: isize,
    /// Bytes of a block.
    pub block: usize,
    pub n: usize,
}

impl Blocks {
    /// # Safety
    /// There is such a block.
    unsafe fn local(&self, i: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.local.offset(self.local_step * i as isize) }
    }

    fn remote(&self, i: usize) -> Remote {
        let offset = self.remote_step.wrapping_mul(i as isize);
        Remote {
            offset: self.remote.offset.wrapping_add_signed(offset),
            ..self.remote
        }
    }

    fn contiguous(&self) -> bool {
        let step = self.block as isize;
        self.n == 1 || self.remote_step == step && self.local_step == step
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
    pub(crate) unsafe fn put_blocks(&self, counts: &Counts, blocks: Blocks) {
        if blocks.n == 0 || blocks.block == 0 {
            return;
        }
        if blocks.contiguous() {
            let len = blocks.block * blocks.n;
            // SAFETY: the caller's promise.
            unsafe { self.put(counts, blocks.remote, blocks.local, len, false) };
            return;
        }
        let lane = self.lane(counts, blocks.remote.pe, true);
        // SAFETY: the caller's promise.
        unsafe {
            if blocks.block > self.buffers.slot_len().min(self.longest) {
                self.each_direct(Way::Write, &blocks);
            } else {
                let tally = || Tally::stream(counts, lane, true);
                self.each_loaded(Way::Write, &blocks, &tally);
            }
        }
    }

    /// # Safety
    /// See [`Fabric::get_blocks`](crate::Fabric::get_blocks).
    pub(crate) unsafe fn get_blocks(&self, blocks: Blocks) {
        if blocks.n == 0 || blocks.block == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            if blocks.contiguous() {
                let len = blocks.block * blocks.n;
                self.get(None, blocks.local, blocks.remote, len);
            } else if blocks.block > self.buffers.slot_len().min(self.longest) {
                self.each_direct(Way::Read, &blocks);
            } else {
                let left = AtomicUsize::new(0);
                self.each_loaded(Way::Read, &blocks, &|| waited(&left));
                self.wait(|| left.load(Acquire) == 0);
            }
        }
    }

    /// Moves the blocks by operations of their own, and waits for them.
    ///
    /// # Safety
    /// The blocks are there.
    unsafe fn each_direct(&self, way: Way, blocks: &Blocks) {
        let left = AtomicUsize::new(0);
        for i in 0..blocks.n {
            // SAFETY: the caller's promise; the operations are complete on return.
            unsafe {
                let local = blocks.local(i);
                let tally = || waited(&left);
                self.move_direct(way, blocks.remote(i), local, blocks.block, &tally);
            }
        }
        self.wait(|| left.load(Acquire) == 0);
    }

    /// Begins operations with as many blocks each as fit.
    ///
    /// # Safety
    /// The blocks are there, and stay until the operations are complete.
    unsafe fn each_loaded(&self, way: Way, blocks: &Blocks, tally: &dyn Fn() -> Tally) {
        let mut load: Option<Load> = None;
        let mut i = 0;
        while i < blocks.n {
            let remote = blocks.remote(i);
            let spot = self.spot(self.peer(remote.pe), remote);
            if let Some(current) = &mut load {
                // SAFETY: the caller's promise.
                if unsafe { self.add(way, current, blocks, i, spot) } {
                    i += 1;
                    continue;
                }
                // SAFETY: as above.
                unsafe { self.leave(way, load.take(), blocks) };
            }
            if spot.run < blocks.block.min(self.longest) {
                // It crosses the end of what a key is good for.
                // SAFETY: as above.
                unsafe {
                    self.move_copied(way, remote, blocks.local(i), blocks.block, tally);
                }
                i += 1;
            } else {
                load = Some(self.load(blocks, i, tally));
            }
        }
        // SAFETY: as above.
        unsafe { self.leave(way, load, blocks) };
    }

    fn load(&self, blocks: &Blocks, first: usize, tally: &dyn Fn() -> Tally) -> Load {
        let adjacent = blocks.remote_step == blocks.block as isize;
        let useful = if adjacent {
            blocks.block * (blocks.n - first)
        } else {
            blocks.block * self.pieces.min(blocks.n - first)
        };
        let slot = (useful > INLINE).then(|| self.bounce(blocks.remote.pe));
        let record = self.record(blocks.remote.pe, tally());
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
    unsafe fn add(&self, way: Way, load: &mut Load, blocks: &Blocks, i: usize, spot: Spot) -> bool {
        let at = load.pieces.bytes;
        let fits = at + blocks.block <= load.capacity && blocks.block <= spot.run;
        if !fits || !load.pieces.add(spot, blocks.block, self.pieces) {
            return false;
        }
        if way == Way::Write {
            // SAFETY: room was checked; the caller's promise.
            unsafe {
                let to = load.source.base.add(at);
                std::ptr::copy_nonoverlapping(blocks.local(i), to, blocks.block);
            }
        }
        load.n += 1;
        true
    }

    /// # Safety
    /// As for `each_loaded`.
    unsafe fn leave(&self, way: Way, load: Option<Load>, blocks: &Blocks) {
        let Some(mut load) = load else { return };
        if way == Way::Read {
            load.source.scatter = Some(Scatter {
                from: load.source.base,
                // SAFETY: a block of the caller's.
                to: unsafe { blocks.local(load.first) },
                step: blocks.local_step,
                block: blocks.block,
                n: load.n,
            });
        }
        let pe = blocks.remote.pe;
        // SAFETY: the buffer is kept by the operation.
        unsafe { self.begin(load.record, pe, way, load.source, &load.pieces) };
    }
}
