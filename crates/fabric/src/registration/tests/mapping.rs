//! Memory to be transferred from, and what programs do with it.

use std::{ptr, slice};

use super::PAGE;

/// Pages of anonymous memory, unmapped when dropped.
pub(super) struct Mapping {
    start: *mut u8,
    pub len: usize,
}

// SAFETY: it owns the memory, as a Vec does.
unsafe impl Send for Mapping {}

impl Mapping {
    pub(super) fn new(pages: usize) -> Mapping {
        Mapping::with(ptr::null_mut(), pages, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    pub(super) fn shared(pages: usize) -> Mapping {
        Mapping::with(ptr::null_mut(), pages, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)
    }

    /// The first page of a file.
    pub(super) fn of_file(fd: libc::c_int) -> Mapping {
        Mapping::with(ptr::null_mut(), 1, libc::MAP_PRIVATE, fd)
    }

    fn with(wish: *mut u8, pages: usize, flags: libc::c_int, fd: libc::c_int) -> Mapping {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, or one in place of memory that the caller owns.
        let start = unsafe { libc::mmap(wish.cast(), pages * PAGE, access, flags, fd, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Mapping { start: start.cast(), len: pages * PAGE }
    }

    pub(super) fn address(&self) -> usize {
        self.start as usize
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped, owned and borrowed as a whole.
        unsafe { slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// Has other memory at the same addresses: what unmapping and mapping come to if no other
    /// thread maps in between.
    pub(super) fn replace(self) -> Mapping {
        let (start, pages) = (self.start, self.len / PAGE);
        std::mem::forget(self);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        Mapping::with(start, pages, flags, -1)
    }

    /// The pages become zeros.
    pub(super) fn discard(&mut self, from: usize, len: usize) {
        // SAFETY: within the mapping.
        let done = unsafe { libc::madvise(self.start.add(from).cast(), len, libc::MADV_DONTNEED) };
        assert_eq!(done, 0);
    }

    /// Moves it to other addresses, or shortens or lengthens it.
    pub(super) fn resize(self, pages: usize) -> Mapping {
        let (start, len) = (self.start, self.len);
        std::mem::forget(self);
        // SAFETY: the caller gave up the old mapping.
        let moved = unsafe { libc::mremap(start.cast(), len, pages * PAGE, libc::MREMAP_MAYMOVE) };
        assert_ne!(moved, libc::MAP_FAILED);
        Mapping { start: moved.cast(), len: pages * PAGE }
    }

    /// Unmaps the last pages.
    pub(super) fn cut(&mut self, pages: usize) {
        self.len -= pages * PAGE;
        // SAFETY: the end of what was mapped, which is no longer used.
        let done = unsafe { libc::munmap(self.start.add(self.len).cast(), pages * PAGE) };
        assert_eq!(done, 0);
    }

    /// Moves the pages elsewhere over other memory, as a program that knows where it wants it.
    pub(super) fn move_onto(self, target: Mapping) -> Mapping {
        assert_eq!(self.len, target.len);
        let (from, to, len) = (self.start, target.start, self.len);
        std::mem::forget((self, target));
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: the caller gave up both mappings.
        let moved = unsafe { libc::mremap(from.cast(), len, len, flags, to) };
        assert_eq!(moved.cast(), to);
        Mapping { start: to, len }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by this, and not borrowed.
        assert_eq!(unsafe { libc::munmap(self.start.cast(), self.len) }, 0);
    }
}
