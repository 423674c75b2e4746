//! The OpenSHMEM and MPI libraries that programs are built and run with.

mod search;

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::cores;

pub use search::{PREFIX_VARIABLE, Search, find};

/// The implementations that are known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// This library.
    FerroShmem,
    /// Open MPI's OpenSHMEM.
    OpenShmem,
    /// Sandia OpenSHMEM.
    Sandia,
    /// The reference implementation over UCX.
    OsssUcx,
    /// An OpenSHMEM that is not known by name.
    OtherShmem,
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
    /// Intel MPI.
    IntelMpi,
    /// An MPI that is not known by name.
    OtherMpi,
    /// No library: threads of one process.
    OpenMp,
    /// No library: processes that the program forks.
    Processes,
}

impl Family {
    /// Name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::FerroShmem => "FerroSHMEM",
            Self::OpenShmem => "Open MPI OpenSHMEM",
            Self::Sandia => "Sandia OpenSHMEM",
            Self::OsssUcx => "OSSS-UCX",
            Self::OtherShmem => "other OpenSHMEM",
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::IntelMpi => "Intel MPI",
            Self::OtherMpi => "other MPI",
            Self::OpenMp => "OpenMP",
            Self::Processes => "bare processes",
        }
    }

    /// Whether its programs include `shmem.h`.
    pub fn is_shmem(self) -> bool {
        matches!(self, Self::FerroShmem | Self::OpenShmem | Self::Sandia | Self::OsssUcx | Self::OtherShmem)
    }

    /// Whether its programs include `mpi.h`.
    pub fn is_mpi(self) -> bool {
        matches!(self, Self::OpenMpi | Self::Mpich | Self::IntelMpi | Self::OtherMpi)
    }

    /// The family of an OpenSHMEM whose compiler wrapper prints `text` as its version or its
    /// command line.
    fn of_shmem(text: &str) -> Self {
        let signs = [
            ("FerroSHMEM", Self::FerroShmem),
            ("Open SHMEM", Self::OpenShmem),
            ("OSSS-UCX", Self::OsssUcx),
            ("osss-ucx", Self::OsssUcx),
            ("-lsma", Self::Sandia),
        ];
        let found = signs.iter().find(|(sign, _)| text.contains(sign));
        found.map_or(Self::OtherShmem, |(_, family)| *family)
    }

    /// The family of an MPI whose compiler wrapper prints `text`.
    fn of_mpi(text: &str) -> Self {
        let signs = [("Open MPI", Self::OpenMpi), ("Intel(R) MPI", Self::IntelMpi), ("MPICH", Self::Mpich)];
        let found = signs.iter().find(|(sign, _)| text.contains(sign));
        found.map_or(Self::OtherMpi, |(_, family)| *family)
    }
}

impl Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One installed library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implementation {
    /// The implementation that it is a version of.
    pub family: Family,
    /// Its version, as its compiler wrapper prints it.
    pub version: String,
    /// Its name in results: the family's, with the version where two of a family are installed.
    pub name: String,
    /// The compiler wrapper.
    pub compiler: PathBuf,
    /// The launcher; empty if programs start without one.
    pub launcher: PathBuf,
}

/// How a job is started.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Number of PEs, processes or threads.
    pub pes: u32,
    /// Size of each PE's symmetric heap in bytes.
    pub heap: u64,
    /// Whether PEs are bound to cores, round robin, if the launcher can.
    pub bound: bool,
    /// Further options of the launcher.
    pub options: &'a [&'a str],
}

impl Implementation {
    /// Programs without a library.
    pub fn without_library(family: Family, version: &str, compiler: &str) -> Self {
        Self {
            family,
            version: version.to_owned(),
            name: family.name().to_owned(),
            compiler: compiler.into(),
            launcher: PathBuf::new(),
        }
    }

    /// A name for files.
    pub fn slug(&self) -> String {
        let text = format!("{} {}", self.family, self.version).to_lowercase();
        let words: Vec<&str> =
            text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        words.join("-")
    }

    /// The compiler wrapper's command. Intel MPI's asks the environment where it is installed.
    pub fn compile(&self) -> Command {
        let mut command = Command::new(&self.compiler);
        command.envs(self.environment());
        command
    }

    /// The variable by which Intel MPI's commands find their files, if they lie beside each other in one folder,
    /// as pip installs them.
    pub fn environment(&self) -> Option<(&'static str, PathBuf)> {
        let root = self.compiler.parent()?.parent()?;
        let installed = self.family == Family::IntelMpi && root.join("include/mpi.h").is_file();
        installed.then(|| ("I_MPI_ROOT", root.to_owned()))
    }

    /// The command that runs `program`; the program's arguments follow.
    pub fn launch(&self, program: &Path, launch: Launch<'_>) -> Command {
        let Launch { pes, bound, .. } = launch;
        let number = pes.to_string();
        let megabytes = format!("{}M", launch.heap.div_ceil(1 << 20));
        let mut command = Command::new(&self.launcher);
        match self.family {
            // Its default heap is large enough.
            Family::FerroShmem => {
                command.args(["--bind-to", if bound { "core" } else { "none" }]);
            }
            Family::OtherMpi => {}
            Family::OpenShmem | Family::OpenMpi => {
                // Without the variables it refuses to run as root, without the option where
                // PEs outnumber cores.
                command
                    .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                    .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
                    .args(["--oversubscribe", "--bind-to"])
                    .arg(if bound { "core:overload-allowed" } else { "none" });
                // With these, version 4.1 ends with a segmentation fault in shmem_finalize, and MPI_Win_allocate fails.
                let excluded = if self.family == Family::OpenShmem { "^rdma" } else { "^rdma,ucx" };
                command.args(["--mca", "osc", excluded]);
                if self.family == Family::OpenShmem {
                    command.env("SHMEM_SYMMETRIC_HEAP_SIZE", megabytes);
                }
            }
            Family::Mpich => {
                // UCX writes its warnings to standard output.
                command.env("UCX_LOG_LEVEL", "error");
                // It cannot bind more processes than there are cores.
                if bound && pes <= cores() {
                    command.args(["-bind-to", "core"]);
                }
            }
            Family::IntelMpi => {
                // It binds by default.
                command
                    .envs(self.environment())
                    .env("I_MPI_FABRICS", "shm")
                    .env("I_MPI_PIN", if bound { "1" } else { "0" });
            }
            Family::Sandia | Family::OsssUcx | Family::OtherShmem => {
                command.env("SHMEM_SYMMETRIC_SIZE", megabytes);
            }
            Family::OpenMp => {
                command = Command::new(program);
                command.env("OMP_NUM_THREADS", &number).env("OMP_PROC_BIND", "true");
                return command;
            }
            Family::Processes => {
                command = Command::new(program);
                command.arg(&number);
                return command;
            }
        }
        command.args(launch.options).args(["-n", &number]).arg(program);
        command
    }
}
