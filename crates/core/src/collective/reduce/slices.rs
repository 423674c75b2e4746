//! Slices: each member reduces its own part of the elements straight from all sources, and
//! stores it to all destinations. All members together read p·n bytes and write p·n, as few as
//! can be, and each cache line is written by one PE.

use super::Reduction;
use crate::collective::slices_of;
use crate::kernel;

/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn reduce(r: &Reduction<'_>) {
    let size = r.group.size;
    let streaming = kernel::streaming_pays(2 * size * r.n * r.op.size);
    let work = slices_of(r.group, r.n, r.op.size, 2 * size);
    r.group.share_out(work, |part| {
        let r = r.part(part);
        let (dest, source) = (|m| r.dest.of(m), |m| r.source.of(m).cast_const());
        // SAFETY: the caller's promise; all members are here, and nobody else reads or writes
        // these elements.
        unsafe { r.fold((&dest, size), (&source, size), r.n, streaming) };
    });
}
