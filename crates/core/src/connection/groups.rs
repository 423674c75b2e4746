//! The two groups of a connection.

use std::ops::Range;

use crate::memory::IN_GLOBALS;

/// What a PE brings into a connection.
#[derive(Debug, Clone, Copy)]
pub struct Role {
    /// 0: its group was there first; 1: it was started for that one, or connected with it.
    pub group: usize,
    /// Its number in its group.
    pub index: usize,
    /// The number of its group's first member.
    pub first: usize,
    /// Whether floating-point sums must not depend on the order of their operands.
    pub reproducible: bool,
    /// Whether the other group has started its own: that may call its kernels.
    pub is_started: bool,
    /// Whether it is the first of its group on its node.
    pub is_leader: bool,
}

/// The two groups of a connection, as one PE sees them.
#[derive(Debug)]
pub struct Groups {
    /// Members of each group.
    pub sizes: [usize; 2],
    /// The group that this PE is of.
    pub own: usize,
    /// Where the members' heaps are, and their globals.
    pub heaps: Box<[usize]>,
    /// See [`heaps`](Self::heaps).
    pub globals: Box<[usize]>,
}

impl Groups {
    /// Of so many members, as one of group `own` sees them before it has mapped their memory.
    pub(crate) fn new(sizes: [usize; 2], own: usize) -> Self {
        Self { sizes, own, heaps: Box::default(), globals: Box::default() }
    }

    /// The members of a group.
    pub fn of(&self, group: usize) -> Range<usize> {
        match group {
            0 => 0..self.sizes[0],
            _ => self.sizes[0]..self.sizes[0] + self.sizes[1],
        }
    }

    /// The members of this PE's group.
    pub fn own(&self) -> Range<usize> {
        self.of(self.own)
    }

    /// The members of the other group.
    pub fn others(&self) -> Range<usize> {
        self.of(1 - self.own)
    }

    /// The addresses of the members' objects at `place` ([`crate::memory::AddressSpace::place`]), of those that have
    /// objects there: bases, and the offset from each.
    pub fn at_place(&self, place: u64) -> (&[usize], usize) {
        match place.checked_sub(IN_GLOBALS) {
            Some(offset) => (&self.globals, offset as usize),
            None => (&self.heaps, place as usize),
        }
    }
}
