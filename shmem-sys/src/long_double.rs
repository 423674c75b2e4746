//! `long double`, which Rust does not have: its bytes, and reductions in C.

use ferroshmem_api::Reduce;
use ferroshmem_api::ops::{Max, Min, Prod, Sum};

use crate::entry::*;

/// The bytes of a `long double`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct LongDouble([u8; 16]);

unsafe extern "C" {
    fn shmemi_longdouble_sum(dest: *mut LongDouble, a: *const LongDouble, b: *const LongDouble, n: usize);
    fn shmemi_longdouble_prod(dest: *mut LongDouble, a: *const LongDouble, b: *const LongDouble, n: usize);
    fn shmemi_longdouble_min(dest: *mut LongDouble, a: *const LongDouble, b: *const LongDouble, n: usize);
    fn shmemi_longdouble_max(dest: *mut LongDouble, a: *const LongDouble, b: *const LongDouble, n: usize);
}

macro_rules! reduce {
    ($($op:ty: $function:ident),*) => {$(
        // SAFETY: any bytes are a `LongDouble`, and `combine` writes `n` of them.
        unsafe impl Reduce<$op> for LongDouble {
            const ANY_ORDER: bool = false;

            unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize) {
                // SAFETY: the caller promises that `a` and `b` are readable and `dest` writable for
                // `n` elements.
                unsafe { $function(dest, a, b, n) }
            }
        }
    )*};
}

reduce!(
    Sum: shmemi_longdouble_sum,
    Prod: shmemi_longdouble_prod,
    Min: shmemi_longdouble_min,
    Max: shmemi_longdouble_max
);

/// `shmem_longdouble_p` and `shmem_ctx_longdouble_p`, called from C.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_longdouble_p(
    with_ctx: c_int,
    ctx: usize,
    dest: *mut LongDouble,
    value: *const LongDouble,
    pe: c_int,
) {
    let name = if with_ctx != 0 { "shmem_ctx_longdouble_p" } else { "shmem_longdouble_p" };
    if check::is_due() {
        checks::rma_p(name, 16, 16, ctx, dest.cast(), pe);
    }
    // SAFETY: the C caller promises that `dest` is symmetric; `value` points to its argument.
    unsafe { rma::p(name, ctx, dest, *value, pe) }
}

/// `shmem_longdouble_g` and `shmem_ctx_longdouble_g`, called from C.
#[unsafe(no_mangle)]
unsafe extern "C" fn shmemi_longdouble_g(
    with_ctx: c_int,
    ctx: usize,
    value: *mut LongDouble,
    source: *const LongDouble,
    pe: c_int,
) {
    let name = if with_ctx != 0 { "shmem_ctx_longdouble_g" } else { "shmem_longdouble_g" };
    if check::is_due() {
        checks::rma_g(name, 16, 16, ctx, source.cast(), pe);
    }
    // SAFETY: the C caller promises that `source` is symmetric; `value` points to its result.
    unsafe { *value = rma::g(name, ctx, source, pe) }
}
