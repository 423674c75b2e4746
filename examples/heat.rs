//! A rod that cools at its ends, divided among the PEs: a program for MPI, and what becomes of its calls.
//!
//!     cargo build --example heat && oshrun -n 4 target/debug/examples/heat [STEPS [CELLS]]
//!
//! | MPI | here |
//! |---|---|
//! | `MPI_Init`, `MPI_Finalize` | `#[ferroshmem::main]` |
//! | `MPI_Comm_rank`, `MPI_Comm_size` | `world.my_pe()`, `world.n_pes()` |
//! | `MPI_Sendrecv` of a cell with each neighbour | `put_signal` to the neighbour, `wait_until` of the own signal |
//! | `MPI_Allreduce` with `MPI_SUM` | `world.reduce_value(…, Sum)` |
//! | `MPI_Allreduce` with `MPI_MAXLOC` | `world.max_loc(…)` |
//! | `MPI_Gather` | `world.gather_value(…)`, or a `Distributed` array that is shared |
//! | `MPI_Bcast` | `world.broadcast_value(world.pe(0)?, …)` |

use std::error::Error;

use ferroshmem::{Compare, SignalUpdate, Signals, Sum, Window, World};

const DEFAULT_STEPS: usize = 500;
const DEFAULT_CELLS: usize = 400;

/// Part of the difference between neighbours that flows in one step.
const FLOW: f64 = 0.25;

/// The cells of the neighbours next to mine. Those of even and of odd steps have places of their own: a neighbour that
/// sends its cell of a step has had mine of the step before, so it is at most one step ahead.
struct Halo<'w> {
    cells: Window<'w, f64>,
    arrived: Signals<'w>,
}

impl<'w> Halo<'w> {
    fn new(world: &'w World) -> ferroshmem::Result<Self> {
        Ok(Self { cells: world.alloc(4)?.open(), arrived: world.signals(2)? })
    }

    /// Sends my first and last cell to the PEs before and after me, and returns theirs; zero at the ends of the rod.
    fn exchange(&self, world: &World, cells: &[f64], step: usize) -> ferroshmem::Result<[f64; 2]> {
        let (me, round) = (world.my_pe(), step as u64 + 1);
        let is_there = [me.number() > 0, me.number() + 1 < world.n_pes()];
        let neighbours = [me.previous(), me.next()];
        let mine = [cells[0], cells[cells.len() - 1]];
        let place = |side: usize| 2 * (step % 2) + side;
        for side in (0..2).filter(|side| is_there[*side]) {
            // I am on the other side of it.
            let (theirs, update) = (1 - side, SignalUpdate::Set(round));
            let cell = &mine[side..=side];
            self.cells.put_signal(neighbours[side], place(theirs), cell, &self.arrived, theirs, update)?;
        }
        let mut halo = [0.0; 2];
        for side in (0..2).filter(|side| is_there[*side]) {
            self.arrived.wait_until(side, Compare::Ge(round))?;
            halo[side] = self.cells.g(me, place(side))?;
        }
        Ok(halo)
    }
}

/// A step of cells between the halo's.
fn advance(cells: &mut [f64], [before, after]: [f64; 2]) {
    let mut left = before;
    for i in 0..cells.len() {
        let right = cells.get(i + 1).copied().unwrap_or(after);
        let here = cells[i];
        cells[i] = here + FLOW * (left - 2.0 * here + right);
        left = here;
    }
}

/// The first temperature of a cell.
fn start(cell: usize, cells: usize) -> f64 {
    100.0 * (cell * (cells - cell)) as f64 / (cells * cells) as f64
}

#[ferroshmem::main]
fn main(world: &World) -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let steps = args.next().map_or(Ok(DEFAULT_STEPS), |arg| arg.parse())?;
    let cells = args.next().map_or(Ok(DEFAULT_CELLS), |arg| arg.parse())?;
    if cells < world.n_pes() || !cells.is_multiple_of(world.n_pes()) {
        return Err(format!("{cells} cells cannot be divided among {} PEs", world.n_pes()).into());
    }

    let mut rod = world.distributed::<f64>(cells)?;
    for (cell, temperature) in rod.iter_mut_with_index() {
        *temperature = start(cell, cells);
    }
    let halo = Halo::new(world)?;
    for step in 0..steps {
        let beside = halo.exchange(world, &rod, step)?;
        advance(&mut rod, beside);
    }

    let mean = world.reduce_value(rod.iter().sum::<f64>(), Sum) / cells as f64;
    let hottest = rod.iter().copied().fold(0.0, f64::max);
    let (hottest, member) = world.max_loc(hottest);

    // Every PE can read the whole rod; PE 0 verifies it.
    let rod = rod.share();
    let mut right = true;
    if world.my_pe().number() == 0 {
        let mut expected = Vec::from_iter((0..cells).map(|cell| start(cell, cells)));
        for _ in 0..steps {
            advance(&mut expected, [0.0; 2]);
        }
        right = rod.iter().eq(&expected);
        println!(
            "heat: {cells} cells, {steps} steps on {} PEs: mean {mean:.3}, hottest {hottest:.3} on PE {}",
            world.n_pes(),
            member.number()
        );
    }
    match world.broadcast_value(world.pe(0)?, u8::from(right))? {
        1 => Ok(()),
        _ => Err("the rod differs from that of one PE".into()),
    }
}
