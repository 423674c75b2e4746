//! PEs that are started for numbers of others, which have failed.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Release;

use ferroshmem_core::job::service::{Reply, Survivor};
use ferroshmem_layout::PeState;

use super::Supervisor;

impl Supervisor {
    /// A PE of the job at `index` asks for replacements.
    pub(super) fn replace(&mut self, index: usize, survivor: Survivor, reply: Reply) {
        self.jobs[index].meeting.add(survivor, reply);
        self.meet(index);
    }

    /// Goes on once all PEs that live have asked for replacements: starts them, or answers all if no number is left.
    pub(super) fn meet(&mut self, index: usize) {
        let job = &mut self.jobs[index];
        if self.shutdown.is_some() || job.shutdown.is_some() || !job.alive.values().all(|pe| job.meeting.has(*pe)) {
            return;
        }
        let lost: Vec<usize> = (0..job.job.n_pes()).filter(|pe| !job.meeting.has(*pe)).collect();
        if lost.is_empty() {
            job.control.renew_world(&job.memory);
            let failures = job.control.failures();
            failures.replaced.store(failures.count() as u32, Release);
            return job.meeting.end();
        }
        let is_irreplaceable = |pe: &&usize| job.state(**pe) != PeState::Failed;
        let started = match lost.iter().find(is_irreplaceable) {
            Some(pe) => Err(format!("PE {pe} has ended, and has not failed")),
            None => self.start_replacements(index, &lost),
        };
        if let Err(why) = started {
            self.jobs[index].meeting.refuse(&why);
        }
    }

    /// Starts processes for the numbers of `lost` PEs, while all others wait.
    fn start_replacements(&mut self, index: usize, lost: &[usize]) -> Result<(), String> {
        let (job, output) = (&mut self.jobs[index], &mut self.output);
        let Some(first) = job.meeting.begin_start()? else { return Ok(()) };
        let inherited = vec![job.memory.as_raw_fd(), first.service.as_raw_fd(), first.blocks.as_raw_fd()];
        let mut starter = job.starter_of(inherited, self.inherited_mask).map_err(|e| e.to_string())?;
        for &pe in lost {
            job.control.revive(&job.memory, pe);
            let started = job.start_pe(pe, &mut starter, output);
            if let Err(why) = started {
                job.note_failure(pe);
                return Err(why.to_string());
            }
            job.print_line(output, &format!("PE {pe} is started again"));
        }
        job.watch_initialization();
        Ok(())
    }
}
