//! The implementations of collectives that are measured side by side.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};

use crate::Prefix;

/// An implementation, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Implementation {
    /// This library.
    FerroShmem,
    /// Open MPI's OpenSHMEM.
    OpenShmem,
    /// Open MPI's MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
    /// Bare processes that only let each other run.
    Processes,
}

/// How an implementation is told to run. Others than Open MPI's take no notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// PEs bound to cores, in turn.
    Bound,
    /// PEs bound to nothing, which is the default where they outnumber cores.
    Free,
    /// Bound, and reductions to all as a linear reduction and a broadcast: each process is
    /// scheduled fewer times than with the algorithms that are its default.
    Linear,
}

impl Implementation {
    /// The others that have reductions.
    pub const PEERS: [Self; 3] = [Self::OpenShmem, Self::OpenMpi, Self::Mpich];

    /// Name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::FerroShmem => "FerroSHMEM",
            Self::OpenShmem => "Open MPI's OpenSHMEM",
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::Processes => "bare processes",
        }
    }

    /// Its version, where it is installed; else why it is not measured.
    ///
    /// # Errors
    /// If a command of it is missing or another implementation's.
    pub fn version(self, prefix: &Prefix) -> Result<String> {
        let (flag, sign) = match self {
            Self::FerroShmem => return Ok(env!("CARGO_PKG_VERSION").to_owned()),
            Self::Processes => return Ok(String::new()),
            Self::OpenShmem | Self::OpenMpi => ("--showme:version", "Open "),
            Self::Mpich => ("-v", "MPICH version"),
        };
        let compiler = self.compiler(prefix);
        let shown = Path::new(&compiler).display();
        let output = Command::new(&compiler)
            .arg(flag)
            .output()
            .with_context(|| format!("{shown} cannot be run"))?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let Some(line) = text.lines().find(|line| line.contains(sign)) else {
            bail!("{shown} is not {}", self.name());
        };
        let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        Ok(line
            .split_whitespace()
            .find(number)
            .unwrap_or("?")
            .to_owned())
    }

    /// Its compiler wrapper, or the compiler of bare processes.
    pub fn compiler(self, prefix: &Prefix) -> OsString {
        match self {
            Self::FerroShmem => prefix.bin("oshcc").into(),
            Self::OpenShmem => command("PEER_OSHCC", "/usr/bin/oshcc"),
            Self::OpenMpi => command("PEER_OPENMPI_CC", "mpicc.openmpi"),
            Self::Mpich => command("PEER_MPICH_CC", "mpicc.mpich"),
            Self::Processes => "gcc".into(),
        }
    }

    /// What `measure.c` includes to measure it.
    fn header(self) -> &'static str {
        match self {
            Self::FerroShmem => "ferroshmem.h",
            Self::OpenShmem => "openshmem.h",
            Self::OpenMpi | Self::Mpich => "messages.h",
            Self::Processes => "processes.h",
        }
    }

    /// Builds the measuring program with it, in `folder`.
    ///
    /// # Errors
    /// If its compiler fails; its messages are in the error.
    pub fn build(self, prefix: &Prefix, folder: &Path) -> Result<PathBuf> {
        let program = folder.join(format!("collectives-{self:?}"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/collectives/measure.c");
        let mut command = Command::new(self.compiler(prefix));
        command
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra"])
            .arg(format!("-DIMPLEMENTATION=\"{}\"", self.header()))
            .arg(source)
            .arg("-o")
            .arg(&program);
        let result = command
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        if !result.status.success() {
            bail!("{command:?}\n{}", String::from_utf8_lossy(&result.stderr));
        }
        Ok(program)
    }

    /// The command that runs a program on `pes` PEs; the program's arguments are to follow.
    pub fn launch(self, prefix: &Prefix, program: &Path, pes: usize, setting: Setting) -> Command {
        let number = pes.to_string();
        let crowded = pes > available_parallelism().map_or(1, usize::from);
        let mut launch;
        match self {
            Self::FerroShmem => {
                launch = Command::new(prefix.bin("oshrun"));
                launch
                    .args(["--bind-to", "core", "-n", &number])
                    .arg(program);
            }
            Self::OpenShmem | Self::OpenMpi => {
                launch = Command::new(if self == Self::OpenShmem {
                    command("PEER_OSHRUN", "/usr/bin/oshrun")
                } else {
                    command("PEER_OPENMPI_RUN", "mpirun.openmpi")
                });
                open_mpi(&mut launch, setting);
                launch.args(["-n", &number]).arg(program);
            }
            Self::Mpich => {
                launch = Command::new(command("PEER_MPICH_RUN", "mpiexec.hydra"));
                if !crowded {
                    launch.args(["-bind-to", "core"]);
                }
                launch.args(["-n", &number]).arg(program);
            }
            Self::Processes => {
                launch = Command::new(program);
                launch.arg(&number);
            }
        }
        launch
    }
}

/// Environment and options of Open MPI's launchers. Without them its programs refuse to start
/// where cores are few or the user is root, or end with a segmentation fault; and the heap's
/// default is too small.
fn open_mpi(launch: &mut Command, setting: Setting) {
    launch
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("SHMEM_SYMMETRIC_HEAP_SIZE", "128M")
        .args(["--oversubscribe", "--mca", "osc", "^rdma", "--bind-to"]);
    match setting {
        Setting::Free => launch.arg("none"),
        Setting::Bound | Setting::Linear => launch.arg("core:overload-allowed"),
    };
    if setting == Setting::Linear {
        launch.args(["--mca", "coll_tuned_use_dynamic_rules", "1"]);
        launch.args(["--mca", "coll_tuned_allreduce_algorithm", "1"]);
    }
}

/// A command that an environment variable may name.
fn command(variable: &str, default: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| default.into())
}
