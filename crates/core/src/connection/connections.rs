//! The connections of a PE.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Connection;
use super::remote_job::RemoteJob;
use crate::handle::Table;

/// The connections of this PE.
#[derive(Debug, Default)]
pub struct Connections {
    table: Table<Arc<Connection>>,
    used: AtomicBool,
    /// Those with jobs on other nodes.
    n_remote: AtomicUsize,
}

impl Connections {
    /// Adds a connection; its place in the table, None if there is no room.
    pub fn insert(&self, connection: Arc<Connection>) -> Option<usize> {
        self.used.store(true, Ordering::Relaxed);
        if connection.remote().is_some() {
            self.n_remote.fetch_add(1, Ordering::Release);
        }
        self.table.insert(|_| connection)
    }

    /// Whether there has been a connection.
    pub fn has_been_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes the connection at a place out.
    pub fn remove(&self, index: usize) {
        if let Some(connection) = self.table.remove(index) {
            if connection.remote().is_some() {
                self.n_remote.fetch_sub(1, Ordering::Relaxed);
            }
            self.table.give_back(index);
        }
    }

    /// Whether there are jobs on other nodes.
    #[inline]
    pub fn has_remote(&self) -> bool {
        self.n_remote.load(Ordering::Acquire) != 0
    }

    /// The jobs on other nodes.
    pub fn remote(&self) -> impl Iterator<Item = &RemoteJob> {
        self.iter().filter_map(|(_, connection)| connection.remote())
    }

    /// Completes what is done to PEs of jobs on other nodes.
    #[inline]
    pub fn quiet(&self) {
        if self.has_remote() {
            self.remote().for_each(RemoteJob::quiet);
        }
    }

    /// What is done to PEs of jobs on other nodes comes before what is done to them later.
    #[inline]
    pub fn fence(&self) {
        if self.has_remote() {
            self.remote().for_each(RemoteJob::fence);
        }
    }

    /// All connections with their places.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Arc<Connection>)> {
        self.table.iter()
    }

    /// The connection that PE `pe` is reached by, and its number among the members.
    pub fn find(&self, pe: usize) -> Option<(&Connection, usize)> {
        let mut all = self.table.iter();
        all.find_map(|(_, connection)| Some((&**connection, connection.member(pe)?)))
    }
}
