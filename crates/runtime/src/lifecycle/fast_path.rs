//! Whether programs may use the inlined fast path.

use ferroshmem_core::failure::fatal::{debug, fatal};
use ferroshmem_core::hooks::{self, Native};
use ferroshmem_core::node::Node;
use ferroshmem_core::wait::POLICY;
use ferroshmem_profiling as profiling;

/// The facts for the inlined fast path, None if every call is to go through the library.
pub(super) fn native(node: &Node, hooks: &hooks::Hooks) -> Option<Native> {
    let is_seen = profiling::is_on() && !profiling::are_inlined_counted();
    let reason = if is_seen && !(hooks.native_required)() {
        "calls are recorded"
    } else if node.settings.check {
        "SHMEM_CHECK is set"
    } else if !node.settings.fast_path {
        "SHMEM_FAST_PATH is 0"
    } else if !node.transport.memory.space.at_stride() {
        "the executable's globals could not be placed (link it with -pie)"
    } else if node.transport.atomics_by_fabric() {
        "this fabric's atomics are not atomic with a CPU's"
    } else if (hooks.interposed)() {
        "a tool interposes library functions"
    } else {
        return Some(Native {
            pes: node.job.placement.local_pes(),
            n_pes: node.n_pes as u32,
            me: node.job.index as u32,
            log2_stride: node.transport.memory.space.log2_stride(),
            own_by_calls: POLICY.oversubscribed(),
        });
    };
    debug(|| format!("fast path off: {reason}"));
    None
}

/// Ends a program that was compiled with `-DSHMEM_NATIVE_ONLY` and cannot run so here.
pub fn require_native(node: &Node, name: &str) {
    if let Some(reason) = native_refusal(node) {
        fatal(name, reason);
    }
}

fn native_refusal(node: &Node) -> Option<&'static str> {
    if node.settings.check {
        Some("SHMEM_CHECK=1 needs calls that this program, compiled with -DSHMEM_NATIVE_ONLY, does not make")
    } else if !node.transport.memory.space.at_stride() {
        Some("a program compiled with -DSHMEM_NATIVE_ONLY must be linked as a position-independent executable (-pie)")
    } else if node.transport.internode().is_some() {
        Some("this job has PEs on other nodes, which a program compiled with -DSHMEM_NATIVE_ONLY cannot reach")
    } else if !node.settings.fast_path {
        Some("SHMEM_FAST_PATH=0 needs calls that this program, compiled with -DSHMEM_NATIVE_ONLY, does not make")
    } else {
        None
    }
}
