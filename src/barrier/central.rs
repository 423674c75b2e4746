//! The central barrier: a counter of arrivals and a flag that the last one posts.

use crate::wait::flag;
use crate::wait::{Patience, Word};

/// Arrives for epoch `epoch` at a barrier of `all` members and waits for the others. The
/// last to arrive does `work` before it lets the others go: it sees what all wrote before
/// they arrived, and they see what it wrote.
/// `arrivals` is zero between barriers; `release` shows the last epoch completed.
#[inline]
pub fn arrive_and_wait(
    arrivals: &impl Word,
    release: &impl Word,
    all: u32,
    epoch: u32,
    patience: &mut impl Patience,
    work: impl FnOnce(),
) {
    if arrivals.fetch_add(1) + 1 == all {
        work();
        // Before the release: nobody arrives for the next epoch until then.
        arrivals.swap(0);
        flag::post(release, epoch);
    } else {
        flag::wait(release, epoch, patience);
    }
}
