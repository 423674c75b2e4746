//! Memory files and mappings at chosen addresses.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom};
use rustix::io::Errno;
pub use rustix::mm::Advice;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Creates a sparse memory file of `size` bytes. It has no name: it is gone once the last
/// process that holds it is.
pub fn memory_file(size: u64) -> io::Result<File> {
    let create = |flags| rustix::fs::memfd_create("ferroshmem", flags);
    // Kernels before 6.3 do not know MFD_NOEXEC_SEAL.
    let file = create(MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| create(MemfdFlags::CLOEXEC))?;
    let file = File::from(file);
    within_file_limit(size, || file.set_len(size))?;
    Ok(file)
}

/// Has `resize` make a file of `size` bytes. The kernel holds even this file, which is not on a disk, against
/// the limit on file sizes, by a signal that ends the process: so that limit is raised meanwhile, as far as
/// it can be.
fn within_file_limit(size: u64, resize: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let limit = getrlimit(Resource::Fsize);
    if limit.current.is_none_or(|current| size <= current) {
        return resize();
    }
    if let Some(most) = limit.maximum.filter(|most| size > *most) {
        return Err(io::Error::other(format!(
            "its sparse file of {size} bytes exceeds the limit of {most} bytes on files, which cannot be raised here: give the job a higher one (ulimit -f unlimited)"
        )));
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Fsize, raised)?;
    let result = resize();
    setrlimit(Resource::Fsize, limit)?;
    result
}

/// Where a mapping is to go.
#[derive(Debug, Clone, Copy)]
pub enum MapAddress {
    /// Wherever there is room.
    Anywhere,
    /// At this address, or not at all.
    Exactly(usize),
    /// At this address, in place of what is there.
    Over(usize),
}

/// Maps `len` bytes of `file` from `offset`, readable and writable, shared. By the C library's `mmap`, as
/// sanitizers learn of mappings there.
///
/// # Safety
/// With [`MapAddress::Over`], the caller owns all of the memory replaced.
pub unsafe fn map_shared(
    file: BorrowedFd<'_>,
    offset: u64,
    len: usize,
    place: MapAddress,
) -> io::Result<*mut u8> {
    let (at, flags) = match place {
        MapAddress::Anywhere => (0, 0),
        MapAddress::Exactly(at) => (at, 0),
        MapAddress::Over(at) => (at, libc::MAP_FIXED),
    };
    // SAFETY: without MAP_FIXED nothing existing is touched; with it, the caller promises to own what
    // is replaced.
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
    if let MapAddress::Exactly(at) = place
        && got as usize != at
    {
        // The address is a hint, which is taken if the range is free. MAP_FIXED_NOREPLACE
        // would say the same, but ThreadSanitizer and old kernels do not know it.
        // SAFETY: this mapping was just made, and is not used yet.
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
    // SAFETY: the caller promises that nothing uses the range.
    unsafe { libc::munmap(at as *mut libc::c_void, len) };
}

/// Gives the kernel advice about a mapping; advice may be ignored, so errors are.
pub fn advise(at: usize, len: usize, advice: Advice) {
    let at = std::ptr::with_exposed_provenance_mut(at);
    // SAFETY: the advices used (huge pages, core dumps) do not change contents.
    let _ = unsafe { rustix::mm::madvise(at, len, advice) };
}

/// Gives the memory of a part of a memory file back to the system: true if it reads as zero after.
pub fn punch_hole(file: BorrowedFd<'_>, offset: u64, len: u64) -> bool {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    // A failure leaves the contents, which costs memory only.
    len == 0 || rustix::fs::fallocate(file, flags, offset, len).is_ok()
}

/// The first byte from `from` on for which a memory file has memory, in pages; None if there is none, or the system
/// does not say.
pub fn first_memory(file: BorrowedFd<'_>, from: u64) -> Option<u64> {
    rustix::fs::seek(file, SeekFrom::Data(from)).ok()
}

/// Calls `part` for ranges of bytes `from..to` of a memory file that together have all of its memory
/// there, and little else: what lies between them reads as zero. All of it where the system does not
/// say.
///
/// PEs share the position that this moves in the file, and none uses it.
pub fn with_memory(file: BorrowedFd<'_>, from: u64, to: u64, mut part: impl FnMut(u64, u64)) {
    /// Bytes that are not asked about once a piece of memory is found: to find its end would take as
    /// long as to write it.
    const PIECE: u64 = 256 << 10;

    // Neighbouring pieces are one range, as long ranges are written at twice the speed of short ones.
    let (mut start, mut end) = (from, from);
    while end < to {
        let data = match rustix::fs::seek(file, SeekFrom::Data(end)) {
            Ok(data) => data.max(end),
            // No memory up to the file's end.
            Err(Errno::NXIO) => to,
            Err(_) => end,
        };
        if data > end {
            if start < end {
                part(start, end);
            }
            start = data;
        }
        end = data.saturating_add(PIECE).min(to);
    }
    if start < end {
        part(start, end);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn parts_with_memory_are_found() {
        const PAGE: u64 = 64 << 10;
        let file = memory_file(64 * PAGE).unwrap();
        let parts = |from, to| {
            let mut parts = Vec::new();
            with_memory(file.as_fd(), from, to, |from, to| parts.push((from, to)));
            parts
        };
        assert_eq!(parts(0, 64 * PAGE), []);
        for page in [3, 4, 40] {
            file.write_all_at(&[1], page * PAGE).unwrap();
        }
        let covers = |from: u64, to: u64, byte: u64| {
            parts(from, to)
                .iter()
                .any(|(from, to)| (*from..*to).contains(&byte))
        };
        for byte in [3 * PAGE, 4 * PAGE, 40 * PAGE] {
            assert!(covers(0, 64 * PAGE, byte), "{byte}");
            assert!(covers(byte, byte + 1, byte), "{byte}");
            assert!(!covers(0, byte, byte), "{byte}");
        }
        let all: u64 = parts(0, 64 * PAGE).iter().map(|(from, to)| to - from).sum();
        assert!(all <= 64 * PAGE);
        assert!(
            parts(5 * PAGE, 5 * PAGE + 1)
                .iter()
                .all(|(from, to)| to - from == 1)
        );
        assert!(punch_hole(file.as_fd(), 0, 64 * PAGE));
        assert_eq!(parts(0, 64 * PAGE), []);
    }
}
