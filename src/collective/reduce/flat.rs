//! The flat tree: member 0 reduces all sources and hands out the result (Namashivayam et al.:
//! T = p·alpha + 2n(p - 1)·beta + n(p - 1)·gamma).

use super::Reduction;
use crate::collective::scratch::{SCRATCH, with_scratch};
use crate::kernel::Reduce;

/// Member 0 reads every source and writes every destination.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn direct<T: Reduce<Op>, Op>(r: &Reduction<'_, T, Op>) {
    let size = r.group.size;
    r.group.sync();
    if r.group.me == 0 {
        let (dest, source) = (|m| r.dest.of(m), |m| r.source.of(m).cast_const());
        // SAFETY: the caller's promise; between the synchronisations member 0 alone works.
        unsafe { r.fold((&dest, size), (&source, size), r.n, false) };
    }
    r.group.leave();
}

/// Member 0 gets every source, and puts the result to every destination.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn put_get<T: Reduce<Op>, Op>(r: &Reduction<'_, T, Op>) {
    r.group.sync();
    if r.group.me == 0 {
        let step = SCRATCH / size_of::<T>();
        let mine = r.dest.of(0);
        with_scratch(|message| {
            let message = message.cast::<T>();
            for start in (0..r.n).step_by(step) {
                let n = step.min(r.n - start);
                // SAFETY: the caller's promise; the buffer has room for `step` elements, and
                // between the synchronisations member 0 alone works.
                unsafe {
                    let sum = mine.add(start);
                    r.copy(sum, r.source.of(0).add(start), n);
                    for member in 1..r.group.size {
                        r.copy(message, r.source.of(member).add(start), n);
                        r.combine(sum, sum, message, n);
                    }
                    for member in 1..r.group.size {
                        r.copy(r.dest.of(member).add(start), sum, n);
                    }
                }
            }
        });
    }
    r.group.leave();
}
