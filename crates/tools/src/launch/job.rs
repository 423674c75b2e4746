//! What is to be run, settled before anything is started.

use std::ffi::{OsStr, OsString};

use ferroshmem_core::choice::Tuning;
use ferroshmem_core::config::{Environment, JobSettings};
use ferroshmem_core::job::plan::Plan;
use ferroshmem_core::platform::Machine;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::failure::Failure;
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
        let set = |name: &str| set_by(&options.sections, name);
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
            eprintln!("oshrun: {line}");
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

/// The value of a variable that holds for the whole job, if a section sets it: the first that
/// does decides.
fn set_by(sections: &[Section], name: &str) -> Option<OsString> {
    let mut set = sections.iter().flat_map(|s| s.variables.iter().rev());
    let (_, value) = set.find(|(n, _)| n == OsStr::new(name))?;
    Some(value.clone())
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
