//! Where every member's copy of a symmetric array is.

use std::fmt;
use std::marker::PhantomData;

use super::Group;
use crate::memory::{Argument, SymmetricMemory};

/// The members' copies of one symmetric array of `T`.
pub struct Places<'a, T> {
    /// Member 0's copy, where copies lie at a constant distance.
    first: *mut T,
    /// Bytes from one member's copy to the next's.
    step: isize,
    /// Otherwise the addresses of all PEs' copies, and who the members are.
    scattered: Option<Scattered<'a>>,
    marker: PhantomData<*mut T>,
}

#[derive(Clone, Copy)]
struct Scattered<'a> {
    bases: &'a [usize],
    offset: usize,
    first: usize,
    stride: isize,
}

impl<T> Clone for Places<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Places<'_, T> {}

impl<T> fmt::Debug for Places<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places")
            .field("first", &self.first)
            .field("step", &self.step)
            .field("scattered", &self.scattered.is_some())
            .finish()
    }
}

impl<'a, T> Places<'a, T> {
    /// Copies `step` bytes apart, of which `mine` is member `me`'s.
    #[inline]
    pub fn at_stride(mine: *mut T, step: isize, me: usize) -> Self {
        let first = mine.wrapping_byte_offset(step.wrapping_mul(-(me as isize)));
        Self {
            first,
            step,
            scattered: None,
            marker: PhantomData,
        }
    }

    /// Copies at `bases[pe] + offset`.
    fn scattered(group: &Group<'_>, bases: &'a [usize], offset: usize) -> Self {
        let scattered = Scattered {
            bases,
            offset,
            first: group.near().start as usize,
            stride: group.near().stride as isize,
        };
        Self {
            first: std::ptr::null_mut(),
            step: 0,
            scattered: Some(scattered),
            marker: PhantomData,
        }
    }

    /// Member `member`'s copy.
    #[inline]
    pub fn of(&self, member: usize) -> *mut T {
        match &self.scattered {
            None => self
                .first
                .wrapping_byte_offset(self.step.wrapping_mul(member as isize)),
            Some(s) => {
                let pe = s.first.wrapping_add_signed(s.stride * member as isize);
                std::ptr::with_exposed_provenance_mut(s.bases[pe] + s.offset)
            }
        }
    }

    /// The same places from element `i` on.
    #[inline]
    pub fn from(&self, i: usize) -> Self {
        let mut this = *self;
        match &mut this.scattered {
            None => this.first = this.first.wrapping_add(i),
            Some(s) => s.offset += i * size_of::<T>(),
        }
        this
    }

    /// The same places as bytes.
    #[inline]
    pub fn bytes(&self) -> Places<'a, u8> {
        Places {
            first: self.first.cast(),
            step: self.step,
            scattered: self.scattered,
            marker: PhantomData,
        }
    }
}

impl<'a, T> Places<'a, T> {
    /// Where the members' copies of the `len` bytes at `addr` are. An address that is not
    /// symmetric ends the job; `argument` is its name in the prototype.
    #[inline]
    pub fn resolve(
        memory: &'a SymmetricMemory,
        group: &Group<'_>,
        argument: &str,
        addr: *const T,
        len: usize,
    ) -> Self {
        let argument = Argument {
            routine: group.name,
            name: argument,
        };
        let mine = memory.own(argument, addr.cast(), len);
        if !group.is_near() {
            // The others' copies are not for pointers: see `Group::get` and `Group::put`.
            return Self::at_stride(mine.cast(), 0, group.me);
        }
        let space = memory.space;
        if space.at_stride() && !space.any_runs_other_program() {
            let stride = 1isize << space.log2_stride();
            let step = group.near().stride as isize * stride;
            return Self::at_stride(mine.cast(), step, group.me);
        }
        Self::resolve_each(memory, group, argument, addr, len)
    }

    /// As [`resolve`](Self::resolve), where not all that is symmetric obeys the rule of the stride:
    /// every member is looked at.
    #[cold]
    #[inline(never)]
    fn resolve_each(
        memory: &'a SymmetricMemory,
        group: &Group<'_>,
        argument: Argument<'_>,
        addr: *const T,
        len: usize,
    ) -> Self {
        for member in 0..group.size {
            let peer = (group.near().pe(member), group.pe(member));
            memory.of_node_peer(argument, addr.cast(), len, peer);
        }
        match memory.space.scattered(addr.addr()) {
            Some((bases, offset)) => Self::scattered(group, bases, offset),
            None => {
                let stride = 1isize << memory.space.log2_stride();
                let step = group.near().stride as isize * stride;
                Self::at_stride(addr.cast_mut(), step, group.me)
            }
        }
    }
}
