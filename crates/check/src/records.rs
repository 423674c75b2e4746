//! Where what is found is kept: in a file that this PE shares with `oshrun`, or by `oshrun` itself.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

use crate::finding::Finding;
use crate::layout::header;
use crate::remote::{Address, Connection};
use crate::shared::Shared;
use crate::sites::UNKNOWN;

/// The records.
#[derive(Debug)]
pub(crate) enum Records {
    Here(Shared),
    There(Connection),
}

impl Records {
    /// Those of PE `me` of `n_pes`, from what `oshrun` has given it. None if the job is another, which a checked one
    /// has started.
    pub(crate) fn open(word: &str, me: usize, n_pes: usize) -> io::Result<Option<Self>> {
        if let Some(address) = Address::of_word(word) {
            return Ok(Connection::open(&address, me, n_pes)?.map(Self::There));
        }
        let Ok(descriptor) = word.parse() else {
            return Ok(None);
        };
        // SAFETY: oshrun leaves the descriptor to this process, and nothing else in it takes it.
        let file = unsafe { File::from_raw_fd(descriptor) };
        let shared = Shared::open(&file);
        // Open from now on: children of the program may be programs of the job, too.
        std::mem::forget(file);
        let shared = shared.ok().filter(|shared| shared.get(header::N_PES) == n_pes as u64);
        if let Some(shared) = &shared {
            shared.add(header::CHECKED, 1);
        }
        Ok(shared.map(Self::Here))
    }

    /// What is checked.
    pub(crate) fn mode(&self) -> u64 {
        match self {
            Self::Here(shared) => shared.get(header::MODE),
            Self::There(connection) => connection.mode,
        }
    }

    /// The number of a call of `routine` at a place of a file of code.
    pub(crate) fn site(&self, routine: &str, (object, place): (Option<String>, u64)) -> u32 {
        match self {
            Self::Here(shared) => shared.site_in(routine, object.as_deref(), place),
            Self::There(connection) => connection.site(routine, object.as_deref(), place).unwrap_or(UNKNOWN),
        }
    }

    /// The number of a file of code.
    pub(crate) fn object(&self, path: &str) -> Option<u32> {
        match self {
            Self::Here(shared) => shared.object(path),
            Self::There(connection) => connection.object(path),
        }
    }

    /// Adds a finding.
    pub(crate) fn report(&self, found: &Finding) {
        match self {
            Self::Here(shared) => shared.report(found),
            Self::There(connection) => connection.report(found),
        }
    }

    /// Sets a word of the header to 1.
    pub(crate) fn raise(&self, header: usize) {
        match self {
            Self::Here(shared) => shared.set(header, 1),
            Self::There(connection) => connection.raise(header),
        }
    }
}
