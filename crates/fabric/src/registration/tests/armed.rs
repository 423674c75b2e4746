//! What the kernel is to watch: no more than the cache keeps, and this process alone.

use std::{mem, ptr};

use super::fake::Fake;
use super::losing::{all_is_given_up, number, with_registered};
use super::{Mapping, PAGE, PLENTY, eventually, monitor, watched_over};
use crate::registration::Cache;
use crate::registration::span::Span;

#[test]
fn evicted_memory_is_watched_no_more_but_by_the_others() {
    let Some((monitor, _alone)) = monitor() else {
        return;
    };
    watched_over(move || {
        let fakes = [Fake::default(), Fake::default()];
        let [one, two] = fakes.map(|fake| Cache::new(fake, PLENTY, monitor.clone()));
        let memory = Mapping::new(16);
        let at = memory.address();
        one.acquire(at + 2 * PAGE, 10 * PAGE).unwrap();
        two.acquire(at + 4 * PAGE, 2 * PAGE).unwrap();
        two.acquire(at + 8 * PAGE, 2 * PAGE).unwrap();
        drop(one);
        let memory = memory.replace();
        eventually(|| {
            two.sweep();
            two.counts().lost == 2
        });
        // Nothing is armed now: it is one mapping again, which the kernel moves in one call.
        drop(memory.resize(32));
    });
}

#[test]
fn a_child_does_not_disturb() {
    with_registered(|cache, fake, memory| {
        let at = memory.address();
        // SAFETY: the child only calls what is allowed between fork and exit.
        match unsafe { libc::fork() } {
            0 => {
                let watch = cache.watch(Span { start: at, end: at + PAGE });
                let refused = watch.is_none();
                mem::forget(memory);
                // SAFETY: the child's copy of the mapping, and its end.
                unsafe {
                    libc::munmap(ptr::without_provenance_mut(at), 16 * PAGE);
                    libc::_exit(i32::from(!refused));
                }
            }
            child => {
                let mut status = -1;
                // SAFETY: a child of this process, and a live integer.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert_eq!(status, 0);
                assert_eq!(number(cache, at), 1, "{:?}", cache.counts());
                drop(memory);
                all_is_given_up(cache, fake);
            }
        }
    });
}
