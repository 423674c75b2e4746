//! What is to be run, settled before anything is started.

use std::ffi::{OsStr, OsString};

use ferroshmem_config::{self as config, Entry, Environment, JobSettings, Scope};
use ferroshmem_core::job::plan::Plan;
use ferroshmem_core::job::service::{JobRequest, Program};
use ferroshmem_platform::Machine;
use ferroshmem_tuning::Tuning;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

use super::binding::{Bindings, Load, Request};
use super::failure::{Failure, print_line};
use super::options::{CommandLine, CoreArgs, TimeArgs};
use super::placement::Placement;
use super::program::Executable;
use super::status_options::StatusPlan;
use crate::tune::Loaded;

/// A job, ready to be started.
#[derive(Debug)]
pub(super) struct Job {
    /// What the user asks for.
    pub options: CommandLine,
    /// The program of each section.
    pub programs: Vec<Executable>,
    /// Which section each PE belongs to.
    pub sections: Vec<usize>,
    /// Sizes of the symmetric memory.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// What the PEs are bound to.
    pub bindings: Bindings,
    /// By what the PEs choose algorithms.
    pub tuning: Tuning,
    /// Limits on open files that PEs get back.
    pub files: (rlim_t, rlim_t),
}

impl Job {
    /// Finds programs, sizes and cores, beside the `load` of earlier jobs.
    pub(super) fn new(options: CommandLine, machine: Machine, load: &Load) -> Result<Self, Failure> {
        let files = raise_files()?;
        let programs = options.sections.iter().map(Executable::find).collect::<Result<Vec<_>, _>>()?;
        let n_pes = options.sections.iter().map(|s| s.n_pes).fold(0, usize::saturating_add);
        agree(&options.sections)?;
        // PE 0 runs the first program: what it is given holds for the whole job.
        let set = |name: &str| options.sections.first().and_then(|s| set_by(s, name));
        let settings =
            JobSettings::read(&Environment::process_after(&set)).map_err(|e| Failure::usage(e.to_string()))?;
        let plan = Plan::new(n_pes, &machine, settings.heap).map_err(|e| Failure::usage(e.to_string()))?;
        let sections = options.sections.iter().enumerate();
        let sections = sections.flat_map(|(i, s)| std::iter::repeat_n(i, s.n_pes)).collect();
        let (binding, mapping) = (options.placement.bind_to, options.placement.map_by);
        let threads = options.sections.iter().filter_map(threads).max();
        let request = Request { binding, mapping, n_pes, threads: options.placement.cores.or(threads) };
        let cpus = options.cpus.as_ref();
        let bindings = Bindings::new(request, cpus, &machine, load).map_err(Failure::usage)?;
        let loaded = Loaded::find(settings.tuning_file, machine.cores);
        if let Some(line) = loaded.complaint() {
            print_line(&line);
        }
        Ok(Self { options, programs, sections, plan, machine, bindings, tuning: loaded.tuning, files })
    }

    /// A job that PEs of `by` ask for: as theirs where the request does not say.
    pub(super) fn requested(by: &Self, request: &JobRequest, load: &Load) -> Result<Self, Failure> {
        if let Some(none) = request.programs.iter().find(|program| program.n_pes == 0) {
            return Err(Failure::usage(format!("0 PEs are asked for of {:?}", none.command)));
        }
        let requested = request.programs.iter().flat_map(|p| &p.placement);
        let host = rustix::system::uname();
        let placement = Placement::read(requested, &host.nodename().to_string_lossy())?;
        let options = CommandLine {
            sections: request.programs.clone(),
            placement: CoreArgs {
                bind_to: placement.bind_to.unwrap_or(by.options.placement.bind_to),
                map_by: placement.map_by.unwrap_or(by.options.placement.map_by),
                cores: placement.cores,
                ..by.options.placement
            },
            cpus: placement.cpus,
            hosts: None,
            translator: None,
            secrets: Vec::new(),
            profiling: None,
            checks: None,
            debugger: None,
            status: StatusPlan::default(),
            times: TimeArgs { timeout: None, ..by.options.times },
            streams: by.options.streams.clone(),
        };
        Ok(Self { files: by.files, ..Self::new(options, by.machine.clone(), load)? })
    }

    /// Number of PEs.
    pub(super) fn n_pes(&self) -> usize {
        self.sections.len()
    }

    /// The program that PE `pe` runs.
    pub(super) fn program(&self, pe: usize) -> &Executable {
        &self.programs[self.sections[pe]]
    }
}

/// Raises this process's limit on open files as far as it may: CPUs and streams of PEs take some each, whatever is open
/// already. The limits before.
fn raise_files() -> Result<(rlim_t, rlim_t), Failure> {
    let files = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|e| Failure::system(format!("cannot read the limit on open files: {}", e.desc())))?;
    // Most jobs need no more than they have.
    let _ = setrlimit(Resource::RLIMIT_NOFILE, files.1, files.1);
    Ok(files)
}

/// Threads of each PE of a section, as OpenMP's variable says.
fn threads(section: &Program) -> Option<usize> {
    const VARIABLE: &str = "OMP_NUM_THREADS";

    let value = set_by(section, VARIABLE).or_else(|| config::inherited(OsStr::new(VARIABLE)))?;
    // A list has the threads of each level of nested teams.
    let levels = value.to_str()?.split(',');
    let levels: Option<Vec<usize>> = levels.map(|level| level.trim().parse().ok()).collect();
    let threads = levels?.into_iter().fold(1, usize::saturating_mul);
    Some(threads).filter(|threads| *threads > 0)
}

/// The value that a section sets for a variable: the last one.
fn set_by(section: &Program, name: &str) -> Option<OsString> {
    let mut set = section.environment.iter().rev();
    let (_, value) = set.find(|(n, _)| n == OsStr::new(name))?;
    Some(value.clone())
}

/// Refuses a program with another value than the first one of a variable that holds for all PEs.
fn agree(sections: &[Program]) -> Result<(), Failure> {
    let Some((first, others)) = sections.split_first() else {
        return Ok(());
    };
    let for_all = |entry: &&&dyn Entry| matches!(entry.scope(), Scope::Job | Scope::Node);
    for entry in config::TABLE.iter().filter(for_all) {
        let of = |section: &Program| {
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
                let (name, program) = (entry.name(), &section.command);
                let holds = holds.map_or_else(|| "unset".to_owned(), |v| format!("{v:?}"));
                return Err(Failure::usage(format!(
                    "{name} is {given:?} for {program:?}, but {holds} for {:?}: it holds for the whole job, so set it \
                        for the first program alone",
                    first.command
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(program: &str, variables: &[(&str, &str)]) -> Program {
        let pairs = variables.iter();
        Program {
            n_pes: 1,
            command: program.into(),
            environment: pairs.map(|(n, v)| (n.into(), v.into())).collect(),
            ..Program::default()
        }
    }

    fn line(first: &[(&str, &str)], second: &[(&str, &str)]) -> Option<String> {
        let sections = [section("./a", first), section("./b", second)];
        agree(&sections).err().map(|failure| failure.to_string())
    }

    #[test]
    fn threads_of_a_pe_are_those_of_openmp() {
        let of = |value| threads(&section("./a", &[("OMP_NUM_THREADS", value)]));
        assert_eq!((of("4"), of(" 3 , 2 "), of("1")), (Some(4), Some(6), Some(1)));
        assert_eq!((of("0"), of("x"), of("4,")), (None, None, None));
    }

    #[test]
    fn programs_of_one_job_have_the_same_settings() {
        let reproducible = [("SHMEM_REPRODUCIBLE", "1")];
        assert_eq!(line(&[], &[]), None);
        assert_eq!(line(&reproducible, &[]), None);
        assert_eq!(line(&reproducible, &[("SHMEM_REPRODUCIBLE", "on")]), None);
        assert_eq!(line(&[], &[("SHMEM_SPIN", "7"), ("SHMEM_FAST_PATH", "0")]), None);
        assert_eq!(
            line(&[], &reproducible).as_deref(),
            Some(
                "SHMEM_REPRODUCIBLE is \"1\" for \"./b\", but unset for \"./a\": it holds for the whole \
                 job, so set it for the first program alone"
            )
        );
        let sizes = line(&[("SMA_SYMMETRIC_SIZE", "1g")], &[("SHMEM_SYMMETRIC_SIZE", "2g")]);
        assert!(sizes.is_some_and(|line| line.contains("\"2g\"") && line.contains("\"1g\"")));
        assert!(line(&[], &[("SHMEM_TUNING_FILE", "/tuning.toml")]).is_some());
        assert!(line(&[], &[("SHMEM_CHECK", "perhaps")]).is_some());
    }
}
