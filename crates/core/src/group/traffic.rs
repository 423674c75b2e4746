//! Bytes that a collective reads and writes, counted in tests only: tests compare them with the
//! algorithm's formula.

#[cfg(any(test, feature = "simulation"))]
use std::cell::Cell;

use super::Group;

/// Bytes moved by one PE in one collective call.
#[derive(Debug, Default)]
pub struct Traffic {
    #[cfg(any(test, feature = "simulation"))]
    read: Cell<usize>,
    #[cfg(any(test, feature = "simulation"))]
    written: Cell<usize>,
    /// Bytes of members on other sockets, read or written, and flags posted to them.
    #[cfg(any(test, feature = "simulation"))]
    crossed: Cell<(usize, usize)>,
}

impl Traffic {
    /// Counts bytes read and written.
    #[cfg(any(test, feature = "simulation"))]
    pub fn moved(&self, read: usize, written: usize) {
        self.read.set(self.read.get() + read);
        self.written.set(self.written.get() + written);
    }

    /// Counts nothing.
    #[cfg(not(any(test, feature = "simulation")))]
    #[inline(always)]
    pub fn moved(&self, _read: usize, _written: usize) {}

    /// Bytes of members on other sockets that were read or written, and flags that were posted to them.
    #[cfg(any(test, feature = "simulation"))]
    pub fn crossed(&self) -> (usize, usize) {
        self.crossed.get()
    }

    /// Bytes read and bytes written.
    #[cfg(any(test, feature = "simulation"))]
    pub fn total(&self) -> (usize, usize) {
        (self.read.get(), self.written.get())
    }
}

impl Group<'_> {
    /// Counts an access to these bytes, if they are of a member on another socket.
    #[cfg(any(test, feature = "simulation"))]
    pub fn touches(&self, at: *const u8, bytes: usize) {
        let (Some(sockets), Some(owner)) = (self.sockets(), super::threads::owner(at.addr())) else {
            return;
        };
        if sockets.of(owner) != sockets.own {
            let (crossed, flags) = self.traffic.crossed.get();
            self.traffic.crossed.set((crossed + bytes, flags));
        }
    }

    /// Counts nothing.
    #[cfg(not(any(test, feature = "simulation")))]
    #[inline(always)]
    pub fn touches(&self, _at: *const u8, _bytes: usize) {}

    /// Counts a flag posted to `member`, if it is on another socket.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn posts(&self, member: usize) {
        if self.sockets().is_some_and(|sockets| sockets.of(member) != sockets.own) {
            let (bytes, flags) = self.traffic.crossed.get();
            self.traffic.crossed.set((bytes, flags + 1));
        }
    }

    /// Counts nothing.
    #[cfg(not(any(test, feature = "simulation")))]
    #[inline(always)]
    pub(super) fn posts(&self, _member: usize) {}
}
