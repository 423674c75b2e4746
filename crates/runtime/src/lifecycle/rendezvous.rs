//! The first synchronisation, before there are teams.

use std::sync::atomic::Ordering;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::job::Attachment;
use ferroshmem_core::team::WORLD;
use ferroshmem_core::wait::{Ending, Rendezvous, WaitReason};
use ferroshmem_layout::WaitKind;

/// Waits until all PEs are here, in the first initialisation of the library.
pub(super) fn rendezvous(name: &str, job: &Attachment) {
    wait(name, job, || (), None);
}

/// The same in a later one. The job is not resilient any more. One that has lost a PE ends: the number of a PE that was
/// replaced has come here less often than the others.
#[cold]
pub(super) fn rendezvous_again(name: &str, job: &Attachment) {
    let failures = job.control.failures();
    let end = || failures.resilient.store(0, Ordering::Release);
    if failures.is_over() || !wait(name, job, end, Some(failures)) {
        // The first report ends the job.
        end();
        fatal(name, "a PE of this job has failed, so the library cannot be initialised again: finalise it once");
    }
}

fn wait(name: &str, job: &Attachment, complete: impl FnOnce(), ending: Option<&dyn Ending>) -> bool {
    let header = job.control.header();
    let n = job.control.n_pes() as u32;
    let own = &job.control.team_slot(WORLD, job.index).own;
    let sequence = own.entered.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    // Counts as a collective of the world team, so that the launcher notices a PE that ended
    // without ever coming here.
    let reason = WaitReason::at(WaitKind::Team, name, 0);
    let what = WaitReason { team: WORLD as u32, members: (0, 1, n), sequence, ending, ..reason };
    let rendezvous = Rendezvous { arrived: &header.start_arrived, epoch: &header.start_epoch, n };
    rendezvous.wait(rendezvous.arrive_with(complete), &what)
}
