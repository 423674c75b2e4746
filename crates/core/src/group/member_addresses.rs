//! The addresses of all members' copies of a symmetric array.

use std::fmt;
use std::marker::PhantomData;

use super::Group;
use crate::connection::Connection;
use crate::failure::fatal::fatal;
use crate::memory::{Argument, SymmetricMemory};
use crate::team::Members;

/// The addresses of the members' copies of one symmetric array of `T`.
pub struct MemberAddresses<'a, T> {
    /// Member 0's copy, if copies lie at a constant distance.
    first: *mut T,
    /// Bytes from one member's copy to the next's.
    step: isize,
    /// Otherwise where the copies of the node's PEs are.
    irregular: Option<Irregular<'a>>,
    marker: PhantomData<*mut T>,
}

/// Copies that are found by the members' numbers on the node.
#[derive(Clone, Copy)]
struct Irregular<'a> {
    local: &'a Members,
    /// The copies are at `bases[pe] + offset`, or if there are none, `step` bytes from one PE to the next, of which
    /// `first` is PE 0's.
    bases: &'a [usize],
    offset: usize,
}

impl Irregular<'_> {
    /// Member `member`'s copy. Out of line, for the sake of copies at a constant distance.
    #[cold]
    #[inline(never)]
    fn of(&self, first: *mut u8, step: isize, member: usize) -> *mut u8 {
        let pe = self.local.pe(member);
        match self.bases {
            [] => first.wrapping_byte_offset(step.wrapping_mul(pe as isize)),
            bases => std::ptr::with_exposed_provenance_mut(bases[pe] + self.offset),
        }
    }
}

impl<'a, T> MemberAddresses<'a, T> {
    /// The addresses of the members' copies of the `len` bytes at `addr`. An address that is not
    /// symmetric ends the job; `argument` is its name in the prototype.
    #[inline]
    pub fn resolve(memory: &'a SymmetricMemory, group: &Group<'a>, argument: &str, addr: *const T, len: usize) -> Self {
        let argument = Argument { routine: group.name, name: argument };
        let mine = memory.own(argument, addr.cast(), len);
        if !group.is_local() {
            // Loads and stores do not reach the others' copies: see `Group::get` and `Group::put`.
            return Self::at_stride(mine.cast(), 0, group.me);
        }
        let space = memory.space;
        if let Some(connection) = group.connection() {
            return Self::resolve_connected(memory, (group, connection), argument, addr, len);
        }
        if space.at_stride() && !space.any_runs_other_program() {
            let stride = 1isize << space.log2_stride();
            return Self::in_windows(mine.cast(), stride, group);
        }
        Self::resolve_each(memory, group, argument, addr, len)
    }

    /// As [`resolve`](Self::resolve), where the members are of two jobs.
    #[cold]
    #[inline(never)]
    fn resolve_connected(
        memory: &SymmetricMemory,
        (group, connection): (&Group<'a>, &'a Connection),
        argument: Argument<'_>,
        addr: *const T,
        len: usize,
    ) -> Self {
        if !connection.is_symmetric(memory.space, addr.addr(), len) {
            let Argument { routine, name } = argument;
            fatal(
                routine,
                format_args!(
                    "{name} = {:#x} is not symmetric with the other job's PEs: use a global variable of one program, \
                        or a block at the same offset of both heaps",
                    addr.addr()
                ),
            );
        }
        let (bases, offset) = connection.copies(memory.space, addr.addr());
        Self::irregular(group.local_members(), bases, offset)
    }

    /// As [`resolve`](Self::resolve), where copies of symmetric objects may not lie at a constant
    /// distance: checks every member's copy.
    #[cold]
    #[inline(never)]
    fn resolve_each(
        memory: &'a SymmetricMemory,
        group: &Group<'a>,
        argument: Argument<'_>,
        addr: *const T,
        len: usize,
    ) -> Self {
        let local = group.local_members();
        for member in 0..group.size {
            let peer = (local.pe(member), group.pe(member));
            memory.of_node_peer(argument, addr.cast(), len, peer);
        }
        match memory.space.scattered(addr.addr()) {
            Some((bases, offset)) => Self::irregular(local, bases, offset),
            None => {
                let stride = 1isize << memory.space.log2_stride();
                Self::in_windows(addr.cast_mut(), stride, group)
            }
        }
    }
}

impl<T> Clone for MemberAddresses<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MemberAddresses<'_, T> {}

impl<T> fmt::Debug for MemberAddresses<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberAddresses")
            .field("first", &self.first)
            .field("step", &self.step)
            .field("irregular", &self.irregular.is_some())
            .finish()
    }
}

impl<'a, T> MemberAddresses<'a, T> {
    /// Copies `step` bytes apart, of which `mine` is member `me`'s.
    #[inline]
    pub fn at_stride(mine: *mut T, step: isize, me: usize) -> Self {
        let first = mine.wrapping_byte_offset(step.wrapping_mul(-(me as isize)));
        Self { first, step, irregular: None, marker: PhantomData }
    }

    /// Copies in windows that lie `stride` bytes apart, of which `mine` is this PE's.
    #[inline]
    pub(super) fn in_windows(mine: *mut T, stride: isize, group: &Group<'a>) -> Self {
        let local = group.local_members();
        match local.stride() {
            0 => Self {
                irregular: Some(Irregular { local, bases: &[], offset: 0 }),
                ..Self::at_stride(mine, stride, local.pe(group.me))
            },
            step => Self::at_stride(mine, step as isize * stride, group.me),
        }
    }

    /// Copies of the PEs `local` of a node at `bases[pe] + offset`.
    pub fn irregular(local: &'a Members, bases: &'a [usize], offset: usize) -> Self {
        let irregular = Some(Irregular { local, bases, offset });
        Self { first: std::ptr::null_mut(), step: 0, irregular, marker: PhantomData }
    }

    /// Member `member`'s copy.
    #[inline]
    pub fn of(&self, member: usize) -> *mut T {
        match &self.irregular {
            None => self.first.wrapping_byte_offset(self.step.wrapping_mul(member as isize)),
            Some(irregular) => irregular.of(self.first.cast(), self.step, member).cast(),
        }
    }

    /// The same addresses from element `i` on.
    #[inline]
    pub fn from(&self, i: usize) -> Self {
        let mut this = *self;
        this.first = this.first.wrapping_add(i);
        if let Some(irregular) = &mut this.irregular {
            irregular.offset += i * size_of::<T>();
        }
        this
    }

    /// The same addresses, as those of bytes.
    #[inline]
    pub fn bytes(&self) -> MemberAddresses<'a, u8> {
        self.cast()
    }

    /// The same addresses, as those of another type.
    #[inline]
    pub fn cast<U>(&self) -> MemberAddresses<'a, U> {
        MemberAddresses { first: self.first.cast(), step: self.step, irregular: self.irregular, marker: PhantomData }
    }
}
