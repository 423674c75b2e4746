//! Prefix sums over the members (standard, `shmem_sum_inscan`, `shmem_sum_exscan`). Sources
//! are added in the members' order, whatever the algorithm: same inputs, same bits.

use std::mem::MaybeUninit;

use ferroshmem_core::group::{Group, MemberAddresses, ValueOf};
use ferroshmem_layout::{RING_BYTES, RingValue};
use ferroshmem_simd::Operator;
use ferroshmem_tuning::{Algorithm, Collective, EAGER, SCAN_RING_MEMBERS};

use super::slices_of;

/// One call.
struct Scan<'a> {
    group: &'a Group<'a>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
    /// Elements.
    n: usize,
    /// The sum of the elements' type.
    op: &'static Operator,
    inclusive: bool,
}

/// `dest[i]` on member m = sum of `source[i]` over members 0 to m, or to m - 1 if not
/// `inclusive` (then 0 on member 0).
///
/// # Safety
/// `dest` and `source` are valid for `n` elements on every member, and aligned; they are the
/// same or do not overlap.
#[inline(never)] // its callers are optimised for size
pub unsafe fn scan<'a>(
    group: &'a Group<'a>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
    n: usize,
    op: &'static Operator,
    inclusive: bool,
) {
    let scan = Scan { group, dest, source, n, op, inclusive };
    let bytes = n * op.size();
    let in_place = dest.of(group.me) == source.of(group.me);
    let choice = group.choose(Collective::Scan, bytes);
    // SAFETY: the caller promises aligned arrays of `n` elements on every member, the same or not
    // overlapping.
    unsafe {
        match choice.algorithm {
            Algorithm::Eager if bytes <= EAGER && group.size > 1 => {
                let is_aligned = op.size() <= align_of::<RingValue>();
                if bytes <= RING_BYTES && group.size <= SCAN_RING_MEMBERS && is_aligned {
                    scan.pipelined();
                } else {
                    scan.eager();
                }
            }
            Algorithm::Pull if !in_place => scan.pull(),
            _ => scan.slices(),
        }
    }
}

impl Scan<'_> {
    /// Each member leaves its source in library memory, waits for the members before it alone, and adds up
    /// their sources and its own.
    ///
    /// # Safety
    /// That of [`scan`]; for all methods below.
    unsafe fn pipelined(&self) {
        let source = self.source.of(self.group.me).cast_const();
        // SAFETY: the caller promises arrays of `n` elements, whose copies are read while they last.
        unsafe {
            let mut add_up = |value: &ValueOf<'_>| self.add_up(value);
            self.group.scan_small(source, self.n * self.op.size(), &mut add_up);
        }
    }

    /// Each member copies its source to library memory, and adds up the sources up to its own.
    unsafe fn eager(&self) {
        let epoch = self.group.epoch();
        // SAFETY: the caller promises arrays of `n` elements; the buffers are read after all of them
        // are written.
        unsafe {
            epoch.write_eager(self.source.of(self.group.me), self.n * self.op.size());
            epoch.synchronise();
            self.add_up(&|m| epoch.eager(m).cast_const());
        }
    }

    /// Each member adds up the sources before its own.
    unsafe fn pull(&self) {
        self.group.sync();
        // SAFETY: the caller promises arrays of `n` elements on every member; no member writes a
        // source.
        unsafe { self.add_up(&|m| self.source.of(m).cast_const()) };
        self.group.leave();
    }

    /// Writes the sum of the sources up to this member to its destination.
    unsafe fn add_up(&self, source: &ValueOf<'_>) {
        let me = self.group.me;
        let dest = self.dest.of(me);
        let count = me + usize::from(self.inclusive);
        let bytes = self.n * self.op.size();
        self.group.traffic().moved(count * bytes, bytes);
        // SAFETY: the caller promises arrays of `n` elements on every member; all bytes zero are the
        // number 0 in every type that has a sum.
        unsafe {
            if count == 0 {
                dest.write_bytes(0, bytes);
            } else if !self.op.commutes {
                // A fold rounds numbers of 16 bits once; the other algorithms round them at each member.
                dest.copy_from_nonoverlapping(source(0), bytes);
                (1..count).for_each(|m| (self.op.combine)(dest, dest, source(m), self.n));
            } else {
                self.op.fold(false, (&|_| dest, 1), (source, count), self.n, false);
            }
        }
    }

    /// Each member works on its own part of the elements, for all members.
    unsafe fn slices(&self) {
        let work = slices_of(self.group, self.n, self.op.size(), 2 * self.group.size);
        let step = BLOCK / self.op.size();
        self.group.share_work(work, |part| {
            let mut buffers = [Buffer::new(), Buffer::new()];
            for start in part.clone().step_by(step) {
                let len = step.min(part.end - start);
                let [sum, next] = &mut buffers;
                // SAFETY: the caller promises arrays of `n` elements on every member; all members
                // have entered, and no other member uses these elements; the buffers have room.
                unsafe { self.sum_block(start, len, sum.as_mut_ptr(), next.as_mut_ptr()) };
            }
        });
    }

    /// Sums `len` elements from `start` on, for all members; `sum` and `next` have room for them.
    unsafe fn sum_block(&self, start: usize, len: usize, mut sum: *mut u8, mut next: *mut u8) {
        let (at, bytes) = (start * self.op.size(), len * self.op.size());
        // SAFETY: the caller promises arrays of `n` elements on every member, and room in `sum` and
        // `next`; all bytes zero are the number 0. A source is read before the destination, which
        // may be the same, is written.
        unsafe {
            sum.write_bytes(0, bytes);
            for member in 0..self.group.size {
                let source = self.source.from(at).of(member);
                let dest = self.dest.from(at).of(member);
                self.group.traffic().moved(bytes, bytes);
                if member == 0 {
                    // Not 0 + source: that would lose the sign of -0.0.
                    next.copy_from_nonoverlapping(source, bytes);
                } else {
                    (self.op.combine)(next, sum, source, len);
                }
                dest.copy_from_nonoverlapping(if self.inclusive { next } else { sum }, bytes);
                (sum, next) = (next, sum);
            }
        }
    }
}

/// Bytes added up at a time: they stay in the first-level cache.
const BLOCK: usize = 4096;

/// Partial sums of a block.
#[repr(align(64))]
struct Buffer(MaybeUninit<[u8; BLOCK]>);

impl Buffer {
    fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
