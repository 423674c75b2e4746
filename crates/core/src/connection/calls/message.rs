//! What a message is made of.
//!
//! ```text
//! Head                    where the next message is, and how many PEs have run the kernels of this one
//! number of records       8 bytes, at 64
//! records                 definitions of kernels, and calls
//! ```
//!
//! A definition is the number that calls name a kernel by, what its parameters are, and its name; it comes in the
//! message that first calls the kernel. A call is that number and the arguments: values one after the other, arrays
//! as their number of elements and these. Both groups find them by the kernel's signature.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::registry::Kind;

/// The first line of a message.
#[repr(C, align(64))]
pub(super) struct Head {
    /// Place of the next message; written before that is sent.
    pub next: AtomicU64,
    /// PEs that have run all kernels.
    pub finished: AtomicU32,
}

/// A cache line of private memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line(#[expect(dead_code, reason = "accessed by its address")] [u8; 64]);

impl Line {
    pub(super) const ZERO: Self = Self([0; 64]);
}

/// Where the number of records is.
const RECORDS: usize = 64;
/// In the first word of a record: it is a definition.
pub(super) const DEFINITION: u32 = 1 << 31;

/// A position in a message, which may not be there yet: then only the positions count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    base: Option<NonNull<u8>>,
    at: usize,
}

/// All accesses are within a message whose size was found by a cursor without memory.
impl Cursor {
    /// At the beginning of the records of the message at `base`.
    pub(super) fn new(base: Option<NonNull<u8>>) -> Self {
        Self { base, at: RECORDS }
    }

    /// Bytes of the message so far.
    pub(super) fn len(self) -> usize {
        self.at
    }

    fn step(&mut self, bytes: usize, align: usize) -> usize {
        let start = self.at.next_multiple_of(align);
        self.at = start.saturating_add(bytes).min(isize::MAX as usize / 2);
        start
    }

    /// The next bytes, to be written; null where there is no memory.
    fn take(&mut self, bytes: usize, align: usize) -> *mut u8 {
        let start = self.step(bytes, align);
        let base = self.base.map_or(std::ptr::null_mut(), NonNull::as_ptr);
        if base.is_null() { base } else { base.wrapping_add(start) }
    }

    /// Room for a value of so many bytes, aligned for any type of that size.
    pub(super) fn value(&mut self, bytes: usize) -> *mut u8 {
        self.take(bytes, bytes.next_power_of_two().clamp(8, 64))
    }

    /// Room for the bytes of an array.
    pub(super) fn array(&mut self, bytes: usize) -> *mut u8 {
        self.take(bytes, 64)
    }

    /// Writes a word.
    ///
    /// # Safety
    /// The message has room for it.
    pub(super) unsafe fn write(&mut self, word: u64) {
        let to = self.value(8);
        if !to.is_null() {
            // SAFETY: as the caller promises; it is aligned.
            unsafe { to.cast::<u64>().write(word) };
        }
    }

    /// Writes bytes.
    ///
    /// # Safety
    /// They are readable, and the message has room for them at `to`, which is null if there is no memory.
    pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
        if !to.is_null() && bytes > 0 {
            // SAFETY: as the caller promises; no PE reads the message yet.
            unsafe { to.copy_from_nonoverlapping(from, bytes) };
        }
    }

    /// Reads a word.
    ///
    /// # Safety
    /// The message has one there.
    pub(super) unsafe fn read(&mut self) -> u64 {
        let from = self.value(8);
        debug_assert!(!from.is_null());
        // SAFETY: as the caller promises; it is aligned.
        unsafe { from.cast::<u64>().read() }
    }
}

/// A parameter as a word.
pub(super) fn word_of((kind, size): (Kind, usize)) -> u64 {
    (kind as u64) << 60 | size as u64
}
