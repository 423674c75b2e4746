//! PEs in one process, joined by a model of the network: it delivers late, in any order between pairs of
//! PEs, to several threads at once, and has no room at times.

use std::cell::Cell;

use super::channel::{Limits, MessageItem, PendingResult};
use super::fault::Reason;
use super::messages::{ActiveMessages, Flush, Urgency};
use crate::completion::{CompletionCounter, ContextCounters, Pending};
use crate::encoding::message::HEADER;
use crate::encoding::request::Request;

mod gathering;
mod losing;
mod memory;
mod world;

use world::{Job, Nowhere, WORDS, World, add, limits, post};

/// All PEs add to, and fetch from, those that `target` chooses; a fetch sees all adds of its PE
/// before it.
fn run(n: usize, seed: u64, limits: Limits, target: fn(usize, usize, usize) -> usize) -> World {
    const ROUNDS: usize = 60;

    let world = World::new(n, seed, 1 + seed as usize % 3);
    let job = Job::new(&world, limits);
    let mut results = vec![[0u64; ROUNDS]; n];
    let mut expected = vec![vec![]; n];
    let mut added = vec![vec![0u64; n]; n];
    for (round, me) in (0..ROUNDS).flat_map(|round| (0..n).map(move |me| (round, me))) {
        let pe = target(me, round, n);
        let word = 8 * (me % WORDS);
        if world.below(3) > 0 {
            job.request(me, pe, (MessageItem::Request(Request::Post(add(1))), (0, word)), std::ptr::null_mut());
            added[me][pe] += 1;
        } else {
            let result = (&raw mut results[me][round]).cast();
            let request = if round % 2 == 0 { Request::Fetch(add(0)) } else { Request::Read(size_of::<u64>()) };
            job.request(me, pe, (MessageItem::Request(request), (0, word)), result);
            expected[me].push((round, added[me][pe]));
        }
    }
    job.quiet();
    for (results, expected) in results.iter().zip(expected) {
        for (round, least) in expected {
            assert!(results[round] >= least, "a fetch overtook an add");
            if n <= WORDS {
                assert_eq!(results[round], least, "a fetch came after a later add");
            }
        }
    }
    let total: u64 = world.memory.iter().flatten().map(Cell::get).sum();
    assert_eq!(total, added.iter().flatten().sum::<u64>());
    drop(job);
    world
}

#[test]
fn all_to_one_ends_and_bounds_what_is_under_way() {
    for seed in 0..20 {
        let world = run(40, seed, limits(2, 3), |_, _, _| 0);
        // Requests of each, and a reply to itself for each.
        let most = world.most.get();
        assert!(most <= 40 * 2 + 3, "{most} messages to one PE");
    }
}

#[test]
fn any_pattern_ends_in_order() {
    for seed in 0..40 {
        let window = 1 + seed as u32 % 4;
        run(9, seed, limits(window, 4), |me, round, n| (me * 7 + round * round) % n);
        run(2, seed, limits(window, 1), |me, _, _| 1 - me);
        run(5, seed, limits(window, 8), |me, _, n| (me + 1) % n);
        run(1, seed, limits(window, 2), |_, _, _| 0);
    }
}

#[test]
fn records_arrive_once_and_in_order() {
    const ROUNDS: usize = 50;

    for seed in 0..20 {
        let world = World::new(7, seed, 1 + seed as usize % 3);
        let job = Job::new(&world, limits(1 + seed as u32 % 3, 4).with_long_records(7));
        // Some are too long for a message with others.
        let len = |me: usize, i: usize| match i % 7 {
            0 => 1000 + me * 10_000 + i,
            _ => 1 + (me * 31 + i * 17) % 60,
        };
        let record = |me: usize, i: usize| vec![me as u8 ^ i as u8; len(me, i)];
        for (i, me) in (0..ROUNDS).flat_map(|i| (0..7).map(move |me| (i, me))) {
            let bytes = record(me, i);
            let parts = bytes.split_at(bytes.len() / 3);
            let item = MessageItem::Record([parts.0, parts.1]);
            // All to one, and adds between them.
            job.request(me, 3, (item, (0, 0)), std::ptr::null_mut());
            job.request(me, 3, post(), std::ptr::null_mut());
        }
        job.quiet();
        for me in 0..7 {
            let records = world.records.borrow();
            let from_me = records.iter().filter(|(from, to, _)| (*from, *to) == (me, 3));
            let got: Vec<_> = from_me.map(|(_, _, bytes)| bytes.clone()).collect();
            let sent: Vec<_> = (0..ROUNDS).map(|i| record(me, i)).collect();
            assert_eq!(got, sent);
        }
        assert_eq!(world.memory[3][0].get(), 7 * ROUNDS as u64);
    }
}

#[test]
fn many_records_are_acknowledged_at_once() {
    let world = World::roomy();
    let job = Job::new(&world, limits(16, 64));
    // A quarter of the window.
    for round in 0..5 {
        for i in 1..=4 {
            let n = job.send(0, Urgency::Now);
            job.flush(1, Flush::Prompt);
            let acknowledgements = usize::from(i == 4);
            assert_eq!(world.n.get() - n, acknowledgements, "{i} of round {round}");
            assert_eq!(job.is_acknowledged(0), i == 4);
        }
    }
    assert_eq!(world.n.get(), 5 * (4 + 1));
    // An answer is an acknowledgement.
    for _ in 0..10 {
        let n = world.n.get();
        job.send(0, Urgency::Now);
        job.send(1, Urgency::Now);
        job.flush(0, Flush::Prompt);
        job.flush(1, Flush::Prompt);
        assert_eq!(world.n.get() - n, 2);
        assert!(job.is_acknowledged(0));
    }
    // A thread that waits for completions, and the progress thread, acknowledge what is due.
    assert!(!job.is_acknowledged(1));
    assert!(!job.pes[0].may_rest());
    job.flush(0, Flush::All);
    assert!(job.is_acknowledged(1));
    assert!(job.pes[0].may_rest());
    // So is all that is no record, at once.
    assert!(job.append(0, post(), std::ptr::null_mut(), Urgency::Now));
    job.arrive();
    job.flush(1, Flush::Prompt);
    assert!(job.is_acknowledged(0));
}

#[test]
fn long_records_are_sent_at_once() {
    let world = World::roomy();
    let job = Job::new(&world, limits(16, 4));
    for n in 1..=4 {
        assert_eq!(job.send_parts(0, [&[1], &[7; 100]], Urgency::Usual), n);
    }
}

#[test]
fn records_are_sent_at_once_while_few_are_under_way() {
    let world = World::roomy();
    let job = Job::new(&world, limits(16, 64));
    for n in 1..=4 {
        assert_eq!(job.send(0, Urgency::Usual), n);
    }
    // The fourth is about to be acknowledged, which sends the fifth.
    assert_eq!(job.send(0, Urgency::Usual), 4);
    job.flush(1, Flush::Prompt);
    assert!(!job.is_acknowledged(0));
    job.flush(0, Flush::Prompt);
    assert_eq!(world.n.get(), 6);
}

/// With a window of one message, each is acknowledged at once: the next waits for that.
#[test]
fn small_windows_are_acknowledged_at_once() {
    let world = World::roomy();
    let job = Job::new(&world, limits(1, 64));
    for _ in 0..10 {
        job.send(0, Urgency::Now);
        job.flush(1, Flush::Prompt);
        assert!(job.is_acknowledged(0));
    }
}

#[test]
fn many_pes_beyond_the_slots() {
    let world = run(100, 3, limits(1, 4), |me, round, n| (me * round) % n);
    assert!(world.n.get() > 0);
}

#[test]
fn requests_go_together() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(16, 200));
    for _ in 0..1000 {
        job.request(0, 1, post(), std::ptr::null_mut());
    }
    job.quiet();
    assert_eq!(world.memory[1][0].get(), 1000);
    let n = world.n.get();
    assert!(n <= 800, "{n} messages for 1000 requests, a third of them urgent");
}

#[test]
fn contexts_that_take_turns_are_counted_once_each() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(16, 200));
    let contexts: [ContextCounters; 3] = Default::default();
    let in_flight = || contexts.each_ref().map(ContextCounters::in_flight);
    for i in 0..30 {
        let context = &contexts[i % 3];
        let awaited = PendingResult {
            counter: CompletionCounter::context(context, context.peer(1, 2), false),
            result: std::ptr::null_mut(),
        };
        let appended = job.pes[0].append(&job.endpoint(0), 1, post(), awaited, Urgency::BatchItem);
        assert!(appended.unwrap());
    }
    assert_eq!(in_flight(), [1; 3]);
    job.bounded(|| in_flight() == [0; 3]);
    assert_eq!(world.memory[1][0].get(), 30);
}

#[test]
fn a_stream_fills_messages_until_there_is_a_lull() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(4, 8));
    let append = || job.append(0, post(), std::ptr::null_mut(), Urgency::Usual);
    // Full messages, which are executed.
    let stream = || {
        while append() {}
        job.bounded(|| world.wires.borrow().is_empty() && !job.pes.iter().any(ActiveMessages::has_unsent));
        job.quiet();
        world.n.get()
    };
    let before = stream();
    assert!(append());
    assert_eq!(world.n.get(), before, "a message is filled");
    assert!(!job.pes[0].may_rest(), "it is not sent yet");
    let before = stream();
    assert!(job.pes[0].may_rest());
    let is_sent = (0..8).any(|_| append() && world.n.get() > before);
    assert!(is_sent, "not before a flush");
    job.quiet();
}

#[test]
fn what_no_pe_sends_is_refused() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(4, 4));
    let refuse = |message: &[u8]| job.pes[1].receive(&job.endpoint(1), message).unwrap_err();
    assert_eq!(refuse(&[]).reason, Reason::Malformed);
    let request = (MessageItem::Request(Request::Fetch(add(1))), (0, 8 * WORDS));
    let mut result = 0u64;
    while !world.wires.borrow().iter().any(|_| true) {
        let _ = job.append(0, request, (&raw mut result).cast(), Urgency::Now);
        job.pes[0].flush(&job.endpoint(0), Flush::All).unwrap();
    }
    let (_, message) = world.deliver().unwrap();
    let beyond = refuse(&message);
    assert_eq!((beyond.pe, beyond.reason), (Some(0), Reason::NotShared));
    let byte = |at: usize, value: u8| {
        let mut message = message.clone();
        message[at] = value;
        message
    };
    // Source, sequence, what was executed, length, operation.
    for (at, value) in [(4, 2), (8, 200), (12, 9), (16, 31), (HEADER, 15)] {
        let fault = refuse(&byte(at, value));
        assert_eq!(fault.reason, Reason::Malformed, "byte {at}");
    }
}
