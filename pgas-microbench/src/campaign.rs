//! Executing a plan: building and running the programs, reading their output.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use ferroshmem_config as config;
use ferroshmem_platform::{Conditions, Disturbance, Reading};

use crate::build::Builder;
use crate::implementation::{Implementation, Launch};
use crate::machine::IdleWait;
use crate::plan::Run;
use crate::progress::Progress;
use crate::{Measurement, job, output, report};

/// Repetitions of a run that was disturbed.
const REPETITIONS: u32 = 2;

/// The outcome of a campaign.
#[derive(Debug, Default)]
pub struct Results {
    /// All that was measured.
    pub measurements: Vec<Measurement>,
    /// Every run, and how it ended.
    pub runs: Vec<report::RunRecord>,
    /// Whether the user interrupted it.
    pub interrupted: bool,
}

/// Runs the programs of a plan, one after the other.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// The libraries that runs refer to by index.
    pub implementations: &'a [Implementation],
    /// Builds the programs.
    pub builder: Builder,
}

/// What a run gave.
struct Outcome {
    record: report::RunRecord,
    measured: Vec<Measurement>,
    /// The state of the machine meanwhile, if it could be read.
    conditions: Option<Conditions>,
    /// Its number of PEs.
    pes: usize,
}

/// What is known of the machine from all runs so far.
struct Watch {
    /// The least time of the fixed work by which [`Reading`]s tell the processor's speed.
    fastest: f64,
    /// Seconds that may still be spent on repetitions.
    spare: f64,
    idle: IdleWait,
}

impl Watch {
    /// For a plan of some seconds: repetitions take half as long at most.
    fn new(expected: f64) -> Self {
        const WAITING: Duration = Duration::from_secs(20);
        Self { fastest: f64::INFINITY, spare: expected / 2.0, idle: IdleWait::new(WAITING) }
    }

    fn disturbance(&self, outcome: &Outcome) -> Option<Disturbance> {
        outcome.conditions?.disturbance(self.fastest, outcome.pes)
    }

    /// How much of a run's time was taken from it.
    fn taken(&self, outcome: &Outcome) -> f64 {
        let taken = |it: Conditions| it.others + it.steal + (it.work / self.fastest - 1.0);
        match self.disturbance(outcome) {
            Some(_) => outcome.conditions.map_or(0.0, taken),
            None => 0.0,
        }
    }

    /// The better of two outcomes of one run: that which succeeded, and of those the less disturbed.
    fn better(&self, one: Outcome, other: Outcome) -> Outcome {
        let rank = |it: &Outcome| (it.record.failure.is_some(), self.taken(it));
        if rank(&other) < rank(&one) { other } else { one }
    }

    /// Writes into record and rows what the machine was like. The fastest is known only after all runs.
    fn describe(&self, outcome: &mut Outcome) {
        let Some(it) = outcome.conditions else {
            return;
        };
        let disturbed = self.disturbance(outcome).map(|it| it.to_string());
        let rounded = |value: f64| (value * 1e3).round() / 1e3;
        let conditions = report::Conditions {
            others: rounded(100.0 * it.others),
            steal: rounded(100.0 * it.steal),
            stalled: it.stalled.map(|part| rounded(100.0 * part)),
            load: it.load,
            clock: rounded(self.fastest / it.work),
            megahertz: it.megahertz.map(f64::round),
            disturbed,
        };
        for row in &mut outcome.measured {
            row.others = conditions.others;
            row.steal = conditions.steal;
            row.clock = conditions.clock;
            row.disturbed = conditions.disturbed.clone().unwrap_or_default();
        }
        outcome.record.conditions = Some(conditions);
    }
}

impl Campaign<'_> {
    /// Runs all. The measurements of a run that fails are missing, and its record says why. A run that was disturbed
    /// is repeated, as long as repetitions take no more than half the time of the plan; the least disturbed counts.
    ///
    /// # Errors
    /// If a program cannot be started, or its output cannot be read.
    pub fn run(&mut self, runs: &[Run], progress: &mut Progress, interrupted: &dyn Fn() -> bool) -> Result<Results> {
        let mut results = Results::default();
        let mut watch = Watch::new(runs.iter().map(|run| run.expected).sum());
        let mut outcomes = Vec::new();
        for run in runs {
            if interrupted() {
                break;
            }
            let implementation = &self.implementations[run.implementation];
            let name = format!("{}, {}", run.name(), implementation.name);
            progress.begin(&name);
            let outcome = self.repeated(run, &mut watch, interrupted)?;
            if let Some(failure) = &outcome.record.failure {
                progress.print(&format!("{name}: {failure}"));
            } else if let Some(disturbance) = watch.disturbance(&outcome) {
                progress.print(&format!("{name}: disturbed: {disturbance}"));
            }
            outcomes.push(outcome);
            progress.end(run.expected);
        }
        for mut outcome in outcomes {
            watch.describe(&mut outcome);
            results.runs.push(outcome.record);
            results.measurements.extend(outcome.measured);
        }
        // The last run may have been interrupted too.
        results.interrupted = interrupted();
        results.measurements = merged(&results.measurements);
        Ok(results)
    }

    /// Runs a program until a run is not disturbed, if there is time.
    fn repeated(&mut self, run: &Run, watch: &mut Watch, interrupted: &dyn Fn() -> bool) -> Result<Outcome> {
        let mut best = self.run_one(run, watch, interrupted)?;
        for _ in 0..REPETITIONS {
            let seconds = best.record.seconds;
            let failed = best.record.failure.is_some();
            if failed || watch.disturbance(&best).is_none() || seconds > watch.spare {
                break;
            }
            watch.idle.wait();
            let again = self.run_one(run, watch, interrupted)?;
            watch.spare -= again.record.seconds;
            if interrupted() {
                break;
            }
            best = watch.better(best, again);
        }
        Ok(best)
    }

    fn run_one(&mut self, run: &Run, watch: &mut Watch, interrupted: &dyn Fn() -> bool) -> Result<Outcome> {
        let implementation = &self.implementations[run.implementation];
        let outcome = |record, measured, conditions| Outcome { record, measured, conditions, pes: run.pes as usize };
        let program = match self.builder.program(run.suite, &run.program, implementation) {
            Ok(program) => program,
            Err(error) => {
                let record = report::RunRecord {
                    command: format!("{} with {}", run.name(), implementation.name),
                    seconds: 0.0,
                    failure: Some(format!("{error:#}")),
                    conditions: None,
                };
                return Ok(outcome(record, Vec::new(), None));
            }
        };
        let launch = Launch { pes: run.pes, heap: run.heap, bound: run.threads == 1, options: &[] };
        let mut command = implementation.launch(&program, launch);
        config::isolate(&mut command, &["OMP_"]);
        command.args(&run.arguments);
        command.envs(run.variables.iter().map(|(name, value)| (name, value)));
        let line = shown(&command);
        let before = Reading::take();
        let job = job::run(command, run.limit, interrupted)?;
        let readings = before.zip(Reading::take());
        for reading in readings.iter().flat_map(|(before, after)| [before, after]) {
            watch.fastest = watch.fastest.min(reading.work());
        }
        let failure = job.failure();
        let (measured, failure) = match output::read(run, implementation, &job.output) {
            Ok(measured) => (measured, failure),
            // The failure explains more than the incomplete output.
            Err(error) => (Vec::new(), failure.or(Some(format!("{error:#}")))),
        };
        let record = report::RunRecord { command: line, seconds: job.time.as_secs_f64(), failure, conditions: None };
        let conditions = readings.map(|(before, after)| before.until(&after));
        Ok(outcome(record, measured, conditions))
    }
}

/// A command as a user would type it, with file names instead of the paths of this machine.
fn shown(command: &Command) -> String {
    let name = |word: &std::ffi::OsStr| {
        let path = Path::new(word);
        let last = if path.is_absolute() { path.file_name() } else { None };
        last.unwrap_or(word).to_string_lossy().into_owned()
    };
    let set = command.get_envs().filter_map(|(key, value)| Some(format!("{}={}", key.display(), value?.display())));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    set.chain(words.map(name)).collect::<Vec<_>>().join(" ")
}

/// Merges repeated measurements of the same thing: median of the medians, lowest, highest. Those that were
/// disturbed count only if all were.
fn merged(measurements: &[Measurement]) -> Vec<Measurement> {
    let mut indices = HashMap::new();
    let mut groups: Vec<Vec<&Measurement>> = Vec::new();
    for one in measurements {
        let index = *indices.entry(one.subject()).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let merge = |mut group: Vec<&Measurement>| {
        if group.iter().any(|one| one.disturbed.is_empty()) {
            group.retain(|one| one.disturbed.is_empty());
        }
        group.sort_by(|a, b| a.median.total_cmp(&b.median));
        Measurement {
            samples: group.iter().map(|one| one.samples).sum(),
            low: group.iter().map(|one| one.low).fold(f64::INFINITY, f64::min),
            high: group.iter().map(|one| one.high).fold(0.0, f64::max),
            ..group[group.len() / 2].clone()
        }
    };
    groups.into_iter().map(merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;

    fn measurement(class: &str, rate: f64) -> Measurement {
        Measurement {
            program: "is".to_owned(),
            implementation: "FerroSHMEM".to_owned(),
            operation: "is".to_owned(),
            form: "ptr".to_owned(),
            class: class.to_owned(),
            pes: 2,
            median: rate,
            low: rate,
            high: rate,
            ..Measurement::blank(Quantity::Rate, "Mop/s")
        }
    }

    fn outcome(others: f64, work: f64, failure: Option<&str>) -> Outcome {
        Outcome {
            record: report::RunRecord {
                command: "oshrun".to_owned(),
                seconds: 10.0,
                failure: failure.map(str::to_owned),
                conditions: None,
            },
            measured: vec![measurement("A", 1.0)],
            conditions: Some(Conditions {
                seconds: 10.0,
                cores: 2,
                others,
                steal: 0.0,
                stalled: Some(0.0),
                load: 1.5,
                work,
                megahertz: None,
            }),
            pes: 2,
        }
    }

    #[test]
    fn the_least_disturbed_of_several_runs_counts() {
        let mut watch = Watch::new(100.0);
        watch.fastest = 20_000.0;
        for (one, other, first) in [
            ((0.3, 20_000.0, None), (0.01, 20_000.0, None), false),
            ((0.01, 20_000.0, None), (0.3, 20_000.0, None), true),
            // Both are undisturbed: the first stays.
            ((0.02, 20_000.0, None), (0.01, 20_000.0, None), true),
            ((0.3, 20_000.0, None), (0.1, 20_000.0, None), false),
            ((0.3, 20_000.0, None), (0.0, 20_000.0, Some("ended")), true),
            ((0.0, 30_000.0, None), (0.0, 20_500.0, None), false),
        ] {
            let others = one.0;
            let work = one.1;
            let of = |(others, work, failure)| outcome(others, work, failure);
            let kept = watch.better(of(one), of(other)).conditions.unwrap();
            assert_eq!((kept.others, kept.work) == (others, work), first, "{one:?}");
        }
    }

    #[test]
    fn rows_and_records_say_what_disturbed_them() {
        let mut watch = Watch::new(100.0);
        watch.fastest = 20_000.0;
        let mut disturbed = outcome(0.3, 25_000.0, None);
        watch.describe(&mut disturbed);
        let words = "other processes took 30 % of the cores' time";
        let row = &disturbed.measured[0];
        assert_eq!((row.others, row.clock, row.disturbed.as_str()), (30.0, 0.8, words));
        let conditions = disturbed.record.conditions.unwrap();
        assert_eq!(conditions.disturbed.as_deref(), Some(words));
        assert_eq!((conditions.load, conditions.stalled), (1.5, Some(0.0)));
        let mut quiet = outcome(0.012_345, 20_000.0, None);
        watch.describe(&mut quiet);
        assert_eq!((quiet.measured[0].others, quiet.measured[0].disturbed.as_str()), (1.235, ""));
    }

    #[test]
    fn disturbed_rounds_count_only_if_all_were() {
        let round = |rate, disturbed: &str| Measurement { disturbed: disturbed.to_owned(), ..measurement("A", rate) };
        let some = merged(&[round(1.0, "load"), round(5.0, ""), round(6.0, ""), round(7.0, "")]);
        assert_eq!((some[0].low, some[0].median, some[0].samples), (5.0, 6.0, 3));
        assert_eq!(some[0].disturbed, "");
        let all = merged(&[round(1.0, "load"), round(5.0, "steal")]);
        assert_eq!((all[0].samples, all[0].disturbed.as_str()), (2, "steal"));
    }

    #[test]
    fn rounds_of_a_benchmark_are_one_measurement() {
        let rates = [("A", 3.0), ("B", 7.0), ("A", 1.0), ("A", 2.0)];
        let all = rates.map(|(class, rate)| measurement(class, rate));
        let merged = merged(&all);
        assert_eq!(merged.len(), 2);
        let a = &merged[0];
        assert_eq!((a.samples, a.low, a.median, a.high), (3, 1.0, 2.0, 3.0));
        assert_eq!(merged[1].median, 7.0);
    }

    #[test]
    fn commands_name_no_folders() {
        let mut command = Command::new("/some/where/oshrun");
        command.args(["-n", "2", "/else/where/is-ptr", "A"]);
        command.env("SHMEM_X", "1");
        assert_eq!(shown(&command), "SHMEM_X=1 oshrun -n 2 is-ptr A");
    }
}
