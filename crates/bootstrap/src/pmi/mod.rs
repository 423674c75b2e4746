//! Clients of PMI-1 and PMI-2: messages on a socket that the launcher left open, or to a port.
//!
//! Both keep pairs of key and value: each process puts some, and all processes get them once all
//! have called a fence. From `src/pm/hydra` and `src/pmi` of MPICH and `src/plugins/mpi/pmi2` of Slurm, and
//! tried with Hydra 4.0 and 5.0 and Slurm 22.05.

mod chunks;
mod client;
mod mpi;
mod pmi1;
mod pmi2;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::time::Duration;

use crate::{Bootstrap, Error, Protocol};
use client::Client;
use pmi1::RankSource;
use wire::Wire;

/// Where the launcher's server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Server {
    /// At this open descriptor (`PMI_FD`).
    Descriptor(i32),
    /// At this `host:port` (`PMI_PORT`), where the process gives its number (`PMI_ID`).
    Port { address: String, id: String },
}

/// Connects to the server by `protocol`; `launcher` is its name for messages.
pub(crate) fn connect(
    server: &Server,
    protocol: Protocol,
    launcher: &str,
    deadline: Duration,
) -> Result<Box<dyn Bootstrap>, Error> {
    let (wire, id) = match server {
        Server::Descriptor(fd) => (Wire::inherited(*fd, deadline)?, None),
        Server::Port { address, id } => (Wire::to_port(address, deadline)?, Some(id)),
    };
    Ok(match protocol {
        Protocol::Pmi2 => Box::new(Client::new(pmi2::start(wire)?, launcher, "PMI-2")),
        _ => {
            let source = match id {
                Some(id) => RankSource::Server { id },
                None => RankSource::of_environment()?,
            };
            Box::new(Client::new(pmi1::start(wire, &source)?, launcher, "PMI-1"))
        }
    })
}

/// A connection to a server that has accepted this process.
struct Session<S> {
    rank: usize,
    size: usize,
    store: S,
}

/// What the two protocols have in common.
trait Store: fmt::Debug + Send {
    /// The most bytes that a value may have.
    fn longest_value(&self) -> usize;
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error>;
    /// Whether no process returns from a fence before all have called it, on all hosts.
    const FENCE_IS_BARRIER: bool;
    /// Returns once all processes have called it; what they put before can be got then.
    fn fence(&mut self) -> Result<(), Error>;
    /// A value, possibly after waiting for the fence of the process that put it.
    fn get(&mut self, key: &str) -> Result<String, Error>;
    fn finalize(&mut self) -> Result<(), Error>;
    /// The connection.
    fn wire(&self) -> &Wire;
    /// The message by which the job is ended with `status`.
    fn abort_message(status: i32, message: &str) -> Vec<u8>
    where
        Self: Sized;
}
