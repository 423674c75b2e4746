//! One pass over memory: a few sources folded into a few destinations.
//!
//! Four registers are loaded from the first source, combined with the same elements of the
//! others, and stored to all destinations. So each element is read once and written once, and
//! nothing is written before the same elements of all sources are read.

use std::marker::PhantomData;

use super::level::{self, Work};
use super::vector::{Combine, Least, Vector, lanes};

/// Folds `n` elements of the sources, in their order, into all destinations.
///
/// # Safety
/// There is a source. All are valid for `n` elements. Any destination may be the same as any
/// source, otherwise none overlap.
pub(super) type Pass = unsafe fn(dests: &[*mut u8], sources: &[*const u8], n: usize);

/// The pass of an operator on a type.
///
/// # Safety
/// See [`Pass`].
pub(super) unsafe fn pass<T: Combine<Op>, Op>(dests: &[*mut u8], sources: &[*const u8], n: usize) {
    let pass = Fold::<T, Op> {
        dests,
        sources,
        n,
        operator: PhantomData,
    };
    level::run(pass);
}

/// The arguments of a pass, which are as [`Pass`] says.
struct Fold<'a, T, Op> {
    dests: &'a [*mut u8],
    sources: &'a [*const u8],
    n: usize,
    operator: PhantomData<(T, Op)>,
}

impl<T: Combine<Op>, Op> Work for Fold<'_, T, Op> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let n = self.n;
        if n >= lanes::<V, T>() {
            // The last register ends with the last element. It is folded before anything is
            // written, because its first elements may be written by the loops too: with the
            // same values.
            let last = n - lanes::<V, T>();
            // SAFETY: all registers begin at `last` or before it.
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
        } else if n >= lanes::<Least, T>() {
            let last = n - lanes::<Least, T>();
            // SAFETY: as above.
            unsafe {
                let folded = self.register::<Least>(last);
                let mut at = 0;
                while at < last {
                    self.store(at, self.register::<Least>(at));
                    at += lanes::<Least, T>();
                }
                self.store(last, folded);
            }
        } else {
            for at in 0..n {
                // SAFETY: element `at` exists.
                unsafe { self.element(at) };
            }
        }
    }
}

impl<T: Combine<Op>, Op> Fold<'_, T, Op> {
    /// Folds four registers from element `at` on. They are spelled out because compilers put
    /// arrays of them into memory.
    ///
    /// # Safety
    /// They end within the `n` elements.
    #[inline(always)]
    unsafe fn four_registers<V: Vector>(&self, at: usize) {
        // SAFETY: the caller's promise, and that of the pass; there is a first source.
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
        // SAFETY: the caller's promise, and that of the pass; there is a first source.
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
            // SAFETY: the caller's promise, and that of the pass.
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
        // SAFETY: the caller's promise, and that of the pass; there is a first source.
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

/// In a loop, keeps the compiler from unrolling it and from making gathers of it: the loops
/// over sources and destinations are short, and there are many copies of them.
#[inline(always)]
fn keep_rolled() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: there is no instruction in it.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}
