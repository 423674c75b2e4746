//! The first synchronisation, before there are teams.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::job::Attachment;
use crate::job::region::WaitKind;
use crate::platform::futex;
use crate::team::WORLD;
use crate::wait::{WaitReason, record};

/// Waits until all PEs are here.
pub(super) fn rendezvous(name: &str, job: &Attachment) {
    let header = job.control.header();
    let n = job.control.n_pes() as u32;
    let own = &job.control.team_slot(WORLD, job.index).own;
    let sequence = own.entered.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    let arrival = header.start_arrived.fetch_add(1, Ordering::AcqRel);
    let round = arrival / n + 1;
    if arrival % n == n - 1 {
        header.start_epoch.store(round, Ordering::Release);
        futex::wake(&header.start_epoch, futex::ANY);
        return;
    }
    // Counts as a collective of the world team, so that the launcher notices a PE that ended
    // without ever coming here.
    let what = WaitReason {
        kind: WaitKind::Team,
        routine: name,
        address: 0,
        team: WORLD as u32,
        members: (0, 1, n),
        sequence,
    };
    let _shown = record::Recorder::start(&what);
    loop {
        let epoch = header.start_epoch.load(Ordering::Acquire);
        if epoch >= round {
            return;
        }
        futex::wait(
            &header.start_epoch,
            epoch,
            futex::ANY,
            Some(Duration::from_secs(1)),
        );
    }
}
