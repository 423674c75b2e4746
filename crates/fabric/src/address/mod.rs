//! How PEs find each other: the [`AddressBlob`] that a PE hands to the others, and the [`Peers`]
//! that were made of theirs.

mod blob;
mod peers;

pub(crate) use blob::AddressBlob;
pub(crate) use peers::{Missing, Peer, Peers, RmaIov};
