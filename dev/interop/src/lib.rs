//! Parts in C of Rust programs. They use `shmem.h`; the runtime below it is the Rust program's own.

// Nothing in Rust refers to the C API: this has it linked.
use ferroshmem_sys as _;

pub mod loops;
pub mod part;
pub mod races;
