//! Ticket locks.

use std::sync::atomic::Ordering;

use ferroshmem_core::wait::ticket::{Half, LockWord};
use ferroshmem_core::wait::{Fairness, Rest, ticket};
use loom::sync::atomic::AtomicU64;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::common::{AlwaysSleep, Cells, model};

/// The word of a lock, with a modelled futex on each half: its value, and the wake-ups so far.
struct ModelLock {
    value: AtomicU64,
    wakes: Mutex<Vec<(Half, u32)>>,
    woken: Condvar,
}

impl ModelLock {
    fn new() -> Self {
        Self { value: AtomicU64::new(0), wakes: Mutex::new(Vec::new()), woken: Condvar::new() }
    }
}

impl LockWord for ModelLock {
    fn load(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    fn replace(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.value.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
    }

    fn watch(&self, _seen: u64) {
        thread::yield_now();
    }

    fn sleep(&self, half: Half, expected: u64, bits: u32, _rest: Rest) {
        let of = |word: u64| (word >> (32 * half as u32)) as u32;
        let mut wakes = self.wakes.lock().unwrap();
        if of(self.value.fetch_add(0, Ordering::AcqRel)) == of(expected) {
            let before = wakes.len();
            let is_mine = |(at, of): &(Half, u32)| *at == half && of & bits != 0;
            while !wakes[before..].iter().any(is_mine) {
                wakes = self.woken.wait(wakes).unwrap();
            }
        }
    }

    fn wake(&self, half: Half, bits: u32) {
        self.wakes.lock().unwrap().push((half, bits));
        self.woken.notify_all();
    }
}

/// Waiters may be overtaken so often, and at any time.
fn overtaken(overtakes: u32) -> Fairness {
    let clock = || 0;
    Fairness { overtakes, clock }
}

/// Each of three threads takes the lock once, the last one twice: each turn sees what the one before
/// wrote, none sleeps for ever, and the lock is as new afterwards.
#[test]
fn a_ticket_lock_excludes_and_hands_over() {
    for overtakes in [0, 1] {
        model(3, move || {
            let lock = Arc::new(ModelLock::new());
            let cells = Arc::new(Cells::new());
            let add = move |lock: &ModelLock, cells: &Cells| {
                ticket::acquire(lock, overtaken(overtakes), || AlwaysSleep);
                cells.write(0, cells.read(0) + 1);
                ticket::release(lock, overtaken(overtakes));
            };
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let (lock, cells) = (lock.clone(), cells.clone());
                    thread::spawn(move || add(&lock, &cells))
                })
                .collect();
            add(&lock, &cells);
            add(&lock, &cells);
            for o in others {
                o.join().unwrap();
            }
            assert_eq!(cells.read(0), 4);
            assert_eq!(lock.load(), 0);
        });
    }
}

/// Who has drawn a ticket is overtaken as often as is allowed, and no more.
#[test]
fn a_waiter_for_a_lock_is_overtaken_so_often_and_no_more() {
    for overtakes in [0, 1, 2] {
        model(3, move || {
            let lock = Arc::new(ModelLock::new());
            let cells = Arc::new(Cells::new());
            let fairness = overtaken(overtakes);
            assert!(ticket::try_acquire(&*lock));
            let held = lock.load();
            let waiter = {
                let (lock, cells) = (lock.clone(), cells.clone());
                thread::spawn(move || {
                    ticket::acquire(&*lock, fairness, || AlwaysSleep);
                    cells.write(0, 1);
                    ticket::release(&*lock, fairness);
                })
            };
            if lock.load() != held {
                // It waits, or sleeps already.
                assert!(!ticket::try_acquire(&*lock));
                for _ in 0..=overtakes {
                    ticket::release(&*lock, fairness);
                    ticket::acquire(&*lock, fairness, || AlwaysSleep);
                }
                assert_eq!(cells.read(0), 1);
            }
            ticket::release(&*lock, fairness);
            waiter.join().unwrap();
            assert_eq!(lock.load(), 0);
        });
    }
}

/// A lock that is released by a thread that does not hold it stays usable.
#[test]
fn a_free_lock_is_not_released() {
    let fairness = overtaken(1);
    model(1, move || {
        let lock = ModelLock::new();
        ticket::release(&lock, fairness);
        assert!(ticket::try_acquire(&lock) && !ticket::try_acquire(&lock));
        ticket::release(&lock, fairness);
        assert_eq!(lock.load(), 0);
    });
}
