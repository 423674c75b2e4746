//! The kernels of STREAM, on memory of this PE and on memory of the next: the same loops over slices.
//!
//!     cargo build --release --example stream
//!     oshrun -n 4 target/release/examples/stream [ELEMENTS_PER_PE [ROUNDS]]
//!
//! copy is c = a, scale b = 3 c, add c = a + b, triad a = b + 3 c. The arrays on the right are shared
//! while a kernel runs, the one on the left is private to each PE. The rate counts the bytes that all
//! PEs read and write, in the best of ROUNDS. A PE compares its results with a computation on scalars.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use ferroshmem::{Max, Pe, Symmetric, World};

const DEFAULT_ELEMENTS: usize = 4_000_000;
const DEFAULT_ROUNDS: usize = 10;

const FACTOR: f64 = 3.0;
const KERNELS: [&str; 4] = ["copy", "scale", "add", "triad"];

/// Arrays that a kernel reads and writes.
const ARRAYS: [usize; 4] = [2, 2, 3, 3];

fn copy(c: &mut [f64], a: &[f64]) {
    c.copy_from_slice(a);
}

fn scale(b: &mut [f64], c: &[f64]) {
    for (b, c) in b.iter_mut().zip(c) {
        *b = FACTOR * c;
    }
}

fn add(c: &mut [f64], a: &[f64], b: &[f64]) {
    for ((c, a), b) in c.iter_mut().zip(a).zip(b) {
        *c = a + b;
    }
}

fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + FACTOR * c;
    }
}

/// The arrays of a PE.
struct Arrays<'w> {
    a: Symmetric<'w, f64>,
    b: Symmetric<'w, f64>,
    c: Symmetric<'w, f64>,
}

/// The best times of the kernels, including the wait for all PEs.
struct Clock<'w> {
    world: &'w World,
    best: [f64; KERNELS.len()],
}

impl Clock<'_> {
    fn time(&mut self, kernel: usize, run: impl FnOnce()) -> ferroshmem::Result<()> {
        self.world.barrier();
        let begin = Instant::now();
        run();
        self.world.barrier();
        let seconds = self.world.reduce_value(begin.elapsed().as_secs_f64(), Max);
        self.best[kernel] = self.best[kernel].min(seconds);
        Ok(())
    }
}

/// One round, whose kernels read the memory of `source`.
fn round<'w>(arrays: Arrays<'w>, source: Pe, clock: &mut Clock<'_>) -> ferroshmem::Result<Arrays<'w>> {
    let Arrays { a, mut b, mut c } = arrays;

    let a = a.share();
    clock.time(0, || copy(&mut c, a.on(source)))?;

    let c = c.share();
    clock.time(1, || scale(&mut b, c.on(source)))?;

    let (b, mut c) = (b.share(), c.reclaim());
    clock.time(2, || add(&mut c, a.on(source), b.on(source)))?;

    let (mut a, c) = (a.reclaim(), c.share());
    clock.time(3, || triad(&mut a, b.on(source), c.on(source)))?;

    Ok(Arrays { a, b: b.reclaim(), c: c.reclaim() })
}

/// The values of the elements after some rounds, which are the same on all PEs.
fn expected(rounds: usize) -> [f64; 3] {
    let [mut a, mut b, mut c] = [1.0, 2.0, 0.0];
    for _ in 0..rounds {
        c = a;
        b = FACTOR * c;
        c = a + b;
        a = b + FACTOR * c;
    }
    [a, b, c]
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let elements = args.next().map_or(Ok(DEFAULT_ELEMENTS), |arg| arg.parse())?;
    let rounds = args.next().map_or(Ok(DEFAULT_ROUNDS), |arg| arg.parse())?;
    let world = World::init()?;
    let me = world.my_pe();

    for (whose, source) in [("own", me), ("next PE's", me.next())] {
        let mut arrays = Arrays { a: world.alloc(elements)?, b: world.alloc(elements)?, c: world.alloc(elements)? };
        arrays.a.fill(1.0);
        arrays.b.fill(2.0);
        let mut clock = Clock { world: &world, best: [f64::INFINITY; KERNELS.len()] };
        for _ in 0..rounds {
            arrays = round(arrays, source, &mut clock)?;
        }

        let [a, b, c] = expected(rounds);
        for (name, array, value) in [("a", &arrays.a, a), ("b", &arrays.b, b), ("c", &arrays.c, c)] {
            if let Some(wrong) = array.iter().position(|element| *element != value) {
                eprintln!("stream: {me}: {name}[{wrong}] is {}, expected {value}", array[wrong]);
                world.global_exit(1);
            }
        }
        if me.number() == 0 {
            for ((name, arrays), seconds) in KERNELS.iter().zip(ARRAYS).zip(clock.best) {
                let bytes = (world.n_pes() * arrays * elements * size_of::<f64>()) as f64;
                println!("stream: {name:5} of {whose} arrays: {:8.0} MB/s", 1e-6 * bytes / seconds);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
