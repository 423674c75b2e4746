//! Sequences of collectives without any synchronisation between them: a member that runs ahead
//! must not disturb one that is late, whatever either does.

use std::time::Duration;

use ferroshmem_core::group::threads::{Member, each};
use ferroshmem_core::wait::POLICY;
use ferroshmem_tuning::{Choice, Collective};

use super::{Arrays, Random, TestCall, run_oversubscribed};

/// Longest block.
const LONGEST: usize = 5000;
const LENGTHS: [usize; 10] = [0, 1, 8, 16, 56, 64, 300, 2048, 2056, LONGEST];

/// Random calls, the same for all members that begin with the same number.
struct Calls {
    random: Random,
    salt: usize,
    size: usize,
    /// The barrier of all calls, as a team has it; otherwise each has its own.
    barrier: Option<Choice>,
}

impl Calls {
    fn new(seed: u64, size: usize) -> Self {
        Self { random: Random::new(seed), salt: 0, size, barrier: None }
    }

    fn next(&mut self) -> TestCall {
        let random = &mut self.random;
        let collective = random.of(&Collective::ALL);
        let choice = random.of(collective.choices());
        let barrier = self.barrier.unwrap_or_else(|| random.of(Collective::Barrier.choices()));
        // Short ones most often: they leave the most to do at the same time.
        let bytes = random.of(&LENGTHS[..4 + random.clone().below(7)]);
        self.salt += 1;
        TestCall {
            collective,
            choice,
            barrier,
            bytes,
            root: random.below(self.size),
            in_place: random.below(2) == 0,
            salt: self.salt,
        }
    }
}

/// Comes late now and then.
fn dawdle(random: &mut Random) {
    match random.below(64) {
        0 => std::thread::sleep(Duration::from_micros(200)),
        1..8 => std::thread::yield_now(),
        _ => {}
    }
}

fn arrays(size: usize) -> Arrays {
    Arrays::new(size, size * 3 * LONGEST)
}

#[test]
fn any_collective_may_follow_any_other() {
    random_sequences([2, 3, 5, 8], 400);
}

#[test]
#[ignore = "the same with more members and longer, for most of a minute"]
fn any_collective_may_follow_any_other_for_long() {
    random_sequences([2, 3, 4, 5, 7, 8, 9], 2000);
}

/// So many collectives with each barrier, by groups of these sizes.
fn random_sequences<const N: usize>(sizes: [usize; N], calls_by_barrier: usize) {
    for size in sizes {
        let arrays = arrays(size);
        run_oversubscribed(size, |member| {
            let mut own = Random::new(1000 + member.me as u64);
            let mut calls = Calls::new(size as u64, size);
            let barriers = Collective::Barrier.choices().iter().copied().map(Some);
            for barrier in barriers.chain([None]) {
                calls.barrier = barrier;
                for _ in 0..calls_by_barrier {
                    dawdle(&mut own);
                    calls.next().check(&arrays, &member);
                }
            }
        });
    }
}

/// Epochs and small broadcasts are counted in 32 bits, flags show 31 of them: flags that were
/// not used for long must not be taken for posted ones.
#[test]
fn counts_may_run_around() {
    let size = 5;
    for before in [10, 25, 40] {
        for end in [1 << 30, 1 << 31, 0u32] {
            let arrays = arrays(size);
            POLICY.set(16, 2, None);
            each(Member::all(size, end.wrapping_sub(before)), |member| {
                let mut calls = Calls::new(u64::from(before), size);
                for _ in 0..400 {
                    calls.next().check(&arrays, &member);
                }
            });
        }
    }
}

/// Two groups with common members, numbered in opposite order in the second.
#[test]
fn two_groups_may_share_members() {
    const THREADS: usize = 6;
    struct Thread {
        first: Member,
        second: Option<Member>,
    }
    // The second group has every other thread, the last one first.
    let mut second: Vec<_> = Member::all(THREADS / 2, 0).map(Some).collect();
    let threads = Member::all(THREADS, 0).map(|first| {
        let second = (first.me % 2 == 1).then(|| second.pop().unwrap().unwrap());
        Thread { first, second }
    });
    let threads: Vec<Thread> = threads.collect();
    let arrays = [arrays(THREADS), arrays(THREADS / 2)];
    POLICY.set(16, 2, None);
    each(threads, |thread| {
        let mut order = Random::new(1);
        let mut own = Random::new(2000 + thread.first.me as u64);
        let mut calls = [Calls::new(11, THREADS), Calls::new(12, THREADS / 2)];
        for _ in 0..3000 {
            let which = order.below(2);
            let call = calls[which].next();
            dawdle(&mut own);
            match (which, &thread.second) {
                (0, _) => _ = call.check(&arrays[0], &thread.first),
                (_, Some(member)) => _ = call.check(&arrays[1], member),
                _ => {}
            }
        }
    });
}
