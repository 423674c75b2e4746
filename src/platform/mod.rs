//! What the operating system offers, in the few forms the library uses.

mod machine;
pub mod futex;
pub mod mapping;

pub use machine::Machine;
