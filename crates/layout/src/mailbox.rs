//! What PEs of other nodes write to one PE, and read of it, over the fabric.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use ferroshmem_fabric::TaggedMessage;

use crate::agreement::{AgreementWords, MAX_RESILIENT_NODES, MAX_RESILIENT_PES};
use crate::pe_block::TeamIds;
use crate::team_slot::FLAGS;
use crate::{MAX_PES, MAX_TEAMS};

/// The same where it comes over the fabric: half of each word says that the other half is there.
pub const MESSAGE_BYTES: usize = TaggedMessage::BYTES;

/// What PEs of other nodes write to one PE, and read of it, over the fabric.
#[repr(C)]
pub struct Mailbox {
    /// Heartbeats, the failure notice, and team ids in use.
    pub status: StatusArea,
    /// For some team ids: what leaders of node groups send each other in reductions.
    pub rendezvous: [RendezvousBuffers; 2 * RENDEZVOUS_TEAMS],
    /// One for each team id, and one for its shadow.
    pub teams: [[TeamMailbox; 2]; MAX_TEAMS],
}

/// The first teams, and the first active sets, that have rendezvous buffers: no more, because
/// devices may pin this memory.
pub const RENDEZVOUS_TEAMS: usize = 4;

/// Bytes of a rendezvous buffer.
pub const RENDEZVOUS_BYTES: usize = 64 << 10;

/// Rendezvous buffers of an epoch: one for each round, and one for an extra rank.
pub const RENDEZVOUS_BUFFERS: usize = MAX_PES.ilog2() as usize + 1;

/// The rendezvous buffers of a team, for even and odd epochs.
#[repr(C, align(4096))]
pub struct RendezvousBuffers {
    /// Buffer k of an epoch.
    pub buffers: [[RendezvousBuffer; RENDEZVOUS_BUFFERS]; 2],
}

/// [`RENDEZVOUS_BYTES`] bytes.
#[repr(C, align(64))]
pub struct RendezvousBuffer(pub UnsafeCell<[u8; RENDEZVOUS_BYTES]>);

// SAFETY: as for `FlagValue`, in the order that the flag of the message gives.
unsafe impl Sync for RendezvousBuffer {}

/// What the failure detectors of other PEs write, and what team splits read.
#[repr(C, align(4096))]
pub struct StatusArea {
    /// Number of the last heartbeat from the node before this one in a ring.
    pub heartbeat: AtomicU64,
    /// Which PE has failed and why, once it is known; 0 before.
    pub failure_notice: AtomicU64,
    /// For how long the nodes before this one in the ring have made no progress.
    pub stall: AtomicU64,
    /// Team ids in use on this PE, if the job has several nodes.
    pub team_ids: TeamIds,
    /// In a resilient job, of the first PE of the node: until when the node may go on, in milliseconds; 0: for ever.
    pub lease: AtomicU64,
    /// In a resilient job: a [`Fate`] for each PE of another node, by its number.
    pub fates: [AtomicU8; MAX_RESILIENT_PES],
    /// In a resilient job: what the leader of each node has last said to this PE, if that leads its node.
    pub ballots: [AtomicU64; MAX_RESILIENT_NODES],
}

/// What has become of a PE, as a PE of its node says to those of other nodes in a resilient job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// Nothing that the other does not know.
    Lives = 0,
    /// It has failed.
    Failed = 1,
    /// It says itself that it needs nothing of this PE any more, in `shmem_finalize`.
    Left = 2,
}

/// A team's flags and values on one PE, written by its other members, for even and odd epochs.
#[repr(C, align(4096))]
pub struct TeamMailbox {
    /// Between the leaders of the team's node groups.
    pub leaders: MailboxPage,
    /// Between all members.
    pub all: MailboxPage,
}

/// The words of a cache line that holds a [`TaggedMessage`].
#[repr(C, align(64))]
pub struct TaggedLine {
    /// Half value, half the number of the epoch that it belongs to.
    pub words: [AtomicU64; TaggedMessage::WORDS],
}

/// Small values, and the owner's count of epochs.
#[repr(C, align(4096))]
pub struct MailboxPage {
    /// The flags, with their values.
    pub flags: [[TaggedLine; FLAGS]; 2],
    /// Epochs that the owner has begun, by all teams that have used the page.
    pub epoch: AtomicU32,
    /// Values for the other members, for even and odd epochs.
    pub value: [AtomicU64; 2],
    /// Digest of the arguments of the collective entered last (`SHMEM_CHECK=1`).
    pub call: [AtomicU64; 6],
    /// In a resilient job: 1 once a member has revoked the team.
    pub revoked: AtomicU32,
    /// In a resilient job: the owner's part in the team's agreements.
    pub agreement: AgreementWords,
}

const _: () = {
    assert!(size_of::<StatusArea>() == 4096 + MAX_RESILIENT_PES + 8 * MAX_RESILIENT_NODES);
    assert!(size_of::<TeamMailbox>() == 8192);
    assert!(size_of::<TaggedLine>() == 64);
};
