//! Times of large copies: by one thread, shared with the library's workers, made by them while this PE computes, and
//! past the caches. The thresholds of the job are so low that every method is taken at every size.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ferroshmem_core::offload::{self, Owner};
use ferroshmem_simd as simd;

use super::buffer::Buffer;
use super::{CopyPoint, Finding};
use crate::tune::schedule::Depth;
use crate::tune::statistics::lower_quartile;

/// Measures in about `time`, and reports.
pub(super) fn run(depth: Depth, time: Duration, mut report: impl FnMut(Finding)) {
    let sizes = depth.copies();
    let most = sizes.iter().max().copied().unwrap_or(0);
    let len = most / size_of::<f64>();
    let (source, dest) = (Buffer::new(len, 1.0), Buffer::new(len, 0.0));
    let copies = Copies { dest: dest.mine().cast(), source: source.mine().cast() };
    // Without workers, only the method past the caches is left.
    let has_workers = offload::helpers_for(most) > 0;
    let end = Instant::now() + time;
    for (done, bytes) in sizes.iter().enumerate() {
        report(Finding::Progress(done, sizes.len()));
        let left = end.saturating_duration_since(Instant::now());
        let budget = left / (sizes.len() - done) as u32;
        for (method, plain, other) in copies.times(*bytes, has_workers, budget) {
            report(Finding::Copy(CopyPoint { method, bytes: *bytes as u64, plain, other }));
        }
    }
    report(Finding::Progress(sizes.len(), sizes.len()));
}

/// A method to copy, and the plain one beside it.
struct Method<'a> {
    name: &'static str,
    plain: &'a dyn Fn(),
    other: &'a dyn Fn(),
}

/// Two arrays.
struct Copies {
    dest: *mut u8,
    source: *const u8,
}

impl Copies {
    /// The methods to copy `bytes` bytes: their names, nanoseconds of a plain copy, and theirs.
    fn times(&self, bytes: usize, has_workers: bool, budget: Duration) -> Vec<(&'static str, f64, f64)> {
        let (dest, source) = (self.dest, self.source);
        // SAFETY: both buffers hold as many bytes, and do not overlap.
        let plain = || unsafe { simd::copy(dest, source, bytes) };
        // SAFETY: as above.
        let past_caches = || unsafe { simd::stream(dest, source, bytes) };
        // SAFETY: as above.
        let shared = || unsafe { offload::copy(dest, source, bytes) };
        let work = Work::of(2.0 * time(&plain));
        let beside = || {
            // SAFETY: as above; no other thread uses them until the copy is complete.
            unsafe { offload::copy_nbi(Owner::UNKNOWN, dest, source, bytes) };
            work.run();
            offload::complete(&Owner::UNKNOWN);
        };
        let before = || {
            plain();
            work.run();
        };
        let method = |name, plain, other| Method { name, plain, other };
        let mut methods = vec![method("non_temporal", &plain, &past_caches)];
        if has_workers {
            methods.push(method("share", &plain, &shared));
            methods.push(method("offload", &before, &beside));
        }
        let share = budget / methods.len() as u32;
        let by_turns = |method: Method<'_>| {
            let (plain, other) = by_turns(method.plain, method.other, share);
            // What both methods have beside the copy says nothing.
            let common = match method.name {
                "offload" => work.nanoseconds,
                _ => 0.0,
            };
            (method.name, plain - common, (other - common).max(1.0))
        };
        methods.into_iter().map(by_turns).collect()
    }
}

/// Nanoseconds of a call, the better of some.
fn time(call: &dyn Fn()) -> f64 {
    (0..5)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed().as_nanos() as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// Nanoseconds of two calls, which take turns for `budget`; the lower quartiles.
fn by_turns(one: &dyn Fn(), other: &dyn Fn(), budget: Duration) -> (f64, f64) {
    const FEWEST: usize = 5;

    let end = Instant::now() + budget;
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    while ones.len() < FEWEST || Instant::now() < end {
        for (call, times) in [(one, &mut ones), (other, &mut others)] {
            let start = Instant::now();
            call();
            times.push(start.elapsed().as_nanos() as f64);
        }
    }
    (lower_quartile(&mut ones), lower_quartile(&mut others))
}

/// Computing in registers.
struct Work {
    steps: u64,
    nanoseconds: f64,
}

impl Work {
    /// As much as takes so many nanoseconds.
    fn of(nanoseconds: f64) -> Self {
        const SOME: u64 = 100_000;

        let sample = Self { steps: SOME, nanoseconds: 0.0 };
        let steps = nanoseconds / time(&|| sample.run()) * SOME as f64;
        let this = Self { steps: steps.max(1.0) as u64, ..sample };
        Self { nanoseconds: time(&|| this.run()), ..this }
    }

    fn run(&self) {
        let mut x = 88_172_645_463_325_252_u64;
        for _ in 0..self.steps {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x = black_box(x);
        }
    }
}
