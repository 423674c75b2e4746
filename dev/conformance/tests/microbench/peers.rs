//! Other libraries, where they are installed.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use ferroshmem_conformance::compile::{has_header, on_path};
use ferroshmem_conformance::make::make_for_peer;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, OpenMpi};

use crate::job;
use crate::points::{QUICK, holds, series};
use crate::programs::FOLDER;

/// Another library.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    OpenShmem(OpenMpi),
    Mpi(Mpi),
}

/// How an MPI builds programs and runs them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mpi {
    name: &'static str,
    compiler: &'static str,
    launcher: &'static str,
    options: &'static [&'static str],
}

const MPIS: [Mpi; 2] = [
    Mpi {
        name: "openmpi",
        compiler: "mpicc.openmpi",
        launcher: "mpirun.openmpi",
        options: &["--oversubscribe", "-n", "2"],
    },
    Mpi { name: "mpich", compiler: "mpicc.mpich", launcher: "mpiexec.hydra", options: &["-n", "2"] },
];

impl Peer {
    /// Those that are installed; says which are not.
    pub(crate) fn installed() -> Vec<Self> {
        let skip = |name| eprintln!("note: {name} is not installed: its microbenchmarks are skipped");
        let mut peers = Vec::new();
        match OpenMpi::find() {
            Ok(openmpi) => peers.push(Self::OpenShmem(openmpi)),
            Err(_) => skip("Open MPI's OpenSHMEM"),
        }
        for mpi in MPIS {
            let builds = has_header(Path::new(mpi.compiler), "mpi.h");
            if builds && on_path(mpi.launcher) {
                peers.push(Self::Mpi(mpi));
            } else {
                skip(mpi.compiler);
            }
        }
        peers
    }

    /// Name in test names.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::OpenShmem(_) => "openmpi-shmem",
            Self::Mpi(mpi) => mpi.name,
        }
    }

    /// Whether there is such a program for it.
    pub(crate) fn has(&self, program: &str) -> bool {
        matches!(self, Self::OpenShmem(_)) || program != "updates"
    }

    fn job(&self, s: &Setting, program: &str) -> Result<Job> {
        match self {
            Self::OpenShmem(openmpi) => {
                let oshcc = openmpi.oshcc();
                let folder = make_for_peer(FOLDER, &["all"], ("OSHCC", &oshcc), &s.cache)?;
                let program = folder.join(program);
                Ok(openmpi.job(2, "512M", &program.display().to_string(), QUICK))
            }
            Self::Mpi(mpi) => {
                let compiler = ("MPICC", Path::new(mpi.compiler));
                let folder = make_for_peer(FOLDER, &["mpi"], compiler, &s.cache)?;
                let program = folder.join(program).display().to_string();
                // No launcher of ours starts the launcher.
                let job = job(0, Path::new(mpi.launcher))
                    .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                    .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                Ok(job.args(mpi.options).args(&[&program]).args(QUICK))
            }
        }
    }

    /// A program prints all its points.
    pub(crate) fn runs(&self, s: &Setting, program: &str) -> Result<()> {
        // One job at a time: PEs that wait without giving up their core would wait for minutes.
        static ALONE: Mutex<()> = Mutex::new(());
        let (program, is_recent) = match self {
            Self::OpenShmem(_) => (program.to_owned(), false),
            Self::Mpi(_) => (format!("mpi-{program}"), true),
        };
        let job = self.job(s, &program)?;
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = job.expect_success(&s.prefix, &s.scratch)?;
        holds(&outcome, &series(&program, is_recent), 2)
    }
}
