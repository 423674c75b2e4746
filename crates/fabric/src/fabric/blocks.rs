//! Writes and reads of blocks at regular distances.
//!
//! Short blocks travel several in an operation, in a buffer that holds them one after the
//! other; blocks that follow each other in remote memory are one piece there. Long blocks
//! travel by themselves, from and to where they are.

use std::ptr::NonNull;

use super::Fabric;
use super::contiguous::Transfer;
use crate::address::RmaIov;
use crate::completion::{CompletionCounter, ContextCounters, CopyOut, INLINE, Pending, WorkRequest};
use crate::issue::{Direction, IovList, Issuer};
use crate::memory::LocalBuffer;
use crate::rma::Rma;
use crate::{Blocks, Context, Remote};

impl Fabric {
    /// Writes blocks from `from` on to `to` on. The source may be changed on return; complete at
    /// quiet.
    ///
    /// # Safety
    /// As for [`put`](Self::put), for each block.
    pub unsafe fn put_blocks(&self, context: &Context, to: Remote, from: *const u8, blocks: Blocks) {
        let context = context.counters();
        if blocks.is_empty() || self.is_shut_down() {
            return;
        }
        if blocks.are_contiguous() {
            let len = blocks.bytes * blocks.count;
            // SAFETY: the caller promises that each block is readable, and they are one piece.
            return unsafe { self.write(context, to, from, len, false) };
        }
        if self.aggregates(context, blocks.bytes) {
            for i in 0..blocks.count as isize {
                let offset = to.offset.wrapping_add_signed(blocks.remote_stride * i);
                // SAFETY: the caller promises that each block is readable.
                unsafe {
                    let from = from.offset(blocks.local_stride * i);
                    self.write(context, Remote { offset, ..to }, from, blocks.bytes, false);
                }
            }
            return;
        }
        let issuer = self.rma.issuer(context);
        let transfer = BlockTransfer { rma: &self.rma, issuer, remote: to, local: from.cast_mut(), blocks };
        // SAFETY: the caller promises that each block is readable.
        unsafe { transfer.write(context) }
    }

    /// Reads blocks from `from` on to `to` on; they are there on return.
    ///
    /// # Safety
    /// As for [`get`](Self::get), for each block.
    pub unsafe fn get_blocks(&self, context: &Context, to: *mut u8, from: Remote, blocks: Blocks) {
        if blocks.is_empty() || self.is_shut_down() {
            return;
        }
        if blocks.are_contiguous() {
            let len = blocks.bytes * blocks.count;
            // SAFETY: the caller promises that each block is writable, and they are one piece.
            return unsafe { self.get(context, to, from, len) };
        }
        self.rma.drained_issuer(context.counters());
        self.complete_messages(context, from.pe);
        let issuer = self.rma.issuer(context.counters());
        let transfer = BlockTransfer { rma: &self.rma, issuer, remote: from, local: to, blocks };
        // SAFETY: the caller promises that each block is writable.
        unsafe { transfer.read() }
    }
}

/// A transfer of blocks that are not contiguous.
struct BlockTransfer<'a> {
    rma: &'a Rma,
    /// That of the transfer's context.
    issuer: &'a Issuer,
    /// The first block in remote and in local memory.
    remote: Remote,
    local: *mut u8,
    blocks: Blocks,
}

/// An operation that is being filled with blocks.
struct Batch {
    request: NonNull<WorkRequest>,
    buffer: LocalBuffer,
    capacity: usize,
    iovs: IovList,
    /// The first block in it, and how many.
    first: usize,
    n: usize,
}

impl BlockTransfer<'_> {
    /// Writes the blocks. Their source may be changed on return.
    ///
    /// # Safety
    /// The blocks are readable.
    unsafe fn write(&self, context: &ContextCounters) {
        let peer = self.rma.order(context, self.remote.pe, true);
        // SAFETY: the caller promises that the blocks are readable.
        unsafe {
            if self.are_long() {
                self.each(Direction::Write);
            } else {
                let counter = CompletionCounter::context(context, peer, true);
                self.batched(Direction::Write, counter);
            }
        }
    }

    /// Reads the blocks, which are there on return.
    ///
    /// # Safety
    /// The blocks are writable.
    unsafe fn read(&self) {
        if self.are_long() {
            // SAFETY: the caller promises that the blocks are writable.
            unsafe { self.each(Direction::Read) };
        } else {
            let pending = Pending::default();
            // SAFETY: as above; the operations are complete on return.
            unsafe { self.batched(Direction::Read, pending.counter()) };
            self.wait(&pending);
        }
    }

    fn wait(&self, pending: &Pending) {
        let progress = &self.rma.progress;
        progress.wait_at(self.issuer, || pending.is_complete());
    }

    fn are_long(&self) -> bool {
        let bounce_len = self.rma.progress.shared().buffers.bounce_len();
        self.blocks.bytes > bounce_len.min(self.issuer.max_bytes)
    }

    /// # Safety
    /// There is a block `i`.
    unsafe fn local(&self, i: usize) -> *mut u8 {
        // SAFETY: the caller promises that there is such a block in the local memory.
        unsafe { self.local.offset(self.blocks.local_stride * i as isize) }
    }

    fn remote(&self, i: usize) -> Remote {
        let offset = self.blocks.remote_stride.wrapping_mul(i as isize);
        Remote { offset: self.remote.offset.wrapping_add_signed(offset), ..self.remote }
    }

    fn transfer(&self, direction: Direction, i: usize) -> Transfer<'_> {
        Transfer {
            rma: self.rma,
            issuer: self.issuer,
            direction,
            remote: self.remote(i),
            exposed: None,
            // SAFETY: callers ask for blocks that are there.
            local: unsafe { self.local(i) },
            len: self.blocks.bytes,
        }
    }

    /// Moves the blocks by operations of their own, and waits for them.
    ///
    /// # Safety
    /// The blocks are readable, for reads writable.
    unsafe fn each(&self, direction: Direction) {
        let pending = Pending::default();
        for i in 0..self.blocks.count {
            let transfer = self.transfer(direction, i);
            // SAFETY: the caller promises that the blocks are there; the operations are complete on
            // return.
            unsafe { transfer.direct(pending.counter()) };
        }
        self.wait(&pending);
    }

    /// Begins operations with as many blocks each as fit.
    ///
    /// # Safety
    /// The blocks are readable; for reads they are writable until the operations are complete.
    unsafe fn batched(&self, direction: Direction, counter: CompletionCounter) {
        let mut batch: Option<Batch> = None;
        let mut i = 0;
        while i < self.blocks.count {
            let iov = self.rma.resolve(self.remote(i));
            if let Some(current) = &mut batch {
                // SAFETY: the caller promises that block `i` is there.
                if unsafe { self.append(direction, current, i, iov) } {
                    i += 1;
                    continue;
                }
                // SAFETY: the caller promises that the blocks are there until the operation is
                // complete.
                unsafe { self.issue(direction, batch.take()) };
            }
            if iov.usable < self.blocks.bytes.min(self.issuer.max_bytes) {
                // It crosses the end of what a key is good for.
                let transfer = self.transfer(direction, i);
                // SAFETY: as above.
                unsafe { transfer.copied(counter) };
                i += 1;
            } else {
                batch = Some(self.batch(i, counter));
            }
        }
        // SAFETY: as above.
        unsafe { self.issue(direction, batch) };
    }

    /// An empty operation for the blocks from `first` on.
    fn batch(&self, first: usize, counter: CompletionCounter) -> Batch {
        let (progress, pe) = (&self.rma.progress, self.remote.pe);
        let Blocks { bytes, count, .. } = self.blocks;
        let adjacent = self.blocks.remote_stride == bytes as isize;
        let useful = if adjacent { bytes * (count - first) } else { bytes * self.issuer.max_iovs.min(count - first) };
        let bounce = (useful > INLINE).then(|| progress.bounce(self.issuer, pe));
        let capacity = if bounce.is_some() { progress.shared().buffers.bounce_len() } else { INLINE };
        let request = self.issuer.completions.request(pe, counter);
        Batch {
            request,
            buffer: bounce.unwrap_or_else(|| WorkRequest::inline(request)),
            capacity: capacity.min(self.issuer.max_bytes),
            iovs: IovList::EMPTY,
            first,
            n: 0,
        }
    }

    /// Adds a block. False: it does not fit.
    ///
    /// # Safety
    /// Block `i` is readable if it is to be written.
    unsafe fn append(&self, direction: Direction, batch: &mut Batch, i: usize, iov: RmaIov) -> bool {
        let bytes = self.blocks.bytes;
        let at = batch.iovs.bytes();
        let fits = at + bytes <= batch.capacity && bytes <= iov.usable;
        let max_iovs = self.issuer.max_iovs;
        if !fits || !batch.iovs.append(iov, bytes, max_iovs) {
            return false;
        }
        if direction == Direction::Write {
            // SAFETY: there is room in the buffer; the caller promises that the block is readable.
            unsafe {
                let to = batch.buffer.base.add(at);
                std::ptr::copy_nonoverlapping(self.local(i), to, bytes);
            }
        }
        batch.n += 1;
        true
    }

    /// # Safety
    /// For reads, the blocks are writable until the operation is complete.
    unsafe fn issue(&self, direction: Direction, batch: Option<Batch>) {
        let Some(batch) = batch else { return };
        // SAFETY: the request has not begun and this thread alone has it; the operation keeps its
        // buffer. The caller promises that the blocks are writable.
        unsafe {
            if direction == Direction::Read {
                (*batch.request.as_ptr()).copy_out = Some(CopyOut {
                    from: batch.buffer.base,
                    to: self.local(batch.first),
                    stride: self.blocks.local_stride,
                    block: self.blocks.bytes,
                    n: batch.n,
                });
            }
            let pe = self.remote.pe;
            let Batch { request, buffer, iovs, .. } = batch;
            self.issuer.issue(request, pe, direction, buffer, &iovs);
        }
    }
}
