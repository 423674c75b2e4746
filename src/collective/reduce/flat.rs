//! The flat tree: one member reduces all sources and hands out the result (Namashivayam et al.:
//! T = p·alpha + 2n(p - 1)·beta + n(p - 1)·gamma).

use super::Reduction;
use crate::collective::scratch::{SCRATCH, with_scratch};
use crate::kernel::Reduce;

/// One member reads every source and writes every destination: member 0 between two
/// synchronisations; or, where the barrier has a last member to arrive, that one before it
/// lets the others go, so that one synchronisation is enough.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn direct<T: Reduce<Op>, Op>(r: &Reduction<'_, T, Op>) {
    let size = r.group.size;
    let work = || {
        let (dest, source) = (|m| r.dest.of(m), |m| r.source.of(m).cast_const());
        // SAFETY: the caller's promise; all members are here, and one alone works.
        unsafe { r.fold((&dest, size), (&source, size), r.n, false) };
    };
    if r.group.has_last() {
        return r.group.epoch().synchronise_with(work);
    }
    r.group.sync();
    if r.group.me == 0 {
        work();
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
