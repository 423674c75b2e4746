//! The messages by which two jobs connect at a port. The last two keep the end of one group until then from being the
//! other's.
//!
//! | from | message | with |
//! |---|---|---|
//! | who connects | `CONNECT` | version, number of members, [`INDEPENDENT`], the secret; the job's memory |
//! | who accepts | `WELCOME`, or `REFUSED` | number of the connection; both memories, a socket for `oshrun` |
//! | who connects | `READY` | |
//! | who accepts | `DONE` | |

pub(super) const CONNECT: u32 = 0x7368_6d31;
/// Added to the number of members if the jobs are to end independently.
pub(super) const INDEPENDENT: u32 = 1 << 31;
pub(super) const WELCOME: u32 = 2;
pub(super) const REFUSED: u32 = 3;
pub(super) const READY: u32 = 4;
pub(super) const DONE: u32 = 5;
