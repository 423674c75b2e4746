//! The addresses of all members' copies of a symmetric array.

use std::fmt;
use std::marker::PhantomData;

use crate::team::Members;

/// The addresses of the members' copies of one symmetric array of `T`.
pub struct MemberAddresses<'a, T> {
    /// Member 0's copy, if copies lie at a constant distance.
    first: *mut T,
    /// Bytes from one member's copy to the next's.
    step: isize,
    /// Otherwise the addresses of all PEs' copies.
    irregular: Option<Irregular<'a>>,
    marker: PhantomData<*mut T>,
}

/// The copies of members at `bases[pe] + offset`.
#[derive(Clone, Copy)]
struct Irregular<'a> {
    bases: &'a [usize],
    offset: usize,
    /// Number on the node of member 0, and from there to the next member's.
    first: usize,
    stride: isize,
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

    /// Copies of the PEs `local` of a node at `bases[pe] + offset`.
    pub fn irregular(local: &Members, bases: &'a [usize], offset: usize) -> Self {
        let irregular = Irregular { bases, offset, first: local.start as usize, stride: local.stride as isize };
        Self { first: std::ptr::null_mut(), step: 0, irregular: Some(irregular), marker: PhantomData }
    }

    /// Member `member`'s copy.
    #[inline]
    pub fn of(&self, member: usize) -> *mut T {
        match &self.irregular {
            None => self.first.wrapping_byte_offset(self.step.wrapping_mul(member as isize)),
            Some(s) => {
                let pe = s.first.wrapping_add_signed(s.stride * member as isize);
                std::ptr::with_exposed_provenance_mut(s.bases[pe] + s.offset)
            }
        }
    }

    /// The same addresses from element `i` on.
    #[inline]
    pub fn from(&self, i: usize) -> Self {
        let mut this = *self;
        match &mut this.irregular {
            None => this.first = this.first.wrapping_add(i),
            Some(s) => s.offset += i * size_of::<T>(),
        }
        this
    }

    /// The same addresses, as those of bytes.
    #[inline]
    pub fn bytes(&self) -> MemberAddresses<'a, u8> {
        MemberAddresses { first: self.first.cast(), step: self.step, irregular: self.irregular, marker: PhantomData }
    }
}
