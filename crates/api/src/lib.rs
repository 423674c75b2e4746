//! The C API's routines without their C names: what `libshmem`'s exported functions call.
//!
//! The generated exports of `ferroshmem-sys` and the Rust API call them. They check arguments and handles, and call the
//! crates of the runtime, all of which they know and none of which knows them. What a routine does is not here, but
//! what its arguments must be.
//!
//! Each takes the C name of the routine first, for messages, then the arguments of the
//! prototype. Handles are integers (C's opaque pointers), sizes are bytes unless a
//! parameter says elements.

pub mod active;
pub mod agree;
pub mod amo;
pub mod check;
pub mod checker;
pub mod collective;
pub mod connecting;
pub mod context;
pub mod counter;
pub mod exports;
pub mod group;
pub mod handles;
pub mod kernels;
pub mod launch;
mod launched;
pub mod lock;
pub mod memory;
pub mod message;
pub mod neighbor;
pub mod nonblocking;
mod on_group;
pub mod operators;
pub mod p2p;
pub mod port;
pub mod record;
pub mod region;
pub mod replacement;
pub mod resilience;
pub mod rma;
pub mod setup;
pub mod signal;
pub mod space;
pub mod spawn;
pub mod stream;
pub mod team;
pub mod threads;
pub mod windows;

pub use ferroshmem_core::constants;
pub use ferroshmem_core::hooks;
pub use ferroshmem_core::memory::{Memkind, MemkindError, MemoryRequest};
pub use ferroshmem_simd::{Bf16, Complex, F16, Located, Operator, Reduce, ops};
