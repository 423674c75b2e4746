//! Barriers: no member leaves before all members have entered. Three algorithms, written over
//! counters and flags that a [`Group`](crate::group::Group) provides.

use crate::wait::flag;
use crate::wait::{WaitStrategy, Word};

/// The central barrier: a counter of arrivals, and a flag that the last member to arrive posts.
///
/// The calling member arrives for epoch `epoch` at a barrier of `size` members and waits for
/// the others. The last member to arrive does `work` before it posts the flag: `work` sees what
/// all members wrote before they arrived, and all members see what `work` wrote.
/// `arrivals` is zero between barriers; `release` shows the last epoch completed.
///
/// Members wait until the flag shows another value than before they arrived, not until it shows
/// this epoch: if the barrier is the last of a team, the flag may serve the next team with the
/// same slots before a late waiter reads it.
#[inline]
pub fn central<P: WaitStrategy>(
    arrivals: &impl Word,
    release: &impl Word,
    size: u32,
    epoch: u32,
    strategy: impl FnOnce() -> P,
    work: impl FnOnce(),
) {
    let before = flag::value(release);
    if arrivals.fetch_add(1) + 1 == size {
        work();
        // Before the post: no member arrives for the next epoch until then.
        arrivals.swap(0);
        flag::post(release, epoch);
    } else {
        flag::wait_until_changed(release, before, strategy);
    }
}

/// The counters and flags of a central barrier whose members take tasks on demand.
#[derive(Debug)]
pub struct TaskBarrier<'a, W> {
    /// Zero between barriers.
    pub arrivals: &'a W,
    /// The next task to take.
    pub next: &'a W,
    /// Tasks done.
    pub done: &'a W,
    /// Shows the last epoch in which all members have arrived.
    pub arrived: &'a W,
    /// Shows the last epoch whose tasks were all done.
    pub finished: &'a W,
}

impl<W: Word> TaskBarrier<'_, W> {
    /// Arrives for epoch `epoch` at a barrier of `size` members, takes tasks 0 to `tasks` - 1 while
    /// any are left, and waits until all are done. A member that is scheduled late finds the
    /// tasks done and goes on at once: where PEs outnumber cores, the running PEs do all tasks,
    /// and each PE is scheduled once.
    ///
    /// Each task is done once; it sees what all members wrote before they arrived, and all
    /// members see what it wrote. `strategy` makes the strategy for each of two waits.
    #[inline]
    pub fn arrive<P: WaitStrategy>(
        &self,
        size: u32,
        epoch: u32,
        tasks: u32,
        strategy: impl Fn() -> P,
        do_task: impl Fn(u32),
    ) {
        let arrived_before = flag::value(self.arrived);
        let finished_before = flag::value(self.finished);
        if self.arrivals.fetch_add(1) + 1 == size {
            // No member reads these until the post: all have left the epoch before.
            self.arrivals.swap(0);
            self.next.swap(0);
            self.done.swap(0);
            flag::post(self.arrived, epoch);
        } else {
            flag::wait_until_changed(self.arrived, arrived_before, &strategy);
        }
        while self.next.load() < tasks {
            let task = self.next.fetch_add(1);
            if task >= tasks {
                break;
            }
            do_task(task);
            if self.done.fetch_add(1) + 1 == tasks {
                flag::post(self.finished, epoch);
                return;
            }
        }
        flag::wait_until_changed(self.finished, finished_before, &strategy);
    }
}

/// The dissemination barrier: in round k, each member posts a flag of the member 2^k ahead and
/// waits for its own, which the member 2^k behind posts. After log2(size) rounds, all members
/// have entered (Hensgen, Finkel and Manber, "Two Algorithms for Barrier Synchronization",
/// 1988).
///
/// Synchronises member `me` of `size`: `post(m, k)` posts member m's flag of round k, `wait(k)`
/// waits for this member's own.
#[inline]
pub fn dissemination(
    me: usize,
    size: usize,
    post: impl Fn(usize, usize),
    mut wait: impl FnMut(usize),
) {
    let mut distance = 1;
    let mut k = 0;
    while distance < size {
        let ahead = me + distance;
        let partner = if ahead >= size { ahead - size } else { ahead };
        post(partner, k);
        wait(k);
        distance *= 2;
        k += 1;
    }
}

/// Children of a member in the [`tree`] barrier.
const FAN_IN: usize = 4;
/// The flag of the [`tree`] barrier by which a parent releases a child; flags 0 to `FAN_IN` - 1
/// are the children's.
pub const RELEASE: usize = FAN_IN;

/// The child of member `me` in the [`tree`] barrier that posts its flag `k`.
pub fn child(me: usize, k: usize) -> usize {
    FAN_IN * me + k + 1
}

/// The tree barrier: arrivals go up a tree of 4 children each, the release goes down. Each
/// member posts and waits as often as it has neighbours in the tree, so all members together
/// post 2 (size - 1) flags where the dissemination barrier posts size · log2(size)
/// (Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
/// Multiprocessors", 1991).
///
/// Synchronises member `me` of `size`: `post(m, k)` posts member m's flag k, `wait(k)` waits
/// for this member's own.
#[inline]
pub fn tree(me: usize, size: usize, post: impl Fn(usize, usize), mut wait: impl FnMut(usize)) {
    let children = || {
        (0..FAN_IN)
            .map(|c| (c, child(me, c)))
            .take_while(|(_, m)| *m < size)
    };
    for (c, _) in children() {
        wait(c);
    }
    if me > 0 {
        post((me - 1) / FAN_IN, (me - 1) % FAN_IN);
        wait(RELEASE);
    }
    for (_, member) in children() {
        post(member, RELEASE);
    }
}
