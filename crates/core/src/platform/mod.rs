//! What the operating system offers, in the few forms the library uses.

pub mod cache;
pub mod child;
pub mod conditions;
pub mod cores;
pub mod futex;
pub mod huge_pages;
pub mod line;
pub mod loaded;
pub mod machine;
pub mod mapping;
pub mod maps;
pub mod memory_policy;
pub mod numa;
pub mod number_list;
pub mod object;
pub mod output;
pub mod process;
pub mod processor;
pub mod socket;
mod tasks;
pub mod threads;
pub mod unwind;

pub use cache::LastLevelCache;
pub use conditions::{Conditions, Disturbance, Reading};
pub use cores::{Cores, NodeCores};
pub use machine::Machine;
pub use processor::Processor;
pub use tasks::threads_of_program;
