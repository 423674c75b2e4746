//! Symmetric memory: where the heap and the globals of every PE are in this process.
//!
//! Everything symmetric is mapped so that
//! `address on PE r = address on me + (r - me) * stride`.

pub mod globals;
pub mod heap;
mod layout;
mod space;
mod symmetric;

pub use layout::CANDIDATES as LAYOUTS;
pub use space::{Place, Space, SpaceError};
pub use symmetric::{Argument, SymmetricMemory};
