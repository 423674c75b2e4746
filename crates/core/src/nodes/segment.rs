//! The parts of a PE's memory that PEs of other nodes reach.

/// The symmetric heap.
pub(crate) const HEAP: usize = 0;
/// The program's global variables.
pub(crate) const GLOBALS: usize = 1;
/// What belongs to the library: [`crate::job::region::Mailbox`].
pub(crate) const MAILBOX: usize = 2;
