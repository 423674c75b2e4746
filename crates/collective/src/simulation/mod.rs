//! PEs simulated in one process, one at a time and in a fixed order, for tests that count what the library's own
//! code does: the cache lines that PEs take from each other, and their calls of the futex.
//!
//! `ferroshmem_core::simulation` lets the PEs run; `trace` notes each access to their shared memory, whatever
//! instruction makes it; `lines` says which of them take a line from another PE's cache. `docs/scaling.md` has the
//! formulas, and the tests read them there. The trace needs a processor that can stop after each instruction, so there
//! are no counts on others than x86-64.

#[cfg(target_arch = "x86_64")]
mod counts;
#[cfg(target_arch = "x86_64")]
mod formula;
#[cfg(target_arch = "x86_64")]
mod lines;
#[cfg(target_arch = "x86_64")]
mod stub;
#[cfg(target_arch = "x86_64")]
mod tests;
#[cfg(target_arch = "x86_64")]
mod trace;
