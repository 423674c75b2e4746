//! Whether programs may use the inlined fast path.

use crate::fatal::{debug, fatal};
use crate::hooks::{self, Native};
use crate::runtime::Runtime;

impl Runtime {
    /// The facts for the inlined fast path, None if every call is to go through the library.
    pub(super) fn native(&self, hooks: &hooks::Hooks) -> Option<Native> {
        let reason = if self.settings.check {
            "SHMEM_CHECK is set"
        } else if !self.settings.fast_path {
            "SHMEM_FAST_PATH is 0"
        } else if !self.space.at_stride() {
            "the executable's globals could not be placed (link it with -pie)"
        } else if self.all_atomics() {
            "this fabric's atomics are not atomic with a CPU's"
        } else if (hooks.interposed)() {
            "a tool interposes library functions"
        } else {
            return Some(Native {
                pes: self.job.placement.here(),
                n_pes: self.n_pes as u32,
                me: self.job.index as u32,
                log2_stride: self.space.log2_stride(),
            });
        };
        debug(|| format!("fast path off: {reason}"));
        None
    }

    /// Ends a program that was compiled with `-DSHMEM_NATIVE_ONLY` and cannot run so here.
    pub fn require_native(&self, name: &str) {
        if let Some(reason) = self.native_refusal() {
            fatal(name, reason);
        }
    }

    fn native_refusal(&self) -> Option<&'static str> {
        if self.settings.check {
            Some(
                "SHMEM_CHECK=1 needs calls that this program, compiled with -DSHMEM_NATIVE_ONLY, does not make",
            )
        } else if !self.space.at_stride() {
            Some(
                "a program compiled with -DSHMEM_NATIVE_ONLY must be linked as a position-independent executable (-pie)",
            )
        } else if self.link.is_some() {
            Some(
                "this job has PEs on other nodes, which a program compiled with -DSHMEM_NATIVE_ONLY cannot reach",
            )
        } else if !self.settings.fast_path {
            Some(
                "SHMEM_FAST_PATH=0 needs calls that this program, compiled with -DSHMEM_NATIVE_ONLY, does not make",
            )
        } else {
            None
        }
    }
}
