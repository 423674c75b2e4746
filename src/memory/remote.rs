//! Elements of PEs on other nodes, which the runtime reaches by the fabric instead of by loads and
//! stores.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use ferroshmem_api::check::Concerns;
use ferroshmem_api::constants::CTX_DEFAULT;
use ferroshmem_api::record::{self, Kind, Memory, MethodCall, Record};
use ferroshmem_api::rma;

use crate::pe::Pe;
use crate::plain::Plain;

/// Where some elements of a PE's part are.
#[derive(Debug)]
pub(crate) enum Location<T> {
    /// On this node, at this address of this process.
    Local(NonNull<T>),
    /// On another node.
    Remote(Remote<T>),
}

/// Elements on another node. All methods require of their caller that the part has as many elements as
/// the call names, and that no PE has references to them.
#[derive(Debug)]
pub(crate) struct Remote<T> {
    /// The same elements of this PE's part, which stand for the remote ones in calls of the runtime.
    symmetric: NonNull<T>,
    /// The context of operations on them.
    context: usize,
    /// The PE, by its number in the context's team.
    pe: i32,
}

/// How a PE is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) pe: Pe,
    /// The context of the operation.
    pub(crate) context: usize,
    /// The PE's number in the context's team.
    pub(crate) number: usize,
}

impl Route {
    /// By the default context.
    #[inline]
    pub(crate) fn to(pe: Pe) -> Self {
        Self { pe, context: CTX_DEFAULT, number: pe.number() }
    }
}

/// Blocks of elements: their starts are `stride` elements apart in the remote part, and
/// `local_stride` in the local buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StridedBlocks {
    pub(crate) stride: usize,
    pub(crate) local_stride: usize,
    pub(crate) block: usize,
    pub(crate) n: usize,
}

/// Keeps the code of remote operations out of the loops of local ones.
#[cold]
#[inline(never)]
pub(super) fn out_of_line<R>(operation: impl FnOnce() -> R) -> R {
    operation()
}

impl<T> Remote<T> {
    /// PE `pe`'s copies of the elements at `symmetric` of this PE.
    pub(crate) fn new(symmetric: NonNull<T>, pe: Pe) -> Self {
        Self::of_number(symmetric, pe.number())
    }

    /// The elements that a PE of another job has imported as `symmetric`, by its number in this one.
    pub(crate) fn of_number(symmetric: NonNull<T>, pe: usize) -> Self {
        Self { symmetric, context: CTX_DEFAULT, pe: pe as i32 }
    }

    /// The same elements, reached by a context.
    pub(crate) fn on(self, route: Route) -> Self {
        Self { context: route.context, pe: route.number as i32, ..self }
    }

    /// This PE's elements, which stand for the remote ones.
    pub(crate) fn symmetric(&self) -> *mut T {
        self.symmetric.as_ptr()
    }

    /// The PE, by its number in the context's team: in the world for the default context.
    pub(crate) fn pe(&self) -> i32 {
        self.pe
    }
}

impl<T> Remote<T> {
    /// Begins to record a call, if calls are.
    pub(super) fn record(&self, call: MethodCall, kind: Kind, bytes: usize) -> Option<Record> {
        let concerns = Concerns::Pe(self.context, self.pe);
        record::begin(call, kind, concerns, bytes, self.symmetric.addr().get())
    }

    fn record_blocks(&self, call: MethodCall, kind: Kind, blocks: StridedBlocks) -> Option<Record> {
        let (size, at) = (size_of::<T>(), self.symmetric.addr().get());
        let memory = Memory { at, stride: blocks.stride * size, len: blocks.block * size, count: blocks.n };
        record::is_on().then(|| record::begin_recorded(call, kind, Concerns::Pe(self.context, self.pe), memory))
    }
}

impl<T: Plain> Remote<T> {
    /// Puts `source`, which may be changed on return.
    ///
    /// # Safety
    /// See [`Remote`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn put(self, call: MethodCall, source: &[T]) {
        let (to, from) = (self.symmetric().cast(), source.as_ptr().cast());
        let _record = self.record(call, Kind::Put, size_of_val(source));
        // SAFETY: the caller promises that the part has `source.len()` elements from `to` on, which
        // no PE has references to; `source` is borrowed until the put returns.
        unsafe { rma::put(call.0, self.context, to, from, size_of_val(source), self.pe) }
    }

    /// Begins to put `source`.
    ///
    /// # Safety
    /// See [`Remote`]; `source` does not change until the next quiet.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn begin_put(self, call: MethodCall, source: &[T]) {
        let (to, from) = (self.symmetric().cast(), source.as_ptr().cast());
        let _record = self.record(call, Kind::Put, size_of_val(source));
        // SAFETY: the caller promises that the part has `source.len()` elements from `to` on, which
        // no PE has references to, and that `source` lives unchanged until the next quiet.
        unsafe { rma::put_nbi(call.0, self.context, to, from, size_of_val(source), self.pe) }
    }

    /// Gets all of `dest`.
    ///
    /// # Safety
    /// See [`Remote`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn get(self, call: MethodCall, dest: &mut [T]) {
        let (to, from) = (dest.as_mut_ptr().cast(), self.symmetric().cast());
        let _record = self.record(call, Kind::Get, size_of_val(dest));
        // SAFETY: the caller promises that the part has `dest.len()` elements from `from` on; `dest`
        // is borrowed mutably until the get returns.
        unsafe { rma::get(call.0, self.context, to, from, size_of_val(dest), self.pe) }
    }

    /// Begins to get all of `dest`.
    ///
    /// # Safety
    /// See [`Remote`]; `dest` is neither read nor written before the next quiet.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn begin_get(self, call: MethodCall, dest: &mut [T]) {
        let (to, from) = (dest.as_mut_ptr().cast(), self.symmetric().cast());
        let _record = self.record(call, Kind::Get, size_of_val(dest));
        // SAFETY: the caller promises that the part has `dest.len()` elements from `from` on, and that
        // `dest` lives and is not used until the next quiet.
        unsafe { rma::get_nbi(call.0, self.context, to, from, size_of_val(dest), self.pe) }
    }

    /// Puts blocks that begin at `source`.
    ///
    /// # Safety
    /// See [`Remote`]; all of `blocks` is readable from `source` on.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn put_blocks(self, call: MethodCall, source: *const T, blocks: StridedBlocks) {
        let (to, from) = (self.symmetric().cast(), source.cast());
        let (to_stride, from_stride) = (blocks.stride as isize, blocks.local_stride as isize);
        let (block, n, size) = (blocks.block, blocks.n, size_of::<T>());
        let _record = self.record_blocks(call, Kind::Put, blocks);
        // SAFETY: the caller promises that the part has the blocks, which no PE has references to, and
        // that they are readable from `source` on.
        unsafe {
            rma::ibput(call.0, self.context, to, from, to_stride, from_stride, block, n, size, self.pe);
        }
    }

    /// Gets blocks to memory that begins at `dest`.
    ///
    /// # Safety
    /// See [`Remote`]; all of `blocks` is writable from `dest` on, and used by no other thread.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn get_blocks(self, call: MethodCall, dest: *mut T, blocks: StridedBlocks) {
        let (to, from) = (dest.cast(), self.symmetric().cast());
        let (to_stride, from_stride) = (blocks.local_stride as isize, blocks.stride as isize);
        let (block, n, size) = (blocks.block, blocks.n, size_of::<T>());
        let _record = self.record_blocks(call, Kind::Get, blocks);
        // SAFETY: the caller promises that the part has the blocks, and that they are writable from
        // `dest` on by this thread alone.
        unsafe {
            rma::ibget(call.0, self.context, to, from, to_stride, from_stride, block, n, size, self.pe);
        }
    }
}
