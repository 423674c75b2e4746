//! Many threads map, fill, register, look, discard, unmap: a region must show what was
//! written to the memory that is at its addresses.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use fastrand::Rng;

use super::pipes::Pipes;
use super::{Mapping, PAGE, monitor, watched_over};
use crate::registration::{Cache, Limits};

const THREADS: u64 = 6;
const ROUNDS: usize = 1500;

/// Writes what was not written before, everywhere, and sees it through the cache in a
/// part.
fn transfer(cache: &Cache<Pipes>, bytes: &mut [u8], random: &mut Rng) {
    static STAMP: AtomicU64 = AtomicU64::new(1);
    let stamp = STAMP.fetch_add(1, Relaxed);
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&stamp.to_ne_bytes());
    }
    let from = random.usize(..bytes.len() / PAGE) * PAGE;
    let len = 8 * (1 + random.usize(..(bytes.len() - from) / 8));
    let at = bytes.as_ptr() as usize + from;
    let region_ref = cache.acquire(at, len).unwrap();
    let seen = region_ref.read(at, len);
    for word in seen.chunks_exact(8) {
        let word = u64::from_ne_bytes(word.try_into().unwrap());
        assert_eq!(word, stamp, "{len} bytes at {at:#x} in a region from {:#x}", region_ref.start());
    }
}

fn use_memory(cache: &Cache<Pipes>, random: &mut Rng) {
    for _ in 0..ROUNDS {
        // Few sizes, so that addresses come again, also as those of another thread.
        let pages = 1 << random.usize(..4);
        if random.usize(..4) == 0 {
            // From the allocator, which unmaps on its own.
            let mut block = vec![0; (128 << 10) + pages * PAGE];
            let edge = block.as_ptr().align_offset(PAGE);
            transfer(cache, &mut block[edge..edge + pages * PAGE], random);
            continue;
        }
        let mut memory = Mapping::new(pages);
        for _ in 0..random.usize(..4) {
            transfer(cache, memory.bytes(), random);
            match random.usize(..8) {
                0 => memory.discard(random.usize(..pages) * PAGE, PAGE),
                1 => memory = memory.replace(),
                2 => drop(vec![0_u8; 256 << 10]),
                _ => {}
            }
        }
    }
}

#[test]
fn no_region_shows_memory_that_is_gone() {
    let Some((monitor, _alone)) = monitor() else {
        return;
    };
    watched_over(move || {
        let cache = Cache::new(Pipes, Limits { bytes: 256 * PAGE, regions: 12 }, monitor);
        thread::scope(|scope| {
            for thread in 1..=THREADS {
                let cache = &cache;
                scope.spawn(move || use_memory(cache, &mut Rng::with_seed(thread << 32 | 1)));
            }
        });
        cache.sweep();
        let counts = cache.counts();
        println!("{counts:?}");
        assert!(counts.hits > 100 && counts.misses > 100 && counts.lost > 100, "{counts:?}");
    });
}
