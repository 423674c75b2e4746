//! The least or greatest of values and where it is: the operators of pairs of a value and an index (`MPI_MINLOC`,
//! `MPI_MAXLOC`).

use super::Operator;

/// A value and its index, as C programs have them side by side.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Which one it is.
    pub index: i32,
}

/// `dest[i]` = the pair with the less or with `GREATEST` the greater value; of equal ones, that with the less index. A
/// NaN stays only if it comes first.
///
/// # Safety
/// The arrays are aligned and valid for `n` pairs.
unsafe extern "C" fn locate<T: Copy + PartialOrd, const GREATEST: bool>(
    dest: *mut u8,
    a: *const u8,
    b: *const u8,
    n: usize,
) {
    let (dest, a, b) = (dest.cast::<Located<T>>(), a.cast::<Located<T>>(), b.cast::<Located<T>>());
    for i in 0..n {
        // SAFETY: the caller promises `n` pairs.
        unsafe {
            let (x, y) = (a.add(i).read(), b.add(i).read());
            let is_better = if GREATEST { y.value > x.value } else { y.value < x.value };
            let takes_y = is_better || y.value == x.value && y.index < x.index;
            dest.add(i).write(if takes_y { y } else { x });
        }
    }
}

macro_rules! located {
    ($($t:ty: $any_order:literal),*) => {$(
        impl Located<$t> {
            /// The operator.
            pub fn operator(greatest: bool) -> &'static Operator {
                static LEAST: Operator =
                    Operator::by(locate::<$t, false>, size_of::<Located<$t>>(), $any_order, true);
                static GREATEST: Operator =
                    Operator::by(locate::<$t, true>, size_of::<Located<$t>>(), $any_order, true);
                if greatest { &GREATEST } else { &LEAST }
            }
        }
    )*};
}

located!(i32: true, i64: true, f32: false, f64: false);
