//! What is kept, and what is given up to make room.

use super::fake::Fake;
use super::{Mapping, PAGE, PLENTY, monitor};
use crate::registration::{Cache, Limits};

fn cache(fake: &Fake, limits: Limits) -> Option<(Cache<Fake>, impl Sized)> {
    let (monitor, alone) = monitor()?;
    Some((Cache::new(fake.clone(), limits, monitor), alone))
}

#[test]
fn what_was_registered_is_found_again() {
    let fake = Fake::default();
    let Some((cache, _alone)) = cache(&fake, PLENTY) else {
        return;
    };
    let memory = Mapping::new(8);
    let at = memory.address();
    let first = cache.acquire(at + 100, 3 * PAGE).unwrap();
    assert_eq!((first.start(), first.region_len()), (at, 4 * PAGE));
    let part = cache.acquire(at + 2 * PAGE, 2 * PAGE).unwrap();
    assert_eq!(part.number, first.number);
    drop((first, part));
    assert_eq!(cache.acquire(at, 4 * PAGE).unwrap().number, 1);
    // Beyond its end.
    assert_eq!(cache.acquire(at, 4 * PAGE + 1).unwrap().number, 2);
    let counts = cache.counts();
    assert_eq!((counts.hits, counts.misses, counts.uncached), (2, 2, 0));
}

#[test]
fn overlapping_regions_are_kept_and_covered_ones_are_not() {
    let fake = Fake::default();
    let Some((cache, _alone)) = cache(&fake, PLENTY) else {
        return;
    };
    let memory = Mapping::new(8);
    let page = |n: usize| memory.address() + n * PAGE;
    for (first, pages) in [(0, 3), (2, 3), (4, 3)] {
        cache.acquire(page(first), pages * PAGE).unwrap();
    }
    assert_eq!(fake.live().len(), 3);
    for (first, number) in [(0, 1), (2, 2), (3, 2), (5, 3)] {
        assert_eq!(cache.acquire(page(first), PAGE).unwrap().number, number);
    }
    cache.acquire(page(1), 6 * PAGE).unwrap();
    assert_eq!(fake.live(), [(page(0), 3 * PAGE), (page(1), 6 * PAGE)]);
    assert_eq!(cache.acquire(page(4), 3 * PAGE).unwrap().number, 4);
    assert_eq!(cache.counts().bytes, 9 * PAGE);
}

#[test]
fn the_least_recently_used_makes_room() {
    let fake = Fake::default();
    let Some((cache, _alone)) = cache(&fake, Limits { bytes: usize::MAX, regions: 3 }) else {
        return;
    };
    let memories: Vec<_> = (0..4).map(|_| Mapping::new(1)).collect();
    let acquire = |n: usize| cache.acquire(memories[n].address(), PAGE).unwrap().number;
    assert_eq!([0, 1, 2].map(acquire), [1, 2, 3]);
    assert_eq!([0, 2].map(acquire), [1, 3]);
    // 1 goes, then 0.
    assert_eq!(acquire(3), 4);
    assert_eq!([2, 3].map(acquire), [3, 4]);
    assert_eq!(acquire(1), 5);
    assert_eq!([2, 3].map(acquire), [3, 4]);
    assert_eq!(acquire(0), 6);
    assert_eq!(cache.counts().evicted, 3);
    assert_eq!(fake.live().len(), 3);
}

#[test]
fn bytes_are_limited_and_regions_in_use_stay() {
    let fake = Fake::default();
    let Some((cache, _alone)) = cache(&fake, Limits { bytes: 8 * PAGE, regions: 64 }) else {
        return;
    };
    let memory = Mapping::new(32);
    let page = |n: usize| memory.address() + n * PAGE;
    let held = cache.acquire(page(0), 4 * PAGE).unwrap();
    cache.acquire(page(4), 4 * PAGE).unwrap();
    cache.acquire(page(8), PAGE).unwrap();
    assert_eq!(fake.live(), [(page(0), 4 * PAGE), (page(8), PAGE)]);
    let error = cache.acquire(page(9), 5 * PAGE).map(drop).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    let counts = cache.counts();
    assert_eq!((counts.bytes, counts.regions), (4 * PAGE, 1));
    drop(held);
    cache.acquire(page(9), 8 * PAGE).unwrap();
    assert_eq!(fake.bytes(), 8 * PAGE);
    // What can never fit costs nothing that is there.
    assert!(cache.acquire(page(9), 9 * PAGE).is_err());
    assert_eq!(fake.live(), [(page(9), 8 * PAGE)]);
}

#[test]
fn a_registrar_without_memory_gets_some_back() {
    let fake = Fake::limited(8 * PAGE);
    let Some((cache, _alone)) = cache(&fake, PLENTY) else {
        return;
    };
    let memory = Mapping::new(32);
    let page = |n: usize| memory.address() + n * PAGE;
    let held = cache.acquire(page(0), 2 * PAGE).unwrap();
    for n in 1..4 {
        cache.acquire(page(2 * n), 2 * PAGE).unwrap();
    }
    cache.acquire(page(8), 3 * PAGE).unwrap();
    assert_eq!(fake.live(), [(page(0), 2 * PAGE), (page(6), 2 * PAGE), (page(8), 3 * PAGE)]);
    let error = cache.acquire(page(16), 7 * PAGE).map(drop).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    assert_eq!(fake.live(), [(page(0), 2 * PAGE)]);
    drop(held);
    cache.acquire(page(16), 7 * PAGE).unwrap();
}

#[test]
fn others_get_room() {
    let fake = Fake::default();
    let Some((cache, _alone)) = cache(&fake, PLENTY) else {
        return;
    };
    let memory = Mapping::new(8);
    let page = |n: usize| memory.address() + n * PAGE;
    for n in 0..4 {
        cache.acquire(page(2 * n), 2 * PAGE).unwrap();
    }
    let held = cache.acquire(page(0), PAGE).unwrap();
    assert!(cache.give_up(3 * PAGE));
    assert_eq!(fake.live(), [(page(0), 2 * PAGE), (page(6), 2 * PAGE)]);
    assert!(cache.give_up(usize::MAX));
    assert!(!cache.give_up(1));
    drop(held);
    assert!(cache.give_up(1));
    assert!(fake.live().is_empty());
}

#[test]
fn other_errors_are_told_and_cost_nothing() {
    let fake = Fake::default();
    let Some((cache, _alone)) = cache(&fake, PLENTY) else {
        return;
    };
    let memory = Mapping::new(4);
    cache.acquire(memory.address(), PAGE).unwrap();
    fake.fail(Some(libc::EFAULT));
    let error = cache.acquire(memory.address(), 2 * PAGE).map(drop).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    let counts = cache.counts();
    assert_eq!((counts.misses, counts.bytes, counts.regions), (1, PAGE, 1));
    assert_eq!(cache.acquire(memory.address(), PAGE).unwrap().number, 1);
    assert!(cache.acquire(usize::MAX - PAGE, 3 * PAGE).is_err());
}

#[test]
fn a_cache_that_is_gone_leaves_what_is_in_use() {
    let fake = Fake::default();
    let Some((cache, _alone)) = cache(&fake, PLENTY) else {
        return;
    };
    let memory = Mapping::new(4);
    let held = cache.acquire(memory.address(), PAGE).unwrap();
    let again = held.clone();
    cache.acquire(memory.address() + PAGE, PAGE).unwrap();
    drop(cache);
    assert_eq!(fake.live(), [(memory.address(), PAGE)]);
    drop(held);
    assert_eq!(fake.live().len(), 1);
    drop(again);
    assert!(fake.live().is_empty());
}
