//! Sleeping on a 32-bit word that may live in memory shared between processes.

pub(crate) use ferroshmem_platform::futex::ANY;
#[cfg(not(any(test, feature = "simulation")))]
pub(crate) use ferroshmem_platform::futex::{wait, wake};

#[cfg(any(test, feature = "simulation"))]
pub(crate) use simulated::{wait, wake};

/// The same for simulated PEs, whose calls are counted.
#[cfg(any(test, feature = "simulation"))]
mod simulated {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use ferroshmem_platform::futex;

    use crate::simulation;

    /// As [`futex::wait`].
    pub(crate) fn wait(word: &AtomicU32, expected: u32, bits: u32, timeout: Option<Duration>) {
        if !simulation::futex_wait(word.as_ptr().addr(), bits) {
            futex::wait(word, expected, bits, timeout);
        }
    }

    /// As [`futex::wake`].
    pub(crate) fn wake(word: &AtomicU32, bits: u32) {
        if !simulation::futex_wake(word.as_ptr().addr(), bits) {
            futex::wake(word, bits);
        }
    }
}
