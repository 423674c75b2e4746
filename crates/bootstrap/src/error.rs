//! What can go wrong.

use std::fmt;
use std::io;
use std::time::Duration;

/// One line with the cause and, where there is one, the remedy.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A launcher started several processes and left no way to talk to its server.
    #[error("started as one of {processes} processes by {launcher}, but {remedy}; or use oshrun -n {processes}")]
    NoServer {
        /// Number of processes of the job.
        processes: usize,
        /// The launcher.
        launcher: &'static str,
        /// What the user can do.
        remedy: &'static str,
    },
    /// A launcher's variable holds something else than a number.
    #[error("the launcher set PMI_FD, but {variable}=\"{value}\" is no number")]
    NoNumber {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The descriptor that a launcher left open is closed.
    #[error(
        "the launcher set PMI_FD={0}, but this descriptor is closed: have the launcher start the program itself, not a \
            program that closes descriptors"
    )]
    ClosedDescriptor(i32),
    /// No connection to the address of a launcher's server.
    #[error("the launcher set PMI_PORT={address}, where no server answers: {reason}")]
    Unreachable {
        /// `host:port`.
        address: String,
        /// Why.
        reason: String,
    },
    /// A server is silent.
    #[error("{launcher} gave no answer within {deadline:?}: it hangs, or a process of the job did not come this far")]
    Timeout {
        /// The launcher.
        launcher: String,
        /// The deadline.
        deadline: Duration,
    },
    /// The connection to a server ended.
    #[error("the connection to the launcher is lost: {0}")]
    ConnectionLost(io::Error),
    /// MPI has closed the connection to a server.
    #[error(
        "MPI_Finalize has closed the connection to the launcher: call shmem_finalize before it, or MPI_Init before \
         shmem_init"
    )]
    ClosedByMpi,
    /// A server sent a response that its protocol does not have.
    #[error("the launcher answered a message of {protocol} by {response:?}")]
    UnexpectedResponse {
        /// The protocol.
        protocol: &'static str,
        /// The response.
        response: String,
    },
    /// A server's line does not end.
    #[error("the launcher answered by a line of more than {bytes} bytes, which is of no PMI: {beginning:?}...")]
    LongResponse {
        /// Bytes read.
        bytes: usize,
        /// The beginning of the line.
        beginning: String,
    },
    /// A response of PMI-2 without its length.
    #[error("the launcher answered a message of PMI-2 by {0:?}, which is no length")]
    NoLength(String),
    /// A server of another protocol.
    #[error("the launcher does not speak PMI-2 ({0:?})")]
    NoPmi2(String),
    /// A launcher that does not say which process this is.
    #[error("the launcher gives no rank that is below its number of processes (PMI_RANK and PMI_SIZE, or by PMI_PORT)")]
    NoRank,
    /// A server returned another value than was put.
    #[error("the launcher returned a damaged value of {key}: {value:?}")]
    DamagedValue {
        /// Key of the value.
        key: String,
        /// The value.
        value: String,
    },
    /// A call of PMIx failed.
    #[error("{launcher} failed in {call}: {status}")]
    PmixCall {
        /// The launcher.
        launcher: String,
        /// The function.
        call: &'static str,
        /// PMIx's name of the status.
        status: String,
    },
    /// A launcher that starts no processes while the job runs.
    #[error("{0}, starts no PEs while the job runs: start the job by oshrun, mpiexec.hydra, mpirun or srun")]
    StartsNone(String),
    /// The launcher has not started processes, and why.
    #[error("the launcher does not start the PEs: {0}")]
    NotStarted(String),
    /// A PMIx server gave a value of another type than requested.
    #[error("{launcher} gives {given} for {key}")]
    PmixValue {
        /// The launcher.
        launcher: String,
        /// What it gave.
        given: String,
        /// The key requested.
        key: String,
    },
    /// A PMIx server refuses this process.
    #[error(
        "the PMIx server of {launcher} does not take this process ({status}): libpmix may be too old or too new for \
            it; use the launcher's own libpmix.so.2, or start by mpiexec.hydra or srun --mpi=pmi2"
    )]
    PmixRefused {
        /// The launcher.
        launcher: String,
        /// PMIx's name of the status.
        status: String,
    },
    /// The library of PMIx cannot be opened.
    #[error(
        "the launcher talks PMIx, but its library cannot be used: {0}: install PMIx (Debian: libpmix2), or name the \
            directory of libpmix.so.2 in LD_LIBRARY_PATH"
    )]
    PmixLibrary(String),
    /// The descriptors of a node's memory were not received.
    #[error("PE {rank} cannot get its node's memory from the first PE of the node: {reason}")]
    NoDescriptors {
        /// This process.
        rank: usize,
        /// Why.
        reason: String,
    },
    /// The socket for a node's memory cannot be opened.
    #[error("cannot open the socket by which PEs of this node get their memory: {0}")]
    Socket(io::Error),
    /// Processes of a node cannot be waited for.
    #[error("cannot wait for the PEs of this node: {0}")]
    Wait(io::Error),
    /// Processes of a node did not come for its memory.
    #[error("{} of this node {} not come for the node's memory within \
        {deadline:?}", list(.ranks), if .ranks.len() == 1 { "has" } else { "have" })]
    Absent {
        /// The processes.
        ranks: Vec<usize>,
        /// The deadline.
        deadline: Duration,
    },
    /// A file that identifies the node cannot be read.
    #[error("cannot read {path}, by which processes of one node know each other: {error}")]
    NoIdentity {
        /// The file.
        path: &'static str,
        /// Why.
        error: io::Error,
    },
    /// Another version of the library describes its node in another way.
    #[error(
        "a process of the job describes its node in a way unknown here: use one version of the library on all nodes"
    )]
    UnknownIdentity,
    /// Another version of the library, or none, on rank 0.
    #[error("rank 0 gave no secret through {launcher}: use one version of the library on all nodes")]
    NoSecret {
        /// The launcher.
        launcher: String,
    },
    /// The system gives no random numbers.
    #[error("the system has no random numbers: {0}")]
    NoRandomNumbers(getrandom::Error),
}

/// The line: a derived implementation takes 9 KiB of the library, and says the same.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `PE 3`, or `PEs 2, 5`.
fn list(ranks: &[usize]) -> String {
    let noun = if ranks.len() == 1 { "PE" } else { "PEs" };
    let numbers: Vec<String> = ranks.iter().map(usize::to_string).collect();
    format!("{noun} {}", numbers.join(", "))
}
