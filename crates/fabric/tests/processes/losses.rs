//! PEs die, or stop, while all talk to all; the others are told, and go on.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

use ferroshmem_fabric::{Aggregate, AtomicOp, Context, Op, Width};

use crate::failures;
use crate::job::{Case, Job, PEER_FAILED, STOPS};

const N: usize = 4;
/// Threads of a PE, each with a context of its own.
const THREADS: usize = 2;
/// Rounds behind the last loss.
const ROUNDS: u64 = 30;
/// PEs that die, one after the other.
const VICTIMS: [usize; 2] = [1, 2];

/// Offsets in what a thread writes of each PE's heap: a sum, a signal, what the signal follows.
const SUM: usize = 0;
const SIGNAL: usize = 64;
const DATA: usize = 4096;
const AREA: usize = 256 << 10;
const LENGTHS: [usize; 4] = [8, 200, 5_000, 60_000];

pub(crate) fn cases() -> Vec<Case> {
    let ends = |pe| (!VICTIMS.contains(&pe)).then_some(0);
    let lose = |name, run| Case { ends, loses: true, repeats: 3, ..Case::new(name, N, run) };
    vec![
        lose("lost_while_all_talk", |job| talk(job, false)),
        lose("lost_while_puts_go_together", |job| talk(job, false)).aggregating(Aggregate::default()),
        lose("lost_while_own_endpoints_are_used", |job| talk(job, false)).own_endpoints(2),
        Case { repeats: 2, ..lose("rxm_lost_while_all_talk", |job| talk(job, false)) }.by_rxm(),
        Case { repeats: 2, ..lose("pinned_lost_while_all_talk", |job| talk(job, false)) }.pinned(),
        // As hosts that are cut off.
        Case { repeats: 2, ..lose("stopped_while_all_talk", |job| talk(job, true)) },
        Case { repeats: 2, ..lose("stopped_while_puts_go_together", |job| talk(job, true)) }
            .aggregating(Aggregate::default()),
        Case {
            ends: |pe| [0, 6].contains(&pe).then_some(0),
            loses: true,
            ..Case::new("stopped_with_all_buffers", 7, stopped_with_all_buffers)
        },
        Case { ends: |pe| (pe == 0).then_some(PEER_FAILED), ..Case::new("killed_and_not_lost", 2, not_lost) },
        Case {
            ends: |pe| Some(if pe == 0 { PEER_FAILED } else { 0 }),
            loses: true,
            ..Case::new("connection_to_one_that_lives_breaks", 2, connection_breaks)
        },
        Case {
            ends: |pe| (pe != 1).then_some(0),
            loses: true,
            ..Case::new("puts_that_never_wait", 3, puts_that_never_wait)
        },
    ]
}

/// PE 1 dies, and nobody says so.
fn not_lost(job: &Job) {
    job.fabric.tolerate_failures();
    job.barrier();
    failures::die(job, failures::SOON);
    for _ in 0.. {
        job.put_word(&job.context, job.at(1, 0), 1);
        job.fabric.quiet(&job.context);
    }
}

/// The connection to PE 1 breaks, which lives: no operation that was lost with it counts as complete. One that breaks
/// while nothing is under way is made anew, so it breaks again and again.
fn connection_breaks(job: &Job) {
    job.fabric.tolerate_failures();
    job.barrier();
    if job.pe == 1 {
        assert_eq!(job.gone.lock().unwrap().recv(), Ok(0));
        std::process::exit(0);
    }
    let data = vec![1u64; 1 << 17];
    thread::scope(|s| {
        s.spawn(|| {
            loop {
                thread::sleep(failures::SOON);
                (3..1000).for_each(break_connection);
            }
        });
        for round in 0u64.. {
            let mut back = vec![0u64; data.len()];
            // SAFETY: within the heap and the buffers, which live until quiet.
            unsafe {
                job.put_word(&job.context, job.at(1, 0), round);
                job.fabric.put_nbi(&job.context, job.at(1, 8), data.as_ptr().cast(), 8 * data.len());
                job.fabric.get_nbi(&job.context, back.as_mut_ptr().cast(), job.at(1, 8), 8 * data.len());
            }
            job.fabric.quiet(&job.context);
            if round > 0 && back != data {
                eprintln!("a get is complete that never was");
                std::process::exit(1);
            }
        }
    });
}

/// Shuts a descriptor down if it is a connection.
fn break_connection(fd: i32) {
    // SAFETY: plain data, for which zeros are valid; calls that fail for what is no connection.
    unsafe {
        let mut peer: libc::sockaddr_in = std::mem::zeroed();
        let mut len = size_of_val(&peer) as libc::socklen_t;
        if libc::getpeername(fd, (&raw mut peer).cast(), &raw mut len) == 0 && peer.sin_family == libc::AF_INET as u16 {
            libc::shutdown(fd, libc::SHUT_RDWR);
        }
    }
}

/// PE 1 dies; puts to it that may not wait are refused or dropped, and are no sign of life; those to others arrive.
fn puts_that_never_wait(job: &Job) {
    let last = Context::default();
    last.use_last_endpoint();
    let try_to_put = |pe, value: u64| {
        let from = (&raw const value).cast();
        // SAFETY: words, within the heap.
        let put = |context, at| unsafe { job.fabric.try_put(context, job.at(pe, at), from, 8) };
        put(&job.context, 64) & put(&last, 128)
    };
    job.fabric.tolerate_failures();
    (0..job.n).for_each(|pe| job.put_word(&job.context, job.at(pe, 0), 1));
    job.fabric.quiet(&job.context);
    job.barrier();
    failures::die(job, Duration::ZERO);
    if job.pe == 0 {
        let gone = job.gone.lock().unwrap();
        assert_eq!(gone.recv(), Ok(1));
        // What the first ones break is noticed.
        for _ in 0..10 {
            try_to_put(1, 7);
            thread::sleep(Duration::from_millis(10));
        }
        let before = job.fabric.completed(1);
        for i in 1..=1000 {
            try_to_put(1, i);
            while !try_to_put(2, i) {
                job.fabric.progress();
            }
        }
        assert_eq!(job.fabric.completed(1), before);
        job.fabric.lose(1);
        assert!(try_to_put(1, 7));
        job.fabric.quiet(&job.context);
        job.fabric.quiet(&last);
    } else {
        job.fabric.lose(1);
        job.fabric.wait(|| [64, 128].iter().all(|at| job.word(*at).load(Acquire) == 1000));
    }
}

/// PEs stop, and keep all that others have for what is under way; these talk to each other afterwards.
fn stopped_with_all_buffers(job: &Job) {
    const LONG: usize = 12 << 20;
    /// Together, more than there are bounce buffers, and than messages may be under way.
    const PUTS: usize = 250;
    const POSTS: usize = 50_000;

    let stopped = 1..6;
    let add = AtomicOp::new(Op::Add, Width::W64, 1);
    let long = vec![1u8; LONG];
    job.fabric.tolerate_failures();
    // All are connected.
    (0..job.n).for_each(|pe| job.put_word(&job.context, job.at(pe, 0), 1));
    job.fabric.quiet(&job.context);
    job.barrier();
    if stopped.contains(&job.pe) {
        println!("{STOPS}");
        // SAFETY: stops this process.
        unsafe { libc::raise(libc::SIGSTOP) };
    }
    thread::scope(|s| {
        for pe in stopped.clone() {
            let long = &long;
            s.spawn(move || {
                let context = Context::default();
                // SAFETY: within heaps, and of bytes that live until quiet.
                unsafe {
                    job.fabric.put_nbi(&context, job.at(pe, 0), long.as_ptr(), LONG);
                    job.fabric.get_nbi(&context, job.heap.add(pe << 12), job.at(pe, 0), 8);
                }
                (0..PUTS).for_each(|_| job.put(&context, job.at(pe, 0), &long[..16_000]));
                job.fabric.quiet(&context);
            });
            s.spawn(move || {
                let context = Context::default();
                (0..POSTS).for_each(|word| job.fabric.post(&context, job.at(pe, 8 * word), add));
                job.fabric.quiet(&context);
                assert_eq!(job.fabric.fetch(&context, job.at(pe, 0), add), 0);
            });
        }
        let gone = job.gone.lock().unwrap();
        let gone: Vec<usize> = gone.iter().take(stopped.len()).collect();
        thread::sleep(Duration::from_secs(1));
        for pe in gone {
            job.fabric.lose(pe);
        }
    });
    job.barrier();
    let other = 6 - job.pe;
    for i in 0..100 {
        let data = vec![i as u8; 4_000 + i];
        job.put(&job.context, job.at(other, LONG), &data);
        job.fabric.quiet(&job.context);
        assert_eq!(job.get(&job.context, job.at(other, LONG), data.len()), data);
        let sum = job.at(other, LONG + AREA);
        assert_eq!(job.fabric.fetch(&job.context, sum, add), 201 * i as u64);
        (0..200).for_each(|_| job.fabric.post(&job.context, sum, add));
    }
}

/// What threads of a PE share.
#[derive(Default)]
struct Talk {
    /// PEs that are lost.
    lost: AtomicUsize,
    /// Records sent to each.
    records: [AtomicU64; N],
    is_over: AtomicBool,
}

fn talk(job: &Job, stops: bool) {
    let talk = Talk::default();
    let mut random = fastrand::Rng::with_seed(job.seed << 8 | job.pe as u64);
    job.fabric.tolerate_failures();
    job.barrier();
    thread::scope(|s| {
        s.spawn(|| take_losses(job, &talk));
        if let Some(before) = VICTIMS.iter().position(|victim| *victim == job.pe) {
            let after = Duration::from_micros(random.u64(..60_000));
            let talk = &talk;
            s.spawn(move || fall(talk, before, after, stops));
        }
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                s.spawn({
                    let talk = &talk;
                    move || exchange(job, talk, thread)
                })
            })
            .collect();
        // One waits for what comes from others alone.
        job.fabric.wait(|| talk.lost.load(Acquire) == VICTIMS.len());
        let rounds: Vec<u64> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        talk.is_over.store(true, Release);
        check(job, &talk, &rounds);
    });
}

/// Loses the PEs of which the parent says that they are gone.
fn take_losses(job: &Job, talk: &Talk) {
    let gone = job.gone.lock().unwrap();
    for pe in gone.iter().take(VICTIMS.len()) {
        if std::env::var_os("FABRIC_TEST_NO_LOSE").is_none() {
            job.fabric.lose(pe);
            job.fabric.lose(pe);
        }
        talk.lost.fetch_add(1, AcqRel);
    }
}

/// Ends this process, or stops it, some time after others have.
fn fall(talk: &Talk, before: usize, after: Duration, stops: bool) {
    while talk.lost.load(Acquire) < before {
        thread::sleep(Duration::from_micros(100));
    }
    thread::sleep(after);
    if stops {
        println!("{STOPS}");
    }
    // SAFETY: ends or stops this process.
    unsafe { libc::raise(if stops { libc::SIGSTOP } else { libc::SIGKILL }) };
}

/// A PE's area of a thread of a PE.
fn area(pe: usize, thread: usize) -> usize {
    (pe * THREADS + thread) * AREA
}

/// Talks to all PEs in rounds, until some behind the last loss; how many there were.
fn exchange(job: &Job, talk: &Talk, thread: usize) -> u64 {
    let context = job.numbered_context(thread);
    let mut last = None;
    for round in 1.. {
        for pe in (0..job.n).map(|i| (job.pe + i) % job.n) {
            round_with(job, talk, &context, (pe, thread), round);
        }
        if round.is_multiple_of(3) {
            job.fabric.quiet(&context);
        }
        listen(job, thread);
        if talk.lost.load(Acquire) == VICTIMS.len() && *last.get_or_insert(round + ROUNDS) == round {
            job.fabric.quiet(&context);
            return round;
        }
    }
    unreachable!()
}

fn round_with(job: &Job, talk: &Talk, context: &Context, (pe, thread): (usize, usize), round: u64) {
    let fabric = &job.fabric;
    let base = area(job.pe, thread);
    let len = LENGTHS[round as usize % LENGTHS.len()];
    let words = vec![round; len / 8];
    let mut back = vec![0u64; len / 8];
    let at = job.at(pe, base + DATA);
    let add = AtomicOp::new(Op::Add, Width::W64, 1);
    let mut count = 0u64;
    // SAFETY: within heap and buffers, which live until quiet.
    unsafe {
        if round.is_multiple_of(2) {
            fabric.put(context, at, words.as_ptr().cast(), len);
        } else {
            fabric.put_nbi(context, at, words.as_ptr().cast(), len);
        }
        fabric.fence(context);
        let signal = AtomicOp::new(Op::Write, Width::W64, round);
        fabric.post(context, job.at(pe, base + SIGNAL), signal);
        fabric.post(context, job.at(pe, base + SUM), add);
        if round.is_multiple_of(5) {
            fabric.fetch_nbi(context, job.at(pe, base + SUM), add, (&raw mut count).cast());
            fabric.quiet(context);
        } else {
            count = fabric.fetch(context, job.at(pe, base + SUM), add);
        }
        fabric.quiet_pe(context, pe);
        fabric.get(context, back.as_mut_ptr().cast(), at, len);
    }
    if !fabric.is_lost(pe) {
        assert_eq!(count, 2 * round - 1, "PE {pe}'s sum in round {round}");
        assert_eq!(back, words, "what PE {pe} has in round {round}");
    }
    if thread == 0 && fabric.longest_record() > 0 {
        let number = talk.records[pe].load(Relaxed).to_ne_bytes();
        let end = Instant::now() + Duration::from_secs(20);
        while !fabric.send_record(context, pe, [&number, &[7; 100]]) {
            fabric.progress();
            assert!(Instant::now() < end, "no room for a record to PE {pe}");
        }
        talk.records[pe].fetch_add(1, Relaxed);
    }
}

/// Looks at what others have sent.
fn listen(job: &Job, thread: usize) {
    for pe in 0..job.n {
        let base = area(pe, thread);
        let signal = job.word(base + SIGNAL).load(Acquire);
        let len = LENGTHS[signal as usize % LENGTHS.len()];
        for at in [0, len / 8 - 1] {
            let word = job.word(base + DATA + 8 * at).load(Acquire);
            assert!(signal == 0 || word >= signal, "PE {pe}: {word} behind a signal of {signal}");
        }
    }
}

/// What those that are left have sent has arrived.
fn check(job: &Job, talk: &Talk, rounds: &[u64]) {
    let sent: Vec<u64> = talk.records.iter().map(|records| records.load(Relaxed)).collect();
    let lines = job.exchange(&format!("{rounds:?} {sent:?}").replace(['[', ']', ','], ""));
    for (pe, line) in lines.iter().enumerate().filter(|(pe, _)| !VICTIMS.contains(pe)) {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        for (thread, &rounds) in numbers[..THREADS].iter().enumerate() {
            let base = area(pe, thread);
            assert_eq!(job.word(base + SUM).load(Acquire), 2 * rounds, "PE {pe}, thread {thread}");
            assert_eq!(job.word(base + SIGNAL).load(Acquire), rounds);
            let len = LENGTHS[rounds as usize % LENGTHS.len()];
            assert_eq!(job.bytes(base + DATA, len), rounds.to_ne_bytes().repeat(len / 8));
        }
        let records = job.counts.records[pe].load(Acquire);
        assert_eq!(records, numbers[THREADS + job.pe], "records of PE {pe}");
    }
}
