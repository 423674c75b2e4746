//! Running what is planned.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use ferroshmem_core::config;

use crate::implementation::Implementation;
use crate::plan::Run;
use crate::progress::Progress;
use crate::workshop::Workshop;
use crate::{Measurement, job, output, report};

/// What a campaign has brought.
#[derive(Debug, Default)]
pub struct Harvest {
    /// All that was measured.
    pub measurements: Vec<Measurement>,
    /// Every run, and how it ended.
    pub runs: Vec<report::Run>,
    /// Whether the user ended it.
    pub interrupted: bool,
}

/// What runs are run with.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// The libraries that runs name by their places.
    pub implementations: &'a [Implementation],
    /// Cores of this machine.
    pub cores: u32,
    /// Where programs are built.
    pub workshop: Workshop,
    /// Where output goes meanwhile.
    pub scratch: &'a Path,
}

impl Campaign<'_> {
    /// Runs all, one after the other. A run that fails costs its measurements, and is told of.
    ///
    /// # Errors
    /// If a program cannot even be started, or its output not be kept.
    pub fn run(
        &mut self,
        runs: &[Run],
        progress: &mut Progress,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Harvest> {
        let mut harvest = Harvest::default();
        for run in runs {
            if interrupted() {
                break;
            }
            let implementation = &self.implementations[run.implementation];
            progress.begin(&format!("{}, {}", run.name(), implementation.name));
            let (told, measured) = self.one(run, interrupted)?;
            if let Some(outcome) = &told.outcome {
                progress.say(&format!(
                    "{}, {}: {outcome}",
                    run.name(),
                    implementation.name
                ));
            }
            harvest.runs.push(told);
            harvest.measurements.extend(measured);
            progress.end(run.expected);
        }
        // Also where it was the last run that was ended.
        harvest.interrupted = interrupted();
        harvest.measurements = merged(&harvest.measurements);
        Ok(harvest)
    }

    fn one(
        &mut self,
        run: &Run,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(report::Run, Vec<Measurement>)> {
        let implementation = &self.implementations[run.implementation];
        let folder = match self.workshop.programs(run.suite, implementation) {
            Ok(folder) => folder,
            Err(error) => {
                let told = report::Run {
                    command: format!("{} with {}", run.name(), implementation.name),
                    seconds: 0.0,
                    outcome: Some(format!("{error:#}")),
                };
                return Ok((told, Vec::new()));
            }
        };
        let program = folder.join(&run.program);
        let mut command = implementation.launch(&program, run.pes, self.cores, run.heap);
        config::isolate(&mut command, &["OMP_"]);
        command.args(&run.arguments);
        command.envs(run.variables.iter().map(|(name, value)| (name, value)));
        let line = shown(&command);
        let outcome = job::run(command, run.limit, self.scratch, interrupted)?;
        let failure = outcome.failure();
        let (measured, failure) = match output::read(run, implementation, &outcome.output) {
            Ok(measured) => (measured, failure),
            // Why it failed says more than what its output lacks.
            Err(error) => (Vec::new(), failure.or(Some(format!("{error:#}")))),
        };
        let told = report::Run {
            command: line,
            seconds: outcome.time.as_secs_f64(),
            outcome: failure,
        };
        Ok((told, measured))
    }
}

/// A command as one would type it, with the names of files only: where they lie is this machine's
/// affair.
fn shown(command: &Command) -> String {
    let name = |word: &std::ffi::OsStr| {
        let path = Path::new(word);
        let last = if path.is_absolute() {
            path.file_name()
        } else {
            None
        };
        last.unwrap_or(word).to_string_lossy().into_owned()
    };
    let set = command
        .get_envs()
        .filter_map(|(key, value)| Some(format!("{}={}", key.display(), value?.display())));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    set.chain(words.map(name)).collect::<Vec<_>>().join(" ")
}

/// Makes one of measurements of the same thing: the median, the lowest and the highest.
fn merged(measurements: &[Measurement]) -> Vec<Measurement> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<&Measurement>> = Vec::new();
    for one in measurements {
        let place = *places.entry(one.subject()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let merge = |mut group: Vec<&Measurement>| {
        group.sort_by(|a, b| a.median.total_cmp(&b.median));
        Measurement {
            samples: group.iter().map(|one| one.samples).sum(),
            low: group
                .iter()
                .map(|one| one.low)
                .fold(f64::INFINITY, f64::min),
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
            algorithm: String::new(),
            class: class.to_owned(),
            pes: 2,
            pairs: 0,
            bytes: 0,
            quantity: Quantity::Rate,
            unit: "Mop/s".to_owned(),
            samples: 1,
            median: rate,
            low: rate,
            high: rate,
        }
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
