//! Flags, counters and meetings.

use std::sync::atomic::Ordering;

use ferroshmem_core::group::ring;
use ferroshmem_core::wait::signals::{self, SignalWords};
use ferroshmem_core::wait::{Rest, Word, counter, flag, rendezvous};
use ferroshmem_layout::ConnectionState;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;

use super::common::{AlwaysSleep, Cells, ModelWord, beside, model};

#[test]
fn a_posted_flag_wakes_all_waiters() {
    model(3, || {
        let shared = Arc::new((ModelWord::new(), Cells::new()));
        let wait = |(word, cells): &(ModelWord, Cells)| {
            flag::wait(word, 1, || AlwaysSleep);
            assert_eq!(cells.read(0), 7);
        };
        let waiters = [beside(&shared, wait), beside(&shared, wait)];
        shared.1.write(0, 7);
        flag::post(&shared.0, 1);
        for w in waiters {
            w.join().unwrap();
        }
    });
}

#[test]
fn a_flag_posted_twice_is_not_missed() {
    model(4, || {
        let word = Arc::new(ModelWord::new());
        let waiter = beside(&word, |word| {
            flag::wait_until_changed(word, 0, || AlwaysSleep);
            flag::wait(word, 2, || AlwaysSleep);
        });
        flag::post(&*word, 1);
        flag::post(&*word, 2);
        waiter.join().unwrap();
    });
}

#[test]
fn a_counter_gives_each_post_once_and_returns_to_zero() {
    model(4, || {
        let word = Arc::new(ModelWord::new());
        let poster = beside(&word, |word| {
            counter::post(word);
            counter::post(word);
        });
        counter::take(&*word, &mut AlwaysSleep);
        counter::take(&*word, &mut AlwaysSleep);
        poster.join().unwrap();
        assert_eq!(word.load(), 0);
    });
}

/// A member leaves values in a ring for others, and goes on; it writes none that another still reads.
#[test]
fn values_in_a_ring_are_read_before_they_are_replaced() {
    const CALLS: u32 = 4;
    const DEPTH: u32 = 2;
    model(2, || {
        let words = || [(); DEPTH as usize].map(|()| ModelWord::new());
        let shared = Arc::new((words(), ModelWord::new(), Cells::new()));
        let root = beside(&shared, |(flags, taken, cells)| {
            for call in 1..=CALLS {
                let entry = (call % DEPTH) as usize;
                ring::wait_for_room(call, DEPTH, [taken].into_iter(), || AlwaysSleep);
                cells.write(entry, call);
                flag::post(&flags[entry], call);
            }
        });
        let (flags, taken, cells) = &*shared;
        for call in 1..=CALLS {
            let entry = (call % DEPTH) as usize;
            flag::wait(&flags[entry], call, || AlwaysSleep);
            assert_eq!(cells.read(entry), call);
            flag::post(taken, call);
        }
        root.join().unwrap();
    });
}

/// Where threads sleep until a signal changes, and the signal.
struct ModelSignals {
    signal: AtomicU32,
    sleepers: AtomicU32,
    updates: ModelWord,
}

impl SignalWords for ModelSignals {
    fn add_sleeper(&self) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
    }

    fn remove_sleeper(&self) {
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    fn count_update(&self) {
        self.updates.value.fetch_add(1, Ordering::Relaxed);
    }

    fn updates(&self) -> u32 {
        self.updates.value.load(Ordering::Acquire)
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    fn wake(&self) {
        self.updates.wake(1);
    }
}

/// A waiter never sleeps beside the update that it waits for, in plain order or not.
#[test]
fn a_signal_that_is_updated_wakes_its_waiters() {
    model(3, || {
        let signals = Arc::new(ModelSignals {
            signal: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            updates: ModelWord::new(),
        });
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                beside(&signals, |signals| {
                    let is_there = || (signals.signal.load(Ordering::Relaxed) == 1).then_some(());
                    let sleep = |updates| signals.updates.sleep(updates, 1, None, Rest::UNTIL_WOKEN);
                    while signals::last_look(signals, is_there, sleep).is_none() {}
                })
            })
            .collect();
        signals.signal.store(1, Ordering::Relaxed);
        signals::notify(&*signals);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// A group of a connection ends while its members come: all of them are connected, or none.
#[test]
fn members_agree_whether_they_are_connected() {
    model(3, || {
        let words = || Arc::new(ModelWord::new());
        let (arrived, epoch, state) = (words(), words(), words());
        let member = || {
            let (arrived, epoch, state) = (arrived.clone(), epoch.clone(), state.clone());
            thread::spawn(move || {
                if arrived.fetch_add(1) == 1 {
                    rendezvous::connect(&*state);
                    epoch.swap(1);
                }
                // As `Rendezvous::wait` does.
                loop {
                    let is_over = ConnectionState::is_over(state.load());
                    if epoch.load() == 1 || is_over {
                        return state.load() != ConnectionState::Abandoned as u32;
                    }
                    thread::yield_now();
                }
            })
        };
        let members = [member(), member()];
        rendezvous::end(&*state);
        let [one, other] = members.map(|member| member.join().unwrap());
        assert_eq!(one, other);
        let at_last = state.load();
        assert!(ConnectionState::is_over(at_last));
        assert_eq!(at_last == ConnectionState::Failed as u32, one);
    });
}
