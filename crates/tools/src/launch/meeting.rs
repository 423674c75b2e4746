//! The PEs of a job that have asked for replacements of those that have failed, and wait for each other.

use ferroshmem_core::job::service::{Reply, Survivor};

/// How often processes are started before all PEs have met: a program that fails whenever it starts would be started
/// for ever.
const ATTEMPTS: usize = 100;

/// PEs that wait.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    waiting: Vec<(Survivor, Reply)>,
    /// How often processes were started since all PEs met last.
    starts: usize,
}

impl Meeting {
    /// One more PE waits.
    pub(super) fn add(&mut self, survivor: Survivor, reply: Reply) {
        self.waiting.push((survivor, reply));
    }

    /// PE `pe` has ended.
    pub(super) fn forget(&mut self, pe: usize) {
        self.waiting.retain(|(survivor, _)| survivor.pe != pe);
    }

    /// Whether PE `pe` waits.
    pub(super) fn has(&self, pe: usize) -> bool {
        self.waiting.iter().any(|(survivor, _)| survivor.pe == pe)
    }

    /// Processes are to be started, with what this PE gives, if there is one.
    pub(super) fn begin_start(&mut self) -> Result<Option<&Survivor>, String> {
        if self.starts == ATTEMPTS {
            return Err(format!("{ATTEMPTS} times in a row, processes have failed in shmem_init"));
        }
        self.starts += 1;
        Ok(self.waiting.first().map(|(survivor, _)| survivor))
    }

    /// All PEs have met.
    pub(super) fn end(&mut self) {
        self.waiting.drain(..).for_each(|(_, reply)| reply.done());
        self.starts = 0;
    }

    /// They cannot, for this reason.
    pub(super) fn refuse(&mut self, why: &str) {
        self.waiting.drain(..).for_each(|(_, reply)| reply.refused(why));
        self.starts = 0;
    }
}
