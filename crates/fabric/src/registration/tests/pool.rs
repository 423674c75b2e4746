//! Bounce buffers.

use std::collections::HashSet;
use std::thread;

use super::fake::Fake;
use super::watched_over;
use crate::registration::{Pool, Shape};

const SHAPE: Shape = Shape { slot: 1000, slots: 8, slabs: 3 };

#[test]
fn slots_lie_apart_in_registered_memory() {
    let fake = Fake::default();
    let pool = Pool::new(fake.clone(), SHAPE).unwrap();
    assert_eq!((fake.made(), pool.slot_len()), (1, 1024));
    let slots: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    assert_eq!((slots.len(), fake.made()), (24, 3));
    let starts: HashSet<_> = slots.iter().map(|slot| slot.as_ptr() as usize).collect();
    assert_eq!(starts.len(), 24);
    let live = fake.live();
    for slot in &slots {
        let at = slot.as_ptr() as usize;
        assert!(starts.iter().all(|&other| other == at || other.abs_diff(at) >= pool.slot_len()));
        let (start, len) = live[slot.region().number as usize - 1];
        assert!(start <= at && at + pool.slot_len() <= start + len && at.is_multiple_of(64));
    }
    drop(pool);
    assert_eq!(fake.live().len(), 3);
    drop(slots);
    assert!(fake.live().is_empty());
}

#[test]
fn what_was_given_back_last_comes_first() {
    let pool = Pool::new(Fake::default(), SHAPE).unwrap();
    let slots: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
    let starts: Vec<_> = slots.iter().map(|slot| slot.as_ptr()).collect();
    drop(slots);
    let again: Vec<_> = (0..4).map(|_| pool.take().unwrap()).collect();
    assert!(again.iter().map(|slot| slot.as_ptr()).eq(starts.into_iter().rev()));
}

#[test]
fn others_are_made_in_place_of_slots_that_are_never_given_back() {
    let pool = Pool::new(Fake::default(), SHAPE).unwrap();
    let all = || std::iter::from_fn(|| pool.take()).collect::<Vec<_>>();
    let lost = all();
    assert_eq!(lost.len(), 24);
    for (n, more) in [(1, 8), (7, 0), (8, 8), (1000, 56), (1, 0)] {
        pool.lose(n);
        assert_eq!(std::mem::ManuallyDrop::new(all()).len(), more, "{n} more are lost");
    }
}

#[test]
fn a_pool_that_cannot_grow_stays_as_it_is() {
    let fake = Fake::default();
    let pool = Pool::new(fake.clone(), SHAPE).unwrap();
    fake.fail(Some(libc::ENOMEM));
    let slots: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    assert_eq!(slots.len(), 8);
    fake.fail(None);
    assert!(pool.take().is_none());
    drop(slots);
    assert!(pool.take().is_some());
    fake.fail(Some(libc::EFAULT));
    assert!(Pool::new(fake, SHAPE).is_err());
    assert!(Pool::new(Fake::default(), Shape { slots: 0, ..SHAPE }).is_err());
}

#[test]
fn threads_never_share_a_slot() {
    watched_over(|| {
        let pool = Pool::new(Fake::default(), SHAPE).unwrap();
        thread::scope(|scope| {
            for thread in 1..=6_u8 {
                let pool = &pool;
                scope.spawn(move || {
                    for _ in 0..2000 {
                        let Some(slot) = pool.take() else { continue };
                        // SAFETY: the slot is this thread's, if the pool is right.
                        unsafe { slot.as_ptr().write_bytes(thread, pool.slot_len()) };
                        thread::yield_now();
                        for at in [0, pool.slot_len() - 1] {
                            // SAFETY: as above; written before.
                            assert_eq!(unsafe { slot.as_ptr().add(at).read_volatile() }, thread);
                        }
                    }
                });
            }
        });
        let slots: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(slots.len(), 24);
    });
}
