//! Collectives of teams whose members are on several nodes: within a node by loads and stores,
//! between nodes by puts and gets, where possible between one member of each node group alone
//! ([`Subgroups`](ferroshmem_core::group::Subgroups)).
//!
//! Arrays are named by this PE's address. Pointers to other members' arrays exist only for members
//! of this PE's node group.

mod call;
mod fallback;
mod movement;
mod reduction;

pub use call::InternodeCall;
pub use movement::{Place, alltoall, alltoalls, alltoallv, broadcast, collect, fcollect, gather};
pub use reduction::{reduce, scan};
