//! The first synchronisation, before there are teams.

use std::sync::atomic::Ordering;

use ferroshmem_core::job::Attachment;
use ferroshmem_core::team::WORLD;
use ferroshmem_core::wait::{Rendezvous, WaitReason};
use ferroshmem_layout::WaitKind;

/// Waits until all PEs are here.
pub(super) fn rendezvous(name: &str, job: &Attachment) {
    let header = job.control.header();
    let n = job.control.n_pes() as u32;
    let own = &job.control.team_slot(WORLD, job.index).own;
    let sequence = own.entered.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    // Counts as a collective of the world team, so that the launcher notices a PE that ended
    // without ever coming here.
    let what =
        WaitReason { team: WORLD as u32, members: (0, 1, n), sequence, ..WaitReason::at(WaitKind::Team, name, 0) };
    let rendezvous = Rendezvous { arrived: &header.start_arrived, epoch: &header.start_epoch, n };
    rendezvous.wait(rendezvous.arrive(), &what);
}
