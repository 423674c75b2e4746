//! The Rust API compared with the inlined C of `shmem.h` in one program: the times of operations on a
//! PE of the same node, measured in turn, and their ratio.
//!
//! `cargo bench -p ferroshmem-benches --bench rust` lets a PE put to itself; in a job of two
//! (`CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="oshrun -n 2"`) PE 0 puts to PE 1.

mod loops;

use std::convert::Infallible;
use std::ffi::c_int;
use std::time::{Duration, Instant};

use ferroshmem::{Error, World};
use ferroshmem_benches::{Bar, Round, Sampler};
use ferroshmem_interop::loops as c;

/// Elements of the arrays whose elements are put one by one: they fit the first-level cache.
const ELEMENTS: usize = 1024;
/// Elements of the long arrays.
const LONG: usize = (1 << 20) / size_of::<i64>();
/// The limit of the time in Rust, in times of C.
const BAR: Bar = Bar::Time(1.1);
/// Operations in one timing of short operations.
const MANY: usize = 1 << 14;

/// Bytes of a page: the time of a copy depends on the offsets of source and destination in theirs.
const PAGE: usize = 4096;

/// The first element of an array, which has a spare page, at the same offset in its page as `address`.
fn like(array: *mut i64, address: *const i64) -> *mut i64 {
    array.wrapping_byte_add(address.addr().wrapping_sub(array.addr()) % PAGE)
}

/// Collects the ratios, on PE 0 only.
struct Ledger(Option<Sampler>);

impl Ledger {
    /// Measures `count` operations in C and in Rust.
    fn add(&mut self, name: &str, count: usize, mut c: impl FnMut(), mut rust: impl FnMut() -> Result<(), Error>) {
        let Some(sampler) = &mut self.0 else {
            return;
        };
        let times = if count == ELEMENTS { MANY / count } else { 1 };
        let mut time_c = || time(&mut || (0..times).for_each(|_| c()));
        let mut time_rust = || {
            time(&mut || {
                let done = (0..times).try_for_each(|_| rust());
                done.expect("all elements are remote");
            })
        };
        let mut round = |i| {
            // The order matters to caches: each goes first in half of the rounds.
            let first = (i % 2 == 0).then(&mut time_c);
            let ours = time_rust();
            let bare = first.unwrap_or_else(&mut time_c);
            let per_operation = (times * count) as f64;
            Round { bare: bare / per_operation, ours: ours / per_operation }
        };
        let Ok(()) = sampler.sample(name, Some(BAR), Duration::from_secs(1), |rounds| {
            if rounds == 0 {
                round(0);
            }
            Ok::<_, Infallible>((0..rounds).map(&mut round).collect())
        });
    }
}

/// Nanoseconds that `work` takes.
fn time(work: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Single elements: put, get, p, g.
fn elements(ledger: &mut Ledger, world: &World) -> Result<(), Error> {
    let pe = world.my_pe().next();
    let n = pe.number() as c_int;
    let array = world.alloc(ELEMENTS)?;
    let mut own = vec![0; ELEMENTS];
    let raw = world.alloc(ELEMENTS + PAGE)?.into_raw();
    let remote = like(raw.local().as_ptr(), array.as_ptr());
    let mut own_c = vec![0; ELEMENTS + PAGE];
    let own_c = like(own_c.as_mut_ptr(), own.as_ptr());
    let window = array.open();
    macro_rules! add {
        ($name:literal, to $loop:ident, $c:ident) => {
            ledger.add(
                $name,
                ELEMENTS,
                // SAFETY: both arrays have ELEMENTS elements, and no other PE or thread uses them.
                || unsafe { c::$c(remote, own_c, ELEMENTS, n) },
                || loops::$loop(&window, &own, pe),
            )
        };
        ($name:literal, from $loop:ident, $c:ident) => {
            ledger.add(
                $name,
                ELEMENTS,
                // SAFETY: both arrays have ELEMENTS elements, and no other PE or thread uses them.
                || unsafe { c::$c(own_c, remote, ELEMENTS, n) },
                || loops::$loop(&mut own, &window, pe),
            )
        };
    }
    add!("p", to p, loop_p);
    add!("g", from g, loop_g);
    add!("put/8B", to put, loop_put);
    add!("get/8B", from get, loop_get);
    Ok(())
}

/// Many elements at once: put, get.
fn arrays(ledger: &mut Ledger, world: &World) -> Result<(), Error> {
    let pe = world.my_pe().next();
    let n = pe.number() as c_int;
    let array = world.alloc(LONG)?;
    let mut own = vec![0; LONG];
    // C's arrays lie in their pages as Rust's do.
    let raw = world.alloc(LONG + PAGE)?.into_raw();
    let remote = like(raw.local().as_ptr(), array.as_ptr());
    let mut own_c = vec![0; LONG + PAGE];
    let own_c = like(own_c.as_mut_ptr(), own.as_ptr());
    let window = array.open();
    for (size, elements, times) in [("64B", 8, MANY), ("4KiB", 512, 256), ("1MiB", LONG, 4)] {
        ledger.add(
            &format!("put/{size}"),
            times,
            // SAFETY: both arrays have at least `elements` elements, and no other PE uses them.
            || unsafe { c::loop_put_many(remote, own_c, times, elements, n) },
            || loops::put_many(&window, &own[..elements], times, pe),
        );
        ledger.add(
            &format!("get/{size}"),
            times,
            // SAFETY: both arrays have at least `elements` elements, and no other PE uses them.
            || unsafe { c::loop_get_many(own_c, remote, times, elements, n) },
            || loops::get_many(&mut own[..elements], &window, times, pe),
        );
    }
    Ok(())
}

/// Atomic operations.
fn atomics(ledger: &mut Ledger, world: &World) -> Result<(), Error> {
    let pe = world.my_pe().next();
    let n = pe.number() as c_int;
    let atomics = world.atomics(ELEMENTS)?;
    let raw = world.alloc(ELEMENTS)?.into_raw();
    let remote = raw.local().as_ptr();
    let mut own = vec![0; ELEMENTS];
    let mut own_c = own.clone();
    ledger.add(
        "fetch_add",
        ELEMENTS,
        // SAFETY: both arrays have ELEMENTS elements; other PEs access them atomically only.
        || unsafe { c::loop_fetch_add(remote, own_c.as_mut_ptr(), ELEMENTS, n) },
        || loops::fetch_add(&atomics, &mut own, pe),
    );
    ledger.add(
        "swap",
        ELEMENTS,
        // SAFETY: both arrays have ELEMENTS elements; other PEs access them atomically only.
        || unsafe { c::loop_swap(remote, own_c.as_mut_ptr(), ELEMENTS, n) },
        || loops::swap(&atomics, &mut own, pe),
    );
    ledger.add(
        "fetch",
        ELEMENTS,
        // SAFETY: both arrays have ELEMENTS elements; other PEs access them atomically only.
        || unsafe { c::loop_fetch(own_c.as_mut_ptr(), remote, ELEMENTS, n) },
        || loops::fetch(&mut own, &atomics, pe),
    );
    ledger.add(
        "set",
        ELEMENTS,
        // SAFETY: both arrays have ELEMENTS elements; other PEs access them atomically only.
        || unsafe { c::loop_set(remote, own_c.as_ptr(), ELEMENTS, n) },
        || loops::set(&atomics, &own, pe),
    );
    Ok(())
}

fn main() -> Result<(), Error> {
    let world = World::init()?;
    let Some(sampler) = Sampler::of_arguments("rust") else {
        return Ok(());
    };
    // All PEs allocate and free.
    let mut ledger = Ledger((world.my_pe().number() == 0).then_some(sampler));
    elements(&mut ledger, &world)?;
    arrays(&mut ledger, &world)?;
    atomics(&mut ledger, &world)?;
    if let Some(Sampler { table, .. }) = &ledger.0
        && !table.is_empty()
    {
        println!("bare: C, ours: Rust; time of an operation\n{table}");
    }
    Ok(())
}
