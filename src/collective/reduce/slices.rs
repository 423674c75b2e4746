//! Slices: each member reduces its own part of the elements straight from all sources, and
//! stores it to all destinations. All members together read p·n bytes and write p·n, as few as
//! can be, and each cache line is written by one PE.

use super::Reduction;
use crate::collective::slices_of;
use crate::kernel::{self, Reduce};

/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn reduce<T: Reduce<Op>, Op>(r: &Reduction<'_, T, Op>) {
    let size = r.group.size;
    let streaming = kernel::streaming_pays(2 * size * r.n * size_of::<T>());
    let work = slices_of(r.group, r.n, size_of::<T>(), 2 * size);
    r.group.share_out(work, |part| {
        let (dest, source) = (r.dest.from(part.start), r.source.from(part.start));
        let (dest, source) = (|m| dest.of(m), |m| source.of(m).cast_const());
        // SAFETY: the caller's promise; all members are here, and nobody else reads or writes
        // these elements.
        unsafe { r.fold((&dest, size), (&source, size), part.len(), streaming) };
    });
}
