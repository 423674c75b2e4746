//! Why jobs do not connect.

use std::io;
use std::net::SocketAddr;

use ferroshmem_bootstrap::name_file::NameFileError;
use rustix::io::Errno;

use ferroshmem_core::job::NoService;

/// Most bytes of the name of a port: the address of a socket without a path has 107, with the name's user.
pub(super) const MOST_NAME: usize = 64;

/// Why jobs do not connect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The text is none of a port.
    #[error("{0:?} is not the text of a port: give what shmemx_port_open or shmemx_port_lookup has written")]
    Text(String),
    /// No process listens.
    #[error("the port is closed: is the job that opened it still running?")]
    Closed,
    /// No process of this host listens, and the port is another host's.
    #[error(
        "the port is on host {there}, and this is host {here}: the job there has no address that other hosts reach"
    )]
    OtherHost {
        /// The port's.
        there: String,
        /// This one.
        here: String,
    },
    /// The port's host does not answer.
    #[error("the port's host cannot be reached at {0}: {1}")]
    Unreachable(SocketAddr, io::Error),
    /// Other nodes cannot be reached at all.
    #[error("the other job is on another node, which cannot be reached: {0}")]
    Fabric(#[from] ferroshmem_fabric::Error),
    /// The program's operations do not reach other nodes.
    #[error("the other job is on another node, which {0}")]
    NotFromHere(&'static str),
    /// The process that listens is of another user.
    #[error("the port belongs to another user: start both jobs as one user")]
    OtherUser,
    /// The other group refuses, for this reason.
    #[error("the other job refuses: {0}")]
    Refused(String),
    /// The other job's memory is not what it should be.
    #[error("the other job's memory cannot be used: {0}")]
    Memory(io::Error),
    /// The port is none of this PE's.
    #[error(
        "this PE has not opened the port, or has closed it: give PE_root of the PE that has called shmemx_port_open"
    )]
    NotOpen,
    /// The name is none that can be published.
    #[error("a name has 1 to {MOST_NAME} bytes")]
    Name,
    /// A process of this user has the name.
    #[error("the name is taken: {0}; unpublish it there, or take another name")]
    NameTaken(String),
    /// A process of another user has the address of the name.
    #[error("the name is taken by a process of another user: take another name")]
    NameOfOtherUser,
    /// The file of a name is of no use.
    #[error(transparent)]
    NameFile(#[from] NameFileError),
    /// This PE has not published the name.
    #[error("this PE has not published the name, or has closed its port")]
    NotPublished,
    /// The process that has published the name is stopped.
    #[error("the process that has published the name does not answer: is it stopped?")]
    NoAnswer,
    /// The process at the other end of the socket joins no job, or no longer.
    #[error("the other end of the socket is closed, or its shmemx_join has failed")]
    SocketClosed,
    /// The descriptor is none of a socket.
    #[error("the descriptor is not that of a socket: give one end of a connected socket")]
    NoSocket,
    /// What came over the socket is not from `shmemx_join`.
    #[error("the other end of the socket does not call shmemx_join")]
    NoJoin,
    /// No `oshrun` watches the job.
    #[error(transparent)]
    NoService(#[from] NoService),
    /// `oshrun` does not watch the connection.
    #[error("the connection cannot be watched: {0}")]
    NotWatched(String),
    /// There are no numbers for PEs of other jobs.
    #[error("the numbers for PEs of other jobs are used up")]
    NoNumbers,
    /// The system has no random numbers.
    #[error(transparent)]
    Random(#[from] ferroshmem_bootstrap::Error),
    /// Of the system.
    #[error("the port cannot be used: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for PortError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}
