//! Collectives of teams whose members are on several nodes: within a node by loads and stores,
//! between nodes by puts and gets, where possible between one member of each part alone
//! ([`Across`](crate::group::Across) has the groups).
//!
//! Arrays go by this PE's address: pointers to other members' are for members of the own part.

mod alltoall;
mod broadcast;
mod collect;
mod plain;
mod reduce;
mod scan;

pub use alltoall::{alltoall, alltoalls};
pub use broadcast::broadcast;
pub use collect::{collect, fcollect};
pub use reduce::reduce;
pub use scan::scan;

use std::ops::Range;

use crate::group::{Across, Group, Places};
use crate::node::Node;

/// A collective whose members are not one part of a node.
pub struct Call<'a> {
    /// The library's state.
    pub node: &'a Node,
    /// The members.
    pub group: &'a Group<'a>,
    /// The groups within; None for an active set without a team.
    pub across: Option<Across<'a>>,
}

impl Call<'_> {
    /// All members, for puts and gets.
    fn all(&self) -> &Group<'_> {
        self.across
            .as_ref()
            .map_or(self.group, |across| &across.all)
    }

    /// Synchronises all members.
    fn sync(&self) {
        match &self.across {
            Some(across) => across.sync(),
            None => self.group.sync(),
        }
    }

    /// Completes what this member has put, and synchronises for the last time.
    fn leave(&self) {
        let internode = self.node.transport.remote();
        internode.fabric().quiet(&internode.context);
        match &self.across {
            Some(across) => across.sync(),
            None => self.group.leave(),
        }
    }

    /// The members' copies of an array, for puts and gets.
    fn places<T>(&self, addr: *const T) -> Places<'_, u8> {
        Places::at_stride(addr.cast_mut().cast(), 0, self.group.me)
    }

    /// Where the copies of `bytes` bytes at `addr` are that are this PE's part's.
    fn near<T>(
        &self,
        across: &Across<'_>,
        argument: &str,
        addr: *const T,
        bytes: usize,
    ) -> Places<'_, u8> {
        if bytes == 0 {
            return Places::at_stride(addr.cast_mut().cast(), 0, across.near.me);
        }
        let memory = &self.node.transport.memory;
        Places::resolve(memory, &across.near, argument, addr.cast(), bytes)
    }

    /// Members from this one on, so that not all turn to the same one at once.
    fn in_turn(&self) -> impl Iterator<Item = usize> {
        super::from_on(self.group.me, self.group.size)
    }

    /// The elements of `n` that are this member's to work on for all, if all do a part, in
    /// pieces of at most `longest` elements.
    fn pieces(&self, n: usize, longest: usize) -> impl Iterator<Item = Range<usize>> {
        let share = n.div_ceil(self.group.size);
        let start = (self.group.me * share).min(n);
        let end = (start + share).min(n);
        (start..end)
            .step_by(longest)
            .map(move |from| from..end.min(from + longest))
    }
}
