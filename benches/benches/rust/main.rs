//! The Rust API beside the inlined C of `shmem.h`, in one program: what operations on a PE of the
//! node take in each, in turn, and the ratio.
//!
//! `cargo bench -p ferroshmem-benches --bench rust` has a PE put to itself; in a job of two
//! (`CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="oshrun -n 2"`) PE 0 puts to PE 1.

mod loops;

use std::convert::Infallible;
use std::ffi::c_int;
use std::time::Instant;

use criterion::BenchmarkGroup;
use ferroshmem::{Error, World};
use ferroshmem_benches::ratios::{self, Ratios};
use ferroshmem_benches::{Bar, Round, Table};
use ferroshmem_interop::loops as c;

/// Elements of the arrays whose elements are put one by one: they stay in the first cache.
const ELEMENTS: usize = 1024;
/// Elements of the long arrays.
const LONG: usize = (1 << 20) / size_of::<i64>();
/// What Rust may take, in times of C.
const BAR: Bar = Bar::Time(1.1);
/// Operations that one timing takes, at least where they are short.
const MANY: usize = 1 << 14;

/// Bytes of a page: copies may take longer where source and destination lie alike in theirs.
const PAGE: usize = 4096;

/// The first element of an array with a page to spare that lies in its page as `address` does.
fn like(array: *mut i64, address: *const i64) -> *mut i64 {
    array.wrapping_byte_add(address.addr().wrapping_sub(array.addr()) % PAGE)
}

/// Where the ratios go; on PEs that only take part, nowhere.
struct Sheet<'a> {
    group: Option<BenchmarkGroup<'a, Ratios>>,
    table: Table,
}

impl Sheet<'_> {
    /// Measures `count` operations in C and in Rust.
    fn add(
        &mut self,
        name: &str,
        count: usize,
        mut c: impl FnMut(),
        mut rust: impl FnMut() -> Result<(), Error>,
    ) {
        let Some(group) = &mut self.group else {
            return;
        };
        let times = if count == ELEMENTS { MANY / count } else { 1 };
        let mut time_c = || time(&mut || (0..times).for_each(|_| c()));
        let mut time_rust = || {
            time(&mut || {
                let done = (0..times).try_for_each(|_| rust());
                done.expect("all elements are there");
            })
        };
        let mut round = |i| {
            // Who is first finds other things in the caches.
            let first = (i % 2 == 0).then(&mut time_c);
            let ours = time_rust();
            let bare = first.unwrap_or_else(&mut time_c);
            let per_operation = (times * count) as f64;
            Round {
                bare: bare / per_operation,
                ours: ours / per_operation,
            }
        };
        let rounds = ratios::sample(group, name, Some(BAR), |rounds| {
            if rounds == 0 {
                round(0);
            }
            Ok::<_, Infallible>((0..rounds).map(&mut round).collect())
        });
        let Ok(rounds) = rounds;
        self.table.add(name, Some(BAR), &rounds);
    }
}

/// Nanoseconds that `work` takes.
fn time(work: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Single elements: put, get, p, g.
fn elements(sheet: &mut Sheet<'_>, world: &World) -> Result<(), Error> {
    let pe = world.my_pe().next();
    let n = pe.number() as c_int;
    let array = world.alloc(ELEMENTS)?;
    let mut own = vec![0; ELEMENTS];
    let raw = world.alloc(ELEMENTS + PAGE)?.into_raw();
    let there = like(raw.local().as_ptr(), array.as_ptr());
    let mut own_c = vec![0; ELEMENTS + PAGE];
    let own_c = like(own_c.as_mut_ptr(), own.as_ptr());
    let window = array.open();
    macro_rules! add {
        ($name:literal, to $loop:ident, $c:ident) => {
            sheet.add(
                $name,
                ELEMENTS,
                // SAFETY: arrays of as many elements, which nobody else uses.
                || unsafe { c::$c(there, own_c, ELEMENTS, n) },
                || loops::$loop(&window, &own, pe),
            )
        };
        ($name:literal, from $loop:ident, $c:ident) => {
            sheet.add(
                $name,
                ELEMENTS,
                // SAFETY: as above.
                || unsafe { c::$c(own_c, there, ELEMENTS, n) },
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
fn arrays(sheet: &mut Sheet<'_>, world: &World) -> Result<(), Error> {
    let pe = world.my_pe().next();
    let n = pe.number() as c_int;
    let array = world.alloc(LONG)?;
    let mut own = vec![0; LONG];
    // C's arrays lie in their pages as Rust's do.
    let raw = world.alloc(LONG + PAGE)?.into_raw();
    let there = like(raw.local().as_ptr(), array.as_ptr());
    let mut own_c = vec![0; LONG + PAGE];
    let own_c = like(own_c.as_mut_ptr(), own.as_ptr());
    let window = array.open();
    for (size, elements, times) in [("64B", 8, MANY), ("4KiB", 512, 256), ("1MiB", LONG, 4)] {
        sheet.add(
            &format!("put/{size}"),
            times,
            // SAFETY: arrays of as many elements, which nobody else uses.
            || unsafe { c::loop_put_many(there, own_c, times, elements, n) },
            || loops::put_many(&window, &own[..elements], times, pe),
        );
        sheet.add(
            &format!("get/{size}"),
            times,
            // SAFETY: as above.
            || unsafe { c::loop_get_many(own_c, there, times, elements, n) },
            || loops::get_many(&mut own[..elements], &window, times, pe),
        );
    }
    Ok(())
}

/// Atomic operations.
fn atomics(sheet: &mut Sheet<'_>, world: &World) -> Result<(), Error> {
    let pe = world.my_pe().next();
    let n = pe.number() as c_int;
    let atomics = world.atomics(ELEMENTS)?;
    let raw = world.alloc(ELEMENTS)?.into_raw();
    let there = raw.local().as_ptr();
    let mut own = vec![0; ELEMENTS];
    let mut own_c = own.clone();
    sheet.add(
        "fetch_add",
        ELEMENTS,
        // SAFETY: for this and the others: arrays of as many elements, which nobody else uses.
        || unsafe { c::loop_fetch_add(there, own_c.as_mut_ptr(), ELEMENTS, n) },
        || loops::fetch_add(&atomics, &mut own, pe),
    );
    sheet.add(
        "swap",
        ELEMENTS,
        // SAFETY: as above.
        || unsafe { c::loop_swap(there, own_c.as_mut_ptr(), ELEMENTS, n) },
        || loops::swap(&atomics, &mut own, pe),
    );
    sheet.add(
        "fetch",
        ELEMENTS,
        // SAFETY: as above.
        || unsafe { c::loop_fetch(own_c.as_mut_ptr(), there, ELEMENTS, n) },
        || loops::fetch(&mut own, &atomics, pe),
    );
    sheet.add(
        "set",
        ELEMENTS,
        // SAFETY: as above.
        || unsafe { c::loop_set(there, own_c.as_ptr(), ELEMENTS, n) },
        || loops::set(&atomics, &own, pe),
    );
    Ok(())
}

/// Every PE allocates and frees; the one with a group measures.
fn measure(group: Option<BenchmarkGroup<'_, Ratios>>, world: &World) -> Result<Table, Error> {
    let table = Table::default();
    let mut sheet = Sheet { group, table };
    elements(&mut sheet, world)?;
    arrays(&mut sheet, world)?;
    atomics(&mut sheet, world)?;
    Ok(sheet.table)
}

fn main() -> Result<(), Error> {
    let world = World::init()?;
    if world.my_pe().number() != 0 {
        return measure(None, &world).map(drop);
    }
    let mut criterion = ratios::criterion();
    let group = ratios::group(&mut criterion, "rust-to-c");
    let table = measure(Some(group), &world)?;
    criterion.final_summary();
    if !table.is_empty() {
        println!("\nbare: C, ours: Rust; time of an operation\n{table}");
    }
    Ok(())
}
