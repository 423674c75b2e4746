//! Several contenders doing the same work in turn, in many short blocks.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::outcome::{FEWEST, Times};
use crate::{Job, Outcome, Quiet};

/// How long a measurement goes on.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Time of a block: one contender calling an operation again and again.
    pub block: Duration,
    /// Blocks of each contender in which nobody else uses the machine.
    pub blocks: usize,
    /// After this time those that there are must do.
    pub budget: Duration,
    /// Whether contenders are measured on, however slow they are.
    pub patient: bool,
}

/// Who takes part: a job, and the operation that it is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Lane {
    /// Index of its job.
    pub job: usize,
    /// Name of the operation in its program.
    pub operation: &'static str,
}

/// Blocks after which it shows who is far behind.
const TRIALS: usize = 2;
/// Who takes so many times as long as the fastest takes no part in further blocks.
const FAR_BEHIND: f64 = 20.0;
/// Who was far behind so often sits out, and so does who took a point's time for a block.
const DEFEATS: u32 = 2;

/// Jobs, and the lanes that they run in. The first job is this library's and is measured however
/// it does.
#[derive(Debug)]
pub struct Contest {
    jobs: Vec<Result<Job>>,
    lanes: Vec<Lane>,
    defeats: Vec<u32>,
}

impl Contest {
    /// A contest of `jobs`, some of which may not have started.
    pub fn new(jobs: Vec<Result<Job>>, lanes: &[Lane]) -> Self {
        Self {
            jobs,
            lanes: lanes.to_owned(),
            defeats: vec![0; lanes.len()],
        }
    }

    /// Times the lanes' operations on `bytes` bytes, in turn. A job that fails is out.
    pub fn run(
        &mut self,
        bytes: usize,
        effort: Effort,
        mut progress: impl FnMut(usize),
    ) -> Outcome {
        let start = Instant::now();
        let mut machine = Quiet::new(effort.budget / 4);
        let mut times = vec![Times::new(); self.lanes.len()];
        let mut quiet = Vec::new();
        let mut enough = 0;
        while enough < effort.blocks && (quiet.len() < FEWEST || start.elapsed() < effort.budget) {
            let block = quiet.len();
            progress(block);
            if block == TRIALS && !effort.patient {
                self.count_defeats(&times);
            }
            quiet.push(self.block(block, bytes, effort, &mut times, &mut machine));
            enough += usize::from(quiet[block]);
        }
        Outcome::new(times, &quiet)
    }

    /// Adds a block of each lane that still takes part to `times`; returns whether nobody else
    /// used the machine.
    fn block(
        &mut self,
        block: usize,
        bytes: usize,
        effort: Effort,
        times: &mut [Times],
        machine: &mut Quiet,
    ) -> bool {
        let limit = limit(times);
        let mut quiet = true;
        for turn in 0..times.len() {
            // Nobody always comes after the same one.
            let which = (turn + block) % times.len();
            let lane = self.lanes[which];
            let far_behind = lane.job > 0 && fastest(&times[which]).is_some_and(|t| t > limit);
            if self.defeats[which] < DEFEATS && (block < TRIALS || !far_behind) {
                quiet &= machine.now();
                let start = Instant::now();
                times[which].extend(self.time(lane, bytes, effort.block));
                if lane.job > 0 && start.elapsed() > effort.budget && !effort.patient {
                    self.defeats[which] = DEFEATS;
                }
            }
        }
        quiet && machine.now()
    }

    fn time(&mut self, lane: Lane, bytes: usize, block: Duration) -> Option<f64> {
        let job = self.jobs[lane.job].as_mut().ok()?;
        match job.time(lane.operation, bytes, block) {
            Ok(time) => Some(time),
            Err(error) => {
                self.jobs[lane.job] = Err(error.context(lane.operation));
                None
            }
        }
    }

    fn count_defeats(&mut self, times: &[Times]) {
        let limit = limit(times);
        for (lane, times) in times.iter().enumerate() {
            let far_behind = fastest(times).is_some_and(|t| t > limit);
            self.defeats[lane] += u32::from(self.lanes[lane].job > 0 && far_behind);
        }
    }

    /// The jobs, for another contest.
    pub fn into_jobs(self) -> Vec<Result<Job>> {
        self.jobs
    }

    /// The jobs that failed, by index, and why.
    pub fn failures(&self) -> impl Iterator<Item = (usize, &anyhow::Error)> {
        let jobs = self.jobs.iter().enumerate();
        jobs.filter_map(|(i, job)| Some((i, job.as_ref().err()?)))
    }
}

fn fastest(times: &[f64]) -> Option<f64> {
    times.iter().copied().min_by(f64::total_cmp)
}

/// Who takes longer is far behind.
fn limit(times: &[Times]) -> f64 {
    let best = times.iter().filter_map(|t| fastest(t));
    FAR_BEHIND * best.fold(f64::INFINITY, f64::min)
}
