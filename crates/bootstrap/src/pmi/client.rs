//! A [`Bootstrap`] over either protocol.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::chunks;
use super::store::{PARENTS, Session, Store};
use super::wire::Sender;
use crate::environment::{PMI_SPAWNED, value};
use crate::mpi;
use crate::{Bootstrap, Error, Program};

/// Exchanges of this process so far, over all clients: the server retains the keys of a client
/// that the process has finalized.
static ROUND: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(super) struct Client<S> {
    launcher: String,
    rank: usize,
    size: usize,
    store: Mutex<S>,
    /// Not under the lock: a job can be ended while a thread waits in an exchange.
    sender: Sender,
    /// What keeps MPICH's connection, which it finalizes.
    mpi: Option<mpi::Session>,
}

impl<S: Store> Client<S> {
    pub(super) fn new(session: Session<S>, launcher: &str, protocol: &str, mpi: Option<mpi::Session>) -> Self {
        Self {
            launcher: format!("{launcher}, by {protocol}"),
            rank: session.rank,
            size: session.size,
            sender: session.store.wire().sender(),
            store: Mutex::new(session.store),
            mpi,
        }
    }

    fn store(&self) -> MutexGuard<'_, S> {
        // A thread that panicked in a call leaves answers unread, which the next call notices.
        self.store.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl<S: Store> Bootstrap for Client<S> {
    fn launcher(&self) -> &str {
        &self.launcher
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut store = self.store();
        let round = ROUND.fetch_add(1, Ordering::Relaxed);
        chunks::exchange(&mut *store, round, self.rank, self.size, mine)
    }

    fn barrier(&self) -> Result<(), Error> {
        let result = match S::FENCE_IS_BARRIER {
            true => self.store().fence(),
            // A process has the values of all only once all have called.
            false => self.exchange(&[]).map(drop),
        };
        result.map_err(|error| match self.mpi.is_none() && mpi::has_finalized() {
            true => Error::ClosedByMpi,
            false => error,
        })
    }

    fn abort(&self, status: i32, message: &str) {
        self.sender.send(&S::abort_message(status, message));
    }

    fn start(&self, programs: &[Program<'_>], parents: &str) -> Result<Option<OwnedFd>, Error> {
        match self.store().start(programs, parents)? {
            true => Ok(None),
            false => Err(Error::StartsNone(self.launcher.clone())),
        }
    }

    fn parents(&self) -> Option<String> {
        value(&PMI_SPAWNED).filter(|spawned| spawned != "0")?;
        // A program of MPI may have started this job, without that.
        self.store().get(PARENTS).ok()
    }

    fn finalize(&self) {
        if let Some(session) = &self.mpi {
            session.close();
        } else if !mpi::finalizes() {
            // A launcher that has ended already needs no message.
            let _ = self.store().finalize();
        }
    }
}
