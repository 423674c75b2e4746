//! libfabric as C sees it: the bindings, the library opened at run time,
//! and what its headers define as inline functions.

#[allow(
    non_camel_case_types, non_upper_case_globals, non_snake_case, dead_code, missing_debug_implementations, clippy::all
)]
mod bindings;
mod calls;
mod library;
mod signals;

pub use bindings::*;
pub use calls::*;
pub use library::Library;

/// The version of the interface that is asked for: libraries of later versions serve it too.
pub const API: u32 = (1 << 16) | 17;
/// What is no key.
pub const KEY_NOTAVAIL: u64 = u64::MAX;
/// What is no address.
pub const ADDR_NOTAVAIL: fi_addr_t = u64::MAX;
