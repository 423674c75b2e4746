//! Processes that take the numbers of PEs that have failed: `oshrun` starts them once all PEs that live ask for it.
//! They have the heap of the PE before them, and all else as new processes have it.

use std::fs::File;

use ferroshmem_core::failure::fatal::{fatal, warn};
use ferroshmem_core::job::service;
use ferroshmem_core::memory::SymmetricMemory;
use ferroshmem_core::wait::WaitReason;
use ferroshmem_core::wait::record::Recorder;
use ferroshmem_layout::WaitKind;

use crate::runtime::{self, Runtime};

/// Gives the heap of a replacement the blocks that it has on the other PEs.
#[cold]
pub(super) fn take_blocks(name: &str, blocks: &File, memory: &SymmetricMemory) {
    let words = service::read_words(blocks).unwrap_or_else(|e| fatal(name, e));
    let mut heap = memory.heap();
    heap.take_words(&words);
    memory.space.dump_heap_to(heap.end());
}

/// Waits until all numbers of the job are taken, and all PEs have come here: the predefined teams begin anew. Why not,
/// if that cannot be.
#[cold]
pub(super) fn meet(name: &str, rt: &'static Runtime) -> Result<(), String> {
    let job = rt.node.job;
    let service = job.service().map_err(|e| e.to_string())?;
    let blocks = rt.node.transport.memory.heap().to_words();
    let _shown = Recorder::start(&WaitReason::at(WaitKind::Replacement, name, 0));
    service::replace(service, job.pe, &blocks).map_err(|e| e.to_string())?;
    rt.renew_world(job.control.failures().replaced());
    Ok(())
}

/// Has PEs that have failed replaced, collectively over those that live; false if that cannot be.
#[cold]
pub fn replace(name: &'static str) -> bool {
    let rt = runtime::get(name);
    // Of a job that another launcher has started, the world stays as it is.
    let replaced = rt.node.job.service().map_err(|e| e.to_string()).and_then(|_| {
        rt.quiet_all();
        rt.abandon_world();
        meet(name, rt)
    });
    replaced.inspect_err(|why| warn(name, why)).is_ok()
}
