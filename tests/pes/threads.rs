//! Threads and pools that take part in large copies.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ferroshmem::{Error, World};

use crate::Program;

/// Everything but single elements is shared.
const ALWAYS: &[(&str, &str)] = &[("SHMEM_SHARE_THRESHOLD", "1")];

pub(crate) const PROGRAMS: &[Program] = &[
    Program::new("threads/lend", lend).env(ALWAYS),
    #[cfg(feature = "rayon")]
    Program::new("threads/pool", pool).env(ALWAYS),
    #[cfg(feature = "rayon")]
    Program::new("threads/global_pool", global_pool).env(ALWAYS),
];

/// Elements of 8 bytes: several chunks.
const LEN: usize = 200_000;

/// Puts to the next PE and back, in rounds, as long as `goes_on`.
fn exchange(world: &World, mut goes_on: impl FnMut(u64) -> bool) -> Result<(), Error> {
    let (next, mut array) = (world.my_pe().next(), world.alloc::<u64>(LEN)?);
    let mut round = 0;
    // All PEs make as many rounds.
    while world.reduce_value(u8::from(goes_on(round)), ferroshmem::Max) == 1 {
        round += 1;
        let values = Vec::from_iter((0..LEN as u64).map(|i| i * round));
        let window = array.open();
        window.put(next, 0, &values)?;
        let mut back = vec![0; LEN];
        window.get(next, 0, &mut back)?;
        assert!(back == values, "round {round}");
        array = window.close();
        assert!(array[..] == values[..], "round {round}");
    }
    Ok(())
}

fn lend() -> Result<(), Error> {
    let world = World::init()?;
    let job = world.handle();
    // What goes to other nodes is the network's.
    let is_shared = world.is_here(world.my_pe().next());
    let (done, taken) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                let begin = Instant::now();
                let parts = job.lend_while(|| begin.elapsed() < Duration::from_millis(1));
                taken.fetch_add(parts, Relaxed);
            }
        });
        let result = exchange(&world, |_| is_shared && taken.load(Relaxed) == 0);
        done.store(true, Relaxed);
        result
    })
}

#[cfg(feature = "rayon")]
fn pool() -> Result<(), Error> {
    let world = World::init()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.expect("the system starts two threads");
    for _ in 0..2 {
        world.lend_pool(&pool, || exchange(&world, |round| round < 4))?;
        // Nothing is lent any more, and the pool does what it did.
        exchange(&world, |round| round < 1)?;
        assert_eq!(pool.install(|| rayon::join(|| 1, || 2)), (1, 2));
    }
    // A pool that goes on with other work, and ends before jobs of the library have run.
    let (begun, end) = (AtomicU32::new(0), AtomicBool::new(false));
    world.lend_pool(&pool, || {
        pool.in_place_scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|_| {
                    begun.fetch_add(1, Relaxed);
                    while !end.load(Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                });
            }
            while begun.load(Relaxed) < 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let result = exchange(&world, |round| round < 2);
            end.store(true, Relaxed);
            result
        })
    })?;
    drop(pool);
    exchange(&world, |round| round < 1)
}

#[cfg(feature = "rayon")]
fn global_pool() -> Result<(), Error> {
    for _ in 0..2 {
        let world = World::init()?;
        world.lend_global_pool();
        world.lend_global_pool();
        exchange(&world, |round| round < 4)?;
        let sum: u64 = {
            use rayon::prelude::*;
            (0..1000u64).into_par_iter().sum()
        };
        assert_eq!(sum, 499_500);
    }
    Ok(())
}
