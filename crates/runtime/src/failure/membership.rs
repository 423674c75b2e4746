//! Which nodes a resilient job goes on with where some are cut off from others: most of them, and only these.
//!
//! The leader of each node sends that of each other one a [`Ballot`] at intervals. A node *follows* the first one that
//! it hears, perhaps itself. A node that follows itself has a *quorum* while most of the nodes that are not lost have
//! said of late that they follow it; of an even number, half of them with the first are most. What is late is counted
//! from when the node sent the number that the other has seen, so a ballot that was under way for long counts for
//! nothing. Before a node follows another one than before, it follows none for longer than what it has said counts. So
//! two nodes never have a quorum at the same time.
//!
//! A node that follows one with a quorum has a *lease*: it lasts from when the node sent the number that the other has
//! seen, and the node ends when its lease has run out. The node with the quorum takes for lost whom it has not heard
//! follow it for longer than a lease lasts since, and since it has the quorum without a break: the leases that another
//! one gave before have run out, too. It waits as long as a ballot counts beyond that, so nobody counts those that are
//! lost, whether he knows of the loss or not. The first lease is of a time before any node can have a quorum.
//!
//! Clocks of nodes need not be the same, but run at the same speed, to two per cent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the leader of a node says to that of another one, in one word; 0: it has not said anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ballot(u64);

/// The times when ballots are sent are their numbers, in milliseconds, as far as these bits go: 18 hours.
const TIME: u64 = (1 << 26) - 1;
const SEEN: u32 = 26;
const FOLLOWS: u32 = 52;
const NONE: u64 = (1 << 11) - 1;
const QUORUM: u32 = 63;

impl Ballot {
    fn new(now: u64, seen: u64, follows: Option<usize>, has_quorum: bool) -> Self {
        let follows = follows.map_or(NONE, |node| node as u64);
        Self((now & TIME).max(1) | seen << SEEN | follows << FOLLOWS | u64::from(has_quorum) << QUORUM)
    }

    /// When it was sent.
    fn number(self) -> u64 {
        self.0 & TIME
    }

    /// The number of the other's last ballot that was seen then; 0: none.
    fn seen(self) -> u64 {
        self.0 >> SEEN & TIME
    }

    fn follows(self, node: usize) -> bool {
        self.0 != 0 && self.0 >> FOLLOWS & NONE == node as u64
    }

    fn has_quorum(self) -> bool {
        self.0 >> QUORUM == 1
    }

    /// Whether it was sent after another one of the same node: they may overtake each other.
    fn is_after(self, other: Self) -> bool {
        self.0 != 0 && (other.0 == 0 || (1..=TIME / 2).contains(&(self.number().wrapping_sub(other.number()) & TIME)))
    }
}

/// What depends on the time within which PEs are to learn of a failure, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// From one ballot to the next.
    beat: u64,
    /// A node hears another one for so long after a ballot of that.
    hears: u64,
    /// So old may a number be that a ballot has seen which counts.
    counts: u64,
    /// A quorum lasts for so long after it was counted.
    lasts: u64,
    /// A node follows none for so long before it follows another one.
    pause: u64,
    lease: u64,
    /// A node is lost that has not followed the one with the quorum for so long.
    lost: u64,
}

impl Times {
    /// A node that is cut off is lost after six tenths of `timeout`, and if it had the quorum, after nine.
    pub(super) fn within(timeout: Duration) -> Self {
        // Not more often than the leader looks.
        let beat = (timeout.as_millis() as u64 / 40).max(25);
        let (counts, lasts) = (4 * beat, 2 * beat);
        let pause = counts + lasts + beat / 2;
        // Who has lost the one that it followed has another one before its lease runs out.
        let lease = 17 * beat;
        Self { beat, hears: 4 * beat, counts, lasts, pause, lease, lost: lease + counts + lasts + beat }
    }

    /// What a lease lasts.
    pub(super) fn lease(self) -> Duration {
        Duration::from_millis(self.lease)
    }
}

/// Another node, as this one sees it.
#[derive(Debug)]
struct Other {
    ballot: Ballot,
    heard_at: u64,
    /// When it was last heard to follow this node; 0: never.
    followed_at: u64,
    /// When the last ballot was sent to it.
    told_at: u64,
    is_lost: bool,
}

/// The nodes of a resilient job, as the leader of one sees them.
#[derive(Debug)]
pub(super) struct Membership {
    me: usize,
    times: Times,
    others: Vec<Other>,
    looked_at: u64,
    follows: Option<usize>,
    /// Since when it does.
    since: u64,
    /// Whom it has followed last, and when.
    followed: (usize, u64),
    has_quorum: bool,
    /// Since when without a break, and until when at least.
    quorum: (u64, u64),
}

impl Membership {
    /// Node `me`, which has a leader from now on, of the nodes that have said `ballots` before. It may have followed
    /// any node until now.
    pub(super) fn new(me: usize, times: Times, now: u64, ballots: &[AtomicU64]) -> Self {
        let other = |ballot: &AtomicU64| Other {
            ballot: Ballot(ballot.load(Ordering::Acquire)),
            heard_at: 0,
            followed_at: 0,
            told_at: 0,
            is_lost: false,
        };
        let others = ballots.iter().map(other).collect();
        let followed = (usize::MAX, now);
        let (follows, has_quorum) = (None, false);
        Self { me, times, others, looked_at: now, follows, since: now, followed, has_quorum, quorum: (now, 0) }
    }

    /// A node is lost.
    pub(super) fn lose(&mut self, node: usize) {
        self.others[node].is_lost = true;
    }

    /// How many nodes this one tells all others of that are lost, plus one; 0: it tells of none.
    pub(super) fn tells_of(&self) -> usize {
        if self.has_quorum { 1 + self.others.iter().filter(|other| other.is_lost).count() } else { 0 }
    }

    /// Looks at what the others have said, and at the time; may renew this node's lease. The nodes that are to be taken
    /// for lost.
    pub(super) fn look(&mut self, now: u64, ballots: &[AtomicU64], lease: &AtomicU64) -> Vec<usize> {
        let (me, times) = (self.me, self.times);
        let mut lost = Vec::new();
        // Two ballots never have the same number.
        if now <= self.looked_at {
            return lost;
        }
        self.looked_at = now;
        for (other, said) in self.others.iter_mut().zip(ballots) {
            let ballot = Ballot(said.load(Ordering::Acquire));
            if ballot.is_after(other.ballot) {
                (other.ballot, other.heard_at) = (ballot, now);
                if ballot.follows(me) {
                    other.followed_at = now;
                }
            }
        }
        let before = (self.follows, self.has_quorum);
        self.follow(now);
        let is_fresh = |other: &&Other| {
            let seen = other.ballot.seen();
            other.ballot.follows(me) && seen != 0 && now - sent(seen, now) <= times.counts
        };
        let needed = self.others_needed();
        self.has_quorum = self.follows == Some(me) && self.others.iter().filter(is_fresh).count() >= needed;
        if self.has_quorum {
            if now > self.quorum.1 {
                self.quorum.0 = now;
            }
            self.quorum.1 = now + times.lasts;
            // Nobody else can have a quorum if this node needs none.
            let until = if needed == 0 { 0 } else { now + times.lease };
            lease.store(until, Ordering::Release);
        } else if let Some(followed) = self.follows.filter(|node| *node != me) {
            let ballot = self.others[followed].ballot;
            let sent = sent(ballot.seen(), now);
            if ballot.has_quorum() && ballot.follows(followed) && ballot.seen() != 0 && sent >= self.since {
                lease.fetch_max(sent + times.lease, Ordering::AcqRel);
            }
        }
        if self.has_quorum {
            let others = self.others.iter().enumerate().filter(|(node, other)| *node != me && !other.is_lost);
            let is_lost = |other: &Other| now - self.quorum.0.max(other.followed_at) >= times.lost;
            lost.extend(others.filter(|(_, other)| is_lost(other)).map(|(node, _)| node));
        }
        if (self.follows, self.has_quorum) != before {
            self.others.iter_mut().for_each(|other| other.told_at = 0);
        }
        lost
    }

    /// Follows the first node that it hears, as soon as it may.
    fn follow(&mut self, now: u64) {
        let hears = |other: &Other| other.heard_at != 0 && now - other.heard_at <= self.times.hears;
        let first = self.others.iter().take(self.me).position(|other| !other.is_lost && hears(other));
        let first = first.unwrap_or(self.me);
        if self.follows != Some(first) {
            let may = self.followed.0 == first || now >= self.followed.1 + self.times.pause;
            (self.follows, self.since) = (may.then_some(first), now);
            self.quorum.1 = 0;
        }
        if let Some(node) = self.follows {
            self.followed = (node, now);
        }
    }

    /// How many others have to follow this node, so that these are most.
    fn others_needed(&self) -> usize {
        let left = self.others.iter().filter(|other| !other.is_lost).count();
        let is_first = self.others.iter().take(self.me).all(|other| other.is_lost);
        // Half of them with the first one, else one more than half.
        if is_first { left.div_ceil(2) - 1 } else { left / 2 }
    }

    /// The ballot that is due for a node now, if one is.
    pub(super) fn ballot_for(&self, node: usize, now: u64) -> Option<u64> {
        let other = &self.others[node];
        let is_due = node != self.me && !other.is_lost && now >= other.told_at + self.times.beat;
        is_due.then(|| Ballot::new(self.looked_at, other.ballot.number(), self.follows, self.has_quorum).0)
    }

    /// It was sent.
    pub(super) fn told(&mut self, node: usize, now: u64) {
        self.others[node].told_at = now;
    }
}

/// When a number was sent that another node has seen.
fn sent(number: u64, now: u64) -> u64 {
    now - (now.wrapping_sub(number) & TIME).min(now)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MOST: usize = 6;
    /// One beat is 100 ms.
    const TIMEOUT: u64 = 4000;
    const TICK: u64 = 20;
    const STEP: u64 = 3;

    fn times() -> Times {
        Times::within(Duration::from_millis(TIMEOUT))
    }

    /// A node of the simulation. It has a clock of its own, some per cent too fast or too slow.
    struct Node {
        membership: Option<Membership>,
        ballots: [AtomicU64; MOST],
        lease: AtomicU64,
        offset: u64,
        speed: u64,
        paused_until: u64,
        has_ended: bool,
        /// Nodes that it knows to be lost.
        lost: BTreeSet<usize>,
    }

    impl Node {
        fn clock(&self, now: u64) -> u64 {
            self.offset + now * self.speed / 1000
        }

        /// Whether it has ended, or will before it does anything else.
        fn is_over(&self, now: u64) -> bool {
            let lease = self.lease.load(Ordering::Relaxed);
            self.has_ended || lease != 0 && self.clock(now) > lease
        }
    }

    enum Message {
        Ballot(u64),
        Lost(usize),
    }

    /// Nodes, and what is under way between them.
    struct Job {
        nodes: Vec<Node>,
        rng: fastrand::Rng,
        now: u64,
        /// When it arrives, from whom, for whom.
        messages: Vec<(u64, usize, usize, Message)>,
        /// Whether a message from one node to another one arrives at all.
        is_cut: [[bool; MOST]; MOST],
        /// Longest time under way.
        delay: u64,
    }

    impl Job {
        fn new(seed: u64) -> Self {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut node = || Node {
                membership: None,
                ballots: Default::default(),
                lease: AtomicU64::new(0),
                offset: rng.u64(1..1 << 40),
                speed: rng.u64(995..=1005),
                paused_until: rng.u64(0..200),
                has_ended: false,
                lost: BTreeSet::new(),
            };
            let nodes: Vec<Node> = (0..2 + seed as usize % (MOST - 1)).map(|_| node()).collect();
            for node in &nodes {
                node.lease.store(node.clock(1) + times().lease, Ordering::Relaxed);
            }
            Self { nodes, rng, now: 1, messages: Vec::new(), is_cut: Default::default(), delay: 5 }
        }

        fn left(&self) -> Vec<usize> {
            (0..self.nodes.len()).filter(|node| !self.nodes[*node].is_over(self.now)).collect()
        }

        /// Lets time pass.
        fn run(&mut self, time: u64) {
            let until = self.now + time;
            while self.now < until {
                self.now += STEP;
                let (now, cut) = (self.now, self.is_cut);
                for (_, from, to, message) in self.messages.extract_if(.., |message| message.0 <= now) {
                    match message {
                        _ if cut[from][to] => {}
                        Message::Ballot(ballot) => self.nodes[to].ballots[from].store(ballot, Ordering::Relaxed),
                        Message::Lost(node) => _ = self.nodes[to].lost.insert(node),
                    }
                }
                for me in 0..self.nodes.len() {
                    if self.nodes[me].paused_until <= now {
                        self.nodes[me].paused_until = now + TICK + self.rng.u64(0..3);
                        self.tick(me);
                    }
                }
            }
        }

        fn tick(&mut self, me: usize) {
            let (n, now) = (self.nodes.len(), self.now);
            let node = &mut self.nodes[me];
            node.has_ended |= node.is_over(now);
            if node.has_ended {
                return;
            }
            let clock = node.clock(now);
            let ballots = &node.ballots[..n];
            let times = times();
            let membership = node.membership.get_or_insert_with(|| Membership::new(me, times, clock, ballots));
            node.lost.iter().for_each(|lost| membership.lose(*lost));
            let found = membership.look(clock, ballots, &node.lease);
            let mut said: Vec<(usize, Message)> = Vec::new();
            for other in 0..n {
                if let Some(ballot) = membership.ballot_for(other, clock) {
                    membership.told(other, clock);
                    said.push((other, Message::Ballot(ballot)));
                }
            }
            for lost in found {
                self.nodes[me].lost.insert(lost);
                said.extend((0..n).map(|other| (other, Message::Lost(lost))));
                assert!(self.nodes[lost].is_over(now), "{lost} of {n} goes on and is lost to {me} at {now}");
            }
            let has_quorum = |node: &&Node| {
                let quorum = node.membership.as_ref().map(|membership| membership.quorum.1);
                !node.is_over(now) && quorum.is_some_and(|until| node.clock(now) <= until)
            };
            assert!(self.nodes.iter().filter(has_quorum).count() <= 1, "two have a quorum at {now}");
            for (to, message) in said {
                let arrives = now + self.rng.u64(1..=self.delay);
                self.messages.push((arrives, me, to, message));
            }
        }

        /// Cuts directions of links at random.
        fn cut_some(&mut self, one_in: usize) {
            for cut in self.is_cut.iter_mut().flatten() {
                *cut = self.rng.usize(0..one_in) == 0;
            }
        }

        /// Cuts the nodes of one side from the others.
        fn cut_sides(&mut self, side: &dyn Fn(usize) -> bool) {
            for (from, to) in (0..MOST * MOST).map(|pair| (pair / MOST, pair % MOST)) {
                self.is_cut[from][to] = side(from) != side(to);
            }
        }

        /// All that are left know the same others to be lost, and these have ended.
        fn check_end(&self, left: &[usize]) {
            assert_eq!(self.left(), left);
            for node in left {
                let lost: Vec<usize> = self.nodes[*node].lost.iter().copied().collect();
                let ended: Vec<usize> = (0..self.nodes.len()).filter(|node| !left.contains(node)).collect();
                assert_eq!(lost, ended, "{node} knows");
            }
        }
    }

    /// Whatever happens, no node is lost to another one before it has ended. The nodes have different clocks; links
    /// break and heal in single directions, messages arrive late and overtake each other, nodes stop for some time, and
    /// get new leaders.
    #[test]
    fn no_node_is_lost_that_goes_on() {
        let (mut ended, mut lost) = (0, 0);
        for seed in 0..RUNS {
            let mut job = Job::new(seed);
            job.run(TIMEOUT / 2);
            for _ in 0..12 {
                let one_in = [2, 3, 5, 100][job.rng.usize(0..4)];
                match job.rng.usize(0..6) {
                    0 | 1 => job.cut_some(one_in),
                    2 => job.delay = [5, 100, 1000, 5000][job.rng.usize(0..4)],
                    3 => {
                        let side = job.rng.u8(..);
                        job.cut_sides(&|node| side >> node & 1 == 1);
                    }
                    4 => {
                        let node = job.rng.usize(0..job.nodes.len());
                        job.nodes[node].paused_until = job.now + job.rng.u64(0..TIMEOUT);
                    }
                    _ => {
                        let node = job.rng.usize(0..job.nodes.len());
                        job.nodes[node].membership = None;
                    }
                }
                let time = job.rng.u64(0..TIMEOUT / 2);
                job.run(time);
            }
            let known: BTreeSet<usize> = job.left().iter().flat_map(|node| job.nodes[*node].lost.clone()).collect();
            lost += known.len();
            ended += job.nodes.len() - job.left().len();
        }
        assert!(ended > RUNS as usize && lost > RUNS as usize / 4, "{ended} have ended, {lost} are lost");
    }

    /// The side with most nodes goes on, all of it; the others end in time, and all of that side know it.
    #[test]
    fn most_nodes_go_on() {
        for seed in 0..RUNS {
            let mut job = Job::new(seed);
            let n = job.nodes.len();
            let start = TIMEOUT / 2 + job.rng.u64(0..TIMEOUT / 4);
            job.run(start);
            // One of a whole host may stop instead of being cut off, and get a new leader before.
            let side = job.rng.u8(1..(1 << n) - 1);
            let is_in = |node: usize| side >> node & 1 == 1;
            let size = (0..n).filter(|node| is_in(*node)).count();
            let goes_on = |node: usize| match (2 * size).cmp(&n) {
                std::cmp::Ordering::Equal => is_in(node) == is_in(0),
                order => is_in(node) == order.is_gt(),
            };
            if seed % 3 == 0 {
                job.nodes[(seed / 3) as usize % n].membership = None;
            }
            job.cut_sides(&is_in);
            if seed % 2 == 0 {
                let now = job.now;
                job.nodes.iter_mut().enumerate().filter(|(node, _)| !goes_on(*node)).for_each(|(_, node)| {
                    node.paused_until = now + TIMEOUT;
                });
            }
            job.run(TIMEOUT + 100);
            let left: Vec<usize> = (0..n).filter(|node| goes_on(*node)).collect();
            job.check_end(&left);
            // Also if the link heals then.
            job.is_cut = Default::default();
            job.run(TIMEOUT);
            job.check_end(&left);
        }
    }

    /// Nodes that are all there lose nobody, also if ballots take some time, and a link is cut for a short one.
    #[test]
    fn a_cut_that_heals_loses_nobody() {
        for seed in 0..RUNS {
            let mut job = Job::new(seed);
            job.delay = [5, 30, 60][job.rng.usize(0..3)];
            job.run(TIMEOUT / 2);
            let side = job.rng.u8(..);
            job.cut_sides(&|node| side >> node & 1 == 1);
            let cut = job.rng.u64(0..TIMEOUT / 5);
            job.run(cut);
            job.is_cut = Default::default();
            job.run(TIMEOUT);
            job.check_end(&(0..job.nodes.len()).collect::<Vec<_>>());
        }
    }

    /// Schedules of each test.
    const RUNS: u64 = 300;

    #[test]
    fn ballots_come_back() {
        for (now, seen, follows, has_quorum) in
            [(1, 0, Some(0), false), (TIME, TIME, None, true), (TIME + 9, 7, Some(1023), true)]
        {
            let ballot = Ballot::new(now, seen, follows, has_quorum);
            assert_eq!((ballot.number(), ballot.seen(), ballot.has_quorum()), (now & TIME, seen, has_quorum));
            assert_eq!((0..=1024).find(|node| ballot.follows(*node)), follows);
            let later = Ballot::new(now + 5, seen, follows, has_quorum);
            assert!(later.is_after(ballot) && !ballot.is_after(later) && !ballot.is_after(ballot));
            assert_eq!(sent(ballot.number(), now + 5), now);
        }
        assert!(!Ballot(0).follows(0) && Ballot(1).is_after(Ballot(0)));
    }
}
