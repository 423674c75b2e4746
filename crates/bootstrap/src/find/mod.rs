//! Which launcher started this process: the order in which they are tried, and why.
//!
//! Variables are inherited by everything below a launcher, so inside of nested launchers those
//! of several are there, and the inner one is the one to talk to. An open socket is not
//! inherited that far: launchers close what they do not hand over. Hence
//!
//! 1. PMI, if `PMI_FD` is an open socket;
//! 2. PMIx, if a server left its variables;
//! 3. PMI at `PMI_PORT`, which MPICH's relatives use where they cannot hand a descriptor over;
//! 4. nothing: an error if some launcher's variables say that there are several processes.
//!
//! A launcher that does not answer is an error, too, unless it started one process only.
//!
//! Of the two protocols on a PMI socket, PMI-2 is taken with Slurm, whose own it is, else PMI-1.

mod foreign;

use std::env;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::pmi::{self, Server};
use crate::{Bootstrap, Error, pmix};

/// How a process talks to its launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// By PMIx's library, opened at run time.
    Pmix,
    /// PMI-2's messages, on a descriptor that the launcher left open.
    Pmi2,
    /// PMI-1's lines, on such a descriptor or over TCP.
    Pmi1,
}

/// What a user may change.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a collective call of the launcher's may take.
    pub deadline: Duration,
    /// The only protocol to try.
    pub protocol: Option<Protocol>,
    /// The file of PMIx's library; default: `libpmix.so.2`, as the dynamic linker finds it.
    pub library: Option<PathBuf>,
}

impl Default for Settings {
    /// A minute, all protocols, the system's library.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(60),
            protocol: None,
            library: None,
        }
    }
}

/// A client of the launcher that started this process, or none if no launcher did (or one that
/// cannot be talked to started this process only).
///
/// # Errors
/// If one did, but there is no talking to it; the line names the remedy.
pub fn find(settings: &Settings) -> Result<Option<Box<dyn Bootstrap>>, Error> {
    let deadline = settings.deadline;
    let variable = |name: &str| env::var(name).ok();
    let Some(way) = way(variable, is_socket, settings.protocol) else {
        foreign::refuse()?;
        return Ok(None);
    };
    let launcher = Launcher::of(variable, &way);
    let found = match &way {
        Way::Pmi(server, protocol) => pmi::connect(server, *protocol, launcher.name, deadline),
        Way::Pmix => pmix::connect(settings.library.as_deref(), launcher.name, deadline),
    };
    match found {
        // Alone, a process can do without: no reason to want the launcher's library, say.
        Err(_) if launcher.started_one_process(variable) => Ok(None),
        found => found.map(Some),
    }
}

/// What a launcher left for this process to talk to it.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Pmi(Server, Protocol),
    Pmix,
}

/// The first of those that are there and of the protocol wished for.
fn way(
    variable: impl Fn(&str) -> Option<String>,
    is_socket: impl Fn(RawFd) -> bool,
    only: Option<Protocol>,
) -> Option<Way> {
    let protocol = match only {
        Some(protocol) => protocol,
        None if variable("SLURM_STEP_ID").is_some() && variable(HYDRA).is_none() => Protocol::Pmi2,
        None => Protocol::Pmi1,
    };
    let descriptor = variable("PMI_FD").and_then(|v| v.parse().ok());
    let by_descriptor = |fd| Way::Pmi(Server::Descriptor(fd), protocol);
    let pmix = variable("PMIX_NAMESPACE").is_some() && variable("PMIX_RANK").is_some();
    if only != Some(Protocol::Pmix)
        && let Some(fd) = descriptor.filter(|fd| is_socket(*fd))
    {
        return Some(by_descriptor(fd));
    }
    if pmix && only.is_none_or(|p| p == Protocol::Pmix) {
        return Some(Way::Pmix);
    }
    if only == Some(Protocol::Pmix) {
        return None;
    }
    if let Some(address) = variable("PMI_PORT") {
        let id = variable("PMI_ID").unwrap_or_default();
        return Some(Way::Pmi(Server::Port { address, id }, Protocol::Pmi1));
    }
    // Closed: to be told so.
    descriptor.map(by_descriptor)
}

fn is_socket(fd: RawFd) -> bool {
    // SAFETY: all zero is a valid stat.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: pointer to a live stat; any number may be asked for.
    let known = unsafe { libc::fstat(fd, &raw mut stat) } == 0;
    known && stat.st_mode & libc::S_IFMT == libc::S_IFSOCK
}

/// Set by Hydra, and by nobody else, for each process.
const HYDRA: &str = "HYDI_CONTROL_FD";

/// Whose server it is.
#[derive(Debug, PartialEq, Eq)]
struct Launcher {
    /// For messages.
    name: &'static str,
    /// The variable with the number of processes, if this launcher sets one.
    size: Option<&'static str>,
}

impl Launcher {
    fn of(variable: impl Fn(&str) -> Option<String>, way: &Way) -> Self {
        let is_set = |name: &str| variable(name).is_some();
        let by = |name, size| Self { name, size };
        let Way::Pmix = way else {
            let name = match () {
                () if is_set(HYDRA) => "Hydra's mpiexec",
                () if is_set("SLURM_STEP_ID") => "Slurm's srun",
                () => "a PMI launcher",
            };
            return by(name, Some("PMI_SIZE"));
        };
        // The variables of a launcher around this one may be there, too, but not its namespace.
        let namespace = variable("PMIX_NAMESPACE").unwrap_or_default();
        const OPEN_MPI: &str = "OMPI_COMM_WORLD_SIZE";
        match () {
            () if namespace.starts_with("slurm.pmix.") => {
                by("Slurm's srun", Some("SLURM_STEP_NUM_TASKS"))
            }
            () if is_set(OPEN_MPI) => by("Open MPI's mpirun", Some(OPEN_MPI)),
            () if namespace.starts_with("prterun-") => by("PRRTE's prterun", None),
            () => by("a PMIx launcher", None),
        }
    }

    fn started_one_process(&self, variable: impl Fn(&str) -> Option<String>) -> bool {
        let size = self.size.and_then(variable);
        size.is_some_and(|size| size == "1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_environment<'a>(
        variables: &'a [(&str, &str)],
    ) -> impl Fn(&str) -> Option<String> + Copy + 'a {
        |name| {
            let found = variables.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    fn chosen(variables: &[(&str, &str)], open: RawFd, only: Option<Protocol>) -> Option<Way> {
        way(in_environment(variables), |fd| fd == open, only)
    }

    const BOTH: &[(&str, &str)] = &[("PMI_FD", "6"), ("PMIX_NAMESPACE", "a"), ("PMIX_RANK", "0")];

    #[test]
    fn the_inner_launcher_is_the_one_whose_socket_is_open() {
        let pmi = Way::Pmi(Server::Descriptor(6), Protocol::Pmi1);
        assert_eq!(chosen(BOTH, 6, None), Some(pmi));
        assert_eq!(chosen(BOTH, -1, None), Some(Way::Pmix));
        let wished = chosen(BOTH, 6, Some(Protocol::Pmix));
        assert_eq!(wished, Some(Way::Pmix));
        assert_eq!(chosen(&BOTH[..1], 6, Some(Protocol::Pmix)), None);
        let closed = Way::Pmi(Server::Descriptor(6), Protocol::Pmi1);
        assert_eq!(chosen(&BOTH[..1], -1, None), Some(closed));
        assert_eq!(chosen(&[], -1, None), None);
    }

    #[test]
    fn slurm_speaks_pmi_2_and_hydra_below_it_pmi_1() {
        let slurm = [("PMI_FD", "6"), ("SLURM_STEP_ID", "0"), (HYDRA, "7")];
        let protocol = |way| match way {
            Some(Way::Pmi(_, protocol)) => protocol,
            other => panic!("{other:?}"),
        };
        assert_eq!(protocol(chosen(&slurm[..2], 6, None)), Protocol::Pmi2);
        assert_eq!(protocol(chosen(&slurm, 6, None)), Protocol::Pmi1);
    }

    #[test]
    fn a_port_is_for_those_without_a_socket() {
        let port = [("PMI_PORT", "host:4000"), ("PMI_ID", "3"), ("PMI_FD", "6")];
        let expected = Server::Port {
            address: "host:4000".into(),
            id: "3".into(),
        };
        let expected = Some(Way::Pmi(expected, Protocol::Pmi1));
        assert_eq!(chosen(&port, -1, None), expected);
    }

    #[test]
    fn a_process_alone_is_known_by_the_variable_of_its_own_launcher() {
        let outer = ("SLURM_STEP_NUM_TASKS", "1");
        let of = |variables: &[(&str, &str)]| {
            let variable = in_environment(variables);
            let launcher = Launcher::of(variable, &Way::Pmix);
            (launcher.name, launcher.started_one_process(variable))
        };
        let srun = ("PMIX_NAMESPACE", "slurm.pmix.7.0");
        assert_eq!(of(&[outer, srun]), ("Slurm's srun", true));
        let prterun = ("PMIX_NAMESPACE", "prterun-host-7@1");
        assert_eq!(of(&[outer, prterun]), ("PRRTE's prterun", false));
        let mpirun = [
            ("PMIX_NAMESPACE", "784662529"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ];
        assert_eq!(of(&mpirun), ("Open MPI's mpirun", false));
    }
}
