//! A Rust `main` that calls C: same PEs, same memory, same barriers. Checks its own results; its
//! test runs it at several numbers of PEs.

use std::ffi::{c_int, c_long};
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::thread;

use ferroshmem::{Error, Pe, Sum, World};
use ferroshmem_interop::part;
use ferroshmem_interop::races::PROGRAMS;

fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("c-first") => return c_first(),
        Some("threads") => return beside_threads(),
        Some("spans") => return spans(),
        Some("races") => return races(),
        Some(other) => panic!("\"{other}\" is no mode: there are c-first, threads, spans and races"),
    }
    let world = World::init()?;
    println!("C's puts are {}", inlined());
    memory_of_rust(&world)?;
    memory_of_c(&world)?;
    globals(&world)?;
    barriers(&world)?;
    nested(&world)?;
    drop(world);
    // The job's next world finds C's part as it was.
    let world = World::init()?;
    memory_of_rust(&world)?;
    Ok(())
}

/// A program with a fault, or without it.
fn races() -> Result<(), Error> {
    let name = std::env::args().nth(2);
    let program = PROGRAMS.iter().find(|(of, _)| Some(*of) == name.as_deref());
    program.expect("there is one of this name").1(&World::init()?, std::env::args().nth(3).is_some())
}

/// Spans of the crate `tracing`, around calls of both languages.
fn spans() -> Result<(), Error> {
    use tracing_subscriber::prelude::*;
    tracing_subscriber::registry().with(ferroshmem::RegionLayer).init();
    let world = World::init()?;
    for _ in 0..3 {
        let _outer = tracing::info_span!("span_of_a_step").entered();
        world.barrier();
        let _inner = tracing::info_span!("span_of_c").entered();
        barriers(&world)?;
    }
    Ok(())
}

fn inlined() -> &'static str {
    match part::part_is_inlined() {
        0 => "calls",
        _ => "stores",
    }
}

fn number(pe: Pe) -> c_int {
    pe.number() as c_int
}

/// Memory that Rust allocated: C puts to it, sums it and counts in it, Rust updates it atomically
/// at the same time.
fn memory_of_rust(world: &World) -> Result<(), Error> {
    const N: usize = 1000;
    let me = world.my_pe();
    let mut source = world.alloc::<i64>(N)?;
    for (i, element) in source.iter_mut().enumerate() {
        *element = (me.number() * N + i) as i64;
    }
    let source = source.into_raw();
    let dest = world.alloc::<i64>(N)?.into_raw();
    // SAFETY: both arrays have N elements; between the two collective steps no PE accesses them but by
    // `part_shift`.
    let dest = unsafe {
        part::part_shift(dest.local().as_ptr(), source.local().as_ptr(), N);
        dest.into_inner()
    };
    let from = me.previous().number() * N;
    assert!(dest.iter().enumerate().all(|(i, got)| *got == (from + i) as i64));

    let dest = dest.into_raw();
    // SAFETY: both arrays have N elements; between the two collective steps no PE accesses them but by
    // `part_sum`.
    let dest = unsafe {
        let status = part::part_sum(dest.local().as_ptr(), source.local().as_ptr(), N);
        assert_eq!(status, 0);
        dest.into_inner()
    };
    for (i, sum) in dest.iter().enumerate() {
        let want = world.pes().map(|pe| (pe.number() * N + i) as i64).sum();
        assert_eq!(*sum, want, "element {i}");
    }

    const TIMES: usize = 1000;
    let counter = world.alloc::<i64>(1)?.into_raw();
    let first = world.pe(0)?;
    let there = counter.remote(first).expect("all PEs are on this node");
    // SAFETY: `there` is a mapped, aligned i64; PEs access it by atomic operations only, Rust here and
    // C in `part_count`.
    unsafe {
        let in_rust = AtomicI64::from_ptr(there.as_ptr());
        for _ in 0..TIMES {
            in_rust.fetch_add(1, Relaxed);
            part::part_count(counter.local().as_ptr(), 1, number(first));
        }
    }
    // SAFETY: the step is collective, and no PE keeps a pointer to the counter.
    let counter = unsafe { counter.into_inner() };
    if me == first {
        assert_eq!(counter[0], (2 * TIMES * world.n_pes()) as i64);
    }
    Ok(())
}

/// Memory that C allocated: Rust writes it, C gets it from the next PE.
fn memory_of_c(world: &World) -> Result<(), Error> {
    const N: usize = 10;
    let me = world.my_pe();
    // SAFETY: all PEs call it, as shmem_calloc demands.
    let memory = unsafe { part::part_alloc(N) };
    assert!(!memory.is_null());
    // SAFETY: `memory` has N elements, which are zero; other PEs read them after the barrier only.
    unsafe { slice::from_raw_parts_mut(memory, N) }.fill(me.number() as c_long);
    world.barrier();
    let next = me.next();
    for i in 0..N {
        // SAFETY: `memory` has N elements, and no PE writes them between these barriers.
        let got = unsafe { part::part_get(memory.add(i), number(next)) };
        assert_eq!(got, next.number() as c_long);
    }
    // Both allocate from the same heap.
    let between = world.alloc::<c_long>(N)?;
    // SAFETY: all PEs call it, as shmem_free demands, and no PE uses `memory` afterwards.
    unsafe { part::part_free(memory) };
    assert!(between.iter().all(|element| *element == 0));
    Ok(())
}

/// Global variables: C's are symmetric, and so are those of Rust.
fn globals(world: &World) -> Result<(), Error> {
    static IN_RUST: AtomicI64 = AtomicI64::new(7);
    let (me, n) = (world.my_pe(), world.n_pes() as i64);
    let (before, next) = (part::part_global(), number(me.next()));
    world.barrier();
    // SAFETY: both variables are symmetric, and all PEs add to them atomically.
    unsafe {
        part::part_add_to_global(number(me).into(), next);
        part::part_count(IN_RUST.as_ptr(), 1, 0);
    }
    world.barrier();
    assert_eq!(part::part_global(), before + c_long::from(number(me.previous())));
    let counted = IN_RUST.load(Relaxed);
    assert_eq!(counted, if me.number() == 0 { 7 + n } else { 7 });
    assert_eq!(world.reduce_value(counted, Sum), 8 * n);
    Ok(())
}

/// Barriers of Rust and C in turn: each PE sees what all the others put before it.
fn barriers(world: &World) -> Result<(), Error> {
    let round = world.atomics::<i64>(1)?;
    for i in 1..=50 {
        round.set(world.my_pe().next(), 0, i)?;
        if i % 2 == 0 {
            // SAFETY: the library is initialised, and all PEs call it.
            unsafe { part::part_barrier() };
        } else {
            world.barrier();
        }
        assert_eq!(round.fetch(world.my_pe(), 0)?, i);
        world.barrier();
    }
    Ok(())
}

/// C that initialises and finalises the library within a world only nests.
fn nested(world: &World) -> Result<(), Error> {
    let array = world.alloc::<u64>(4)?;
    for _ in 0..3 {
        // SAFETY: all PEs call it, as shmem_init and shmem_finalize demand.
        assert_eq!(unsafe { part::part_by_itself() } as usize, world.n_pes());
    }
    assert!(array.iter().all(|element| *element == 0));
    Ok(())
}

/// Threads update a static while the first world begins: no update may be lost.
fn beside_threads() -> Result<(), Error> {
    static COUNTED: Mutex<u64> = Mutex::new(0);
    static END: AtomicBool = AtomicBool::new(false);
    // It takes a while to become symmetric.
    static COPIED: [AtomicI64; 4 << 20] = [const { AtomicI64::new(0) }; 4 << 20];
    for word in &COPIED {
        word.store(1, Relaxed);
    }
    let count = || {
        let mut counted = 0;
        while !END.load(Relaxed) {
            *COUNTED.lock().unwrap() += 1;
            counted += 1;
        }
        counted
    };
    thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(count));
        while *COUNTED.lock().unwrap() < 1000 {
            thread::yield_now();
        }
        let world = World::init()?;
        println!("C's puts are {}", inlined());
        END.store(true, Relaxed);
        let counted: u64 = threads.map(|t| t.join().unwrap()).iter().sum();
        assert_eq!(*COUNTED.lock().unwrap(), counted);
        world.barrier();
        Ok(())
    })
}

/// A world within what C has initialised.
fn c_first() -> Result<(), Error> {
    // SAFETY: all PEs call it, as shmem_init demands.
    unsafe { part::part_init() };
    println!("C's puts are {}", inlined());
    // SAFETY: all PEs call it, as shmem_calloc demands.
    let memory = unsafe { part::part_alloc(1) };
    for _ in 0..2 {
        let world = World::init()?;
        memory_of_rust(&world)?;
        globals_move(&world);
    }
    // SAFETY: `memory` is one element that C allocated, which outlives the worlds; all PEs call these.
    unsafe {
        assert_eq!(memory.read(), 0);
        part::part_free(memory);
        part::part_barrier();
        part::part_finalize();
    }
    Ok(())
}

/// A global of C is counted up by all PEs, on PE 0.
fn globals_move(world: &World) {
    let before = part::part_global();
    world.barrier();
    // SAFETY: the variable is symmetric, and all PEs add to it atomically.
    unsafe { part::part_add_to_global(1, 0) };
    world.barrier();
    let new = if world.my_pe().number() == 0 { world.n_pes() as c_long } else { 0 };
    assert_eq!(part::part_global(), before + new);
}
