//! Bytes that a collective reads and writes, counted in tests only: tests compare them with the
//! algorithm's formula.

#[cfg(test)]
use std::cell::Cell;

/// Bytes moved by one PE in one collective call.
#[derive(Debug, Default)]
pub struct Traffic {
    #[cfg(test)]
    read: Cell<usize>,
    #[cfg(test)]
    written: Cell<usize>,
}

impl Traffic {
    /// Counts bytes read and written.
    #[cfg(test)]
    pub fn moved(&self, read: usize, written: usize) {
        self.read.set(self.read.get() + read);
        self.written.set(self.written.get() + written);
    }

    /// Counts nothing.
    #[cfg(not(test))]
    #[inline(always)]
    pub fn moved(&self, _read: usize, _written: usize) {}

    /// Bytes read and bytes written.
    #[cfg(test)]
    pub fn total(&self) -> (usize, usize) {
        (self.read.get(), self.written.get())
    }
}
