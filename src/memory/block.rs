//! A block of the symmetric heap: the same offset and length on every PE. The only module that
//! computes addresses.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};
use std::panic::Location as Caller;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use ferroshmem_api::constants::SPACE_INVALID;
use ferroshmem_api::record::{self, Operation};
use ferroshmem_api::windows::Reach;
use ferroshmem_api::{memory, space};

use super::Space;
use super::remote::{Location, Remote};
use crate::error::{AllocError, OutOfBounds};
use crate::init::windows;
use crate::pe::Pe;
use crate::plain::Plain;
use crate::step::{self, Step, What};

/// An array of symmetric memory; freed, collectively, when it is dropped. This type borrows the world,
/// because its drop needs the world to live.
#[derive(Debug)]
pub(crate) struct Block<'w, T> {
    /// Address of the part of this node's first PE; the other parts follow at the stride.
    first: usize,
    log2_stride: u32,
    /// This PE's number on its node.
    index: u32,
    len: usize,
    /// The PEs whose parts this PE uses by loads, stores and CPU atomics.
    reach: Reach,
    /// The symmetric space that it is in, if it is in one.
    space: Option<&'w Space<'w>>,
    elements: PhantomData<*mut T>,
    world: PhantomData<&'w ()>,
}

impl<'w, T: Plain> Block<'w, T> {
    /// Allocates `len` elements on every PE, all bytes zero, in the heap or in `space` if that is one.
    #[track_caller]
    pub(crate) fn new(len: usize, space: Option<&'w Space<'w>>) -> Result<Self, AllocError> {
        const { assert!(size_of::<T>() > 0, "an element must have bytes") };
        let size = size_of::<T>();
        let bytes = len.checked_mul(size).filter(|bytes| isize::try_from(*bytes).is_ok());
        // All PEs must meet before any returns an error: one PE alone cannot return.
        step::of_world(
            Step::Alloc,
            &[
                (What::Length, len as u64),
                (What::Type, size as u64),
                (What::Type, align_of::<T>() as u64),
                (What::Array, space.map_or(SPACE_INVALID, Space::handle) as u64),
            ],
        );
        let bytes = bytes.ok_or(AllocError::TooLarge { len, size })?;
        let align = align_of::<T>().max(LINE);
        let start = match space {
            _ if bytes == 0 => ptr::without_provenance_mut(align),
            None => memory::align_zeroed("allocation", align, bytes),
            Some(space) => space::align_zeroed("allocation", space.handle(), align, bytes),
        };
        match space {
            _ if !start.is_null() => {}
            None => {
                let (free, heap) = memory::room("allocation");
                return Err(AllocError::NoRoom { bytes, free, heap });
            }
            Some(space) => {
                let (free, space) = space::room("allocation", space.handle());
                return Err(AllocError::NoRoomInSpace { bytes, free, space });
            }
        }
        let windows = windows();
        let block = Self {
            first: start.expose_provenance().wrapping_sub(windows.index << windows.log2_stride),
            log2_stride: windows.log2_stride,
            index: windows.index as u32,
            len,
            reach: windows.memory,
            space,
            elements: PhantomData,
            world: PhantomData,
        };
        let _record = record::check(("World::alloc", Caller::caller()), Operation::Malloc, start.addr(), bytes);
        step::of_world(Step::Alloc, &[(What::Array, block.id())]);
        Ok(block)
    }
}

/// Parts begin on a cache line of their own, so that no two arrays share one.
const LINE: usize = 64;

impl<T> Block<'_, T> {
    /// Number of elements of each PE's part.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A number that identifies the block on all PEs, and on those of other jobs: its place in the heap.
    pub(crate) fn id(&self) -> u64 {
        self.mine().addr().get().wrapping_sub(windows().heap) as u64
    }

    /// This PE's part.
    #[inline]
    pub(crate) fn mine(&self) -> NonNull<T> {
        self.part(self.index as usize)
    }

    /// PE `pe`'s part, if this PE reaches it by loads and stores.
    #[inline]
    pub(crate) fn local(&self, pe: Pe) -> Option<NonNull<T>> {
        self.reach.index(pe.number()).map(|index| self.part(index))
    }

    #[inline]
    fn part(&self, index: usize) -> NonNull<T> {
        let address = self.first.wrapping_add(index << self.log2_stride);
        // SAFETY: an address in a PE's heap, or of an array without elements: not null.
        unsafe { NonNull::new_unchecked(ptr::with_exposed_provenance_mut(address)) }
    }

    /// Where PE `pe` has the `n` elements from `start` on.
    #[inline]
    pub(crate) fn elements(&self, pe: Pe, start: usize, n: usize) -> Result<Location<T>, OutOfBounds> {
        if start > self.len || n > self.len - start {
            return Err(self.out_of_bounds(start, n));
        }
        Ok(match self.local(pe) {
            // SAFETY: `start` is at most the part's length, as checked.
            Some(part) => Location::Local(unsafe { part.add(start) }),
            // SAFETY: `start` is at most the length of this PE's part, too.
            None => Location::Remote(Remote::new(unsafe { self.mine().add(start) }, pe)),
        })
    }

    /// From now on used by atomic operations only.
    pub(crate) fn for_atomics(mut self) -> Self {
        self.reach = windows().atomics;
        self
    }

    /// From now on used by loads and stores.
    pub(crate) fn for_all(mut self) -> Self {
        self.reach = windows().memory;
        self
    }

    /// From now on only read, in place where that is possible.
    pub(crate) fn for_views(mut self) -> Self {
        self.reach = windows().views;
        self
    }

    /// PE `pe`'s part, if this PE may reach it by loads and stores.
    pub(crate) fn viewed(&self, pe: Pe) -> Option<NonNull<T>> {
        let index = windows().views.index(pe.number());
        index.map(|index| self.part(index))
    }

    /// Whether this PE's own part is updated by CPU atomics.
    #[inline]
    pub(crate) fn is_for_cpu_atomics(&self) -> bool {
        self.reach.is_any()
    }

    /// The elements that a range names.
    pub(crate) fn range(&self, range: impl RangeBounds<usize>) -> Result<Range<usize>, OutOfBounds> {
        within(self.len, range)
    }

    #[cold]
    pub(crate) fn out_of_bounds(&self, start: usize, len: usize) -> OutOfBounds {
        OutOfBounds { start, len, array: self.len }
    }

    /// How many arrays of its space other jobs may use, if it is in one.
    pub(crate) fn lent(&self) -> Option<&AtomicU32> {
        self.space.map(Space::lent)
    }

    /// Drops the array without freeing its memory.
    pub(crate) fn forget(self) {
        std::mem::forget(self);
    }
}

/// The elements that a range names, of an array of `array`.
pub(crate) fn within(array: usize, range: impl RangeBounds<usize>) -> Result<Range<usize>, OutOfBounds> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => array,
    };
    if start > end || end > array {
        let len = end.saturating_sub(start);
        return Err(OutOfBounds { start, len, array });
    }
    Ok(start..end)
}

impl<T> Drop for Block<'_, T> {
    fn drop(&mut self) {
        // A PE that panics ends the job: it must not wait for the others, which may never come.
        if std::thread::panicking() {
            return;
        }
        let start = if self.len > 0 { self.mine().addr().get() } else { 0 };
        let _record = record::check(("drop of an array", Caller::caller()), Operation::Free, start, 0);
        step::of_world(Step::Free, &[(What::Array, self.id())]);
        if self.len > 0 && !step::has_diverged() && !step::has_failed() {
            let start: *mut c_void = self.mine().as_ptr().cast();
            // SAFETY: allocated by `new`; all PEs have entered this step, so none uses the block.
            unsafe {
                match self.space {
                    None => memory::free("drop of an array", start),
                    Some(space) => space::free("drop of an array", space.handle(), start),
                }
            }
        }
    }
}

/// What kinds of arrays have in common: how long their parts are, their block, and what `Debug` shows.
macro_rules! array {
    ($kind:ident, $bound:ident) => {
        impl<'w, T: $bound> $kind<'w, T> {
            /// Elements of each part. Of a [`Window`](crate::Window), as of other kinds of arrays:
            ///
            /// ```
            /// # let world = ferroshmem::World::init()?;
            /// let window = world.alloc::<u8>(10)?.open();
            /// assert_eq!((window.len(), window.is_empty()), (10, false)); // on each PE
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            pub fn len(&self) -> usize {
                self.block.len()
            }

            /// Whether there are none.
            ///
            /// As in the example of [`len`](Self::len).
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            pub(super) fn block(&self) -> &Block<'w, T> {
                &self.block
            }
        }

        impl<T: $bound> std::fmt::Debug for $kind<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($kind)).field("len", &self.len()).finish_non_exhaustive()
            }
        }
    };
}

pub(super) use array;
