//! What FerroSHMEM uses of the operating system and the processor, in the few forms that it needs.
//!
//! It knows nothing of PEs, jobs or configuration; every other crate may use it. What threads do while they wait:
//! [`futex`] sleeps on a word, [`Core`] offers the core to other threads, [`watch`] waits for a store to a cache line,
//! and [`Backoff`] decides when a thread that waits polls, offers its core and sleeps; its [`Limits`] are in one table.
//! What a process is made of: [`mapping`], [`huge_pages`] and [`memory_policy`] of its memory, [`loaded`] objects,
//! [`threads`]. A lock for a few instructions: [`ShortLock`]. What the machine has: [`cores`], [`numa`], [`processor`],
//! [`cache`]. Whether others use it: [`conditions`].

#[doc(hidden)]
pub mod atomic;
mod backoff;
pub mod cache;
pub mod child;
pub mod conditions;
pub mod cores;
mod features;
pub mod futex;
pub mod huge_pages;
mod lifeline;
pub mod line;
pub mod loaded;
pub mod machine;
pub mod mapping;
pub mod maps;
pub mod memory_policy;
pub mod numa;
pub mod number_list;
pub mod object;
mod offer;
pub mod output;
mod prefetch;
pub mod process;
pub mod processor;
pub mod registers;
mod short_lock;
pub mod socket;
pub mod stack;
mod tasks;
pub mod thread;
pub mod threads;
pub mod unwind;
mod watch;

pub use backoff::{Backoff, Limits, Spins, Step};
pub use cache::LastLevelCache;
pub use conditions::{Conditions, Disturbance, Reading};
pub use cores::{Cores, NodeCores};
pub use features::Features;
pub use lifeline::{Lifeline, Wait};
pub use machine::Machine;
pub use offer::{Core, Scheduler};
pub use prefetch::{prefetch_for_read, prefetch_for_write};
pub use processor::Processor;
pub use registers::Registers;
pub use short_lock::{Held, ShortLock};
pub use watch::watch;
