//! Barriers: no member leaves before all members have entered. Three algorithms, written over
//! counters and flags that a [`Group`](crate::group::Group) provides.

use crate::team::Members;
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
    /// any are left, if it `helps`, and waits until all are done. A member that is scheduled late finds the
    /// tasks done and goes on at once: where PEs outnumber cores, the running PEs do all tasks,
    /// and each PE is scheduled once.
    ///
    /// Each task is done once; it sees what all members wrote before they arrived, and all
    /// members see what it wrote. `strategy` makes the strategy for each of two waits. One member at least helps.
    #[inline]
    pub fn arrive<P: WaitStrategy>(
        &self,
        size: u32,
        epoch: u32,
        (tasks, helps): (u32, bool),
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
        } else if helps {
            flag::wait_until_changed(self.arrived, arrived_before, &strategy);
        }
        while helps && self.next.load() < tasks {
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

/// The central barrier, whose members then wait until one of them, which has `work`, has done it. It waits for the last
/// arrival by `strategy`, and the others by `follower`, which gets what the flag `arrived` showed before. They take
/// nothing but `epoch` for the end of the work: the flag `finished` may be posted late if others give up.
pub fn behind_first<W: Word, P: WaitStrategy, F: WaitStrategy>(
    arrivals: &W,
    (arrived, finished): (&W, &W),
    size: u32,
    epoch: u32,
    work: Option<impl FnOnce()>,
    strategy: impl FnOnce() -> P,
    follower: impl FnOnce(u32) -> F,
) {
    let before = flag::value(arrived);
    if arrivals.fetch_add(1) + 1 == size {
        arrivals.swap(0);
        flag::post(arrived, epoch);
    } else if work.is_some() {
        flag::wait_until_changed(arrived, before, strategy);
    }
    match work {
        Some(work) => {
            work();
            flag::post(finished, epoch);
        }
        None => flag::wait(finished, epoch, || follower(before)),
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
pub fn dissemination(me: usize, size: usize, post: impl Fn(usize, usize), mut wait: impl FnMut(usize)) {
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

/// The sockets of a barrier's members, as one member sees them.
#[derive(Debug, Clone, Copy)]
pub struct SocketTree<'a> {
    /// The members of this one's socket; the first is its leader.
    pub mine: &'a Members,
    /// The number of this one among them.
    pub position: usize,
    /// This one's socket.
    pub own: usize,
    /// How many sockets there are, at least two.
    pub count: usize,
    /// Whether the leaders of two sockets exchange flags at once. Otherwise those of all sockets are a tree.
    pub exchanges: bool,
}

/// The first flag of the children of a leader that lead other sockets, in [`by_sockets`].
const LEADERS: usize = RELEASE + 1;
/// The flag that the leaders of two sockets exchange.
pub const EXCHANGE: usize = LEADERS + FAN_IN;

/// The parent of member `me` in the [`tree`] barrier, which is not its first one.
pub fn parent(me: usize) -> usize {
    (me - 1) / FAN_IN
}

impl SocketTree<'_> {
    /// The child that posts this member's flag `k`.
    pub fn child(&self, leader: impl Fn(usize) -> usize, k: usize) -> usize {
        match k.checked_sub(LEADERS) {
            None => self.mine.pe(child(self.position, k)),
            Some(k) => leader(child(self.own, k)),
        }
    }
}

/// The barrier of members on several sockets: the tree barrier within each socket, whose leaders synchronise
/// before they release it. A flag crosses from each socket but one and another to it, or between two sockets
/// one each way, however many members there are.
///
/// As [`tree`]; `leader` is the leader of a socket.
pub fn by_sockets(
    tree: &SocketTree<'_>,
    leader: impl Fn(usize) -> usize,
    post: impl Fn(usize, usize),
    mut wait: impl FnMut(usize),
) {
    let children = |of: usize, count: usize| (0..FAN_IN).take_while(move |k| child(of, *k) < count);
    for k in children(tree.position, tree.mine.size) {
        wait(k);
    }
    if tree.position > 0 {
        let above = tree.position - 1;
        post(tree.mine.pe(parent(tree.position)), above % FAN_IN);
        wait(RELEASE);
    } else if tree.exchanges {
        post(leader(1 - tree.own), EXCHANGE);
        wait(EXCHANGE);
    } else {
        for k in children(tree.own, tree.count) {
            wait(LEADERS + k);
        }
        if tree.own > 0 {
            let above = tree.own - 1;
            post(leader(parent(tree.own)), LEADERS + above % FAN_IN);
            wait(RELEASE);
        }
        for k in children(tree.own, tree.count) {
            post(leader(child(tree.own, k)), RELEASE);
        }
    }
    for k in children(tree.position, tree.mine.size) {
        post(tree.mine.pe(child(tree.position, k)), RELEASE);
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
    let children = || (0..FAN_IN).map(|c| (c, child(me, c))).take_while(|(_, m)| *m < size);
    for (c, _) in children() {
        wait(c);
    }
    if me > 0 {
        post(parent(me), (me - 1) % FAN_IN);
        wait(RELEASE);
    }
    for (_, member) in children() {
        post(member, RELEASE);
    }
}
