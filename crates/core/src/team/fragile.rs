//! What may end waits for the members of a team.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::Health;
use crate::connection::Connection;
use crate::wait::Ending;

/// What may end waits for the members of a team.
#[derive(Debug)]
pub enum Fragile {
    /// The end of a group of this connection, whose members these are.
    Connection(Arc<Connection>),
    /// The failure of a member, in a resilient job.
    Members(Health),
}

impl Fragile {
    /// The connection.
    #[inline]
    pub fn connection(&self) -> Option<&Connection> {
        match self {
            Self::Connection(connection) => Some(connection),
            Self::Members(_) => None,
        }
    }

    /// Whether it has happened. Out of line: collectives of most teams have nothing to ask.
    #[inline(never)]
    pub fn has_failed(&self) -> bool {
        match self {
            Self::Members(health) => health.has_failed(),
            Self::Connection(connection) => connection.has_failed(),
        }
    }

    /// Whether that is known without a look.
    #[inline]
    pub fn is_known_failed(&self) -> bool {
        match self {
            Self::Members(health) => health.is_known_failed(),
            Self::Connection(_) => self.has_failed(),
        }
    }

    /// Where waits look for it, if it may happen.
    pub(crate) fn ending(&self) -> Option<&dyn Ending> {
        match self {
            Self::Connection(connection) => connection.watched_state().map(|state| state as &dyn Ending),
            Self::Members(health) => Some(health),
        }
    }
}

/// That of one team, or nothing: a pointer, so that each collective of a team that nothing may end tests one word.
#[derive(Debug, Default)]
pub struct OnceFragile(AtomicPtr<Fragile>);

impl OnceFragile {
    /// What may end waits, from the beginning.
    pub fn new(fragile: Fragile) -> Self {
        Self(AtomicPtr::new(Box::into_raw(Box::new(fragile))))
    }

    /// What may end waits, if anything may.
    #[inline(always)]
    pub fn get(&self) -> Option<&Fragile> {
        // SAFETY: null, or a box that lives until this is dropped.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// From now on, this may; unless something may already.
    pub fn set(&self, fragile: Fragile) {
        let mut new = Self::new(fragile);
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if self.0.compare_exchange(ptr::null_mut(), *new.0.get_mut(), order.0, order.1).is_ok() {
            *new.0.get_mut() = ptr::null_mut();
        }
    }
}

impl Drop for OnceFragile {
    fn drop(&mut self) {
        let fragile = *self.0.get_mut();
        if !fragile.is_null() {
            // SAFETY: a box that was set here; the references that `get` gave have ended.
            drop(unsafe { Box::from_raw(fragile) });
        }
    }
}
