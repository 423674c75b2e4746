//! AtomicOp operations on remote words.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::context::Counts;
use crate::engine::Engine;
use crate::question::Question;
use crate::record::{Record, Scatter, Tally};
use crate::transfer::waited;
use crate::{AtomicOp, Op, Remote, Width, sys};

/// Where in a record's data the words of an operation are.
const OPERAND: usize = 0;
const COMPARE: usize = 8;
const RESULT: usize = 16;

impl Width {
    /// Bytes of the word.
    pub fn bytes(self) -> usize {
        match self {
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }

    fn datatype(self) -> sys::fi_datatype {
        match self {
            Width::W32 => sys::FI_UINT32,
            Width::W64 => sys::FI_UINT64,
        }
    }
}

impl Op {
    fn number(self) -> sys::fi_op {
        match self {
            Op::Write | Op::Swap => sys::FI_ATOMIC_WRITE,
            Op::Read => sys::FI_ATOMIC_READ,
            Op::CompareSwap => sys::FI_CSWAP,
            Op::Add => sys::FI_SUM,
            Op::And => sys::FI_BAND,
            Op::Or => sys::FI_BOR,
            Op::Xor => sys::FI_BXOR,
        }
    }
}

impl Engine {
    /// Begins an operation whose result nobody wants.
    pub fn post(&self, counts: &Counts, at: Remote, atomic: AtomicOp) {
        assert!(
            !matches!(atomic.op, Op::Read | Op::Swap | Op::CompareSwap),
            "{:?} is an operation with a result",
            atomic.op
        );
        let pe = at.pe;
        let lane = self.lane(counts, pe, false);
        let record = self.record(pe, Tally::stream(counts, lane, false));
        let data = self.words(record, &atomic);
        let peer = self.peer(pe);
        let spot = self.spot(peer, at);
        let datatype = atomic.width.datatype();
        // SAFETY: the record's data lives until the operation is complete.
        unsafe {
            let desc = (*record.as_ptr()).desc;
            self.submit(pe, || {
                sys::fi_atomic(
                    self.endpoint.ep,
                    data.add(OPERAND).cast(),
                    desc,
                    peer.address,
                    spot.address,
                    spot.key,
                    datatype,
                    atomic.op.number(),
                    Record::context(record),
                )
            });
        }
    }

    /// Performs an operation and returns what the word was before.
    pub fn fetch(&self, counts: &Counts, at: Remote, atomic: AtomicOp) -> u64 {
        let lane = self.lane(counts, at.pe, false);
        // A question would overtake what was posted, which rxm keeps in order with its own.
        if lane.only_writes()
            && let Some(answer) = self.ask(at, Question::Fetch(atomic))
        {
            return u64::from_ne_bytes(*answer.first_chunk().expect("more than a word"));
        }
        let left = AtomicUsize::new(0);
        let mut word = 0u64;
        // SAFETY: the word lives until the operation is complete.
        unsafe { self.begin_fetch(at, &atomic, (&raw mut word).cast(), waited(&left)) };
        self.wait(|| left.load(Acquire) == 0);
        // A 32-bit result is the lower half on the little-endian machines that this runs on.
        // SAFETY: written through a pointer.
        unsafe { (&raw const word).read_volatile() }
    }

    /// # Safety
    /// See [`Fabric::fetch_nbi`](crate::Fabric::fetch_nbi).
    pub unsafe fn fetch_nbi(&self, counts: &Counts, at: Remote, atomic: AtomicOp, result: *mut u8) {
        let lane = self.lane(counts, at.pe, false);
        let tally = Tally::stream(counts, lane, false);
        // SAFETY: the caller's promise.
        unsafe { self.begin_fetch(at, &atomic, result, tally) };
    }

    /// # Safety
    /// The result is writable until the operation is complete.
    unsafe fn begin_fetch(&self, at: Remote, atomic: &AtomicOp, result: *mut u8, tally: Tally) {
        let pe = at.pe;
        let record = self.record(pe, tally);
        let data = self.words(record, atomic);
        let peer = self.peer(pe);
        let spot = self.spot(peer, at);
        let datatype = atomic.width.datatype();
        let ep = self.endpoint.ep;
        let context = Record::context(record);
        let op = atomic.op.number();
        // SAFETY: the record's data lives until the operation is complete.
        unsafe {
            let (operand, compare) = (data.add(OPERAND).cast(), data.add(COMPARE).cast());
            let word = data.add(RESULT);
            (*record.as_ptr()).scatter = Some(Scatter {
                from: word,
                to: result,
                step: 0,
                block: atomic.width.bytes(),
                n: 1,
            });
            let desc = (*record.as_ptr()).desc;
            let word = word.cast();
            let (peer, at, key) = (peer.address, spot.address, spot.key);
            self.submit(pe, || match atomic.op {
                Op::CompareSwap => sys::fi_compare_atomic(
                    ep, operand, compare, word, desc, peer, at, key, datatype, op, context,
                ),
                _ => sys::fi_fetch_atomic(
                    ep, operand, word, desc, peer, at, key, datatype, op, context,
                ),
            });
        }
    }

    /// Writes operand and compare value into the record's data.
    fn words(&self, record: NonNull<Record>, atomic: &AtomicOp) -> *mut u8 {
        let data = Record::data(record);
        // SAFETY: room for all three; the data is aligned to 64 bytes. The lower half comes
        // first, so this is right for both widths.
        unsafe {
            data.add(OPERAND).cast::<u64>().write(atomic.operand);
            data.add(COMPARE).cast::<u64>().write(atomic.compare);
        }
        data
    }
}
