//! What joins this node with the others of a job: the fabric between their PEs ([`link`]), and the
//! watch that notices when one is gone ([`watch`]). A job on one node has none of it.
//!
//! Everything above goes by one distinction: a PE is *here* (its memory is mapped) or *there*
//! ([`crate::symmetric::Target`]). Collectives cross nodes in [`crate::collective::across`].

mod departure;
mod link;
mod overview;
pub(crate) mod segment;
mod watch;

pub(crate) use link::Link;
pub(crate) use overview::describe;
