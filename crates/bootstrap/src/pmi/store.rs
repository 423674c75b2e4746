//! What PMI-1 and PMI-2 have in common: a store of keys and values.

use std::fmt;

use super::wire::Wire;
use crate::{Error, Program};

/// The key of what the processes gave that have had a job started.
pub(super) const PARENTS: &str = "ferroshmem-parents";

/// A connection to a server that has accepted this process.
pub(super) struct Session<S> {
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) store: S,
}

/// What the two protocols have in common.
pub(super) trait Store: fmt::Debug + Send {
    /// The most bytes that a value may have.
    fn longest_value(&self) -> usize;
    fn put(&mut self, key: &str, value: &str) -> Result<(), Error>;
    /// Whether no process returns from a fence before all have called it, on all hosts.
    const FENCE_IS_BARRIER: bool;
    /// Returns once all processes have called it; what they put before can be got then.
    fn fence(&mut self) -> Result<(), Error>;
    /// A value, possibly after waiting for the fence of the process that put it.
    fn get(&mut self, key: &str) -> Result<String, Error>;
    /// Has the server start processes, whose job has `parents` in its store by the key [`PARENTS`]; whether the
    /// protocol can.
    fn start(&mut self, _programs: &[Program<'_>], _parents: &str) -> Result<bool, Error> {
        Ok(false)
    }
    fn finalize(&mut self) -> Result<(), Error>;
    /// The connection.
    fn wire(&self) -> &Wire;
    /// The message by which the job is ended with `status`.
    fn abort_message(status: i32, message: &str) -> Vec<u8>
    where
        Self: Sized;
}
