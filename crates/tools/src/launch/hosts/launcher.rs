//! The launchers that `oshrun` can become, and which of them is installed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ferroshmem_config as config;
use nix::unistd::{AccessFlags, access};

use super::launch::{HostLaunch, HostSource, LauncherKind};
use crate::launch::failure::Failure;

/// A launcher that was found.
#[derive(Debug)]
pub(super) struct HostLauncher {
    pub kind: LauncherKind,
    pub path: PathBuf,
    /// Whether it is Open MPI's from version 5 on, whose options are those of PRRTE.
    pub is_prte: bool,
}

impl HostLauncher {
    /// The one that the user names, else the first that is installed: Slurm's own where it knows the
    /// hosts, then Hydra, which forwards the whole environment, then Open MPI's.
    pub(super) fn find(launch: &HostLaunch) -> Result<Self, Failure> {
        let in_allocation = matches!(launch.source, HostSource::Allocation(_));
        if let Some(kind) = launch.kind {
            if kind == LauncherKind::Slurm && !in_allocation {
                return Err(Failure::usage(
                    "--launcher slurm: Slurm chooses the hosts: run oshrun inside salloc or sbatch, without --hosts",
                ));
            }
            return Self::of(kind).ok_or_else(|| missing(Some(kind)));
        }
        let first = in_allocation.then_some(LauncherKind::Slurm);
        let others = [LauncherKind::Hydra, LauncherKind::Prte, LauncherKind::Openmpi];
        first.into_iter().chain(others).find_map(Self::of).ok_or_else(|| missing(None))
    }

    fn of(kind: LauncherKind) -> Option<Self> {
        let found = |path, is_prte| Self { kind, path, is_prte };
        match kind {
            LauncherKind::Slurm => in_path("srun").map(|path| found(path, false)),
            LauncherKind::Hydra => in_path("mpiexec.hydra").map(|path| found(path, false)),
            LauncherKind::Prte => in_path("prterun").map(|path| found(path, true)),
            LauncherKind::Command => Some(found(PathBuf::new(), false)),
            LauncherKind::Openmpi => {
                let names = ["mpirun.openmpi", "orterun", "mpirun"];
                let mut paths = names.into_iter().filter_map(in_path);
                paths.find_map(|path| {
                    let major = openmpi_major(&path)?;
                    Some(found(path, major >= 5))
                })
            }
        }
    }

    /// For messages.
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            LauncherKind::Slurm => "Slurm's srun",
            LauncherKind::Hydra => "Hydra's mpiexec",
            LauncherKind::Openmpi => "Open MPI's mpirun",
            LauncherKind::Prte => "PRRTE's prterun",
            LauncherKind::Command => "the launcher given",
        }
    }

    /// The failure over an option that this launcher has no equivalent of.
    pub(super) fn refusal(&self, option: &str, instead: &str) -> Failure {
        Failure::usage(format!("{option} cannot be had from {}: {instead}", self.name()))
    }
}

fn missing(wanted: Option<LauncherKind>) -> Failure {
    Failure::usage(match wanted {
        None | Some(LauncherKind::Command) => {
            "PEs on other hosts need a launcher that starts them, and none is in PATH: install Hydra's mpiexec.hydra \
                (MPICH; Debian: hydra) or Open MPI (Debian: openmpi-bin), or run inside an allocation of Slurm's"
        }
        Some(LauncherKind::Slurm) => "--launcher slurm: no srun in PATH",
        Some(LauncherKind::Hydra) => "--launcher hydra: no mpiexec.hydra in PATH: install MPICH (Debian: hydra)",
        Some(LauncherKind::Openmpi) => {
            "--launcher openmpi: no mpirun of Open MPI in PATH: install it (Debian: openmpi-bin)"
        }
        Some(LauncherKind::Prte) => "--launcher prte: no prterun in PATH: install PRRTE or Open MPI 5",
    })
}

/// A program of `PATH`.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = config::search_path()?;
    let mut files = env::split_paths(&path).map(|dir| dir.join(name));
    files.find(|file| file.is_file() && access(file, AccessFlags::X_OK).is_ok())
}

/// The version of an `mpirun`, if it is Open MPI's: others have that name, too.
fn openmpi_major(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    major_of(&String::from_utf8_lossy(&output.stdout))
}

/// From `mpirun (Open MPI) 5.0.8`, or `(OpenRTE) 4.1.4` as version 4 may say.
fn major_of(answer: &str) -> Option<u32> {
    let after = |mark| answer.split_once(mark).map(|(_, rest)| rest);
    let version = after("(Open MPI) ").or_else(|| after("(OpenRTE) "))?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let old = "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to";
        assert_eq!(major_of(old), Some(4));
        assert_eq!(major_of("mpirun (Open MPI) 5.0.8\n"), Some(5));
        assert_eq!(major_of("HYDRA build details:\n Version: 4.0.2"), None);
    }
}
