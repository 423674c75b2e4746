//! Whether the machine was quiet while it was measured: what `oshtune` repeats, reports and refuses.

use ferroshmem_platform::{Conditions, Disturbance, Reading};

/// The conditions of each job.
#[derive(Debug)]
pub(super) struct Quietness {
    /// The least time of the fixed work that tells the processor's speed.
    fastest: f64,
    jobs: Vec<(usize, Conditions)>,
}

impl Quietness {
    pub(super) fn new() -> Self {
        Self { fastest: f64::INFINITY, jobs: Vec::new() }
    }

    /// Runs a job of `pes` PEs, and once more if it was disturbed; the result of the quieter.
    ///
    /// # Errors
    /// Those of the job.
    pub(super) fn watch<T, E>(&mut self, pes: usize, mut job: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let (result, conditions) = self.observe(&mut job)?;
        let Some(first) = conditions else {
            // Where nothing can be read, nothing is judged.
            return Ok(result);
        };
        if first.disturbance(self.fastest, pes).is_none() {
            self.jobs.push((pes, first));
            return Ok(result);
        }
        let (again, second) = self.observe(&mut job)?;
        match second {
            Some(second) if self.taken(&second) < self.taken(&first) => {
                self.jobs.push((pes, second));
                Ok(again)
            }
            _ => {
                self.jobs.push((pes, first));
                Ok(result)
            }
        }
    }

    fn observe<T, E>(&mut self, job: &mut impl FnMut() -> Result<T, E>) -> Result<(T, Option<Conditions>), E> {
        let before = Reading::take();
        let result = job()?;
        let conditions = before.zip(Reading::take()).map(|(before, after)| {
            self.fastest = self.fastest.min(before.work()).min(after.work());
            before.until(&after)
        });
        Ok((result, conditions))
    }

    /// How much of the time was taken from a job.
    fn taken(&self, conditions: &Conditions) -> f64 {
        conditions.others + conditions.steal + (conditions.work / self.fastest - 1.0)
    }

    fn disturbances(&self) -> impl Iterator<Item = (usize, Disturbance)> {
        let of = |(pes, it): &(usize, Conditions)| Some((*pes, it.disturbance(self.fastest, *pes)?));
        self.jobs.iter().filter_map(of)
    }

    /// Why the measurement is not to be trusted, in a line; none if it is.
    pub(super) fn complaint(&self) -> Option<String> {
        let (pes, first) = self.disturbances().next()?;
        let (some, all) = (self.disturbances().count(), self.jobs.len());
        Some(format!("{some} of {all} jobs were disturbed (with {pes} PEs {first})"))
    }

    /// A line for each job.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(pes, it): &(usize, Conditions)| {
            let percent = |part: f64| 100.0 * part;
            let stalled =
                it.stalled.map_or(String::new(), |part| format!(", threads waited {:.1} % of the time", percent(part)));
            let clock = it.megahertz.map_or(String::new(), |m| format!(" ({m:.0} MHz)"));
            let disturbed = it.disturbance(self.fastest, *pes);
            let disturbed = disturbed.map_or("", |_| ": disturbed");
            format!(
                "{pes:>5} PEs  other processes {:.1} %, hypervisor {:.1} %{stalled}, clock {:.0} %{clock}, load \
                 {:.2}{disturbed}",
                percent(it.others),
                percent(it.steal),
                percent(self.fastest / it.work),
                it.load
            )
        };
        self.jobs.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(others: f64, work: f64) -> Conditions {
        Conditions {
            seconds: 20.0,
            cores: 2,
            others,
            steal: 0.001,
            stalled: None,
            load: 1.75,
            work,
            megahertz: Some(2600.0),
        }
    }

    fn quietness(jobs: &[(usize, Conditions)]) -> Quietness {
        Quietness { fastest: 20_000.0, jobs: jobs.to_vec() }
    }

    #[test]
    fn recorded_jobs_are_judged() {
        let quiet = quietness(&[(2, conditions(0.01, 20_100.0)), (64, conditions(0.03, 20_900.0))]);
        assert_eq!(quiet.complaint(), None);
        assert_eq!(
            quiet.lines()[1],
            "   64 PEs  other processes 3.0 %, hypervisor 0.1 %, clock 96 % (2600 MHz), load 1.75"
        );
        let loud = quietness(&[
            (2, conditions(0.01, 20_100.0)),
            (16, conditions(0.44, 20_100.0)),
            (64, conditions(0.01, 26_000.0)),
        ]);
        assert_eq!(
            loud.complaint().unwrap(),
            "2 of 3 jobs were disturbed (with 16 PEs other processes took 44 % of the cores' time)"
        );
        assert!(loud.lines()[1].ends_with(": disturbed"));
        assert!(loud.lines()[2].contains("clock 77 %"));
        assert_eq!(quietness(&[]).complaint(), None);
    }

    #[test]
    fn every_job_is_recorded_and_none_runs_more_than_twice() {
        let mut quietness = Quietness::new();
        let mut runs = 0;
        let result: Result<u32, ()> = quietness.watch(2, || {
            runs += 1;
            Ok(runs)
        });
        assert!(result.is_ok_and(|kept| kept <= runs));
        assert!((1..=2).contains(&runs));
        assert_eq!(quietness.lines().len(), 1);
        let failed: Result<(), &str> = quietness.watch(2, || Err("no memory"));
        assert_eq!(failed, Err("no memory"));
        assert_eq!(quietness.lines().len(), 1);
    }
}
