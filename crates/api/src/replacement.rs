//! Replacements of PEs that have failed (extension).

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use ferroshmem_runtime as runtime;
use ferroshmem_runtime::lifecycle::replacement;

/// Starts a process for each PE that has failed, which takes its number, collectively over all others: 0, or -1 with a
/// line.
pub fn replace(name: &'static str) -> c_int {
    if replacement::replace(name) { 0 } else { -1 }
}

/// How many PEs have had this PE's number before.
pub fn restarted(name: &str) -> c_int {
    runtime::get(name).node.job.block().restarts.load(Ordering::Relaxed) as c_int
}
