//! Elements that are not reached by loads and stores: those of PEs on other nodes, which the fabric
//! reaches.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use ferroshmem_core::api::constants::CTX_DEFAULT;
use ferroshmem_core::api::rma;

use crate::init;
use crate::pe::Pe;
use crate::plain::Plain;

/// Some elements of a PE's part.
#[derive(Debug)]
pub(crate) enum Place<T> {
    /// In a window of this process.
    Here(NonNull<T>),
    /// Beyond the fabric.
    There(Far<T>),
}

/// Elements beyond the fabric. Safety of all methods: the part has as many elements as they name, and
/// nobody has references to them.
#[derive(Debug)]
pub(crate) struct Far<T> {
    /// The same elements of this PE's part.
    own: NonNull<T>,
    /// The context of operations on them,
    context: usize,
    /// and which PE they are on, by its numbering.
    pe: i32,
}

/// Blocks of elements, whose starts are `stride` elements apart there and `own_stride` here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    pub stride: usize,
    pub own_stride: usize,
    pub block: usize,
    pub n: usize,
}

/// Keeps what is done beyond the fabric out of the loops of what is done here.
#[cold]
#[inline(never)]
pub(super) fn beyond<R>(operation: impl FnOnce() -> R) -> R {
    operation()
}

impl<T> Far<T> {
    /// PE `pe`'s copies of the elements of this PE at `own`.
    pub(crate) fn new(own: NonNull<T>, pe: Pe) -> Self {
        Self {
            own,
            context: CTX_DEFAULT,
            pe: pe.number() as i32,
        }
    }

    /// The same by a context, which has its own number for the PE.
    pub(crate) fn through(self, context: usize, number: usize) -> Self {
        Self {
            context,
            pe: number as i32,
            ..self
        }
    }

    /// This PE's elements, which stand for the others'.
    pub(crate) fn own(&self) -> *mut T {
        self.own.as_ptr()
    }

    /// The PE, by its number in the world, if no context has another one.
    pub(crate) fn pe(&self) -> i32 {
        self.pe
    }
}

impl<T: Plain> Far<T> {
    /// Puts `source`, which may be changed on return.
    ///
    /// # Safety
    /// See [`Far`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn put(self, name: &'static str, source: &[T]) {
        let (to, from) = (self.own().cast(), source.as_ptr().cast());
        // SAFETY: the caller's promise.
        unsafe { rma::put(name, self.context, to, from, size_of_val(source), self.pe) }
    }

    /// Puts `source`.
    ///
    /// # Safety
    /// See [`Far`]; the source stays as it is until the next quiet.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn begin_put(self, name: &'static str, source: &[T]) {
        let (to, from) = (self.own().cast(), source.as_ptr().cast());
        // SAFETY: the caller's promise.
        unsafe { rma::put_nbi(name, self.context, to, from, size_of_val(source), self.pe) }
    }

    /// Gets all of `dest`.
    ///
    /// # Safety
    /// See [`Far`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn get(self, name: &'static str, dest: &mut [T]) {
        let (to, from) = (dest.as_mut_ptr().cast(), self.own().cast());
        // SAFETY: the caller's promise.
        unsafe { rma::get(name, self.context, to, from, size_of_val(dest), self.pe) }
    }

    /// Gets all of `dest`.
    ///
    /// # Safety
    /// See [`Far`]; nobody uses the destination until the next quiet.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn begin_get(self, name: &'static str, dest: &mut [T]) {
        let (to, from) = (dest.as_mut_ptr().cast(), self.own().cast());
        // SAFETY: the caller's promise.
        unsafe { rma::get_nbi(name, self.context, to, from, size_of_val(dest), self.pe) }
    }

    /// Puts blocks from `source` on.
    ///
    /// # Safety
    /// See [`Far`]; the source has the blocks.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn put_blocks(self, name: &'static str, source: *const T, blocks: Blocks) {
        let (to, from) = (self.own().cast(), source.cast());
        let (to_stride, from_stride) = (blocks.stride as isize, blocks.own_stride as isize);
        let (block, n, size) = (blocks.block, blocks.n, size_of::<T>());
        // SAFETY: the caller's promise.
        unsafe {
            rma::ibput(
                name,
                self.context,
                to,
                from,
                to_stride,
                from_stride,
                block,
                n,
                size,
                self.pe,
            );
        }
    }

    /// Gets blocks to `dest` and on.
    ///
    /// # Safety
    /// See [`Far`]; the destination has the blocks.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn get_blocks(self, name: &'static str, dest: *mut T, blocks: Blocks) {
        let (to, from) = (dest.cast(), self.own().cast());
        let (to_stride, from_stride) = (blocks.own_stride as isize, blocks.stride as isize);
        let (block, n, size) = (blocks.block, blocks.n, size_of::<T>());
        // SAFETY: the caller's promise.
        unsafe {
            rma::ibget(
                name,
                self.context,
                to,
                from,
                to_stride,
                from_stride,
                block,
                n,
                size,
                self.pe,
            );
        }
    }
}

/// Completes all that this PE has under way to other nodes, by whichever context: before memory is
/// used in another way. On its own node nothing is ever under way.
pub(crate) fn complete(name: &'static str) {
    if init::spans_nodes() {
        ferroshmem_core::api::context::quiet_all(name);
    }
}
