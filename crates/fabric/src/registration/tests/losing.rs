//! Every way in which memory goes away.

use super::fake::Fake;
use super::{Mapping, PAGE, PLENTY, eventually, monitor, watched_over};
use crate::registration::Cache;

/// Runs `body` with 16 pages of which pages 4 to 12 are registered.
pub(super) fn with_registered(body: impl FnOnce(&Cache<Fake>, &Fake, Mapping) + Send + 'static) {
    let Some((monitor, _alone)) = monitor() else {
        return;
    };
    watched_over(move || {
        let fake = Fake::default();
        let cache = Cache::new(fake.clone(), PLENTY, monitor);
        let mut memory = Mapping::new(16);
        memory.bytes().fill(1);
        cache.acquire(memory.address() + 4 * PAGE, 8 * PAGE).unwrap();
        body(&cache, &fake, memory);
    });
}

/// The number of the region for the pages that are registered at first.
pub(super) fn number(cache: &Cache<Fake>, address: usize) -> u64 {
    cache.acquire(address + 4 * PAGE, 8 * PAGE).unwrap().number
}

/// Sweeps until nothing is registered.
pub(super) fn all_is_given_up(cache: &Cache<Fake>, fake: &Fake) {
    eventually(|| {
        cache.sweep();
        fake.live().is_empty()
    });
}

#[test]
fn mapped_anew() {
    with_registered(|cache, _, memory| {
        let memory = memory.replace();
        assert_eq!(number(cache, memory.address()), 2);
        assert_eq!(number(cache, memory.address()), 2);
        assert_eq!(cache.counts().lost, 1);
    });
}

#[test]
fn unmapped_and_given_back_by_a_sweep() {
    with_registered(|cache, fake, memory| {
        drop(memory);
        assert_eq!(fake.live().len(), 1);
        all_is_given_up(cache, fake);
    });
}

#[test]
fn unmapped_in_part() {
    with_registered(|cache, _, mut memory| {
        memory.cut(5);
        let at = memory.address();
        assert_eq!(cache.acquire(at + 4 * PAGE, PAGE).unwrap().number, 2);
        assert_eq!(cache.counts().lost, 1);
    });
}

#[test]
fn the_neighbourhood_unmapped() {
    with_registered(|cache, _, mut memory| {
        memory.cut(4);
        memory.discard(0, 4 * PAGE);
        assert_eq!(number(cache, memory.address()), 1);
    });
}

#[test]
fn discarded() {
    with_registered(|cache, _, mut memory| {
        memory.discard(11 * PAGE, PAGE);
        assert_eq!(number(cache, memory.address()), 2);
    });
}

#[test]
fn moved_away_and_back() {
    with_registered(|cache, _, memory| {
        let old = memory.address();
        // Registered in part, it is several mappings to the kernel, which does not move them
        // in one call.
        cache.acquire(old, 16 * PAGE).unwrap();
        let memory = memory.move_onto(Mapping::new(16));
        assert_eq!(number(cache, memory.address()), 3);
        assert_eq!(number(cache, memory.address()), 3);
        let memory = memory.replace();
        assert_eq!(number(cache, memory.address()), 4);
    });
}

#[test]
fn moved_onto() {
    with_registered(|cache, _, memory| {
        let memory = Mapping::new(16).move_onto(memory);
        assert_eq!(number(cache, memory.address()), 2);
    });
}

#[test]
fn shortened_and_lengthened() {
    with_registered(|cache, _, memory| {
        let at = memory.address();
        cache.acquire(at, 16 * PAGE).unwrap();
        let memory = memory.resize(14);
        assert_eq!(memory.address(), at);
        assert_eq!(number(cache, at), 3);
        cache.acquire(at, 14 * PAGE).unwrap();
        let memory = memory.resize(1 << 14);
        assert_eq!(number(cache, memory.address()), if memory.address() == at { 4 } else { 5 });
    });
}

#[test]
fn shared_memory() {
    with_registered(|cache, _, _| {
        let memory = Mapping::shared(16);
        assert_eq!(number(cache, memory.address()), 2);
        assert_eq!(number(cache, memory.address()), 2);
        let memory = memory.replace();
        assert_eq!(number(cache, memory.address()), 3);
    });
}

#[test]
fn freed() {
    with_registered(|cache, fake, memory| {
        drop(memory);
        // So large that they are mapped on their own, however the allocator has adapted.
        for len in [40 << 20, 64 << 20] {
            all_is_given_up(cache, fake);
            let block = vec![1_u8; len];
            cache.acquire(block.as_ptr() as usize, len).unwrap();
            assert_eq!(fake.live().len(), 1);
            drop(block);
            all_is_given_up(cache, fake);
        }
    });
}

#[test]
fn reallocated() {
    with_registered(|cache, fake, memory| {
        drop(memory);
        let mut block = vec![1_u8; 1 << 24];
        // In part, so that the allocator's mremap is refused, and it must copy.
        cache.acquire(block.as_ptr() as usize + (1 << 22), 1 << 16).unwrap();
        block.reserve_exact(1 << 26);
        assert!(block.iter().all(|&byte| byte == 1));
        all_is_given_up(cache, fake);
    });
}

#[test]
fn a_stack_that_grows_and_ends() {
    with_registered(|cache, fake, memory| {
        drop(memory);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let buffer = std::hint::black_box([7_u8; 16 * PAGE]);
                let first = cache.acquire(buffer.as_ptr() as usize, buffer.len()).unwrap().number;
                assert!(deep(20) > 0);
                assert_eq!(cache.acquire(buffer.as_ptr() as usize, PAGE).unwrap().number, first);
            });
        });
        cache.sweep();
        assert!(fake.live().len() <= 1, "a stack is unmapped or kept by the C library");
    });
}

/// Uses much stack.
fn deep(depth: usize) -> usize {
    let here = std::hint::black_box([1_u8; 4 * PAGE]);
    here[depth] as usize + if depth > 0 { deep(depth - 1) } else { 0 }
}

#[test]
fn unmapped_during_a_transfer() {
    with_registered(|cache, fake, memory| {
        let at = memory.address();
        let held = cache.acquire(at + 5 * PAGE, PAGE).unwrap();
        let memory = memory.replace();
        assert_eq!(number(cache, at), 2);
        assert_eq!(fake.live().len(), 2);
        drop(held);
        assert_eq!(fake.live().len(), 1);
        drop(memory);
    });
}
