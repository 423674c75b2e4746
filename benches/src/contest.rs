//! Several contenders doing the same work in turn, in many short blocks.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::{Job, Quiet, Spread};

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

/// Nanoseconds per call, by block.
pub type Times = Vec<f64>;

/// Blocks after which it shows who is far behind.
const TRIALS: usize = 2;
/// Who takes so many times as long as the fastest takes no part in further blocks.
const FAR_BEHIND: f64 = 20.0;
/// Who was far behind so often sits out.
const DEFEATS: u32 = 2;
/// Fewer blocks say too little.
const FEWEST: usize = 5;

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
            quiet.push(self.block(block, bytes, effort.block, &mut times, &mut machine));
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
        length: Duration,
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
                times[which].extend(self.time(lane, bytes, length));
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

/// What a contest's lanes did.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    times: Vec<Times>,
    /// Whether others used the machine in too many blocks to leave those out.
    pub disturbed: bool,
}

impl Outcome {
    /// Leaves out the blocks that were not `quiet`, if there are enough others.
    fn new(mut times: Vec<Times>, quiet: &[bool]) -> Self {
        let disturbed = quiet.iter().filter(|quiet| **quiet).count() < FEWEST;
        if !disturbed {
            // Who sat out is shown by the blocks that there are.
            for times in times.iter_mut().filter(|t| t.len() == quiet.len()) {
                let mut quiet = quiet.iter();
                times.retain(|_| *quiet.next().unwrap_or(&true));
            }
        }
        Self { times, disturbed }
    }

    /// How many times as long as in lane `to` a call in lane `of` took, block by block.
    pub fn ratio(&self, of: usize, to: usize) -> Option<Spread> {
        let blocks = self.times[of].iter().zip(&self.times[to]);
        Spread::of(blocks.map(|(of, to)| of / to))
    }

    /// The median of a lane: nanoseconds per call.
    pub fn median(&self, lane: usize) -> Option<f64> {
        Spread::of(self.times[lane].iter().copied()).map(|spread| spread.median)
    }

    /// All lanes' medians.
    pub fn medians(&self) -> Vec<Option<f64>> {
        (0..self.times.len())
            .map(|lane| self.median(lane))
            .collect()
    }

    /// Which of some lanes has the lowest median.
    pub fn fastest(&self, among: impl IntoIterator<Item = usize>) -> Option<usize> {
        among
            .into_iter()
            .filter_map(|lane| Some((lane, self.median(lane)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(lane, _)| lane)
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

/// The geometric mean of at least one value.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|v| v.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(times: &[&[f64]], quiet: &[bool]) -> Outcome {
        Outcome::new(times.iter().map(|t| t.to_vec()).collect(), quiet)
    }

    #[test]
    fn ratios_are_of_the_same_block() {
        let outcome = outcome(&[&[20.0, 60.0, 40.0], &[10.0, 20.0], &[]], &[true; 3]);
        assert_eq!(outcome.ratio(0, 1).unwrap().median, 2.5);
        assert_eq!(outcome.ratio(0, 2), None);
    }

    #[test]
    fn the_lowest_median_is_fastest() {
        let outcome = outcome(&[&[1.0, 9.0, 9.0], &[], &[5.0, 4.0, 5.0]], &[true; 3]);
        assert_eq!(outcome.fastest(0..3), Some(2));
        assert_eq!(outcome.fastest([0]), Some(0));
        assert_eq!(outcome.fastest([1]), None);
    }

    #[test]
    fn disturbed_blocks_are_left_out_if_enough_remain() {
        let times: Vec<f64> = (0..8).map(f64::from).collect();
        let mut quiet = [true; 8];
        quiet[6] = false;
        let outcome_of = |quiet: &[bool]| outcome(&[&times, &[3.0]], quiet);
        let all = outcome_of(&quiet);
        assert!(!all.disturbed);
        assert_eq!(all.times[0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
        assert_eq!(all.times[1], [3.0]);
        quiet[..4].fill(false);
        let few = outcome_of(&quiet);
        assert!(few.disturbed && few.times[0] == times);
    }

    #[test]
    fn means_are_geometric() {
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_none());
    }
}
