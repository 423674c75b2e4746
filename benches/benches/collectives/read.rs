//! The rate at which one PE reads the sources of a reduction, compared with a loop that only reads.

use std::hint::black_box;
use std::ptr;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use ferroshmem_benches::Options;
use ferroshmem_benches::table::{self, verdict};
use ferroshmem_simd::ops::Sum;
use ferroshmem_simd::{Reduce, non_temporal_threshold_for, past_caches, set_non_temporal_threshold};
use pgas_microbench::Spread;
use pgas_microbench::machine::IdleWait;

/// Numbers of sources, and bytes of each: 128 MiB in all, more than the second-level caches hold.
const SHAPES: [(usize, usize); 4] = [(2, 64 << 20), (4, 32 << 20), (16, 8 << 20), (64, 2 << 20)];
/// Elements of a dest that stays in the first-level cache.
const PIECE: usize = 2048;
/// The fraction of the bare loop's rate that is required.
const BAR: f64 = 0.8;
/// Numbers of sources from which the rate is required even if dest leaves the cache. The bare loop
/// does not write: with fewer sources the writes count too much.
const FEW: usize = 16;

/// Where results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dest {
    /// To an array as large as a source.
    Whole,
    /// To a small one, again and again: nothing but the sources leaves the caches.
    Cached,
}

/// Measures all shapes, in a thread that stays on its core.
///
/// # Errors
/// If there is no memory.
pub(crate) fn run(options: &Options) -> Result<()> {
    let wanted = options.wanted(&SHAPES, item);
    if wanted.is_empty() {
        return Ok(());
    }
    println!("\none PE adds up sources of doubles out of cache: GB/s read, ours / a loop that only reads");
    println!("{:29}  {:>8}  {:>8}   ratio       10%..90%      bar", "", "bare", "ours");
    set_non_temporal_threshold(non_temporal_threshold_for(1));
    let measured = thread::scope(|scope| {
        let measure = || wanted.iter().try_for_each(|shape| measure(options, *shape));
        scope.spawn(measure).join()
    });
    measured.map_err(|_| anyhow!("the measuring thread panicked"))?
}

fn item((sources, bytes): (usize, usize)) -> String {
    format!("read/{sources}x{}", table::size(bytes))
}

fn measure(options: &Options, (sources, bytes): (usize, usize)) -> Result<()> {
    stay_here()?;
    let memory = Memory::new((sources + 1) * bytes)?;
    let n = bytes / size_of::<f64>();
    // SAFETY: the mapping has `(sources + 1) * bytes` bytes, aligned to pages and zero, and `memory` is
    // their only owner.
    let all = unsafe { std::slice::from_raw_parts_mut(memory.start.cast::<f64>(), (sources + 1) * n) };
    let (data, dest) = all.split_at_mut(sources * n);
    for (i, value) in data.iter_mut().enumerate() {
        *value = (i / n + 1) as f64;
    }
    dest.fill(0.0);
    let sum = (sources * (sources + 1) / 2) as f64;
    for to in [Dest::Whole, Dest::Cached] {
        let mut machine = IdleWait::new(options.effort(false).budget);
        let mut rounds = Vec::new();
        for round in 0..options.effort(false).blocks {
            table::progress(&format!("{} round {}", item((sources, bytes)), round + 1));
            machine.wait();
            let bare = time(|| read(black_box(data)));
            let ours = time(|| fold(data, n, dest, to));
            rounds.push((bare, ours));
        }
        let written = if to == Dest::Whole { n } else { PIECE };
        ensure!(dest[..written].iter().all(|value| *value == sum), "a wrong sum");
        dest.fill(0.0);
        print((sources, bytes), to, &rounds);
    }
    Ok(())
}

fn print(shape: (usize, usize), to: Dest, rounds: &[(f64, f64)]) {
    let (sources, bytes) = shape;
    let all = (sources * bytes) as f64;
    let rate = |time: fn(&(f64, f64)) -> f64| Spread::of(rounds.iter().map(time)).map_or(f64::NAN, |t| all / t.median);
    let Some(ratio) = Spread::of(rounds.iter().map(|(bare, ours)| bare / ours)) else {
        return;
    };
    let name = match to {
        Dest::Whole => item(shape),
        Dest::Cached => format!("{}, dest cached", item(shape)),
    };
    let judged = match to {
        Dest::Whole if sources < FEW => String::new(),
        _ => format!(">= {BAR:.2}  {}", verdict(ratio.median >= BAR)),
    };
    let line = format!("{name:29}  {:>8.1}  {:>8.1}  {}  {judged}", rate(|r| r.0), rate(|r| r.1), table::ratio(ratio),);
    table::clear();
    println!("{}", line.trim_end());
}

/// Nanoseconds.
fn time<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_nanos() as f64
}

/// The library's loop, on sources of `n` elements that lie one after the other in `data`.
fn fold(data: &[f64], n: usize, dest: &mut [f64], to: Dest) {
    let step = if to == Dest::Whole { n } else { PIECE };
    let streaming = to == Dest::Whole && past_caches(n * size_of::<f64>());
    let place = dest.as_mut_ptr();
    for start in (0..n).step_by(step) {
        let source = |k: usize| data[k * n + start..].as_ptr();
        let len = step.min(n - start);
        // SAFETY: every source has `len` elements from `start` on, and dest has `len` elements
        // from its beginning on; `data` and `dest` are distinct slices.
        unsafe {
            <f64 as Reduce<Sum>>::fold((&|_| place, 1), (&source, data.len() / n), len, streaming);
        }
    }
}

/// Reads all of `values`, with the widest registers that there are.
fn read(values: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F, which the function is compiled for.
            return unsafe { read_avx512(values) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, which the function is compiled for.
            return unsafe { read_avx2(values) };
        }
    }
    read_in_lanes(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn read_avx512(values: &[f64]) -> f64 {
    read_in_lanes(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn read_avx2(values: &[f64]) -> f64 {
    read_in_lanes(values)
}

/// Reads several parts side by side, which uses more of the processor's prefetchers than one part
/// after the other, with as many sums as eight registers hold.
#[inline(always)]
fn read_in_lanes(values: &[f64]) -> f64 {
    const PARTS: usize = 8;
    const LANES: usize = 64;
    let part = values.len() / PARTS;
    let mut sums = [0.0; LANES];
    for start in (0..part).step_by(LANES) {
        for k in 0..PARTS {
            let chunk = &values[k * part + start..][..LANES];
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += value;
            }
        }
    }
    sums.iter().sum()
}

/// Binds this thread to its current core.
fn stay_here() -> Result<()> {
    // SAFETY: `set` is plain data of the size that is passed, and all-zero bytes are a valid set.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
    };
    ensure!(done == 0, "cannot stay on a core: {}", std::io::Error::last_os_error());
    Ok(())
}

/// Shared memory with huge pages, like a symmetric heap.
#[derive(Debug)]
struct Memory {
    start: *mut u8,
    bytes: usize,
}

impl Memory {
    fn new(bytes: usize) -> Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses replaces no other.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        ensure!(start != libc::MAP_FAILED, "no memory: {}", std::io::Error::last_os_error());
        // SAFETY: the mapping was made above with `bytes` bytes; advice does not change its contents.
        unsafe { libc::madvise(start, bytes, libc::MADV_HUGEPAGE) };
        Ok(Self { start: start.cast(), bytes })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and slices of it do not outlive the value.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
