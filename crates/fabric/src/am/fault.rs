//! Why a peer cannot be served.

/// What is wrong with a peer, or with what it sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Reason {
    /// A request is about memory that is not shared.
    #[error("it requests memory that this PE does not share")]
    NotShared,
    /// No PE of this library sends this.
    #[error("it sent a message that is not one of this library's")]
    Malformed,
    /// Messages find no room.
    #[error("nothing comes back from it, and nothing can be sent")]
    Refused,
    /// libfabric's text.
    #[error("{0}")]
    Library(String),
}

/// The peer, if it is known, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub pe: Option<usize>,
    pub reason: Reason,
}

impl Reason {
    pub(super) fn of(self, pe: usize) -> Fault {
        Fault { pe: Some(pe), reason: self }
    }
}
