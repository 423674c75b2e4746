//! How a function of the C API is defined.

pub(crate) use std::ffi::{c_char, c_int, c_long, c_void};

pub(crate) use ferroshmem_core::api::team::TeamConfig;
pub(crate) use ferroshmem_core::api::{
    Complex, active, amo, collective, context, lock, memory, ops, p2p, rma, setup, signal, team,
};

pub(crate) use crate::generated::constants::*;
pub(crate) use crate::long_double::LongDouble;
pub(crate) use crate::startup;

/// `shmem_ctx_session_config_t`: hints, which the runtime ignores.
pub(crate) type SessionConfig = c_void;

/// Bytes of `n` elements, or `usize::MAX` if the number exceeds it.
#[inline]
pub(crate) fn bytes(n: usize, size: usize) -> usize {
    n.saturating_mul(size)
}

/// Defines functions of the C API: `"name"(parameters) -> type = expression;` becomes the
/// function `pname` and its weak alias `name`, side by side in one object file.
macro_rules! c_api {
    ($($name:literal($($arg:ident: $ty:ty),*) $(-> $ret:ty)? = $body:expr;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("p", $name))]
            #[allow(unused_unsafe, reason = "some routines are safe")]
            #[allow(clippy::too_many_arguments, reason = "the standard's prototypes")]
            unsafe extern "C" fn entry($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the C caller promises what the standard requires of the arguments, which is
                // all that the runtime requires.
                unsafe { c_api!(@body $($ret)?, $body) }
            }
        };
        std::arch::global_asm!(
            concat!(".weak ", $name),
            concat!(".type ", $name, ", %function"),
            concat!(".set ", $name, ", p", $name),
        );
    )*};
    (@body , $body:expr) => {{ $body; }};
    (@body $ret:ty, $body:expr) => { $body };
}
