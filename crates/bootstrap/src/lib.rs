//! Which process of which job this is, by the launchers that are there, and what the processes of
//! a job exchange before they can reach each other's memory.
//!
//! [`detect`] returns a client of the launcher's server: [`Bootstrap`]. Through it every process
//! gets every other's [`node::Identity`], from which [`Placement`] derives which processes share
//! memory; a [`secret::Secret`] of the job, which keeps processes of other jobs out; and the name
//! of the socket at which the first process of a node passes its memory to the others ([`fdpass`]).
//! Jobs that were started separately find each other's ports by a file ([`name_file`]).
//!
//! It knows processes, sockets and bytes (`platform`). It knows nothing of symmetric memory, routines or the fabric:
//! what processes exchange means nothing to it.

mod detect;
pub mod environment;
mod error;
pub mod fdpass;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod mpi;
pub mod name_file;
pub mod node;
mod placement;
mod pmi;
mod pmix;
mod program;
pub mod responder;
pub mod secret;
mod slurm;

use std::fmt;
use std::os::fd::OwnedFd;

pub use detect::{Config, detect, is_launched};
pub use error::Error;
pub use placement::{NodeRank, Placement};
pub use program::Program;

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

/// A client of the server that a launcher runs for the processes of a job.
pub trait Bootstrap: Send + Sync + fmt::Debug {
    /// Launcher and protocol, for messages: "Open MPI's mpirun, by PMIx".
    fn launcher(&self) -> &str;

    /// This process's number in the job.
    fn rank(&self) -> usize;

    /// The number of processes of the job.
    fn size(&self) -> usize;

    /// Gives `mine` to all processes and returns what all gave, by rank. Collective, and a barrier:
    /// no process returns before all have called. Lengths may differ and be 0; made for up to
    /// 64 KiB.
    ///
    /// # Errors
    /// If the server is gone, refuses, or is not done within [`Config::deadline`] (some process
    /// does not call). The client is of no use then.
    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error>;

    /// Returns once all processes have called it. Errors as of [`exchange`](Self::exchange).
    fn barrier(&self) -> Result<(), Error>;

    /// Has the launcher end the whole job, with exit status `status`. Returns soon, if at all,
    /// and may be called while another thread is in a call; the caller then exits.
    fn abort(&self, status: i32, message: &str);

    /// Starts further processes, which are a job of their own, beside this one; `parents` is what these get by
    /// [`parents`](Self::parents). Returns once the launcher has taken the order, if a command of its own does that,
    /// with a descriptor that is readable once the command has ended.
    ///
    /// # Errors
    /// If the launcher starts none, refuses, or gives no answer.
    fn start(&self, _programs: &[Program<'_>], _parents: &str) -> Result<Option<OwnedFd>, Error> {
        Err(Error::StartsNone(self.launcher().to_owned()))
    }

    /// Whether it may lose processes that are started while others end which this one has had started.
    fn loses_starts(&self) -> bool {
        false
    }

    /// Whether a failure of processes that are started ends this one as well.
    fn ends_with_started(&self) -> bool {
        true
    }

    /// What the processes gave that have had this job started, if there are such.
    fn parents(&self) -> Option<String> {
        None
    }

    /// A regular end: the launcher takes the exit of this process for no failure from here on. Not
    /// collective; the last call.
    fn finalize(&self);
}
