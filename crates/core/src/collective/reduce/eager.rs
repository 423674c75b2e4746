//! Small reductions with one synchronisation: each member shows its values in library memory,
//! so sources may be reused at once and destinations are written by their owners alone.

use super::Reduction;
use crate::job::region::SMALL;

/// # Safety
/// That of [`super::reduce`]; the values fit the eager buffer.
pub(super) unsafe fn reduce(r: &Reduction<'_>) {
    let (me, size, n) = (r.group.me, r.group.size, r.n);
    let (dest, source) = (r.dest.of(me), r.source.of(me));
    let epoch = r.group.epoch();
    if r.group.has_last() && n * r.op.size <= SMALL {
        // Each page more that a PE touches costs a look into the page tables every time that
        // it comes to run: few bytes travel on lines that are looked at anyway.
        let given = |m: usize| epoch.given(m).cast_const();
        // SAFETY: the caller's promise; all have room for the values. The last to arrive reads
        // what all gave before they arrived, and all read its result before they arrive again.
        unsafe {
            r.copy(epoch.given(me), source, n);
            epoch.synchronise_with(|| r.fold((&|_| epoch.result(), 1), (&given, size), n, false));
            r.copy(dest, epoch.result(), n);
        }
        return;
    }
    let shown = |m: usize| epoch.eager(m).cast_const();
    // SAFETY: the caller's promise for `dest` and `source`; the buffers are large enough,
    // aligned, and read only after all members have written theirs (see `Epoch::eager`).
    unsafe {
        epoch.show(source, n * r.op.size);
        if r.group.has_last() {
            // Before the others go on, the last one works alone in all buffers.
            epoch.synchronise_with(|| {
                r.fold((&|_| epoch.eager(0), 1), (&shown, size), n, false);
            });
            r.copy(dest, shown(0), n);
        } else {
            epoch.synchronise();
            r.fold((&|_| dest, 1), (&shown, size), n, false);
        }
    }
}
