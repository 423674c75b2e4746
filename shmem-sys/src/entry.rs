//! How a function of the C API is defined.

pub(crate) use std::ffi::{c_char, c_int, c_long, c_void};

pub(crate) use ferroshmem_api::kernels::{Call as KernelCall, Kernel};
pub(crate) use ferroshmem_api::message::Status as MessageStatus;
pub(crate) use ferroshmem_api::neighbor::Strided;
pub(crate) use ferroshmem_api::space::SpaceConfig;
pub(crate) use ferroshmem_api::spawn::SpawnConfig;
pub(crate) use ferroshmem_api::team::TeamConfig;
pub(crate) use ferroshmem_api::{
    Complex, active, amo, check, collective, context, counter, exports, group, handles, kernels, lock, memory, message,
    neighbor, nonblocking, operators, ops, p2p, port, region, replacement, resilience, rma, setup, signal, space,
    spawn, stream, team, threads,
};

pub(crate) use crate::generated::checks;
pub(crate) use crate::generated::constants::*;
pub(crate) use crate::long_double::LongDouble;
pub(crate) use crate::operator::{atomic, operator};
pub(crate) use crate::startup;

/// `shmem_ctx_session_config_t`: hints, which the runtime ignores.
pub(crate) type SessionConfig = c_void;

/// Bytes of `n` elements, or `usize::MAX` if the number exceeds it.
#[inline]
pub(crate) fn bytes(n: usize, size: usize) -> usize {
    n.saturating_mul(size)
}

/// Defines functions of the C API: `"name" [check] (parameters) -> type = expression;` becomes the
/// function `pname` and its weak alias `name`, side by side in one object file.
///
/// The check, if there is one, comes first where it is due, and the record of the call last. They and a second copy of
/// the expression are a function of their own, which the exported one jumps to with its arguments as they are: so a
/// call without checks pays for a comparison.
macro_rules! c_api {
    ($($name:literal $check:tt ($($arg:ident: $ty:ty),*) $(-> $ret:ty)? = $body:expr;)*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!("p", $name))]
            #[allow(unused_unsafe, reason = "some routines are safe")]
            #[allow(clippy::too_many_arguments, reason = "the standard's prototypes")]
            unsafe extern "C" fn entry($($arg: $ty),*) $(-> $ret)? {
                c_api!(@check $check ($($arg: $ty),*) ($($ret)?) $body);
                // SAFETY: the C caller promises what the standard requires of the arguments, which is
                // all that the runtime requires.
                unsafe { c_api!(@body ($($ret)?) $body) }
            }
        };
        std::arch::global_asm!(
            concat!(".weak ", $name),
            concat!(".type ", $name, ", %function"),
            concat!(".set ", $name, ", p", $name),
        );
    )*};
    (@check [] $parameters:tt $ret:tt $body:expr) => {};
    (@check [$check:expr] ($($arg:ident: $ty:ty),*) ($($ret:ty)?) $body:expr) => {
        #[cold]
        #[inline(never)]
        #[allow(unused_unsafe, reason = "some routines are safe")]
        #[allow(clippy::too_many_arguments, reason = "the standard's prototypes")]
        unsafe extern "C" fn checked($($arg: $ty),*) $(-> $ret)? {
            $check;
            // SAFETY: as of `entry`.
            check::ended(unsafe { c_api!(@body ($($ret)?) $body) })
        }
        if check::is_due() {
            // SAFETY: as below.
            return unsafe { checked($($arg),*) };
        }
    };
    (@body () $body:expr) => {{ $body; }};
    (@body ($ret:ty) $body:expr) => { $body };
}
