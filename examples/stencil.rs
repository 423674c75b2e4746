//! The five-point stencil on a square of points, its rows divided among the PEs; border rows are
//! sent by puts with signals.
//!
//!     cargo build --release --example stencil
//!     oshrun -n 4 target/release/examples/stencil [ITERATIONS [SIZE]]
//!
//! Each iteration replaces every inner point by the mean of its four neighbours; the border stays
//! as it is. The square begins as a wave, a product of sines that vanishes at the border: an
//! iteration then multiplies every point by the same factor, so each PE knows what its points must
//! be in the end.
//!
//! A PE's points are its own, in a vector. Only the rows that neighbours send are in symmetric
//! memory: neighbours put them while this PE computes, so it cannot hold references to them, and
//! copies them when their signal has arrived.

use std::error::Error;
use std::f64::consts::PI;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use ferroshmem::{Compare, Pe, SignalUpdate, Signals, Sum, Window, World};

const DEFAULT_ITERATIONS: usize = 100;
const DEFAULT_SIZE: usize = 1282;

/// Half waves from top to bottom and from left to right.
const WAVES: (f64, f64) = (3.0, 5.0);

/// The correct state of the square after some iterations.
struct Wave {
    size: usize,
    factor: f64,
}

impl Wave {
    fn after(iterations: usize, size: usize) -> Self {
        let step = PI / (size - 1) as f64;
        let of_one = 0.5 * ((WAVES.0 * step).cos() + (WAVES.1 * step).cos());
        let factor = of_one.powf(iterations as f64);
        Self { size, factor }
    }

    /// The points of a row.
    fn row(&self, row: usize) -> impl Iterator<Item = f64> {
        let step = PI / (self.size - 1) as f64;
        let height = self.factor * (WAVES.0 * step * row as f64).sin();
        (0..self.size).map(move |column| height * (WAVES.1 * step * column as f64).sin())
    }
}

/// Inner rows of a PE.
fn rows_of(pe: Pe, n_pes: usize, size: usize) -> Range<usize> {
    let first = |pe: usize| 1 + (size - 2) * pe / n_pes;
    first(pe.number())..first(pe.number() + 1)
}

fn relax(from: &[f64], to: &mut [f64], size: usize) {
    let inner = to.chunks_exact_mut(size).skip(1);
    for (rows, to) in from.windows(3 * size).step_by(size).zip(inner) {
        let (above, rest) = rows.split_at(size);
        let (here, below) = rest.split_at(size);
        for i in 1..size - 1 {
            to[i] = 0.25 * (above[i] + below[i] + here[i - 1] + here[i + 1]);
        }
    }
}

/// Rows from neighbours, those of even and of odd iterations apart: a neighbour that sends its row
/// of an iteration has used the row of the iteration before, so it is at most one ahead.
struct Halo<'w> {
    rows: Window<'w, f64>,
    /// Number of rows that have arrived from above and from below.
    arrived: Signals<'w>,
    size: usize,
}

const ABOVE: usize = 0;
const BELOW: usize = 1;

impl<'w> Halo<'w> {
    fn new(world: &'w World, size: usize) -> Result<Self, ferroshmem::Error> {
        Ok(Self { rows: world.alloc(2 * 2 * size)?.open(), arrived: world.signals(2)?, size })
    }

    fn place(&self, side: usize, iteration: usize) -> usize {
        (2 * (iteration % 2) + side) * self.size
    }

    /// Puts a row to the neighbour on a side.
    fn send(&self, pe: Pe, side: usize, row: &[f64], iteration: usize) -> ferroshmem::Result<()> {
        let (at, signal) = (self.place(side, iteration), SignalUpdate::Set(iteration as u64 + 1));
        Ok(self.rows.put_signal(pe, at, row, &self.arrived, side, signal)?)
    }

    /// Waits for the row from a side.
    fn receive(&self, me: Pe, side: usize, row: &mut [f64], iteration: usize) -> ferroshmem::Result<()> {
        self.arrived.wait_until(side, Compare::Ge(iteration as u64 + 1))?;
        Ok(self.rows.get(me, self.place(side, iteration), row)?)
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let iterations = args.next().map_or(Ok(DEFAULT_ITERATIONS), |arg| arg.parse())?;
    let size = args.next().map_or(Ok(DEFAULT_SIZE), |arg| arg.parse())?;
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    if size < n + 2 {
        return Err(format!("{n} PEs share {size} rows, two of them border: use fewer PEs").into());
    }
    let mine = rows_of(me, n, size);
    let (top, bottom) = (me.number() == 0, me.number() == n - 1);

    // The rows of this PE, and one on each side: a neighbour's, or the border.
    let start = Wave::after(0, size);
    let mut now: Vec<f64> = (mine.start - 1..mine.end + 1).flat_map(|row| start.row(row)).collect();
    let mut next = now.clone();
    let last = mine.len() * size; // start of this PE's last row
    let halo = Halo::new(&world, size)?;

    world.barrier();
    let begin = Instant::now();
    for iteration in 0..iterations {
        if !top {
            halo.send(me.previous(), BELOW, &now[size..][..size], iteration)?;
        }
        if !bottom {
            halo.send(me.next(), ABOVE, &now[last..][..size], iteration)?;
        }
        if !top {
            halo.receive(me, ABOVE, &mut now[..size], iteration)?;
        }
        if !bottom {
            halo.receive(me, BELOW, &mut now[last + size..], iteration)?;
        }
        relax(&now, &mut next, size);
        std::mem::swap(&mut now, &mut next);
    }
    world.barrier();
    let seconds = begin.elapsed().as_secs_f64();

    let end = Wave::after(iterations, size);
    let expected = mine.clone().flat_map(|row| end.row(row));
    // Each iteration rounds a few times; a row of another iteration would be off by much more.
    let tolerance = 1e-15 * (iterations + 10) as f64;
    let right = |(is, should): (&f64, f64)| (is - should).abs() < tolerance;
    let right = now[size..].iter().zip(expected).map(right);
    let wrong = world.reduce_value(right.filter(|right| !right).count(), Sum);
    if me.number() == 0 {
        let points = ((size - 2) * (size - 2) * iterations) as f64;
        let rate = 1e-6 * points / seconds;
        println!(
            "stencil: {size} x {size} points, {iterations} iterations on {n} PEs: {seconds:.3} s, {rate:.0} Mpoints/s"
        );
        if wrong > 0 {
            eprintln!("stencil: {wrong} points differ from the wave");
        }
    }
    Ok(ExitCode::from(u8::from(wrong > 0)))
}
