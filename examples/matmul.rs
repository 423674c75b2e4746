//! Multiplies matrices whose rows are divided among the PEs: each PE loads the others' rows from their
//! memory.
//!
//!     cargo build --release --example matmul && oshrun -n 4 target/release/examples/matmul [SIZE]
//!
//! C = A B, all SIZE x SIZE (default 1024). A PE computes its rows of C, for which it needs all of B: it
//! begins with its own rows of B and continues with those of the next PEs, so that PEs read different
//! rows.
//!
//! The elements are small integers, so the product is exact, and is checked by C x = A (B x) for some
//! vector x.

use std::error::Error;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use ferroshmem::{Pe, Shared, Sum, World};

const DEFAULT_SIZE: usize = 1024;

/// Rows and columns of B that are used together, which stay in the cache.
const DEPTH: usize = 64;
const WIDTH: usize = 512;

/// Rows of a square matrix, one after the other.
#[derive(Clone, Copy)]
struct Rows<'a> {
    elements: &'a [f64],
    size: usize,
}

impl<'a> Rows<'a> {
    fn row(self, row: usize) -> &'a [f64] {
        &self.elements[row * self.size..][..self.size]
    }

    fn times(self, x: &[f64]) -> impl Iterator<Item = f64> {
        let rows = self.elements.chunks_exact(self.size);
        rows.map(move |row| row.iter().zip(x).map(|(a, x)| a * x).sum())
    }
}

/// Number of rows of each matrix on a PE.
fn rows_of(pe: Pe, n_pes: usize, size: usize) -> Range<usize> {
    let first = |pe: usize| size * pe / n_pes;
    first(pe.number())..first(pe.number() + 1)
}

/// An element of a matrix of integers from -4 to 4.
fn element(seed: usize, row: usize, column: usize) -> f64 {
    let mixed = (row * 7919 + column * 104_729 + seed) as u64;
    let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as f64 % 9.0 - 4.0
}

/// Adds the product of this PE's rows of A, of their columns from `first` on, and as many rows of B.
fn multiply_add(c: &mut [f64], a: Rows<'_>, b: Rows<'_>, first: usize) {
    let size = b.size;
    let depth = b.elements.len() / size;
    for left in (0..size).step_by(WIDTH) {
        let columns = left..(left + WIDTH).min(size);
        for upper in (0..depth).step_by(DEPTH) {
            for (i, c) in c.chunks_exact_mut(size).enumerate() {
                let c = &mut c[columns.clone()];
                for k in upper..(upper + DEPTH).min(depth) {
                    let factor = a.row(i)[first + k];
                    for (c, b) in c.iter_mut().zip(&b.row(k)[columns.clone()]) {
                        *c += factor * b;
                    }
                }
            }
        }
    }
}

/// This PE's rows of the product of A and B.
fn multiply(world: &World, a: Rows<'_>, b: &Shared<'_, f64>) -> Vec<f64> {
    let (me, n, size) = (world.my_pe(), world.n_pes(), a.size);
    let mut c = vec![0.0; a.elements.len()];
    for pe in [me].into_iter().chain(world.others()) {
        let rows = rows_of(pe, n, size);
        let elements = &b.on(pe)[..rows.len() * size];
        multiply_add(&mut c, a, Rows { elements, size }, rows.start);
    }
    c
}

/// The product of B, of which this PE has `rows`, and a vector that each PE has.
fn times_vector(world: &World, b: Rows<'_>, x: &[f64]) -> ferroshmem::Result<Vec<f64>> {
    let mut mine = world.alloc(b.size.div_ceil(world.n_pes()))?;
    let mut count = 0;
    for (element, value) in mine.iter_mut().zip(b.times(x)) {
        *element = value;
        count += 1;
    }
    let mut product = world.alloc(b.size)?;
    world.collect(&mut product, &mine, count)?;
    Ok(product.to_vec())
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let size = std::env::args().nth(1).map_or(Ok(DEFAULT_SIZE), |arg| arg.parse())?;
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    if size == 0 {
        return Err("a matrix has at least one row".into());
    }

    let mine = rows_of(me, n, size);
    let elements = |seed| mine.clone().flat_map(move |row| (0..size).map(move |column| element(seed, row, column)));
    let a: Vec<f64> = elements(1).collect();
    let a = Rows { elements: &a, size };
    let mut b = world.alloc(size.div_ceil(n) * size)?;
    for (place, element) in b.iter_mut().zip(elements(2)) {
        *place = element;
    }

    let b = b.share(); // all PEs have filled it
    let begin = Instant::now();
    let c = multiply(&world, a, &b);
    world.barrier();
    let seconds = begin.elapsed().as_secs_f64();

    let x: Vec<f64> = (0..size).map(|column| element(3, 0, column)).collect();
    let b = Rows { elements: &b.on(me)[..mine.len() * size], size };
    let expected = times_vector(&world, b, &x)?;
    let c = Rows { elements: &c, size };
    let wrong = c.times(&x).zip(a.times(&expected)).filter(|(is, should)| is != should).count();
    let wrong = world.reduce_value(wrong, Sum);
    if me.number() == 0 {
        let rate = 2e-9 * (size as f64).powi(3) / seconds;
        println!("matmul: {size} x {size} on {n} PEs: {seconds:.3} s, {rate:.2} Gflop/s");
        if wrong > 0 {
            eprintln!("matmul: {wrong} rows of the product are wrong");
        }
    }
    Ok(ExitCode::from(u8::from(wrong > 0)))
}
