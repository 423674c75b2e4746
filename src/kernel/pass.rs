//! One pass over memory: a few sources folded into a few destinations.
//!
//! A bundle of registers is loaded from the first source, combined with the same elements of
//! the others, and stored to all destinations. So each element is read once and written once,
//! and nothing is written before all sources of the bundle are read.

use std::marker::PhantomData;

use super::level::{self, Work};
use super::vector::{Combine, Least, Vector, lanes};

/// Registers taken at a time from one source.
const BUNDLE: usize = 4;

/// Folds `n` elements of the sources, in their order, into all destinations.
///
/// # Safety
/// There is a source. All are valid for `n` elements. Any destination may be the same as any
/// source, otherwise none overlap.
pub type Pass = unsafe fn(dests: &[*mut u8], sources: &[*const u8], n: usize);

/// The pass of an operator on a type.
///
/// # Safety
/// See [`Pass`].
pub unsafe fn pass<T: Combine<Op>, Op>(dests: &[*mut u8], sources: &[*const u8], n: usize) {
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
                let folded = self.bundle::<V, 1>(last);
                let step = BUNDLE * lanes::<V, T>();
                let mut at = 0;
                while at + step <= n {
                    self.store(at, self.bundle::<V, BUNDLE>(at));
                    at += step;
                }
                while at < last {
                    self.store(at, self.bundle::<V, 1>(at));
                    at += lanes::<V, T>();
                }
                self.store(last, folded);
            }
        } else if n >= lanes::<Least, T>() {
            let last = n - lanes::<Least, T>();
            // SAFETY: as above.
            unsafe {
                let folded = self.bundle::<Least, 1>(last);
                let mut at = 0;
                while at < last {
                    self.store(at, self.bundle::<Least, 1>(at));
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
    /// The fold of the `K` registers that begin at element `at`.
    ///
    /// # Safety
    /// They end within the `n` elements.
    #[inline(always)]
    unsafe fn bundle<V: Vector, const K: usize>(&self, at: usize) -> [V; K] {
        // SAFETY: the caller's promise, and that of the pass; there is a first source.
        unsafe {
            let load = |source: &*const u8| source.cast::<T>().add(at).cast::<[V; K]>();
            let (first, others) = self.sources.split_first().unwrap_unchecked();
            let mut acc = load(first).read_unaligned();
            for source in others {
                let values = load(source).read_unaligned();
                for (acc, value) in acc.iter_mut().zip(values) {
                    *acc = T::combine_lanes(*acc, value);
                }
                keep_rolled();
            }
            acc
        }
    }

    /// Stores registers to all destinations from element `at` on.
    ///
    /// # Safety
    /// As for `bundle`.
    #[inline(always)]
    unsafe fn store<V: Vector, const K: usize>(&self, at: usize, values: [V; K]) {
        for dest in self.dests {
            // SAFETY: the caller's promise, and that of the pass.
            unsafe {
                let place = dest.cast::<T>().add(at).cast::<[V; K]>();
                place.write_unaligned(values);
            }
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
