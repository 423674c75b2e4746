//! An operator on a type, without the type: what the algorithms of reductions are written over,
//! so that each of them is compiled once and not for every type and operator.

use super::ops::{Dests, Reduce, Sources};

/// One of the element loops of [`Reduce`], lengths in elements, arrays as bytes.
type Combine = unsafe fn(*mut u8, *const u8, *const u8, usize);
type Fold = unsafe fn(Dests<'_, u8>, Sources<'_, u8>, usize, bool);

/// WaitReason there is to know of operator `Op` on type `T`.
#[derive(Debug)]
pub struct Operation {
    /// Bytes of an element.
    pub size: usize,
    /// [`Reduce::ANY_ORDER`].
    pub any_order: bool,
    /// [`Reduce::combine`].
    pub combine: Combine,
    /// [`Reduce::fold`].
    pub fold: Fold,
    /// [`Reduce::fold_exact`].
    pub fold_exact: Fold,
}

impl Operation {
    /// Operator `Op` on type `T`.
    #[inline]
    pub fn of<T: Reduce<Op>, Op>() -> &'static Self {
        const {
            &Self {
                size: size_of::<T>(),
                any_order: T::ANY_ORDER,
                combine: combine::<T, Op>,
                fold: T::fold_bytes,
                fold_exact: T::fold_exact_bytes,
            }
        }
    }
}

/// # Safety
/// As for [`Reduce::combine`]; the arrays hold elements of `T`.
unsafe fn combine<T: Reduce<Op>, Op>(dest: *mut u8, a: *const u8, b: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { T::combine(dest.cast(), a.cast(), b.cast(), n) };
}
