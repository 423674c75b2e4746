//! Open MPI's OpenSHMEM, where it is installed: programs that shall run under any OpenSHMEM are
//! tried under it too.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::compile::has_header;
use crate::job::Job;
use crate::tool::Missing;

/// Its commands.
#[derive(Debug, Clone)]
pub struct OpenMpi {
    folder: PathBuf,
}

impl OpenMpi {
    /// The first one on the `PATH`. Its commands have the names of ours, so they are asked.
    ///
    /// # Errors
    /// If there is none that compiles programs.
    pub fn find() -> Result<Self, Missing> {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path).map(|folder| Self { folder }).find(|this| {
            let there = this.oshcc().is_file() && this.is_open_mpi();
            there && has_header(&this.oshcc(), "shmem.h")
        });
        found.ok_or_else(|| Missing::package("Open MPI's OpenSHMEM", "libopenmpi-dev"))
    }

    fn is_open_mpi(&self) -> bool {
        let output = Command::new(self.oshrun()).arg("--version").output();
        output.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains("open-mpi.org"))
    }

    /// The compiler wrapper.
    pub fn oshcc(&self) -> PathBuf {
        self.folder.join("oshcc")
    }

    fn oshrun(&self) -> PathBuf {
        self.folder.join("oshrun")
    }

    /// A job of `pes` PEs of a program with arguments, each with a heap of `heap` ("512M").
    pub fn job(&self, pes: usize, heap: &str, program: &str, args: &[&str]) -> Job {
        let pes = pes.to_string();
        // Its one-sided component over RDMA crashes in shmem_finalize on one node.
        let options = ["--oversubscribe", "--mca", "osc", "^rdma", "-n", &pes];
        let words = options.iter().chain([&program]).chain(args);
        Job {
            pes: 0,
            command: [self.oshrun().display().to_string()].into_iter().chain(words.map(|w| (*w).to_owned())).collect(),
            options: Vec::new(),
            env: Vec::new(),
            watchdog: Duration::from_secs(120),
        }
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("SHMEM_SYMMETRIC_HEAP_SIZE", heap)
    }
}
