//! The central barrier: a counter of arrivals and a flag that the last one posts. Between
//! the two there can be work: for the last to arrive, or for whoever has time.
//!
//! Members wait until the flag shows another value than before they arrived. They do not ask
//! for the value of this epoch: if the barrier is the last of a team, its words may serve the
//! next team with the same slots before a late waiter looks.

use crate::wait::flag;
use crate::wait::{WaitStrategy, Word};

/// Arrives for epoch `epoch` at a barrier of `all` members and waits for the others. The
/// last to arrive does `work` before it lets the others go: it sees what all wrote before
/// they arrived, and they see what it wrote.
/// `arrivals` is zero between barriers; `release` shows the last epoch completed.
#[inline]
pub fn arrive_and_wait<P: WaitStrategy>(
    arrivals: &impl Word,
    release: &impl Word,
    all: u32,
    epoch: u32,
    strategy: impl FnOnce() -> P,
    work: impl FnOnce(),
) {
    let before = flag::value(release);
    if arrivals.fetch_add(1) + 1 == all {
        work();
        // Before the release: nobody arrives for the next epoch until then.
        arrivals.swap(0);
        flag::post(release, epoch);
    } else {
        flag::wait_beyond(release, before, strategy);
    }
}

/// The words of a barrier whose members share work.
#[derive(Debug)]
pub struct Sharing<'a, W> {
    /// Zero between barriers.
    pub arrivals: &'a W,
    /// The next task to take.
    pub next: &'a W,
    /// Tasks done.
    pub done: &'a W,
    /// Shows the last epoch in which all have arrived.
    pub arrived: &'a W,
    /// Shows the last epoch whose tasks were all done.
    pub finished: &'a W,
}

impl<W: Word> Sharing<'_, W> {
    /// Arrives for epoch `epoch` at a barrier of `all` members, takes tasks 0 to `tasks` - 1 as
    /// long as there are any, and waits until all are done. Who comes back late from waiting
    /// finds the work done and goes on at once: where PEs outnumber cores, those that are
    /// running do everything, and each PE is scheduled once.
    ///
    /// Each task is done once; it sees what all wrote before they arrived, and all see what it
    /// wrote. `strategy` makes the strategy for each of two waits.
    #[inline]
    pub fn arrive_and_share<P: WaitStrategy>(
        &self,
        all: u32,
        epoch: u32,
        tasks: u32,
        strategy: impl Fn() -> P,
        work: impl Fn(u32),
    ) {
        let arrived_before = flag::value(self.arrived);
        let finished_before = flag::value(self.finished);
        if self.arrivals.fetch_add(1) + 1 == all {
            // Nobody looks at these until the post: all have left the epoch before.
            self.arrivals.swap(0);
            self.next.swap(0);
            self.done.swap(0);
            flag::post(self.arrived, epoch);
        } else {
            flag::wait_beyond(self.arrived, arrived_before, &strategy);
        }
        while self.next.load() < tasks {
            let task = self.next.fetch_add(1);
            if task >= tasks {
                break;
            }
            work(task);
            if self.done.fetch_add(1) + 1 == tasks {
                flag::post(self.finished, epoch);
                return;
            }
        }
        flag::wait_beyond(self.finished, finished_before, &strategy);
    }
}
