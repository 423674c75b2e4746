//! What the operating system offers, in the few forms the library uses.

pub mod futex;
pub mod machine;
pub mod mapping;

pub use machine::Machine;
