//! PEs die and are lost while others have requests under way to them.

use super::*;
use crate::encoding::batch::BatchItem;

/// All talk to all; one dies, and the others learn of it at different times.
#[test]
fn those_that_are_left_go_on() {
    const ROUNDS: usize = 80;

    for seed in 0..200 {
        let n = 3 + seed as usize % 3;
        let world = World::new(n, seed, 1 + seed as usize % 4);
        let job = Job::new(&world, limits(1 + seed as u32 % 4, 4).with_long_records(n));
        let (dead, dies) = (world.below(n), world.below(ROUNDS / 2));
        let loses: Vec<usize> = (0..n).map(|_| dies + world.below(ROUNDS / 2)).collect();
        let contexts: Vec<ContextCounters> = (0..n).map(|_| ContextCounters::default()).collect();
        let mut added = vec![vec![0u64; n]; n];
        let mut results = vec![[0u64; ROUNDS]; n];
        let mut expected = vec![vec![]; n];
        for (round, me) in (0..ROUNDS).flat_map(|round| (0..n).map(move |me| (round, me))) {
            if me == dead && round >= dies {
                world.kill(dead);
                continue;
            }
            if round == loses[me] {
                job.lose(me, dead);
            }
            let pe = world.below(n);
            let endpoint = job.endpoint(me);
            let result = (&raw mut results[me][round]).cast();
            let place = (0, 8 * me);
            let awaited = PendingResult { counter: job.counter(me), result };
            let urgency = [Urgency::Now, Urgency::Usual, Urgency::BatchItem][world.below(3)];
            let by = (&contexts[me], contexts[me].peer(pe, n));
            let kind = world.below(4);
            // Without room, a thread waits, until the PE is lost: not this one here.
            let is_stuck = || world.is_dead(pe) && !world.is_lost(me, pe);
            let post = Request::Post(add(1));
            let attempt = || match kind {
                0 => {
                    job.pes[me].hand_over(&endpoint, pe, &contexts[me]).unwrap() && {
                        let fetch = (MessageItem::Request(Request::Fetch(add(1))), place);
                        job.pes[me].append(&endpoint, pe, fetch, awaited, urgency).unwrap()
                    }
                }
                1 => job.pes[me].gather(&endpoint, pe, (BatchItem::Post(post), place), by, urgency).unwrap(),
                _ => {
                    let post = (MessageItem::Request(post), (0, 8 * (n + me)));
                    job.pes[me].append(&endpoint, pe, post, awaited, urgency).unwrap()
                }
            };
            let mut is_done = false;
            job.bounded(|| {
                is_done = is_done || attempt();
                is_done || is_stuck()
            });
            if is_done && kind < 2 {
                if kind == 0 {
                    expected[me].push((round, pe, added[me][pe]));
                }
                added[me][pe] += 1;
            }
        }
        let left = || (0..n).filter(|me| *me != dead);
        left().for_each(|me| job.lose(me, dead));
        job.bounded(|| {
            left().for_each(|me| job.pes[me].hand_over_all(&job.endpoint(me)).unwrap());
            left().all(|me| job.pending[me].is_complete() && contexts[me].in_flight() == 0)
        });
        for me in left() {
            let to_left = expected[me].iter().filter(|(_, pe, _)| *pe != dead);
            for (round, _, sum) in to_left {
                assert_eq!(results[me][*round], *sum, "seed {seed}: what PE {me} fetched in round {round}");
            }
            for pe in left() {
                assert_eq!(world.memory[pe][me].get(), added[me][pe], "seed {seed}: PE {me} to PE {pe}");
            }
        }
        // Nothing is left to be sent.
        job.bounded(|| left().all(|me| !job.pes[me].has_unsent()));
    }
}

/// A message of each kind that arrives after its PE was lost does nothing.
#[test]
fn late_messages_are_not_taken() {
    let world = World::roomy();
    let job = Job::new(&world, limits(4, 8));
    let mut result = 7u64;
    let fetch = (MessageItem::Request(Request::Fetch(add(1))), (0, 0));
    // A request with a result, which is executed, and requests of the PE that dies.
    assert!(job.append(0, fetch, (&raw mut result).cast(), Urgency::Now));
    let (to, request) = world.deliver().unwrap();
    job.pes[to].receive(&job.endpoint(to), &request).unwrap();
    job.pes[1].flush(&job.endpoint(1), Flush::All).unwrap();
    let record = MessageItem::Record([&[1], &[2]]);
    assert!(job.append(1, (record, (0, 0)), std::ptr::null_mut(), Urgency::Now));
    assert!(job.append(1, post(), std::ptr::null_mut(), Urgency::Now));
    assert!(!job.is_acknowledged(0));
    job.lose(0, 1);
    assert!(job.is_acknowledged(0), "it waits for a PE that is lost");
    job.arrive();
    assert_eq!((result, world.memory[0][0].get()), (7, 0));
    assert!(world.records.borrow().is_empty());
    assert!(job.append(0, fetch, (&raw mut result).cast(), Urgency::Now));
    assert!(job.is_acknowledged(0) && !job.pes[0].has_unsent());
}

/// A request in a slot is over, and no other is written there.
#[test]
fn a_slot_of_a_lost_pe_is_given_up() {
    let mut world = World::roomy();
    world.has_slots = true;
    let job = Job::new(&world, limits(4, 8));
    // The answer grants a slot.
    for me in [0, 1] {
        assert!(job.append(me, post(), std::ptr::null_mut(), Urgency::Now));
        job.flush(1 - me, Flush::All);
    }
    let endpoint = job.endpoint(0);
    let request = (Request::Fetch(add(1)), (0, 0));
    let write = || job.pes[0].request_by_slot(&endpoint, 1, request).unwrap();
    let (_, sequence) = write().expect("a slot");
    assert_eq!(write(), None);
    job.lose(0, 1);
    job.pes[0].replied(&endpoint, 1, sequence).unwrap();
    assert_eq!(write(), None);
}
