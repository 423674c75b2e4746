//! Which launcher started this process: the order in which launchers are tried, and why.
//!
//! Every process below a launcher inherits its variables, so inside of nested launchers the
//! variables of several are set, and the inner launcher is the one to talk to. An open socket is
//! not inherited that far: launchers close the descriptors that a process shall not have. Hence
//!
//! 1. PMI, if `PMI_FD` is an open socket;
//! 2. PMIx, if a server left its variables;
//! 3. PMI at `PMI_PORT`, which MPICH's relatives use where they cannot hand a descriptor over;
//! 4. nothing: an error if some launcher's variables say that there are several processes.
//!
//! A launcher that does not answer is an error, too, unless it started one process only.
//!
//! Of the two protocols on a PMI socket, PMI-2 is taken with Slurm, which defined it, else PMI-1.

use std::os::fd::{BorrowedFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FileType, fstat};

use crate::environment::{
    HYDI_CONTROL_FD, MPIRUN_NPROCS, OMPI_COMM_WORLD_SIZE, PMI_FD, PMI_ID, PMI_PORT, PMI_SIZE, PMIX_NAMESPACE,
    PMIX_RANK, SLURM_STEP_ID, SLURM_STEP_NUM_TASKS, Variable, value,
};
use crate::pmi::{self, Server};
use crate::{Bootstrap, Error, Protocol, pmix, slurm};

/// Slurm, in messages.
const SLURM: &str = "Slurm's srun";

/// How to look for a launcher.
#[derive(Debug, Clone)]
pub struct Config {
    /// How long a collective call of the launcher's may take.
    pub deadline: Duration,
    /// The only protocol to try.
    pub protocol: Option<Protocol>,
    /// The file of PMIx's library; default: `libpmix.so.2`, as the dynamic linker finds it.
    pub library: Option<PathBuf>,
}

impl Default for Config {
    /// A minute, all protocols, the system's library.
    fn default() -> Self {
        Self { deadline: Duration::from_secs(60), protocol: None, library: None }
    }
}

/// A client of the launcher that started this process, or none if no launcher did (or one that
/// cannot be talked to started this process only).
///
/// # Errors
/// If one did, but there is no talking to it; the line names the remedy.
pub fn detect(config: &Config) -> Result<Option<Box<dyn Bootstrap>>, Error> {
    let deadline = config.deadline;
    let Some(endpoint) = endpoint(value, is_socket, config.protocol) else {
        refuse_silent_launcher(value)?;
        return Ok(None);
    };
    let launcher = Launcher::of(value, &endpoint);
    let client = match &endpoint {
        Endpoint::Pmi(server, protocol) => pmi::connect(server, *protocol, launcher.name, deadline),
        Endpoint::Pmix => pmix::connect(config.library.as_deref(), launcher.name, deadline),
    };
    match client {
        // A job of one process needs no launcher, nor the launcher's library.
        Err(_) if launcher.started_one_process(value) => Ok(None),
        client => client.map(|client| Some(launcher.with_steps(client, &endpoint))),
    }
}

/// Whether the variables of a launcher with a server are set, be it that of this process or of one above it.
pub fn is_launched() -> bool {
    [&PMI_FD, &PMI_PORT, &PMIX_NAMESPACE].into_iter().any(|v| value(v).is_some())
}

/// How this process reaches its launcher's server.
#[derive(Debug, PartialEq, Eq)]
enum Endpoint {
    Pmi(Server, Protocol),
    Pmix,
}

/// The first of those that are there, by the protocol `only` if that is given.
fn endpoint(
    variable: impl Fn(&Variable) -> Option<String>,
    is_socket: impl Fn(RawFd) -> bool,
    only: Option<Protocol>,
) -> Option<Endpoint> {
    let protocol = match only {
        Some(protocol) => protocol,
        None if variable(&SLURM_STEP_ID).is_some() && variable(&HYDI_CONTROL_FD).is_none() => Protocol::Pmi2,
        None => Protocol::Pmi1,
    };
    let descriptor = variable(&PMI_FD).and_then(|v| v.parse().ok());
    let by_descriptor = |fd| Endpoint::Pmi(Server::Descriptor(fd), protocol);
    let pmix = variable(&PMIX_NAMESPACE).is_some() && variable(&PMIX_RANK).is_some();
    if only != Some(Protocol::Pmix)
        && let Some(fd) = descriptor.filter(|fd| is_socket(*fd))
    {
        return Some(by_descriptor(fd));
    }
    if pmix && only.is_none_or(|p| p == Protocol::Pmix) {
        return Some(Endpoint::Pmix);
    }
    if only == Some(Protocol::Pmix) {
        return None;
    }
    if let Some(address) = variable(&PMI_PORT) {
        let id = variable(&PMI_ID).unwrap_or_default();
        return Some(Endpoint::Pmi(Server::Port { address, id }, Protocol::Pmi1));
    }
    // Closed: connecting to it explains that.
    descriptor.map(by_descriptor)
}

fn is_socket(fd: RawFd) -> bool {
    if fd < 0 {
        return false;
    }
    // SAFETY: fd is not negative, and `fstat` fails where no such descriptor is open.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_socket())
}

/// Whose server it is.
#[derive(Debug, PartialEq, Eq)]
struct Launcher {
    /// For messages.
    name: &'static str,
    /// The variable with the number of processes, if this launcher sets one.
    size: Option<&'static Variable>,
}

impl Launcher {
    fn of(variable: impl Fn(&Variable) -> Option<String>, endpoint: &Endpoint) -> Self {
        let is_set = |v: &Variable| variable(v).is_some();
        let by = |name, size| Self { name, size };
        let Endpoint::Pmix = endpoint else {
            let name = match () {
                () if is_set(&HYDI_CONTROL_FD) => "Hydra's mpiexec",
                () if is_set(&SLURM_STEP_ID) => SLURM,
                () => "a PMI launcher",
            };
            return by(name, Some(&PMI_SIZE));
        };
        // The variables of an outer launcher may be set, too, but not its namespace.
        let namespace = variable(&PMIX_NAMESPACE).unwrap_or_default();
        match () {
            () if namespace.starts_with("slurm.pmix.") => by(SLURM, Some(&SLURM_STEP_NUM_TASKS)),
            () if is_set(&OMPI_COMM_WORLD_SIZE) => by("Open MPI's mpirun", Some(&OMPI_COMM_WORLD_SIZE)),
            () if namespace.starts_with("prterun-") => by("PRRTE's prterun", None),
            () => by("a PMIx launcher", None),
        }
    }

    /// The client, by which a job of Slurm's grows, too.
    fn with_steps(&self, client: Box<dyn Bootstrap>, endpoint: &Endpoint) -> Box<dyn Bootstrap> {
        let interface = match endpoint {
            Endpoint::Pmi(..) => "pmi2",
            Endpoint::Pmix => "pmix",
        };
        match self.name {
            SLURM => Box::new(slurm::Step::new(client, interface)),
            _ => client,
        }
    }

    fn started_one_process(&self, variable: impl Fn(&Variable) -> Option<String>) -> bool {
        let size = self.size.and_then(variable);
        size.is_some_and(|size| size == "1")
    }
}

/// Launchers, each by its variable with the number of processes, and what to do where this variable
/// is all that the launcher left.
const LAUNCHERS: &[(&Variable, &str, &str)] = &[
    (
        &PMI_SIZE,
        "a PMI launcher",
        "its descriptor PMI_FD is missing: start the program by mpiexec.hydra or srun --mpi=pmi2 itself, not by a \
            program that closes descriptors",
    ),
    (
        &OMPI_COMM_WORLD_SIZE,
        "Open MPI's mpirun",
        "its PMIx variables are missing: use mpirun of Open MPI 4 or later, prterun, or mpiexec.hydra",
    ),
    (&SLURM_STEP_NUM_TASKS, SLURM, "without a way to talk to it: use srun --mpi=pmix or srun --mpi=pmi2"),
    (&MPIRUN_NPROCS, "MVAPICH's mpirun_rsh", "without a way to talk to it: use mpiexec.hydra"),
];

/// Processes that cannot talk to their launcher: several of one job must not become several jobs
/// of one process.
fn refuse_silent_launcher(variable: impl Fn(&Variable) -> Option<String>) -> Result<(), Error> {
    for (size, launcher, remedy) in LAUNCHERS {
        let count = variable(size).and_then(|v| v.parse::<usize>().ok());
        if let Some(processes) = count.filter(|n| *n > 1) {
            return Err(Error::NoServer { processes, launcher, remedy });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_environment<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&Variable) -> Option<String> + Copy + 'a {
        |variable| {
            let found = variables.iter().find(|(n, _)| *n == variable.name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    fn chosen(variables: &[(&str, &str)], open: RawFd, only: Option<Protocol>) -> Option<Endpoint> {
        endpoint(in_environment(variables), |fd| fd == open, only)
    }

    const BOTH: &[(&str, &str)] = &[("PMI_FD", "6"), ("PMIX_NAMESPACE", "a"), ("PMIX_RANK", "0")];

    #[test]
    fn the_inner_launcher_is_the_one_whose_socket_is_open() {
        let pmi = Endpoint::Pmi(Server::Descriptor(6), Protocol::Pmi1);
        assert_eq!(chosen(BOTH, 6, None), Some(pmi));
        assert_eq!(chosen(BOTH, -1, None), Some(Endpoint::Pmix));
        let wished = chosen(BOTH, 6, Some(Protocol::Pmix));
        assert_eq!(wished, Some(Endpoint::Pmix));
        assert_eq!(chosen(&BOTH[..1], 6, Some(Protocol::Pmix)), None);
        let closed = Endpoint::Pmi(Server::Descriptor(6), Protocol::Pmi1);
        assert_eq!(chosen(&BOTH[..1], -1, None), Some(closed));
        assert_eq!(chosen(&[], -1, None), None);
    }

    #[test]
    fn slurm_speaks_pmi_2_and_hydra_below_it_pmi_1() {
        let slurm = [("PMI_FD", "6"), ("SLURM_STEP_ID", "0"), (HYDI_CONTROL_FD.name, "7")];
        let protocol = |endpoint| match endpoint {
            Some(Endpoint::Pmi(_, protocol)) => protocol,
            other => panic!("{other:?}"),
        };
        assert_eq!(protocol(chosen(&slurm[..2], 6, None)), Protocol::Pmi2);
        assert_eq!(protocol(chosen(&slurm, 6, None)), Protocol::Pmi1);
    }

    #[test]
    fn a_port_is_for_those_without_a_socket() {
        let port = [("PMI_PORT", "host:4000"), ("PMI_ID", "3"), ("PMI_FD", "6")];
        let expected = Server::Port { address: "host:4000".into(), id: "3".into() };
        let expected = Some(Endpoint::Pmi(expected, Protocol::Pmi1));
        assert_eq!(chosen(&port, -1, None), expected);
    }

    #[test]
    fn a_process_alone_is_known_by_the_variable_of_its_own_launcher() {
        let outer = ("SLURM_STEP_NUM_TASKS", "1");
        let of = |variables: &[(&str, &str)]| {
            let variable = in_environment(variables);
            let launcher = Launcher::of(variable, &Endpoint::Pmix);
            (launcher.name, launcher.started_one_process(variable))
        };
        let srun = ("PMIX_NAMESPACE", "slurm.pmix.7.0");
        assert_eq!(of(&[outer, srun]), ("Slurm's srun", true));
        let prterun = ("PMIX_NAMESPACE", "prterun-host-7@1");
        assert_eq!(of(&[outer, prterun]), ("PRRTE's prterun", false));
        let mpirun = [("PMIX_NAMESPACE", "784662529"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(of(&mpirun), ("Open MPI's mpirun", false));
    }

    #[test]
    fn several_processes_are_never_several_jobs() {
        let of =
            |variables: &[(&str, &str)]| refuse_silent_launcher(in_environment(variables)).map_err(|e| e.to_string());
        let one = ("SLURM_STEP_NUM_TASKS", "1");
        assert_eq!(of(&[]), Ok(()));
        assert_eq!(of(&[one, ("PMI_SIZE", "many")]), Ok(()));
        let line = of(&[one, ("OMPI_COMM_WORLD_SIZE", "4")]).unwrap_err();
        assert!(line.starts_with("started as one of 4 processes by Open MPI's mpirun"));
        assert!(line.ends_with("or use oshrun -n 4"), "{line}");
        let line = of(&[("SLURM_STEP_NUM_TASKS", "8")]).unwrap_err();
        assert!(line.contains("srun --mpi=pmix"), "{line}");
    }
}
