//! Prefix sums: each member adds up a part of the elements, for all members and in their order,
//! so that the sums have the same bits however the members lie on nodes.

use super::Call;
use crate::collective::scratch::{SCRATCH, with_scratch};
use crate::kernel::Reduce;
use crate::kernel::ops::Sum;

/// As [`crate::collective::scan::scan`].
///
/// # Safety
/// `dest` and `source` are symmetric, aligned and valid for `n` elements; they are the same or
/// do not overlap.
pub unsafe fn scan<T: Reduce<Sum>>(
    call: &Call<'_>,
    dest: *mut T,
    source: *const T,
    n: usize,
    inclusive: bool,
) {
    let longest = SCRATCH / size_of::<T>() / 3;
    let (dest, source) = (call.places(dest), call.places(source));
    let all = call.all();
    call.sync();
    with_scratch(|buffer| {
        let part = |i: usize| {
            buffer
                .wrapping_add(i * longest * size_of::<T>())
                .cast::<T>()
        };
        for piece in call.pieces(n, longest) {
            let at = piece.start * size_of::<T>();
            let (len, bytes) = (piece.len(), piece.len() * size_of::<T>());
            let (operand, mut sum, mut next) = (part(0), part(1), part(2));
            // SAFETY: the caller's promise; all members are here, and these elements are this
            // member's alone; the buffer has room for three pieces; all-zero bytes are the
            // number 0. A source is read before the destination, which may be the same, is
            // written.
            unsafe {
                sum.write_bytes(0, len);
                for member in 0..call.group.size {
                    all.get(operand.cast(), &source.from(at), member, bytes);
                    if member == 0 {
                        // Not 0 + source: that would lose the sign of -0.0.
                        next.copy_from_nonoverlapping(operand, len);
                    } else {
                        T::combine(next, sum, operand, len);
                    }
                    let result = if inclusive { next } else { sum };
                    all.put(&dest.from(at), member, result.cast(), bytes);
                    (sum, next) = (next, sum);
                }
            }
        }
    });
    call.leave();
}
