//! Several contenders doing the same work in turn, in many short blocks.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::{Job, Spread};

/// How long a measurement goes on.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Time of a block: one contender calling an operation again and again.
    pub block: Duration,
    /// Blocks of each contender.
    pub blocks: usize,
    /// After this time few blocks of each are enough.
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
    ) -> Vec<Times> {
        let start = Instant::now();
        let lanes = self.lanes.len();
        let mut times = vec![Times::new(); lanes];
        for block in 0..effort.blocks {
            if block >= FEWEST && start.elapsed() > effort.budget {
                break;
            }
            progress(block);
            if block == TRIALS && !effort.patient {
                self.count_defeats(&times);
            }
            let best = times.iter().filter_map(|t| fastest(t));
            let limit = FAR_BEHIND * best.fold(f64::INFINITY, f64::min);
            for turn in 0..lanes {
                // Nobody always comes after the same one.
                let which = (turn + block) % lanes;
                let far_behind =
                    self.lanes[which].job > 0 && fastest(&times[which]).is_some_and(|t| t > limit);
                if self.defeats[which] < DEFEATS && (block < TRIALS || !far_behind) {
                    times[which].extend(self.time(self.lanes[which], bytes, effort.block));
                }
            }
        }
        times
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
        let best = times.iter().filter_map(|t| fastest(t));
        let limit = FAR_BEHIND * best.fold(f64::INFINITY, f64::min);
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

/// How many times as long as each of `ours` the blocks of `other` took.
pub fn ratio(other: &[f64], ours: &[f64]) -> Option<Spread> {
    Spread::of(other.iter().zip(ours).map(|(other, ours)| other / ours))
}

/// The median of some times.
pub fn median(times: &[f64]) -> Option<f64> {
    Spread::of(times.iter().copied()).map(|spread| spread.median)
}

/// Which of some lanes has the lowest median.
pub fn best(times: &[Times], among: impl IntoIterator<Item = usize>) -> Option<usize> {
    among
        .into_iter()
        .filter_map(|lane| Some((lane, median(&times[lane])?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(lane, _)| lane)
}

/// The geometric mean of at least one value.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|v| v.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_block() {
        let spread = ratio(&[20.0, 60.0, 40.0], &[10.0, 20.0]).unwrap();
        assert_eq!(spread.median, 2.5);
        assert!(ratio(&[], &[1.0]).is_none());
    }

    #[test]
    fn the_lowest_median_is_best() {
        let times = [vec![1.0, 9.0, 9.0], vec![], vec![5.0, 4.0, 5.0]];
        assert_eq!(best(&times, 0..3), Some(2));
        assert_eq!(best(&times, [0]), Some(0));
        assert_eq!(best(&times, [1]), None);
    }

    #[test]
    fn means_are_geometric() {
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_none());
    }
}
