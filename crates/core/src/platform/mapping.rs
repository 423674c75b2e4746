//! Memory files and mappings at chosen addresses.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};

/// Creates a sparse memory file of `size` bytes. It has no name: it is gone once the last
/// process that holds it is.
pub fn memory_file(size: u64) -> io::Result<File> {
    const NAME: &std::ffi::CStr = c"ferroshmem";
    // SAFETY: the name is a C string; the flags are valid.
    let create = |flags| unsafe { libc::memfd_create(NAME.as_ptr(), flags) };
    let mut fd = create(libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL);
    if fd < 0 {
        // Kernels before 6.3 do not know MFD_NOEXEC_SEAL.
        fd = create(libc::MFD_CLOEXEC);
    }
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: memfd_create just returned this descriptor; nobody else owns it.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(size)?;
    Ok(file)
}

/// Where a mapping is to go.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Wherever there is room.
    Anywhere,
    /// At this address, or not at all.
    Exactly(usize),
    /// At this address, in place of what is there.
    Over(usize),
}

/// Maps `len` bytes of `file` from `offset`, readable and writable, shared.
///
/// # Safety
/// With [`Place::Over`], the caller owns all of the memory replaced.
pub unsafe fn map_shared(
    file: BorrowedFd<'_>,
    offset: u64,
    len: usize,
    place: Place,
) -> io::Result<*mut u8> {
    let (at, flags) = match place {
        Place::Anywhere => (0, 0),
        Place::Exactly(at) => (at, 0),
        Place::Over(at) => (at, libc::MAP_FIXED),
    };
    // SAFETY: without MAP_FIXED nothing existing is touched; with it, the caller's promise.
    let got = unsafe {
        libc::mmap(
            at as *mut libc::c_void,
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE | flags,
            file.as_raw_fd(),
            offset as libc::off_t,
        )
    };
    if got == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if let Place::Exactly(at) = place
        && got as usize != at
    {
        // The address is a hint, which is taken if the range is free. MAP_FIXED_NOREPLACE
        // would say the same, but ThreadSanitizer and old kernels do not know it.
        // SAFETY: this mapping was just made and nobody knows of it.
        unsafe { libc::munmap(got, len) };
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    Ok(got.cast())
}

/// Removes a mapping.
///
/// # Safety
/// Nothing may use the range any more.
pub unsafe fn unmap(at: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(at as *mut libc::c_void, len) };
}

/// Gives the kernel advice about a mapping; advice may be ignored, so errors are.
pub fn advise(at: usize, len: usize, advice: libc::c_int) {
    // SAFETY: the advices used (huge pages, core dumps) do not change contents.
    unsafe { libc::madvise(at as *mut libc::c_void, len, advice) };
}

/// Gives the memory of a part of a memory file back to the system; it reads as zero after.
pub fn punch_hole(file: BorrowedFd<'_>, offset: u64, len: u64) {
    if len > 0 {
        // SAFETY: changes the contents of the file only; a failure leaves them.
        unsafe {
            libc::fallocate(
                file.as_raw_fd(),
                libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
                offset as libc::off_t,
                len as libc::off_t,
            )
        };
    }
}
