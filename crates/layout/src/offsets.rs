//! Where things are in the file of a job.

use std::sync::atomic::AtomicU32;

use ferroshmem_platform::mapping::HUGE_PAGE;

use crate::exports::Exports;
use crate::failures::Failures;
use crate::inbox::Inbox;
use crate::mailbox::Mailbox;
use crate::pe_block::PeBlock;
use crate::team_slot::TeamSlot;
use crate::{MAX_TEAMS, place_of};

/// Bytes of the header, and offset of [`Exports`].
pub const EXPORTS: usize = 4096;

/// Offset of the word by which PEs that cannot join their job agree on which one says why. It is there in every
/// version, behind the header: such a PE is mostly of another one, and knows no other part of the memory.
pub const REFUSED: usize = EXPORTS - size_of::<AtomicU32>();

/// Offset of [`Failures`].
pub const FAILURES: usize = EXPORTS + size_of::<Exports>();

/// Offset of the words that say where PEs run ([`Locality`](ferroshmem_platform::socket::Locality)).
pub const LOCALITIES: usize = FAILURES + size_of::<Failures>();

/// Bytes of a PE's memory for streams, of which those exist that are used.
pub const STREAM_AREA: usize = 256 << 20;

/// Where things are in the file of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    n_pes: usize,
    slot_size: u64,
}

impl Offsets {
    /// Offsets for a job of `n_pes` PEs with `slot_size` bytes of file each.
    pub fn new(n_pes: usize, slot_size: u64) -> Self {
        Self { n_pes, slot_size }
    }

    /// Byte offset of the word that says where PE `pe` runs.
    pub fn place(&self, pe: usize) -> usize {
        LOCALITIES + pe * size_of::<AtomicU32>()
    }

    /// Byte offset of PE `pe`'s block.
    pub fn pe_block(&self, pe: usize) -> usize {
        let blocks = self.place(self.n_pes).next_multiple_of(size_of::<PeBlock>());
        blocks + pe * size_of::<PeBlock>()
    }

    /// Byte offset of PE `pe`'s slot of team `team`, an id or a shadow's number.
    pub fn team_slot(&self, team: usize, pe: usize) -> usize {
        self.pe_block(self.n_pes) + (place_of(team) * self.n_pes + pe) * size_of::<TeamSlot>()
    }

    /// Byte offset of PE `pe`'s inbox.
    pub fn inbox(&self, pe: usize) -> usize {
        self.team_slot(MAX_TEAMS, 0) + pe * size_of::<Inbox>()
    }

    /// Bytes of the control part: all that comes before the heaps.
    pub fn control_size(&self) -> usize {
        self.inbox(self.n_pes).next_multiple_of(HUGE_PAGE)
    }

    /// Byte offset in the file of PE `pe`'s heap.
    pub fn heap(&self, pe: usize) -> u64 {
        self.control_size() as u64 + pe as u64 * self.slot_size
    }

    /// Byte offset in the file of PE `pe`'s globals.
    pub fn globals(&self, pe: usize) -> u64 {
        self.heap(self.n_pes + pe)
    }

    /// Byte offset in the file of PE `pe`'s mailbox.
    pub fn mailbox(&self, pe: usize) -> u64 {
        self.globals(self.n_pes) + (pe * size_of::<Mailbox>()) as u64
    }

    /// Byte offset in the file of PE `pe`'s memory for streams.
    pub fn streams(&self, pe: usize) -> u64 {
        let areas = self.mailbox(self.n_pes).next_multiple_of(HUGE_PAGE as u64);
        areas + (pe * STREAM_AREA) as u64
    }

    /// Bytes of the whole file.
    pub fn file_size(&self) -> u64 {
        self.streams(self.n_pes)
    }
}

const _: () = {
    assert!(LOCALITIES.is_multiple_of(4096));
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MAX_PES, SHADOW};

    /// What is mapped by itself begins with a page, also where pages have 64 KiB.
    #[test]
    fn mapped_parts_begin_with_a_page() {
        for n_pes in [1, 3, 17] {
            let o = Offsets::new(n_pes, 1 << 32);
            for start in [o.heap(0), o.globals(0), o.mailbox(0), o.streams(0), o.streams(1)] {
                assert!(start.is_multiple_of(64 << 10), "{start} with {n_pes} PEs");
            }
        }
    }

    #[test]
    fn parts_of_the_file_do_not_overlap() {
        let o = Offsets::new(3, 1 << 32);
        assert_eq!(o.place(0), LOCALITIES);
        assert_eq!(o.pe_block(0), LOCALITIES + 4096);
        let many = Offsets::new(MAX_PES, 1 << 32);
        assert!(many.pe_block(0) >= many.place(MAX_PES));
        assert!(o.team_slot(0, 0) >= o.pe_block(2) + size_of::<PeBlock>());
        assert_eq!(o.team_slot(SHADOW, 0), o.team_slot(0, 2) + size_of::<TeamSlot>());
        assert_eq!(o.team_slot(1, 0), o.team_slot(SHADOW, 2) + size_of::<TeamSlot>());
        assert_eq!(o.inbox(0), o.team_slot(SHADOW + MAX_TEAMS - 1, 2) + size_of::<TeamSlot>());
        assert_eq!(o.heap(2) - o.heap(1), 1 << 32);
        assert_eq!(o.globals(0), o.heap(2) + (1 << 32));
        assert_eq!(o.mailbox(0), o.globals(2) + (1 << 32));
        assert!(o.streams(0) >= o.mailbox(2) + size_of::<Mailbox>() as u64);
        assert_eq!(o.file_size(), o.streams(2) + STREAM_AREA as u64);
    }
}
