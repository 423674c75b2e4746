//! Symmetric memory: where the heap and the globals of every PE are in this process.
//!
//! Everything symmetric is mapped so that
//! `address on PE r = address on me + (r - me) * stride`.

mod address_space;
pub mod globals;
pub mod heap;
mod layout;
mod memkind;
mod origin;
mod symmetric;
mod symmetric_space;
mod window_error;
mod windows;

pub(crate) use address_space::offset_in;
pub use address_space::{AddressSpace, IN_GLOBALS, MemoryKind, NOWHERE, show_place};
pub use layout::CANDIDATES as LAYOUTS;
pub(crate) use memkind::describe as describe_memkinds;
pub use memkind::{Memkind, MemkindError, MemoryRequest};
pub use origin::Origins;
pub use symmetric::{Argument, SymmetricMemory};
pub use symmetric_space::SymmetricSpace;
pub use window_error::WindowError;
pub(crate) use windows::MOST_APART;
