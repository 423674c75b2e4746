//! Calls, as they are recorded.

use ferroshmem_layout::profile::Kind;

/// The PEs that a call concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// None in particular.
    None,
    /// This PE of the world.
    Pe(usize),
    /// The members of a team or active set, and the root.
    Team {
        /// Its [PEs](ferroshmem_core::team::Members::triplet).
        members: (i32, i32, u32),
        /// The team's id, or [`ferroshmem_layout::profile::team::ACTIVE_SET`]; above 33 bits what
        /// [tells lists of PEs apart](ferroshmem_core::team::Members::digest).
        id: u64,
        /// The root's number in the team.
        root: u32,
    },
}

/// A call, as it is recorded.
#[derive(Debug, Clone, Copy)]
pub struct RecordedCall {
    /// C name of the routine, or path of the method.
    pub routine: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Whom it concerns.
    pub scope: Scope,
    /// Bytes moved, of this PE.
    pub bytes: usize,
    /// A symmetric address, or 0.
    pub address: usize,
    /// A second one: the signal of a put.
    pub signal: usize,
}
