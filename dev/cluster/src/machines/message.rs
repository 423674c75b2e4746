//! Messages between the cluster and the agents in the machines: lines of JSON on a serial port.

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, Write};

use super::End;

/// From the cluster to an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Take the name and address of this machine among `machines`, and make the RDMA device.
    Join { machine: usize, machines: usize },
    /// Serve PMI-1 for a job of `size` PEs.
    Serve { job: u64, size: usize },
    /// Start these PEs.
    Start { job: u64, pes: Vec<Start> },
    /// End all PEs that still run.
    Stop,
}

/// A PE to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub rank: usize,
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Variables beside those that every program gets.
    pub environment: Vec<(OsString, OsString)>,
}

/// From an agent to the cluster.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The machine has its device and waits for jobs.
    Joined,
    /// PMI-1 is served at this port of the machine.
    Serving { job: u64, port: u16 },
    /// A PE ended.
    Ended { job: u64, rank: usize, end: End },
    /// A PE aborted the job.
    Aborted { job: u64, rank: usize, status: i32 },
    /// The agent failed.
    Failed { what: String },
}

/// Sends a message.
///
/// # Errors
/// If the other side is gone.
pub(super) fn send(to: &mut impl Write, message: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line).context("the connection is lost")
}

/// Receives a message; `None` if the other side is gone.
///
/// # Errors
/// If the line is no message.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> Result<Option<T>> {
    let mut line = String::new();
    match from.read_line(&mut line) {
        Ok(0) | Err(_) => Ok(None),
        Ok(_) => serde_json::from_str(&line).map(Some).with_context(|| format!("not a message: {line:?}")),
    }
}
