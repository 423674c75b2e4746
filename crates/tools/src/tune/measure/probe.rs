//! Parameters of the cost model, by as many PEs as there are cores.

use std::time::Instant;

use ferroshmem_api::ops::Sum;
use ferroshmem_api::{collective, setup};
use ferroshmem_simd::{self as simd, Reduce};

use super::buffer::Buffer;
use super::{Finding, NAME};
use crate::tune::schedule::Depth;
use crate::tune::statistics::lower_quartile;

/// Bytes of a source for β and γ: they stay in a core's own cache.
const CACHED: usize = 64 << 10;
/// Sources that are combined for γ.
const SOURCES: usize = 4;

/// Measures, and has PE 0 report.
pub(super) fn run(depth: Depth, mut report: impl FnMut(Finding)) {
    let (samples, large) = match depth {
        Depth::Quick => (5, 8 << 20),
        Depth::Full => (51, 16 << 20),
    };
    let mut parameter = |name: &str, value| report(Finding::Parameter(name.to_owned(), value));
    let (beta, gamma) = beta_and_gamma(samples);
    parameter("beta", beta);
    parameter("gamma", gamma);
    let (memory, streams) = memory_and_streams(large);
    parameter("memory", memory);
    parameter("streams", streams);
    if let Some(cache) = cache() {
        parameter("cache", cache);
    }
}

/// Nanoseconds per byte for PE 0 to copy and to combine sources that its caches hold: another
/// PE has written them, and this one has read them before.
fn beta_and_gamma(samples: usize) -> (f64, f64) {
    const REPEATS: usize = 20;
    let pes = setup::n_pes(NAME) as usize;
    let me = setup::my_pe(NAME) as usize;
    let writer = pes.min(2) - 1;
    let len = CACHED / size_of::<f64>();
    let sources: Vec<Buffer> = (0..SOURCES).map(|_| Buffer::new(len, 1.0)).collect();
    let dest = Buffer::new(len, 0.0);
    let (mut copies, mut folds) = (Vec::new(), Vec::new());
    collective::sync_all(NAME);
    if me == 0 {
        let addresses: Vec<*const f64> = (sources.iter()).map(|s| s.of(writer).cast_const()).collect();
        let timed = |step: &dyn Fn()| {
            step();
            let start = Instant::now();
            for _ in 0..REPEATS {
                step();
            }
            start.elapsed().as_nanos() as f64 / (REPEATS * SOURCES * CACHED) as f64
        };
        let copy = || {
            for address in &addresses {
                // SAFETY: both hold `CACHED` bytes and do not overlap.
                unsafe { simd::copy(dest.mine().cast(), address.cast(), CACHED) };
            }
        };
        let fold = || {
            let (to, from) = (|_| dest.mine(), |i: usize| addresses[i]);
            // SAFETY: all hold `len` elements and do not overlap.
            unsafe { <f64 as Reduce<Sum>>::fold((&to, 1), (&from, SOURCES), len, false) };
        };
        for _ in 0..samples {
            copies.push(timed(&copy));
            folds.push(timed(&fold));
        }
    }
    collective::sync_all(NAME);
    (lower_quartile(&mut copies), lower_quartile(&mut folds))
}

/// Nanoseconds for one PE to copy a byte from memory to memory, where it copies `bytes`; and
/// how many times as much all PEs together copy in the same time.
fn memory_and_streams(bytes: usize) -> (f64, f64) {
    const REPEATS: usize = 20;
    let pes = setup::n_pes(NAME) as usize;
    let me = setup::my_pe(NAME) as usize;
    let len = bytes / size_of::<f64>();
    let (source, dest) = (Buffer::new(len, 1.0), Buffer::new(len, 0.0));
    let together = |workers: usize| {
        let mut times = Vec::new();
        for _ in 0..REPEATS {
            collective::sync_all(NAME);
            let start = Instant::now();
            if me < workers {
                // SAFETY: both hold `bytes` bytes and do not overlap.
                unsafe { simd::copy(dest.mine().cast(), source.mine().cast(), bytes) };
            }
            collective::sync_all(NAME);
            times.push(start.elapsed().as_nanos() as f64);
        }
        lower_quartile(&mut times)
    };
    let alone = together(1);
    let all = together(pes);
    let streams = (alone * pes as f64 / all).clamp(1.0, pes as f64);
    (alone / bytes as f64, streams)
}

/// Bytes of cache of a core, or None if the system does not say.
fn cache() -> Option<f64> {
    // SAFETY: sysconf has no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) };
    (bytes > 0).then_some(bytes as f64)
}
