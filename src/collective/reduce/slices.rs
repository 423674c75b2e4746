//! Slices: each member reduces its own part of the elements straight from all sources, and
//! stores it to all destinations. Each PE reads n bytes and writes n, as few as can be, and
//! each cache line is written by one PE.

use super::Reduction;
use crate::collective::slice_of;
use crate::kernel::{self, Reduce};

/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn reduce<T: Reduce<Op>, Op>(r: &Reduction<'_, T, Op>) {
    let size = r.group.size;
    let mine = slice_of(r.group, r.n, size_of::<T>());
    let streaming = kernel::streaming_pays(2 * size * r.n * size_of::<T>());
    r.group.sync();
    if !mine.is_empty() {
        let (dest, source) = (r.dest.from(mine.start), r.source.from(mine.start));
        let (dest, source) = (|m| dest.of(m), |m| source.of(m).cast_const());
        // SAFETY: the caller's promise; between the synchronisations nobody else reads or
        // writes these elements.
        unsafe { r.fold((&dest, size), (&source, size), mine.len(), streaming) };
    }
    r.group.leave();
}
