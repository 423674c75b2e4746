//! What is handed over by a word or two.

use std::sync::atomic::Ordering;

use ferroshmem_core::connection::calls::served;
use ferroshmem_core::offload::pending;
use ferroshmem_core::transport::atomic::{Operation, signal_value, update_signal};
use ferroshmem_core::wait::{flag, idle_thread, record};
use ferroshmem_fabric::Op;
use ferroshmem_platform::atomic::read_unchanged;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
use loom::thread;

use super::common::{Cells, ModelWord, beside, model};

ferroshmem_platform::atomics!();

/// Two PEs put data and add to a signal; who finds the sum sees the data of both.
#[test]
fn a_signal_comes_after_what_was_put() {
    model(3, || {
        let shared = Arc::new((AtomicU64::new(0), Cells::new()));
        let put = |i| {
            move |(signal, cells): &(AtomicU64, Cells)| {
                cells.write(i, 7);
                update_signal::<Loom>(signal, Operation::with(Op::Add, 1));
            }
        };
        let putters = [beside(&shared, put(0)), beside(&shared, put(1))];
        let (signal, cells) = &*shared;
        while signal_value::<Loom>(signal) < 2 {
            thread::yield_now();
        }
        assert_eq!([cells.read(0), cells.read(1)], [7, 7]);
        for putter in putters {
            putter.join().unwrap();
        }
    });
}

/// A waiter registers with the idle thread while this falls asleep: the thread sees that, or the waiter wakes it.
#[test]
fn the_idle_thread_does_not_sleep_beside_a_sleeper() {
    model(4, || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        // The thread has been started.
        idle_thread::try_wake::<Loom>(&shared.0);
        let waiter = beside(&shared, |(state, sleepers)| {
            sleepers.store(1, Ordering::Relaxed);
            idle_thread::try_wake::<Loom>(state).is_some()
        });
        let (state, sleepers) = &*shared;
        let sleeps = idle_thread::try_sleep::<Loom>(state, || sleepers.load(Ordering::Relaxed) > 0);
        let wakes = waiter.join().unwrap();
        assert!(wakes || !sleeps);
    });
}

/// A PE leaves its group while a message is sent to it: one of both sides finds out.
#[test]
fn no_pe_leaves_unseen_before_a_message() {
    model(4, || {
        let shared = Arc::new((AtomicU32::new(0), ModelWord::new()));
        let leaver = beside(&shared, |(left, sent)| served::leave_after::<Loom>(left, sent));
        let (left, sent) = &*shared;
        flag::post(sent, 1);
        let has_left = served::have_left::<Loom>(left);
        let is_called = leaver.join().unwrap() == 1;
        assert!(has_left || is_called);
    });
}

/// A PE begins one wait after the other, or within it. Who reads its record finds nothing, or all of one wait.
#[test]
fn the_record_of_a_wait_is_of_one_wait() {
    const KIND: u32 = 1;
    model(3, || {
        let words = [0; 4].map(|_| AtomicU32::new(0));
        let shared = Arc::new(words);
        let waiter = beside(&shared, |[serial, kind, some, rest]| {
            for wait in 1..=2 {
                record::change::<Loom>(serial, kind, KIND, || {
                    some.store(wait, Ordering::Relaxed);
                    rest.store(wait, Ordering::Relaxed);
                });
            }
        });
        let [serial, kind, some, rest] = &*shared;
        let read = |number| {
            let kind = kind.load(Ordering::Acquire);
            let words = [some, rest].map(|word| word.load(Ordering::Relaxed));
            (kind == KIND).then_some((number, words))
        };
        if let Some((number, words)) = read_unchanged::<Loom, _>(serial, read) {
            assert_eq!(words, [number; 2]);
        }
        waiter.join().unwrap();
    });
}

/// A helper finishes a copy, and a thread says that none is under way. Another thread that finds it so has fenced the
/// copy, too: a PE that finds its flag sees it.
#[test]
fn a_fence_without_copies_under_way_comes_after_them() {
    model(2, || {
        let words = (AtomicU32::new(0), AtomicBool::new(true), AtomicU32::new(0), Cells::new());
        let shared = Arc::new(words);
        let helper = beside(&shared, |(finished, .., cells)| {
            cells.write(0, 7);
            finished.fetch_add(1, Ordering::AcqRel);
        });
        let completes = beside(&shared, |(finished, any, ..)| {
            if finished.load(Ordering::Acquire) == 1 {
                pending::set_any::<Loom>(any, false);
            }
        });
        let fences = beside(&shared, |(_, any, flag, _)| {
            if !any.load(Ordering::Relaxed) {
                // As `quiet_default`; an inlined fence is sequentially consistent, too.
                fence(Ordering::AcqRel);
                flag.store(1, Ordering::Relaxed);
            }
        });
        let (.., flag, cells) = &*shared;
        if flag.load(Ordering::Acquire) == 1 {
            assert_eq!(cells.read(0), 7);
        }
        for thread in [helper, completes, fences] {
            thread.join().unwrap();
        }
    });
}
