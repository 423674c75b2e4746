//! A bag of tasks that create more tasks, and a result, under one lock: counts the ways to place N queens
//! on a board of N x N such that none attacks another.
//!
//!     cargo build --release --example work_queue && oshrun -n 4 target/release/examples/work_queue [N]
//!
//! A task is a board whose first rows have queens. A PE that takes a board with few queens puts back a
//! task for each place of the next queen; a board with many queens it counts to the end. Sizes of tasks
//! differ and are not known in advance: all PEs are busy while there are tasks.

use std::error::Error;
use std::process::ExitCode;
use std::thread;

use bytemuck::{Pod, Zeroable};
use ferroshmem::{Locked, Sum, World};

const DEFAULT_QUEENS: usize = 12;

/// Ways to place N queens, for N from 0 on (sequence A000170 of the OEIS).
const KNOWN: [u64; 16] = [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712, 365_596, 2_279_184];

/// Rows that are filled by separate tasks.
const SPLIT_ROWS: u32 = 3;

/// A board, as the squares of the next row that its queens attack: one bit for each column.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Board {
    rows: u32,
    columns: u32,
    /// Attacked along diagonals to the left and to the right.
    left: u32,
    right: u32,
}

impl Board {
    /// The boards with one more queen.
    fn extended(self, n: usize) -> impl Iterator<Item = Self> {
        let free = !(self.columns | self.left | self.right) & ((1 << n) - 1);
        let bits = (0..n).map(|column| 1 << column);
        bits.filter(move |bit| free & bit != 0).map(move |bit| Self {
            rows: self.rows + 1,
            columns: self.columns | bit,
            left: (self.left | bit) << 1,
            right: (self.right | bit) >> 1,
        })
    }

    /// The number of ways to place the other queens.
    fn solutions(self, n: usize) -> u64 {
        if self.rows as usize == n {
            return 1;
        }
        self.extended(n).map(|board| board.solutions(n)).sum()
    }
}

/// The shared data.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Bag {
    /// The task that was put last is taken first, so that there are never many.
    tasks: [Board; 256],
    /// Tasks in the bag.
    len: u64,
    /// Tasks in the bag or in progress, which may create more.
    open: u64,
    solutions: u64,
}

impl Bag {
    /// Puts a task in, if there is room.
    fn put(&mut self, task: Board) -> bool {
        let place = self.tasks.get_mut(self.len as usize);
        let has_room = place.is_some();
        if let Some(place) = place {
            *place = task;
            self.len += 1;
            self.open += 1;
        }
        has_room
    }

    fn take(&mut self) -> Option<Board> {
        self.len = self.len.checked_sub(1)?;
        Some(self.tasks[self.len as usize])
    }
}

/// Works until there are no tasks left; returns the number of tasks that this PE did.
fn work(bag: &Locked<'_, Bag>, n: usize) -> u64 {
    let mut done = 0;
    loop {
        let (task, open) = {
            let mut bag = bag.lock();
            (bag.take(), bag.open)
        };
        let Some(task) = task else {
            if open == 0 {
                return done;
            }
            thread::yield_now(); // to PEs whose tasks may create more
            continue;
        };
        done += 1;

        let splits = task.rows < SPLIT_ROWS.min(n as u32);
        let solutions = if splits { 0 } else { task.solutions(n) };
        let mut bag = bag.lock();
        bag.solutions += solutions;
        if splits {
            for board in task.extended(n) {
                if !bag.put(board) {
                    bag.solutions += board.solutions(n);
                }
            }
        }
        bag.open -= 1;
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let n = std::env::args().nth(1).map_or(Ok(DEFAULT_QUEENS), |arg| arg.parse())?;
    let Some(&known) = KNOWN.get(n) else {
        return Err(format!("give at most {} queens", KNOWN.len() - 1).into());
    };
    let world = World::init()?;

    let mut bag = Bag::zeroed();
    bag.put(Board::zeroed());
    let bag = world.locked(bag)?;
    let done = work(&bag, n);

    let tasks = world.reduce_value(done, Sum);
    let busiest = world.reduce_value(done, ferroshmem::Max);
    let solutions = bag.lock().solutions;
    if solutions != known {
        eprintln!("work_queue: {n} queens in {solutions} ways, expected {known}");
        return Ok(ExitCode::FAILURE);
    }
    if world.my_pe().number() == 0 {
        println!(
            "work_queue: {n} queens in {solutions} ways; {tasks} tasks on {} PEs, at most {busiest} on one",
            world.n_pes()
        );
    }
    Ok(ExitCode::SUCCESS)
}
