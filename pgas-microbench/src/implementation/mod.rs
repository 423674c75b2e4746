//! The libraries that programs are built and run with.

mod family;
mod search;

use std::path::{Path, PathBuf};
use std::process::Command;

pub use family::Family;
pub use search::{Search, find};

/// One installed library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implementation {
    /// Whose it is.
    pub family: Family,
    /// Its version, as it tells it.
    pub version: String,
    /// Its name in results: the family's, with the version where two of a family are installed.
    pub name: String,
    /// The compiler wrapper.
    pub compiler: PathBuf,
    /// The launcher.
    pub launcher: PathBuf,
}

impl Implementation {
    /// A name for files.
    pub fn slug(&self) -> String {
        let text = format!("{} {}", self.family, self.version).to_lowercase();
        let words: Vec<&str> = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        words.join("-")
    }

    /// The command that runs `program` on `pes` PEs; the program's arguments are to follow. All are
    /// bound to cores, in turn, where their launchers can; `heap` is the size of each PE's
    /// symmetric heap in bytes.
    pub fn launch(&self, program: &Path, pes: u32, cores: u32, heap: u64) -> Command {
        let number = pes.to_string();
        let mut launch = Command::new(&self.launcher);
        let mega = format!("{}M", heap.div_ceil(1 << 20));
        match self.family {
            Family::FerroShmem => {
                // No size of the heap: its default suffices.
                launch.args(["--bind-to", "core", "-n", &number]);
            }
            Family::OpenShmem | Family::OpenMpi => {
                // Without the variables it refuses to run where the user is root.
                launch
                    .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                    .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
                    .args(["--oversubscribe", "--bind-to", "core:overload-allowed"]);
                if self.family == Family::OpenShmem {
                    // Version 4.1 ends with a segmentation fault in shmem_finalize otherwise.
                    launch.args(["--mca", "osc", "^rdma"]);
                    launch.env("SHMEM_SYMMETRIC_HEAP_SIZE", mega);
                }
                launch.args(["-n", &number]);
            }
            Family::Mpich => {
                // Where processes outnumber cores it knows no binding in turn.
                if pes <= cores {
                    launch.args(["-bind-to", "core"]);
                }
                launch.args(["-n", &number]);
            }
            Family::Sandia | Family::OsssUcx | Family::OtherShmem => {
                launch.env("SHMEM_SYMMETRIC_SIZE", mega);
                launch.args(["-n", &number]);
            }
            Family::OtherMpi => {
                launch.args(["-n", &number]);
            }
            Family::OpenMp => {
                let mut launch = Command::new(program);
                launch
                    .env("OMP_NUM_THREADS", &number)
                    .env("OMP_PROC_BIND", "true");
                return launch;
            }
        }
        launch.arg(program);
        launch
    }
}
