//! Executing a plan: building and running the programs, reading their output.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use ferroshmem_core::config;

use crate::build::Builder;
use crate::implementation::{Implementation, Launch};
use crate::plan::Run;
use crate::progress::Progress;
use crate::{Measurement, job, output, report};

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

impl Campaign<'_> {
    /// Runs all. The measurements of a run that fails are missing, and its record says why.
    ///
    /// # Errors
    /// If a program cannot be started, or its output cannot be read.
    pub fn run(
        &mut self,
        runs: &[Run],
        progress: &mut Progress,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Results> {
        let mut results = Results::default();
        for run in runs {
            if interrupted() {
                break;
            }
            let implementation = &self.implementations[run.implementation];
            progress.begin(&format!("{}, {}", run.name(), implementation.name));
            let (record, measured) = self.run_one(run, interrupted)?;
            if let Some(failure) = &record.failure {
                progress.print(&format!(
                    "{}, {}: {failure}",
                    run.name(),
                    implementation.name
                ));
            }
            results.runs.push(record);
            results.measurements.extend(measured);
            progress.end(run.expected);
        }
        // The last run may have been interrupted too.
        results.interrupted = interrupted();
        results.measurements = merged(&results.measurements);
        Ok(results)
    }

    fn run_one(
        &mut self,
        run: &Run,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(report::RunRecord, Vec<Measurement>)> {
        let implementation = &self.implementations[run.implementation];
        let folder = match self.builder.programs(run.suite, implementation) {
            Ok(folder) => folder,
            Err(error) => {
                let record = report::RunRecord {
                    command: format!("{} with {}", run.name(), implementation.name),
                    seconds: 0.0,
                    failure: Some(format!("{error:#}")),
                };
                return Ok((record, Vec::new()));
            }
        };
        let program = folder.join(&run.program);
        let launch = Launch {
            pes: run.pes,
            heap: run.heap,
            bound: true,
            options: &[],
        };
        let mut command = implementation.launch(&program, launch);
        config::isolate(&mut command, &["OMP_"]);
        command.args(&run.arguments);
        command.envs(run.variables.iter().map(|(name, value)| (name, value)));
        let line = shown(&command);
        let job = job::run(command, run.limit, interrupted)?;
        let failure = job.failure();
        let (measured, failure) = match output::read(run, implementation, &job.output) {
            Ok(measured) => (measured, failure),
            // The failure explains more than the incomplete output.
            Err(error) => (Vec::new(), failure.or(Some(format!("{error:#}")))),
        };
        let record = report::RunRecord {
            command: line,
            seconds: job.time.as_secs_f64(),
            failure,
        };
        Ok((record, measured))
    }
}

/// A command as a user would type it, with file names instead of the paths of this machine.
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

/// Merges repeated measurements of the same thing: median of the medians, lowest, highest.
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
