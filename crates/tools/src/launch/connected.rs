//! The connections between jobs of one `oshrun`.

use std::fs::File;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::plan::{MIN_STRIDE, Plan};
use ferroshmem_core::job::region::{MAX_PES, PeState};

use super::failure::Failure;
use super::job::Job;

/// The connection between a job and the PEs that asked for it.
#[derive(Debug)]
pub(super) struct Connected {
    /// The number of the job, and that of the job which asked for it.
    pub job: u32,
    /// See [`job`](Self::job).
    pub parent: u32,
    /// The memory by which the members synchronise.
    pub memory: File,
    control: Control,
    parents: usize,
}

impl Connected {
    /// The memory for `parents` PEs of job `parent` and the PEs of `job`, which has the number `number`.
    pub(super) fn new(
        job: &Job,
        number: u32,
        parent: u32,
        parents: usize,
    ) -> Result<Self, Failure> {
        let n_pes = job.n_pes();
        let all = parents.saturating_add(n_pes);
        if all > MAX_PES {
            return Err(Failure::usage(format!(
                "{parents} PEs cannot start {n_pes}: at most {MAX_PES} can be connected"
            )));
        }
        let plan = Plan {
            heap_size: 0,
            stride: MIN_STRIDE,
        };
        let cores = job.bindings.node_cores(&job.machine);
        let (memory, control) = Control::create(&plan, all, all, cores, job.tuning, 0)
            .map_err(|e| Failure::system(format!("cannot create a connection's memory: {e}")))?;
        control.header().job_number.store(number, Relaxed);
        Ok(Self {
            job: number,
            parent,
            memory,
            control,
            parents,
        })
    }

    /// Whether no PE uses it any more.
    pub(super) fn is_over(&self) -> bool {
        /// All members meet at the beginning, and at the end.
        const MEETINGS: u32 = 2;

        self.control.header().start_epoch.load(Acquire) >= MEETINGS
    }

    /// Whether PE `pe` of job `job` is, or may become, a member.
    pub(super) fn needs(&self, job: u32, pe: usize) -> bool {
        let is_member = |member: usize| {
            let block = self.control.pe_block(member);
            let is_here = PeState::from_word(block.state.load(Acquire)) != PeState::Started;
            !is_here || block.job_pe.load(Acquire) as usize == pe
        };
        job == self.job || job == self.parent && (0..self.parents).any(is_member)
    }

    /// Lets go of the memory.
    pub(super) fn end(self) {
        // SAFETY: nothing else refers to it: the object is dropped.
        unsafe { self.control.unmap() };
    }
}
