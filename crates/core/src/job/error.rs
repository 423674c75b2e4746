//! Why a process cannot become a PE.

use std::io;

use ferroshmem_config::ConfigError;

use super::plan::PlanError;

/// One line that says why this process cannot join its job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The variable by which `oshrun` hands the job over holds something else.
    #[error("{variable}=\"{value}\" was not set by oshrun for this process")]
    NotFromLauncher {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The descriptor that `oshrun` left open is closed.
    #[error(
        "{variable} is set, but its descriptor {descriptor} is closed: start the program by oshrun itself, not by a \
            program that closes descriptors"
    )]
    ClosedDescriptor {
        /// The variable.
        variable: &'static str,
        /// The descriptor.
        descriptor: i32,
    },
    /// Another copy of this library has joined a job for this process.
    #[error(
        "this program has two FerroSHMEM runtimes, and another one than {0} has started: link one alone (a Rust \
            program with parts in C depends on the crate ferroshmem-sys, and links no libshmem)"
    )]
    SecondRuntime(String),
    /// The job's memory is not what this library expects.
    #[error("cannot join the job: {0}")]
    Memory(#[source] io::Error),
    /// The job's memory cannot be made.
    #[error("cannot create the job's memory: {0}")]
    Create(#[source] io::Error),
    /// The PE that makes the node's memory could not.
    #[error("PE {0} has no memory for this node")]
    NoMemory(u32),
    /// A PE's library is of another version.
    #[error("PE {0} runs another version of FerroSHMEM: install the same build for all PEs")]
    OtherVersion(usize),
    /// The memory that is asked for cannot be had on the host of a PE.
    #[error("PE {pe} on host {host}: {error}")]
    NoPlan {
        /// The PE.
        pe: usize,
        /// Its host.
        host: String,
        /// Why.
        error: PlanError,
    },
    /// An environment variable cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The memory that is asked for cannot be had.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The launcher's server.
    #[error(transparent)]
    Launcher(#[from] ferroshmem_bootstrap::Error),
}
