//! The mailboxes of a node's PEs, mapped: only where there are other nodes to write to them.

use std::fs::File;
use std::io;
use std::ptr::NonNull;

use super::part;
use ferroshmem_layout::{
    ACTIVE_SETS, MAX_TEAMS, Mailbox, Offsets, RENDEZVOUS_BUFFERS, RENDEZVOUS_BYTES, RENDEZVOUS_TEAMS,
    RendezvousBuffers, SHADOW, StatusArea, TeamMailbox, place_of,
};

/// The mapped mailboxes of the node. Live until the process ends.
#[derive(Debug, Clone, Copy)]
pub struct Mailboxes {
    first: NonNull<Mailbox>,
    n_pes: usize,
}

// SAFETY: all that is reachable is atomic, or accessed by raw pointers in the order of flags.
unsafe impl Send for Mailboxes {}
// SAFETY: as above.
unsafe impl Sync for Mailboxes {}

impl Mailboxes {
    /// Maps those of a node of `n_pes` PEs.
    pub fn map(file: &File, offsets: Offsets, n_pes: usize) -> io::Result<Self> {
        let len = n_pes * size_of::<Mailbox>();
        Ok(Self { first: part::map(file, offsets.mailbox(0), len, part::MAILBOXES_AT)?.cast(), n_pes })
    }

    /// PE `index`'s of the node, as memory.
    pub fn of(&self, index: usize) -> *mut u8 {
        assert!(index < self.n_pes);
        // SAFETY: within the mapping.
        unsafe { self.first.as_ptr().add(index).cast() }
    }

    /// PE `index`'s status area.
    pub fn status(&self, index: usize) -> &'static StatusArea {
        // SAFETY: mapped for good; every bit pattern is valid, and all of it is atomic.
        unsafe { &*self.of(index).add(STATUS).cast() }
    }

    /// PE `index`'s mailbox for team `team`.
    pub fn team_mailbox(&self, index: usize, team: usize) -> &'static TeamMailbox {
        // SAFETY: as in `status`; there is one for each team id.
        unsafe { &*self.of(index).add(team_mailbox_offset(team)).cast() }
    }
}

/// Byte offset of the status area in a mailbox.
pub const STATUS: usize = std::mem::offset_of!(Mailbox, status);

/// Byte offset in a mailbox of rendezvous buffer `k` of a team's epochs of a parity; None for teams
/// without rendezvous buffers.
pub fn rendezvous_offset(team: usize, parity: usize, k: usize) -> Option<usize> {
    const SETS: usize = MAX_TEAMS - ACTIVE_SETS;
    debug_assert!(parity < 2 && k < RENDEZVOUS_BUFFERS);
    let place = match team {
        0..RENDEZVOUS_TEAMS => team,
        SETS.. if team - SETS < RENDEZVOUS_TEAMS => RENDEZVOUS_TEAMS + team - SETS,
        _ => return None,
    };
    let number = parity * RENDEZVOUS_BUFFERS + k;
    let buffers = std::mem::offset_of!(Mailbox, rendezvous);
    Some(buffers + place * size_of::<RendezvousBuffers>() + number * RENDEZVOUS_BYTES)
}

/// Byte offset of the part of a mailbox of a team, an id or a shadow's number.
pub fn team_mailbox_offset(team: usize) -> usize {
    debug_assert!(team % SHADOW < MAX_TEAMS);
    std::mem::offset_of!(Mailbox, teams) + place_of(team) * size_of::<TeamMailbox>()
}
