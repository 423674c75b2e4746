//! Folding any number of sources into any number of destinations.
//!
//! A [`Pass`] over memory folds a few sources into a few destinations. It loads four registers
//! of the first source, combines them with the same elements of the other sources, and stores
//! them to all destinations. So a pass reads each element once and writes each element once,
//! and reads the same elements of all sources before it writes them.
//!
//! [`fold`] cuts more sources into groups, one pass for each, and the arrays into blocks that
//! stay in the first-level cache between passes.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::combine::Combine;
use super::copy::stream_unordered;
use super::level::{self, ElementLoop};
use super::registers::Register128;
use super::vector::{Vector, lanes, stream_fence};

/// Where the arrays of a reduction begin, by their number: a function and how many there are.
pub type Dests<'a, T> = (&'a dyn Fn(usize) -> *mut T, usize);
/// As [`Dests`], for arrays that are read.
pub type Sources<'a, T> = (&'a dyn Fn(usize) -> *const T, usize);

/// Most sources of a pass. With fewer, partial results are stored and loaded more often; with
/// many more, the prefetchers do not follow, and memory is read at less than its speed.
const PASS_SOURCES: usize = 16;
/// Most destinations of a pass. For more, folded elements go through a [`FoldBuffer`].
const PASS_DESTS: usize = 4;
/// Bytes of each source that are folded at a time if there is more than one pass: enough for
/// prefetchers to pay, and few enough for the first-level cache.
pub(super) const BLOCK: usize = 8192;

/// Folded elements on their way to the destinations.
#[repr(C, align(64))]
pub(super) struct FoldBuffer([MaybeUninit<u8>; BLOCK]);

impl FoldBuffer {
    /// An uninitialised block.
    #[inline]
    pub(super) fn new() -> Self {
        Self([MaybeUninit::uninit(); BLOCK])
    }

    /// The first byte.
    #[inline]
    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// [`Reduce::fold`](super::Reduce::fold) of elements that are combined as `R`.
///
/// # Safety
/// As for `Reduce::fold`.
#[inline]
pub(super) unsafe fn fold<R: Combine<Op>, Op>(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
    let ((dest, dest_count), (source, count)) = (dests, sources);
    // SAFETY: the caller promises at least one source, and that all arrays are aligned and valid
    // for `n` elements and overlap only where they are the same.
    unsafe {
        if n == 1 {
            let mut acc = source(0).cast::<R>().read();
            for k in 1..count {
                acc = R::combine(acc, source(k).cast::<R>().read());
            }
            for k in 0..dest_count {
                dest(k).cast::<R>().write(acc);
            }
        } else if count <= PASS_SOURCES && dest_count <= PASS_DESTS && !streaming {
            at_once(pass::<R, Op>, dests, sources, n);
        } else {
            by_blocks(pass::<R, Op>, size_of::<R>(), dests, sources, n, streaming);
        }
    }
}

/// [`Reduce::combine`](super::Reduce::combine) of elements `R`.
///
/// # Safety
/// As for `Reduce::combine`.
#[inline]
pub(super) unsafe fn combine<R: Combine<Op>, Op>(dest: *mut R, a: *const R, b: *const R, n: usize) {
    // SAFETY: the caller promises that all arrays are aligned and valid for `n` elements, and
    // that `dest` is the same as `a` or `b` or overlaps neither.
    unsafe {
        if n == 1 {
            dest.write(R::combine(a.read(), b.read()));
        } else {
            pass::<R, Op>(&[dest.cast()], &[a.cast(), b.cast()], n);
        }
    }
}

/// Folds in a single pass.
///
/// # Safety
/// As for `fold`; there are at most [`PASS_DESTS`] destinations and [`PASS_SOURCES`] sources.
unsafe fn at_once(pass: PassFn, (dest, dest_count): Dests<u8>, (source, count): Sources<u8>, n: usize) {
    let mut from = [std::ptr::null(); PASS_SOURCES];
    for (k, from) in from[..count].iter_mut().enumerate() {
        *from = source(k);
    }
    let mut to = [std::ptr::null_mut(); PASS_DESTS];
    for (k, to) in to[..dest_count].iter_mut().enumerate() {
        *to = dest(k);
    }
    // SAFETY: the caller promises what a pass asks for: a source, and arrays that are valid for
    // `n` elements and overlap only where they are the same.
    unsafe { pass(&to[..dest_count], &from[..count], n) }
}

/// Folds block by block, in groups of about equally many sources.
///
/// # Safety
/// As for `fold`; elements have `size` bytes.
unsafe fn by_blocks(
    pass: PassFn,
    size: usize,
    dests: Dests<u8>,
    (source, count): Sources<u8>,
    n: usize,
    streaming: bool,
) {
    let mut block = FoldBuffer::new();
    let acc = block.start();
    let group = count.div_ceil(count.div_ceil(PASS_SOURCES));
    for start in (0..n).step_by(BLOCK / size) {
        let len = (BLOCK / size).min(n - start);
        for first in (0..count).step_by(group) {
            // The first operand is the result of the groups before.
            let mut from = [acc.cast_const(); 1 + PASS_SOURCES];
            let some = group.min(count - first);
            for (k, from) in from[1..=some].iter_mut().enumerate() {
                *from = source(first + k).wrapping_add(start * size);
            }
            let from = &from[usize::from(first == 0)..=some];
            // SAFETY: the caller promises that the sources are valid for `n` elements; the block
            // has room for `len`.
            unsafe { pass(&[acc], from, len) };
        }
        // SAFETY: the block holds `len` elements, and the caller promises that the destinations
        // are valid for `n`.
        unsafe { spread(acc, dests, start * size, len * size, streaming) };
    }
    if streaming {
        stream_fence();
    }
}

/// Copies `len` bytes to all destinations, from byte `start` of those on. If `streaming`, a
/// [`stream_fence`] must follow.
///
/// # Safety
/// `folded` is readable for `len` bytes, and the destinations are writable for `start + len`.
pub(super) unsafe fn spread(
    folded: *const u8,
    (dest, dest_count): Dests<u8>,
    start: usize,
    len: usize,
    streaming: bool,
) {
    for k in 0..dest_count {
        // SAFETY: the caller promises `len` readable bytes at `folded`, and `start + len`
        // writable ones in each destination, none of which is on this stack frame's block.
        unsafe {
            let dest = dest(k).add(start);
            if streaming {
                stream_unordered(dest, folded, len);
            } else {
                dest.copy_from_nonoverlapping(folded, len);
            }
        }
    }
}

/// Folds `n` elements of the sources, in their order, into all destinations.
///
/// # Safety
/// There is a source. All arrays are valid for `n` elements. Any destination may be the same as
/// any source; otherwise none overlap.
type PassFn = unsafe fn(dests: &[*mut u8], sources: &[*const u8], n: usize);

/// The pass of an operator on a type.
///
/// # Safety
/// As for [`PassFn`].
unsafe fn pass<T: Combine<Op>, Op>(dests: &[*mut u8], sources: &[*const u8], n: usize) {
    level::dispatch(Pass::<T, Op> { dests, sources, n, operator: PhantomData });
}

/// The arguments of a pass, which keep the promises of [`PassFn`].
struct Pass<'a, T, Op> {
    dests: &'a [*mut u8],
    sources: &'a [*const u8],
    n: usize,
    operator: PhantomData<(T, Op)>,
}

impl<T: Combine<Op>, Op> ElementLoop for Pass<'_, T, Op> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let n = self.n;
        if n >= lanes::<V, T>() {
            // The last register ends with the last element. It is folded before any store,
            // because the loops may store its first elements too: the same values.
            let last = n - lanes::<V, T>();
            // SAFETY: all registers begin at `last` or before it, so they end within `n`.
            unsafe {
                let folded = self.register::<V>(last);
                let mut at = 0;
                while at + 4 * lanes::<V, T>() <= n {
                    self.four_registers::<V>(at);
                    at += 4 * lanes::<V, T>();
                }
                while at < last {
                    self.store(at, self.register::<V>(at));
                    at += lanes::<V, T>();
                }
                self.store(last, folded);
            }
        } else if n >= lanes::<Register128, T>() {
            let last = n - lanes::<Register128, T>();
            // SAFETY: all registers begin at `last` or before it, so they end within `n`.
            unsafe {
                let folded = self.register::<Register128>(last);
                let mut at = 0;
                while at < last {
                    self.store(at, self.register::<Register128>(at));
                    at += lanes::<Register128, T>();
                }
                self.store(last, folded);
            }
        } else {
            for at in 0..n {
                // SAFETY: `at` is less than `n`.
                unsafe { self.element(at) };
            }
        }
    }

    #[inline(always)]
    fn run_scalable(self) {
        if self.n < 4 * lanes::<Register128, T>() {
            return self.run::<Register128>();
        }
        let mut block = FoldBuffer::new();
        let acc = block.start().cast::<T>();
        let (first, others) = self.sources.split_first().expect("a pass has a source");
        for start in (0..self.n).step_by(BLOCK / size_of::<T>()) {
            let len = (BLOCK / size_of::<T>()).min(self.n - start);
            // SAFETY: the block has room for `len` elements, and the pass promises arrays of `n`, none of which is on
            // this stack frame.
            unsafe {
                acc.copy_from_nonoverlapping(first.cast::<T>().add(start), len);
                for source in others {
                    let source = source.cast::<T>().add(start);
                    for at in 0..len {
                        acc.add(at).write(T::combine(acc.add(at).read(), source.add(at).read()));
                    }
                }
                for dest in self.dests {
                    dest.cast::<T>().add(start).copy_from_nonoverlapping(acc, len);
                }
            }
        }
    }
}

impl<T: Combine<Op>, Op> Pass<'_, T, Op> {
    /// Folds four registers from element `at` on. Each has a variable of its own because
    /// compilers keep arrays of registers in memory.
    ///
    /// # Safety
    /// They end within the `n` elements.
    #[inline(always)]
    unsafe fn four_registers<V: Vector>(&self, at: usize) {
        // SAFETY: the caller promises that the registers end within the `n` elements, the pass
        // that its arrays are valid for `n` elements and that there is a first source.
        unsafe {
            let (first, others) = self.sources.split_first().unwrap_unchecked();
            let first = first.cast::<T>().add(at).cast::<V>();
            let mut a = first.read_unaligned();
            let mut b = first.add(1).read_unaligned();
            let mut c = first.add(2).read_unaligned();
            let mut d = first.add(3).read_unaligned();
            for source in others {
                let source = source.cast::<T>().add(at).cast::<V>();
                a = T::combine_lanes(a, source.read_unaligned());
                b = T::combine_lanes(b, source.add(1).read_unaligned());
                c = T::combine_lanes(c, source.add(2).read_unaligned());
                d = T::combine_lanes(d, source.add(3).read_unaligned());
                keep_rolled();
            }
            for dest in self.dests {
                let dest = dest.cast::<T>().add(at).cast::<V>();
                dest.write_unaligned(a);
                dest.add(1).write_unaligned(b);
                dest.add(2).write_unaligned(c);
                dest.add(3).write_unaligned(d);
                keep_rolled();
            }
        }
    }

    /// The fold of the register that begins at element `at`.
    ///
    /// # Safety
    /// It ends within the `n` elements.
    #[inline(always)]
    unsafe fn register<V: Vector>(&self, at: usize) -> V {
        // SAFETY: the caller promises that the registers end within the `n` elements, the pass
        // that its arrays are valid for `n` elements and that there is a first source.
        unsafe {
            let (first, others) = self.sources.split_first().unwrap_unchecked();
            let mut acc = first.cast::<T>().add(at).cast::<V>().read_unaligned();
            for source in others {
                let value = source.cast::<T>().add(at).cast::<V>().read_unaligned();
                acc = T::combine_lanes(acc, value);
                keep_rolled();
            }
            acc
        }
    }

    /// Stores a register to all destinations from element `at` on.
    ///
    /// # Safety
    /// As for `register`.
    #[inline(always)]
    unsafe fn store<V: Vector>(&self, at: usize, value: V) {
        for dest in self.dests {
            // SAFETY: the caller promises that the register ends within the `n` elements, the
            // pass that its destinations are valid for `n` elements.
            unsafe { dest.cast::<T>().add(at).cast::<V>().write_unaligned(value) };
            keep_rolled();
        }
    }

    /// Folds a single element.
    ///
    /// # Safety
    /// There are more than `at` elements.
    #[inline(always)]
    unsafe fn element(&self, at: usize) {
        // SAFETY: the caller promises that the registers end within the `n` elements, the pass
        // that its arrays are valid for `n` elements and that there is a first source.
        unsafe {
            let (first, others) = self.sources.split_first().unwrap_unchecked();
            let mut acc = first.cast::<T>().add(at).read();
            for source in others {
                acc = T::combine(acc, source.cast::<T>().add(at).read());
                keep_rolled();
            }
            for dest in self.dests {
                dest.cast::<T>().add(at).write(acc);
                keep_rolled();
            }
        }
    }
}

/// Keeps the compiler from unrolling the loop around it and from making gather instructions of
/// it: the loops over sources and destinations are short, and there are many copies of them.
#[inline(always)]
fn keep_rolled() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: there is no instruction in it.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}
