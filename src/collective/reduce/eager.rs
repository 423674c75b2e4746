//! Small reductions with one synchronisation: each member shows its values in library memory,
//! so sources may be reused at once and destinations are written by their owners alone.

use super::Reduction;

/// # Safety
/// That of [`super::reduce`]; the values fit the eager buffer.
pub(super) unsafe fn reduce(r: &Reduction<'_>) {
    let (me, size) = (r.group.me, r.group.size);
    let (dest, source) = (r.dest.of(me), r.source.of(me));
    let epoch = r.group.epoch();
    let shown = |m: usize| epoch.eager(m);
    // SAFETY: the caller's promise for `dest` and `source`; the buffers are large enough,
    // aligned, and read only after all members have written theirs (see `Epoch::eager`).
    unsafe {
        epoch.show(source, r.n * r.op.size);
        if r.group.has_last() {
            // Before the others go on, the last one works alone in all buffers.
            epoch.synchronise_with(|| {
                r.fold(
                    (&|_| shown(0), 1),
                    (&|m| shown(m).cast_const(), size),
                    r.n,
                    false,
                )
            });
            r.copy(dest, shown(0), r.n);
        } else {
            epoch.synchronise();
            r.fold(
                (&|_| dest, 1),
                (&|m| shown(m).cast_const(), size),
                r.n,
                false,
            );
        }
    }
}
