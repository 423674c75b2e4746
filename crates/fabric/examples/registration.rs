//! What the ways to a device cost on this machine before any device: a copy through a bounce
//! buffer, a region that is kept, one that is not. Its registrar does nothing: to choose the
//! length from which registering pays, add what registering with the device takes.
//!
//!     cargo run --release -p ferroshmem-fabric --example registration

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use ferroshmem_fabric::registration::{Cache, Kind, Limits, Monitor, Pool, Registrar, Shape};

struct Nothing;

impl Registrar for Nothing {
    type Region = ();

    fn register(&self, _start: usize, _len: usize) -> io::Result<()> {
        Ok(())
    }
}

/// Rounds of a measurement, and how many are timed together.
const ROUNDS: usize = 15;
const CALLS: usize = 1000;

/// Median over rounds of the mean duration of a call, in nanoseconds.
fn time(mut call: impl FnMut(usize)) -> f64 {
    let mut rounds: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            (0..CALLS).for_each(&mut call);
            begin.elapsed()
        })
        .collect();
    rounds.sort();
    rounds[ROUNDS / 2].as_nanos() as f64 / CALLS as f64
}

fn show(what: &str, nanoseconds: f64) {
    println!("{what:<58} {nanoseconds:>9.0} ns");
}

fn kept(monitor: Monitor) {
    let limits = Limits { bytes: usize::MAX, regions: 64 };
    let cache = Cache::new(Nothing, limits, monitor);
    let buffer = vec![1_u8; 64 << 20];
    let at = buffer.as_ptr() as usize;
    let acquire = |start, len| drop(black_box(cache.acquire(start, len)).expect("no limit"));
    let block = 64 << 10;
    show("hit, one region", time(|_| acquire(at, block)));
    show("hit, 64 regions in turn", time(|n| acquire(at + n % 64 * block, block)));
    show("miss that replaces another", time(|n| acquire(at + n % 512 * (block / 2), block)));
    drop(cache);

    let cache = Cache::new(Nothing, limits, Monitor::off("measured"));
    show("not kept", time(|_| drop(black_box(cache.acquire(at, block)).expect("no limit"))));
}

/// What it costs to free memory.
fn freed(monitor: Monitor) {
    let cache = Cache::new(Nothing, Limits { bytes: usize::MAX, regions: 64 }, monitor);
    let len = 64 << 20;
    let mut shown = [(); ROUNDS].map(|()| {
        [false, true].map(|registered| {
            let mut buffer: Vec<u8> = Vec::with_capacity(len);
            black_box(&mut buffer).push(1);
            if registered {
                cache.acquire(buffer.as_ptr() as usize, len).expect("no limit");
            }
            let begin = Instant::now();
            drop(black_box(buffer));
            begin.elapsed().as_nanos() as f64
        })
    });
    for (index, what) in ["free of 64 MiB of which 1 byte was written", "the same, registered"].iter().enumerate() {
        shown.sort_by(|one, other| one[index].total_cmp(&other[index]));
        show(what, shown[ROUNDS / 2][index]);
    }
}

fn bounced() -> io::Result<()> {
    let pool = Pool::new(Nothing, Shape { slot: 64 << 10, slots: 16, slabs: 1 })?;
    let slot = || pool.take().expect("one at a time");
    show("take a bounce buffer and give it back", time(|_| drop(black_box(slot()))));
    // Longer than caches: a program that sends has mostly not just written all of it.
    let source = vec![1_u8; 256 << 20];
    for kib in [1, 2, 4, 8, 16, 32, 64] {
        let len = kib << 10;
        let copy = |from: usize| {
            let slot = slot();
            // SAFETY: both are of at least `len` bytes, and apart.
            unsafe {
                source.as_ptr().add(from).copy_to_nonoverlapping(slot.as_ptr(), len);
            };
            black_box(slot.as_ptr());
        };
        let hot = time(|_| copy(0));
        let mut at = 0;
        let cold = time(|_| {
            at = (at + len) % source.len();
            copy(at);
        });
        show(&format!("copy {kib} KiB to a bounce buffer, from cache"), hot);
        show(&format!("copy {kib} KiB to a bounce buffer, from memory"), cold);
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let monitor = Monitor::of_process();
    println!("memory that goes away is noticed by: {}", monitor.kind());
    if monitor.kind() == Kind::Userfaultfd {
        kept(monitor.clone());
        freed(monitor);
    }
    bounced()
}
