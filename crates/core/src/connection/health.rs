//! The health of a connection between nodes whose groups are independent, as one of its PEs sees it.
//!
//! Whoever finds first that a member is gone, by its link or by the fabric, closes its own link. So the coordinator
//! finds that one, closes all, and each PE sees that. What is under way in the fabric is given up then.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ferroshmem_fabric::Fabric;

use crate::wait::rendezvous;

/// How far a connection is, and what is closed when it fails.
#[derive(Debug)]
pub struct Health {
    /// A [`ConnectionState`](ferroshmem_layout::ConnectionState), as long as that may change.
    state: Mutex<Option<&'static AtomicU32>>,
    link: OnceLock<TcpStream>,
    fabric: OnceLock<Weak<Fabric>>,
}

impl Health {
    /// Of a connection whose members are missing.
    pub fn new(state: &'static AtomicU32) -> Self {
        Self { state: Mutex::new(Some(state)), link: OnceLock::new(), fabric: OnceLock::new() }
    }

    fn state(&self) -> MutexGuard<'_, Option<&'static AtomicU32>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The link by which this PE hears of the others.
    pub(super) fn set_link(&self, link: TcpStream) {
        let _ = self.link.set(link);
    }

    /// All members have come, and are reached by this fabric. False: one of them is gone already.
    pub(super) fn begin(&self, fabric: &Arc<Fabric>) -> bool {
        let _ = self.fabric.set(Arc::downgrade(fabric));
        self.state().is_some_and(rendezvous::connect)
    }

    /// A member is gone.
    pub fn fail(&self) {
        let state = self.state();
        let Some(word) = *state else {
            return;
        };
        rendezvous::end(word);
        self.close_link();
        if let Some(fabric) = self.fabric.get().and_then(Weak::upgrade) {
            fabric.shut_down();
        }
    }

    /// All members have parted: what happens to one of them is of no matter any more.
    pub(super) fn end(&self) {
        *self.state() = None;
    }

    /// This PE gives the connection up, if it has not ended. The fabric may be closed then.
    pub(super) fn close(&self) {
        if self.state().take().is_some() {
            self.close_link();
        }
    }

    fn close_link(&self) {
        if let Some(link) = self.link.get() {
            // If it is not connected any more, the coordinator has closed it.
            let _ = link.shutdown(Shutdown::Both);
        }
    }
}
