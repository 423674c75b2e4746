//! Clients of PMI-1 and PMI-2: messages on a socket that the launcher left open, or to a port.
//!
//! Both keep pairs of key and value: each process puts some, and all processes get them once all
//! have called a fence. From `src/pm/hydra` and `src/pmi` of MPICH and `src/plugins/mpi/pmi2` of
//! Slurm, and tried with Hydra 4.0 and 5.0 and Slurm 22.05.

mod chunks;
mod client;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod pmi1;
mod pmi2;
mod store;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

use crate::{Bootstrap, Error, Protocol, mpi};
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
    // Slurm has one introduction, which is MPICH's then, by PMI-1.
    let mut introduced = mpi::has_introduced();
    let mpi = (introduced || protocol == Protocol::Pmi2).then(mpi::Session::of_mpich).flatten();
    introduced |= mpi.is_some();
    if protocol == Protocol::Pmi2 && !introduced {
        return Ok(Box::new(Client::new(pmi2::start(wire)?, launcher, "PMI-2", mpi)));
    }
    let source = match id {
        Some(id) => RankSource::Server { id },
        None => RankSource::of_environment(introduced)?,
    };
    Ok(Box::new(Client::new(pmi1::start(wire, &source)?, launcher, "PMI-1", mpi)))
}
