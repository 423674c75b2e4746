//! Synchronising the members of a team: nobody leaves before all have entered.

pub mod central;
pub mod dissemination;

use std::sync::atomic::{Ordering, fence};

use crate::job::region::WaitKind;
use crate::runtime::Runtime;
use crate::team::Team;
use crate::wait::{POLICY, Waiter, What};

/// Synchronises `team` and orders memory: what any member wrote before is seen by every
/// member after.
#[inline]
pub fn sync(rt: &Runtime, name: &str, team: &Team) {
    let epoch = team.next_epoch();
    if team.members.size == 1 {
        fence(Ordering::SeqCst);
        return;
    }
    let members = (
        team.members.start,
        team.members.stride,
        team.members.size as u32,
    );
    let own = &team.slot(rt, team.index).own;
    let what = What {
        kind: WaitKind::Team,
        routine: name,
        address: 0,
        team: team.id as u32,
        members,
        sequence: own.entered.load(Ordering::Relaxed),
    };
    let mut waiter = Waiter::new(&what);
    if POLICY.oversubscribed() {
        // Each PE must be scheduled once: sleeping on one word is the fewest switches.
        let first = team.slot(rt, 0);
        let all = team.members.size as u32;
        central::arrive_and_wait(
            &first.arrivals.word,
            &first.release.word,
            all,
            epoch,
            &mut waiter,
        );
    } else {
        let round = |member: usize, k: usize| &team.slot(rt, member).rounds.round[k];
        dissemination::arrive_and_wait(team.index, team.members.size, round, epoch, &mut waiter);
    }
}
