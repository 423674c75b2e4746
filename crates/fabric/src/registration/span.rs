//! A range of whole pages.

use std::io;

use ferroshmem_platform::machine::page_size;

/// The addresses from `start` up to, but without, `end`: both are at pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    /// The pages that hold the `len` bytes from `start`: at least one. An error if there are
    /// no such addresses.
    pub(super) fn of(start: usize, len: usize) -> io::Result<Span> {
        let page = page_size();
        let end = start
            .checked_add(len.max(1))
            .and_then(|end| end.checked_next_multiple_of(page))
            .ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Span { start: start / page * page, end })
    }

    /// Length in bytes.
    pub(super) fn len(self) -> usize {
        self.end - self.start
    }

    pub(super) fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub(super) fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }
}
