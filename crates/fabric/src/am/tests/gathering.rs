//! What contexts gather in batches of their own.

use super::*;
use crate::encoding::batch::BatchItem;
use crate::encoding::request::Short;
use crate::lock::taken;

/// Contexts of each PE gather adds to words of their own, and fetch these; threads that idle hand over at any time.
#[test]
fn batches_keep_the_order_of_their_context() {
    const ROUNDS: usize = 200;
    const CONTEXTS: usize = 3;

    for seed in 0..30 {
        let n = 2 + seed as usize % 3;
        let world = World::new(n, seed, 1 + seed as usize % 3);
        let job = Job::new(&world, limits(1 + seed as u32 % 4, 6));
        let contexts: Vec<[ContextCounters; CONTEXTS]> = (0..n).map(|_| Default::default()).collect();
        let mut added = vec![[0u64; CONTEXTS]; n * n];
        let mut results = vec![[0u64; ROUNDS]; n];
        let mut expected = vec![vec![]; n];
        for (round, me) in (0..ROUNDS).flat_map(|round| (0..n).map(move |me| (round, me))) {
            let (pe, which) = (world.below(n), world.below(CONTEXTS));
            let (context, endpoint) = (&contexts[me][which], job.endpoint(me));
            let peer = context.peer(pe, n);
            // A word for each context of each PE.
            let place = (0, 8 * (CONTEXTS * me + which));
            let messages = &job.pes[me];
            match world.below(8) {
                0 => {
                    job.bounded(|| messages.hand_over(&endpoint, pe, context).unwrap());
                    let result = (&raw mut results[me][round]).cast();
                    let request = MessageItem::Request(Request::Fetch(add(0)));
                    job.request(me, pe, (request, place), result);
                    expected[me].push((round, added[n * me + pe][which]));
                }
                1 => messages.hand_over_all(&endpoint).unwrap(),
                2 => messages.hand_over_context(&endpoint, context).unwrap(),
                3 => job.poll().unwrap(),
                _ => {
                    let post = Request::Post(add(1));
                    let short = Short::request(post, place).unwrap();
                    let is_behind =
                        context.batches().is_some_and(|batches| messages.gather_to_open(pe, short, (batches, peer)));
                    if !is_behind {
                        let urgency = [Urgency::Now, Urgency::Usual, Urgency::BatchItem][world.below(3)];
                        let item = (BatchItem::Post(post), place);
                        let by = (context, peer);
                        job.bounded(|| messages.gather(&endpoint, pe, item, by, urgency).unwrap());
                    }
                    added[n * me + pe][which] += 1;
                }
            }
        }
        job.bounded(|| {
            let pes = job.pes.iter().enumerate();
            pes.for_each(|(me, pe)| pe.hand_over_all(&job.endpoint(me)).unwrap());
            contexts.iter().flatten().all(|context| context.in_flight() == 0)
        });
        job.quiet();
        for (results, expected) in results.iter().zip(expected) {
            for (round, sum) in expected {
                assert_eq!(results[round], sum, "seed {seed}: a fetch is not in order");
            }
        }
        for (i, added) in added.iter().enumerate() {
            let (me, pe) = (i / n, i % n);
            for (which, sum) in added.iter().enumerate() {
                assert_eq!(world.memory[pe][CONTEXTS * me + which].get(), *sum);
            }
        }
    }
}

/// A context's thread takes locks of other threads for each message, not for each item.
#[test]
fn gathering_takes_no_lock_that_threads_share() {
    let limits = Limits::new(2);
    let messages = ActiveMessages::new(0, 2, limits);
    let context = ContextCounters::default();
    let peer = context.peer(1, 2);
    let mut items = 0u64;
    let mut locks = Vec::new();
    loop {
        let before = taken();
        let data = items.to_ne_bytes();
        // Not one after the other.
        let place = (0, 16 * (items as usize * 7919 % 10_000));
        // SAFETY: as many bytes.
        let short = unsafe { Short::put(place, data.as_ptr(), data.len()) };
        let batches = context.batches();
        let is_behind = batches.is_some_and(|batches| messages.gather_to_open(1, short, (batches, peer)));
        let put = (BatchItem::Put(&data), place);
        let is_gathered = is_behind || messages.gather(&Nowhere, 1, put, (&context, peer), Urgency::Usual).unwrap();
        if !is_gathered {
            break;
        }
        items += 1;
        locks.push(taken() - before);
    }
    let message = (limits.capacity - HEADER) as u64 / 16;
    let sent = items / message;
    assert!(sent >= 15, "{items} items");
    let with_locks = locks.iter().filter(|n| **n > 0).count() as u64;
    // The first is sent at once.
    assert!(with_locks <= sent + 2, "{with_locks} of {items} items take shared locks");
    let total: usize = locks.iter().sum();
    assert!(total as u64 <= 3 * (sent + 2), "{total} locks for {sent} messages");
}

/// A number of PEs that leaves each a message of no whole words.
#[test]
fn a_batch_has_room_for_the_longest_put() {
    let messages = ActiveMessages::new(0, 2, Limits::new(5000));
    let context = ContextCounters::default();
    let data = vec![7; messages.longest_put()];
    let (put, by) = ((BatchItem::Put(&data), (0, 0)), (&context, context.peer(1, 2)));
    assert!(messages.gather(&Nowhere, 1, put, by, Urgency::BatchItem).unwrap());
    let bytes = context.batches().unwrap().with_filled(1, |batch| batch.items().len());
    assert_eq!(bytes, Some(size_of::<u64>() + data.len().next_multiple_of(8)));
}

/// What a context gathers after a stream waits for more, not beyond the next idle period.
#[test]
fn a_batch_is_filled_until_there_is_a_lull() {
    let world = World::new(2, 1, usize::MAX);
    let job = Job::new(&world, limits(4, 8));
    let context = ContextCounters::default();
    let endpoint = job.endpoint(0);
    let gather = || {
        let by = (&context, context.peer(1, 2));
        let item = (BatchItem::Post(Request::Post(add(1))), (0, 0));
        job.bounded(|| job.pes[0].gather(&endpoint, 1, item, by, Urgency::Usual).unwrap());
    };
    let quiet = || {
        job.bounded(|| {
            job.pes[0].hand_over_context(&endpoint, &context).unwrap();
            context.in_flight() == 0
        });
    };
    // The first is sent at once; those behind fill a message, and more than the half of another.
    gather();
    assert_eq!(world.n.get(), 1);
    (0..50).for_each(|_| gather());
    quiet();
    gather();
    let batches = context.batches().unwrap();
    assert!(batches.has_filled(), "it waits for more");
    assert!(!job.pes[0].may_rest(), "it is not sent yet");
    quiet();
    (0..20).for_each(|_| gather());
    quiet();
    assert!(job.pes[0].may_rest());
    let before = world.n.get();
    gather();
    assert!(world.n.get() > before, "not at once after an idle period");
    quiet();
    assert_eq!(world.memory[1][0].get(), 1 + 50 + 1 + 20 + 1);
}
