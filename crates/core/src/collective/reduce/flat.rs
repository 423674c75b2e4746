//! The flat tree: one member reduces all sources and hands out the result (Namashivayam et al.:
//! T = p·alpha + 2n(p - 1)·beta + n(p - 1)·gamma).

use super::Reduction;
use crate::collective::scratch::with_scratch;

/// One member reads every source and writes every destination: the last to arrive if there
/// is one and the arrays are not large, else member 0.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn direct(r: &Reduction<'_>) {
    let size = r.group.size;
    let bytes = 2 * size * r.n * r.op.size;
    r.group.have_one_work(0, bytes, || {
        let (dest, source) = (|m| r.dest.of(m), |m| r.source.of(m).cast_const());
        // SAFETY: the caller's promise; all members are here, and one alone works.
        unsafe { r.fold((&dest, size), (&source, size), r.n, false) };
    });
}

/// Member 0 gets every source, and puts the result to every destination.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn put_get(r: &Reduction<'_>) {
    r.group.sync();
    if r.group.me == 0 {
        with_scratch(|message| {
            for r in r.segments() {
                let (sum, n) = (r.dest.of(0), r.n);
                // SAFETY: the caller's promise; the buffer has room for a segment, and between
                // the synchronisations member 0 alone works.
                unsafe {
                    r.copy(sum, r.source.of(0), n);
                    for member in 1..r.group.size {
                        r.get(message, &r.source, member, n);
                        r.combine(sum, sum, message, n);
                    }
                    for member in 1..r.group.size {
                        r.put(&r.dest, member, sum, n);
                    }
                }
            }
        });
    }
    r.group.leave();
}
