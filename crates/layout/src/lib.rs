//! The job's shared memory: one sparse file that every PE of the node maps.
//!
//! ```text
//! offset 0          Header                      one page, written by the launcher
//! EXPORTS           Exports                     what PEs of other jobs may import, by name
//! FAILURES          Failures                    which PEs of a resilient job have failed
//! LOCALITIES        u32 × n_pes                 on which socket each PE runs
//! pe_block(0)       PeBlock × n_pes             who is where, what it waits for
//! slots_offset      TeamSlot × n_pes × teams    team-major: the world team first, each team's shadow after it
//! inbox(0)          Inbox × n_pes               messages to each PE
//! heap(0)           slot_size × n_pes           the symmetric heaps
//! globals(0)        slot_size × n_pes           the global variables
//! mailboxes(0)      MAILBOX × n_pes             what PEs of other nodes write
//! streams(0)        STREAM_AREA × n_pes         rings and frames of streams, lines of graphs, tables of teams
//! ```
//!
//! Numbers of PEs are those among the node's PEs here: of a job on several nodes each has a
//! file of its own.
//!
//! Nothing is reserved: the file is sparse, and a page exists once it is touched.
//! The launcher and the library share this one description; [`VERSION`] keeps a
//! launcher and a library of different builds apart.
//!
//! It knows what has room in a flag or a record (`tuning`, `fabric`) and what lies in a page (`platform`). It says
//! where things are and who writes them; the crates over it know when.

mod agreement;
mod calls;
mod checked;
mod counters;
mod declaration;
mod exports;
mod failures;
mod header;
pub mod inbox;
mod mailbox;
mod offsets;
mod operation;
mod pe_block;
pub mod profile;
mod team_slot;
mod wait_record;

pub use agreement::{
    AgreementNumber, AgreementRecord, AgreementWords, Decision, Known, MAX_RESILIENT_NODES, MAX_RESILIENT_PES, Proposal,
};
pub use calls::{CallLines, Finished};
pub use checked::{CheckedCall, CheckedLibrary, Text};
pub use counters::{Count, Counter, Counters};
pub use declaration::{DECLARATION_BYTES, DeclarationWords};
pub use exports::{EXPORT_NAME, ExportError, Exported, ExportedObject, Exports, MAX_EXPORTS};
pub use failures::{Failures, MAX_FAILURES};
pub use ferroshmem_tuning::{FLAG_BYTES, RING_BYTES, RING_ENTRIES, SHORT_RING_ENTRIES};
pub use header::{ConnectionState, Header};
pub use mailbox::{
    Fate, MESSAGE_BYTES, Mailbox, MailboxPage, RENDEZVOUS_BUFFERS, RENDEZVOUS_BYTES, RENDEZVOUS_TEAMS,
    RendezvousBuffer, RendezvousBuffers, StatusArea, TaggedLine, TeamMailbox,
};
pub use offsets::{EXPORTS, FAILURES, LOCALITIES, Offsets, REFUSED, STREAM_AREA};
pub use operation::Operation;
pub use pe_block::{PeBlock, PeState, SHOWN_LOCKS, SignalLine, THREAD_MULTIPLE, TeamIds};
pub use team_slot::{
    EagerBuffer, FLAGS, FlagLine, FlagValue, GatheringLine, OwnLine, PublishedLine, ReleaseLine, RingEntry, RingPages,
    RingValue, SMALL, ShortRing, SmallValue, TableLine, TakenLine, TeamSlot,
};
pub use wait_record::{SIGNED, WaitKind, WaitRecord, name_from_words, name_to_words};

/// First word of the region.
pub const MAGIC: u64 = 0x6665_7272_6f73_6801;

/// Changes whenever a type in this module does.
pub const VERSION: u32 = 30;

/// Most PEs of one node: `MAX_PES` windows of 4 GiB still fit the address space twice.
pub const MAX_PES: usize = 4096;

/// Most teams that can be alive at once on one PE, [`ACTIVE_SETS`] included.
pub const MAX_TEAMS: usize = 8192;

/// How many of those, the last ones, are kept for active sets.
pub const ACTIVE_SETS: usize = 1024;

/// Added to a team's id, which is less: the number of its shadow, whose slots and mailboxes its non-blocking
/// collectives use.
pub const SHADOW: usize = 1 << 16;

/// Where the slots and mailboxes of a team, or of a team's shadow, are among those of all: beside each other, so that
/// what a job uses begins with the first.
pub const fn place_of(team: usize) -> usize {
    team % SHADOW * 2 + team / SHADOW
}

/// The digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();
