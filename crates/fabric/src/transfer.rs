//! Contiguous writes and reads.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::Remote;
use crate::context::Counts;
use crate::engine::Engine;
use crate::gather::{Pieces, SMALL};
use crate::peer::Spot;
use crate::question::{LONGEST, Question};
use crate::record::{INLINE, Record, Scatter, Tally};
use crate::source::Source;
use crate::sys;

/// Which way an operation moves data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Write,
    /// A write that is complete when the source may be changed, delivered or not.
    Send,
    Read,
}

impl Engine {
    /// Begins an operation on all pieces, with the local memory one after the other.
    ///
    /// # Safety
    /// The local memory is there, and stays until the operation is complete.
    pub(crate) unsafe fn begin(
        &self,
        record: NonNull<Record>,
        pe: usize,
        way: Way,
        source: Source,
        pieces: &Pieces,
    ) {
        let peer = self.peer(pe).address;
        let ep = self.endpoint.ep;
        let context = Record::context(record);
        let Source {
            base,
            mut desc,
            hold,
            scatter,
        } = source;
        // SAFETY: the record is ours until the operation begins; the rest is the caller's
        // promise.
        unsafe {
            (*record.as_ptr()).hold = hold;
            (*record.as_ptr()).scatter = scatter;
            if pieces.n == 1 && way != Way::Send {
                let sys::fi_rma_iov { addr, len, key } = pieces.list[0];
                return self.submit(pe, || match way {
                    Way::Read => sys::fi_read(ep, base.cast(), len, desc, peer, addr, key, context),
                    _ => sys::fi_write(ep, base.cast(), len, desc, peer, addr, key, context),
                });
            }
            let iov = libc::iovec {
                iov_base: base.cast(),
                iov_len: pieces.bytes,
            };
            let message = sys::fi_msg_rma {
                msg_iov: &raw const iov,
                desc: &raw mut desc,
                iov_count: 1,
                addr: peer,
                rma_iov: pieces.list.as_ptr(),
                rma_iov_count: pieces.n,
                context,
                data: 0,
            };
            match way {
                Way::Write => {
                    let flags = u64::from(sys::FI_DELIVERY_COMPLETE | sys::FI_COMPLETION);
                    self.submit(pe, || sys::fi_writemsg(ep, &raw const message, flags));
                }
                Way::Send => {
                    let flags = u64::from(sys::FI_INJECT_COMPLETE | sys::FI_COMPLETION);
                    self.submit(pe, || sys::fi_writemsg(ep, &raw const message, flags));
                }
                Way::Read => {
                    let flags = u64::from(sys::FI_COMPLETION);
                    self.submit(pe, || sys::fi_readmsg(ep, &raw const message, flags));
                }
            }
        }
    }

    /// Writes what is in a record's own data.
    ///
    /// # Safety
    /// It is as long as the pieces.
    pub(crate) unsafe fn write_record(&self, record: NonNull<Record>, pe: usize, pieces: &Pieces) {
        // SAFETY: the record's data lives as long as the record.
        unsafe {
            let source = self.inline(record, None);
            self.begin(record, pe, Way::Write, source, pieces);
        }
    }

    /// Calls `f` for each part of `len` remote bytes that one operation may be about: where
    /// it is there, how many bytes precede it, how long it is.
    #[inline]
    pub(crate) fn parts(
        &self,
        at: Remote,
        len: usize,
        limit: usize,
        mut f: impl FnMut(Spot, usize, usize),
    ) {
        let peer = self.peer(at.pe);
        let mut done = 0;
        while done < len {
            let offset = at.offset + done;
            let spot = self.spot(peer, Remote { offset, ..at });
            let part = (len - done).min(spot.run).min(limit).min(self.longest);
            f(spot, done, part);
            done += part;
        }
    }

    /// Begins writes or reads of the program's memory where it is; copies through bounce
    /// buffers where it cannot be registered. `tally` is called for each operation.
    ///
    /// # Safety
    /// The memory is there until the operations are complete.
    pub(crate) unsafe fn move_direct(
        &self,
        way: Way,
        at: Remote,
        local: *mut u8,
        len: usize,
        tally: &dyn Fn() -> Tally,
    ) {
        self.parts(at, len, usize::MAX, |spot, done, part| {
            // SAFETY: within the program's buffer.
            let base = unsafe { local.add(done) };
            let Some(source) = self.direct(base, part) else {
                let offset = at.offset + done;
                // SAFETY: the caller's promise.
                unsafe { self.move_copied(way, Remote { offset, ..at }, base, part, tally) };
                return;
            };
            let record = self.record(at.pe, tally());
            let mut pieces = Pieces::NONE;
            pieces.add(spot, part, 1);
            // SAFETY: the caller's promise.
            unsafe { self.begin(record, at.pe, way, source, &pieces) };
        });
    }

    /// Begins writes or reads through records and bounce buffers.
    ///
    /// # Safety
    /// The memory is there; what is read into, until the operations are complete.
    pub(crate) unsafe fn move_copied(
        &self,
        way: Way,
        at: Remote,
        local: *mut u8,
        len: usize,
        tally: &dyn Fn() -> Tally,
    ) {
        self.parts(at, len, self.buffers.slot_len(), |spot, done, part| {
            // SAFETY: within the program's buffer.
            let to = unsafe { local.add(done) };
            let slot = (part > INLINE).then(|| self.bounce(at.pe));
            let record = self.record(at.pe, tally());
            let mut source = match slot {
                Some(slot) => Engine::slot_source(slot, None),
                None => self.inline(record, None),
            };
            match way {
                // SAFETY: the buffer has room for a part.
                Way::Write | Way::Send => unsafe {
                    ptr::copy_nonoverlapping(to, source.base, part);
                },
                Way::Read => {
                    source.scatter = Some(Scatter {
                        from: source.base,
                        to,
                        step: 0,
                        block: part,
                        n: 1,
                    });
                }
            }
            let mut pieces = Pieces::NONE;
            pieces.add(spot, part, 1);
            // SAFETY: the buffer is kept by the operation.
            unsafe { self.begin(record, at.pe, way, source, &pieces) };
        });
    }

    /// # Safety
    /// See [`Fabric::put`](crate::Fabric::put).
    pub(crate) unsafe fn put(
        &self,
        counts: &Counts,
        to: Remote,
        from: *const u8,
        len: usize,
        keep: bool,
    ) {
        if len == 0 {
            return;
        }
        if len <= SMALL {
            let run = self.spot(self.peer(to.pe), to).run;
            if len <= run {
                // SAFETY: the caller's promise.
                unsafe { self.gathers.put(self, counts, to, from, len) };
                return;
            }
        }
        let lane = self.lane(counts, to.pe, true);
        let tally = || Tally::stream(counts, lane, true);
        let local = from.cast_mut();
        let copied = !keep || self.buffers.needed();
        if len <= INLINE || copied && len <= self.buffers.slot_len() {
            // SAFETY: the caller's promise.
            unsafe { self.move_copied(Way::Write, to, local, len, &tally) };
        } else if keep {
            // SAFETY: the caller's promise.
            unsafe { self.move_direct(Way::Write, to, local, len, &tally) };
        } else {
            // The source is free once the target has it all.
            let left = AtomicUsize::new(0);
            // SAFETY: the caller's promise, and the operations are complete on return.
            unsafe { self.move_direct(Way::Write, to, local, len, &|| waited(&left)) };
            self.wait(|| left.load(Acquire) == 0);
        }
    }

    /// # Safety
    /// See [`Fabric::send`](crate::Fabric::send).
    pub(crate) unsafe fn send(&self, counts: &Counts, to: Remote, from: *const u8, len: usize) {
        let lane = self.lane(counts, to.pe, true);
        let tally = || Tally::stream(counts, lane, true);
        // SAFETY: the caller's promise.
        unsafe { self.move_direct(Way::Send, to, from.cast_mut(), len, &tally) };
    }

    /// # Safety
    /// See [`Fabric::tell`](crate::Fabric::tell).
    pub(crate) unsafe fn tell(&self, counts: &Counts, to: Remote, from: *const u8, len: usize) {
        self.gathers.settle(self);
        let peer = self.peer(to.pe);
        let spot = self.spot(peer, to);
        if len > spot.run.min(self.inject) {
            counts.fence();
            // SAFETY: the caller's promise.
            return unsafe { self.put(counts, to, from, len, false) };
        }
        let lane = counts.lane(to.pe, self.peers.n());
        if !(self.ordered && lane.only_writes()) {
            self.wait(|| lane.under_way() == 0);
        }
        let (ep, address) = (self.endpoint.ep, peer.address);
        // SAFETY: the caller's promise.
        self.submit(to.pe, || unsafe {
            sys::fi_inject_write(ep, from.cast(), len, address, spot.address, spot.key)
        });
    }

    /// # Safety
    /// See [`Fabric::get`](crate::Fabric::get).
    pub(crate) unsafe fn get(
        &self,
        counts: Option<&Counts>,
        to: *mut u8,
        from: Remote,
        len: usize,
    ) {
        if len == 0 {
            return;
        }
        if counts.is_none()
            && len <= LONGEST
            && let Some(answer) = self.ask(from, Question::Read(len))
        {
            // SAFETY: the caller's promise; an answer is as long as what is asked, or longer.
            unsafe { ptr::copy_nonoverlapping(answer.as_ptr(), to, len) };
            return;
        }
        let left = AtomicUsize::new(0);
        let lane = counts.map(|counts| (counts, counts.lane(from.pe, self.peers.n())));
        let tally = || match lane {
            Some((counts, lane)) => Tally::stream(counts, lane, false),
            None => waited(&left),
        };
        // SAFETY: the caller's promise.
        unsafe {
            if self.buffers.needed() && len <= self.buffers.slot_len() {
                self.move_copied(Way::Read, from, to, len, &tally);
            } else {
                self.move_direct(Way::Read, from, to, len, &tally);
            }
        }
        if counts.is_none() {
            self.wait(|| left.load(Acquire) == 0);
        }
    }
}

/// One more operation for a waiter.
pub(crate) fn waited(left: &AtomicUsize) -> Tally {
    left.fetch_add(1, Relaxed);
    Tally::waiter(left)
}
