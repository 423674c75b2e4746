//! Several jobs that do the same work in turn, in many short blocks.

use std::time::{Duration, Instant};

use anyhow::Result;
use pgas_microbench::machine::IdleWait;

use crate::outcome::{FEWEST, Times};
use crate::surroundings::Load;
use crate::{Job, Outcome};

/// How much is measured at a point.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Time of a block, in which one job repeats an operation.
    pub block: Duration,
    /// Blocks of each entry, without those in which other processes ran.
    pub blocks: usize,
    /// Time after which the measurement ends, whatever the number of blocks.
    pub budget: Duration,
    /// Whether slow entries are measured in all blocks too.
    pub keeps_slow: bool,
}

/// What is compared: an operation of a job.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Index of its job.
    pub job: usize,
    /// Name of the operation in its program.
    pub operation: &'static str,
}

/// Blocks after which slow entries are recognised.
const TRIALS: usize = 2;
/// An entry that takes this many times as long as the fastest is slow: it skips further blocks.
const SLOW: f64 = 20.0;
/// An entry that was slow at this many sizes is not measured at further ones, nor is an entry of
/// which one block took a whole point's budget.
const MOST_SLOW: u32 = 2;

/// Jobs, and the operations that are compared. The first job is this library's: it is measured in
/// all blocks.
#[derive(Debug)]
pub struct Comparison {
    jobs: Vec<Result<Job>>,
    entries: Vec<Entry>,
    /// Of each entry, the number of sizes at which it was slow.
    slow: Vec<u32>,
    /// Compute-bound processes beside a job while it is timed.
    load: usize,
}

impl Comparison {
    /// A comparison of `jobs`, some of which may not have started.
    pub fn new(jobs: Vec<Result<Job>>, entries: &[Entry]) -> Self {
        Self { jobs, entries: entries.to_owned(), slow: vec![0; entries.len()], load: 0 }
    }

    /// The same, with so many compute-bound processes beside a job while it is timed.
    #[must_use]
    pub fn beside(mut self, processes: usize) -> Self {
        self.load = processes;
        self
    }

    /// Times all operations on `bytes` bytes, in turn. A job that fails is not measured any more.
    pub fn run(&mut self, bytes: usize, effort: Effort, mut progress: impl FnMut(usize)) -> Outcome {
        let start = Instant::now();
        let mut machine = IdleWait::new(effort.budget / 4);
        let mut times = vec![Times::new(); self.entries.len()];
        let mut idle = Vec::new();
        let mut enough = 0;
        while enough < effort.blocks && (idle.len() < FEWEST || start.elapsed() < effort.budget) {
            let block = idle.len();
            progress(block);
            if block == TRIALS && !effort.keeps_slow {
                self.count_slow(&times);
            }
            idle.push(self.block(block, bytes, effort, &mut times, &mut machine));
            enough += usize::from(idle[block]);
        }
        Outcome::new(times, &idle)
    }

    /// Adds a block of each entry that is still measured to `times`; returns whether no other
    /// process ran.
    fn block(
        &mut self,
        block: usize,
        bytes: usize,
        effort: Effort,
        times: &mut [Times],
        machine: &mut IdleWait,
    ) -> bool {
        let limit = limit(times);
        let mut idle = true;
        for turn in 0..times.len() {
            // The order differs from block to block.
            let which = (turn + block) % times.len();
            let entry = self.entries[which];
            let is_slow = entry.job > 0 && fastest(&times[which]).is_some_and(|t| t > limit);
            if self.slow[which] < MOST_SLOW && (block < TRIALS || !is_slow) {
                idle &= machine.wait();
                let start = Instant::now();
                times[which].extend(self.time(entry, bytes, effort.block));
                if entry.job > 0 && start.elapsed() > effort.budget && !effort.keeps_slow {
                    self.slow[which] = MOST_SLOW;
                }
            }
        }
        idle && machine.wait()
    }

    fn time(&mut self, entry: Entry, bytes: usize, block: Duration) -> Option<f64> {
        let job = self.jobs[entry.job].as_mut().ok()?;
        let load = Load::start(self.load);
        let timed = load.map_err(anyhow::Error::from).and_then(|_load| {
            // Until it is dropped.
            job.time(entry.operation, bytes, block)
        });
        match timed {
            Ok(time) => Some(time),
            Err(error) => {
                self.jobs[entry.job] = Err(error.context(entry.operation));
                None
            }
        }
    }

    fn count_slow(&mut self, times: &[Times]) {
        let limit = limit(times);
        for (index, times) in times.iter().enumerate() {
            let is_slow = fastest(times).is_some_and(|t| t > limit);
            self.slow[index] += u32::from(self.entries[index].job > 0 && is_slow);
        }
    }

    /// The jobs, for another comparison.
    pub fn into_jobs(self) -> Vec<Result<Job>> {
        self.jobs
    }
}

fn fastest(times: &[f64]) -> Option<f64> {
    times.iter().copied().min_by(f64::total_cmp)
}

/// An entry whose calls take longer is slow.
fn limit(times: &[Times]) -> f64 {
    let best = times.iter().filter_map(|t| fastest(t));
    SLOW * best.fold(f64::INFINITY, f64::min)
}
