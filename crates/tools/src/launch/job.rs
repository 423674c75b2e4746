//! What is to be run, settled before anything is started.

use std::ffi::{OsStr, OsString};

use ferroshmem_core::choice::Tuning;
use ferroshmem_core::config::{self, Entry, Environment, JobSettings, Scope};
use ferroshmem_core::job::plan::Plan;
use ferroshmem_core::platform::Machine;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::failure::{Failure, say};
use super::options::{Binding, CommandLine, Section};
use super::program::Program;
use crate::tune::Loaded;

/// A job, ready to be started.
#[derive(Debug)]
pub(super) struct Job {
    /// What the user asks for.
    pub options: CommandLine,
    /// The program of each section.
    pub programs: Vec<Program>,
    /// Which section each PE belongs to.
    pub sections: Vec<usize>,
    /// Sizes of the symmetric memory.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// The core that each PE is bound to, or empty.
    pub cores: Vec<usize>,
    /// By what the PEs choose algorithms.
    pub tuning: Tuning,
}

impl Job {
    /// Finds programs, sizes and cores.
    pub(super) fn new(options: CommandLine, machine: Machine) -> Result<Self, Failure> {
        let programs = options
            .sections
            .iter()
            .map(Program::find)
            .collect::<Result<Vec<_>, _>>()?;
        let n_pes = options
            .sections
            .iter()
            .map(|s| s.n_pes)
            .fold(0, usize::saturating_add);
        agree(&options.sections)?;
        // PE 0 runs the first program: what it is given holds for the whole job.
        let set = |name: &str| options.sections.first().and_then(|s| set_by(s, name));
        let settings = JobSettings::read(&Environment::process_after(&set))
            .map_err(|e| Failure::usage(e.to_string()))?;
        let plan =
            Plan::new(n_pes, &machine, settings.heap).map_err(|e| Failure::usage(e.to_string()))?;
        let sections = options.sections.iter().enumerate();
        let sections = sections
            .flat_map(|(i, s)| std::iter::repeat_n(i, s.n_pes))
            .collect();
        let cores = match options.bind_to {
            Binding::None => Vec::new(),
            Binding::Core => cores(n_pes)?,
        };
        let loaded = Loaded::find(settings.tuning_file, machine.cores);
        if let Some(line) = loaded.complaint() {
            say(&line);
        }
        Ok(Self {
            options,
            programs,
            sections,
            plan,
            machine,
            cores,
            tuning: loaded.tuning,
        })
    }

    /// Number of PEs.
    pub(super) fn n_pes(&self) -> usize {
        self.sections.len()
    }

    /// The program that PE `pe` runs.
    pub(super) fn program(&self, pe: usize) -> &Program {
        &self.programs[self.sections[pe]]
    }

    /// The affinity mask of PE `pe`, if it is bound.
    pub(super) fn affinity(&self, pe: usize) -> Option<CpuSet> {
        let mut mask = CpuSet::new();
        mask.set(*self.cores.get(pe)?).ok()?;
        Some(mask)
    }
}

/// The value that a section sets for a variable: the last one.
fn set_by(section: &Section, name: &str) -> Option<OsString> {
    let mut set = section.variables.iter().rev();
    let (_, value) = set.find(|(n, _)| n == OsStr::new(name))?;
    Some(value.clone())
}

/// Refuses a program with another value than the first one of a variable that holds for all PEs.
fn agree(sections: &[Section]) -> Result<(), Failure> {
    let Some((first, others)) = sections.split_first() else {
        return Ok(());
    };
    let for_all = |entry: &&&dyn Entry| matches!(entry.scope(), Scope::Job | Scope::Node);
    for entry in config::TABLE.iter().filter(for_all) {
        let of = |section: &Section| {
            let set = |name: &str| set_by(section, name);
            entry.raw(&Environment::process_after(&set))
        };
        let holds = of(first);
        for section in others {
            let Some(given) = of(section).filter(|given| holds.as_ref() != Some(given)) else {
                continue;
            };
            let same = entry.same(Some(&given), holds.as_deref());
            if !same.map_err(|e| Failure::usage(e.to_string()))? {
                let (name, program) = (entry.name(), &section.program);
                let holds = holds.map_or_else(|| "unset".to_owned(), |v| format!("{v:?}"));
                return Err(Failure::usage(format!(
                    "{name} is {given:?} for {program:?}, but {holds} for {:?}: it holds for the whole job, so set it for the first program alone",
                    first.program
                )));
            }
        }
    }
    Ok(())
}

/// A core for each PE: those of the affinity mask in turn, so that PEs that outnumber them are
/// spread evenly.
fn cores(n_pes: usize) -> Result<Vec<usize>, Failure> {
    let mask = sched_getaffinity(Pid::from_raw(0))
        .map_err(|e| Failure::system(format!("cannot read the affinity mask: {}", e.desc())))?;
    let cores: Vec<usize> = (0..CpuSet::count())
        .filter(|c| mask.is_set(*c).unwrap_or(false))
        .collect();
    Ok(cores.into_iter().cycle().take(n_pes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(program: &str, variables: &[(&str, &str)]) -> Section {
        let pairs = variables.iter();
        Section {
            n_pes: 1,
            program: program.into(),
            arguments: Vec::new(),
            variables: pairs.map(|(n, v)| (n.into(), v.into())).collect(),
            wdir: None,
        }
    }

    fn line(first: &[(&str, &str)], second: &[(&str, &str)]) -> Option<String> {
        let sections = [section("./a", first), section("./b", second)];
        agree(&sections).err().map(|failure| failure.to_string())
    }

    #[test]
    fn programs_of_one_job_have_the_same_settings() {
        let reproducible = [("SHMEM_REPRODUCIBLE", "1")];
        assert_eq!(line(&[], &[]), None);
        assert_eq!(line(&reproducible, &[]), None);
        assert_eq!(line(&reproducible, &[("SHMEM_REPRODUCIBLE", "on")]), None);
        assert_eq!(
            line(&[], &[("SHMEM_SPIN", "7"), ("SHMEM_FAST_PATH", "0")]),
            None
        );
        assert_eq!(
            line(&[], &reproducible).as_deref(),
            Some(
                "SHMEM_REPRODUCIBLE is \"1\" for \"./b\", but unset for \"./a\": it holds for the whole \
                 job, so set it for the first program alone"
            )
        );
        let sizes = line(
            &[("SMA_SYMMETRIC_SIZE", "1g")],
            &[("SHMEM_SYMMETRIC_SIZE", "2g")],
        );
        assert!(sizes.is_some_and(|line| line.contains("\"2g\"") && line.contains("\"1g\"")));
        assert!(line(&[], &[("SHMEM_TUNING_FILE", "/tuning.toml")]).is_some());
        assert!(line(&[], &[("SHMEM_CHECK", "perhaps")]).is_some());
    }
}
