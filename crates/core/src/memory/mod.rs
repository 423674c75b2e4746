//! Symmetric memory: where the heap and the globals of every PE are in this process.
//!
//! Everything symmetric is mapped so that
//! `address on PE r = address on me + (r - me) * stride`.

pub(crate) mod globals;
pub(crate) mod heap;
mod layout;
mod memkind;
mod origin;
mod space;
mod symmetric;
mod symmetric_space;
mod windows;

pub(crate) use layout::CANDIDATES as LAYOUTS;
pub(crate) use memkind::describe as describe_memkinds;
pub use memkind::{Memkind, MemkindError, MemoryRequest};
pub(crate) use origin::Origins;
pub(crate) use space::{IN_GLOBALS, MemoryKind, NOWHERE, Space, SpaceError, show_place};
pub(crate) use symmetric::{Argument, SymmetricMemory};
pub(crate) use symmetric_space::SymmetricSpace;
pub(crate) use windows::MOST_APART;
