//! Memory files and mappings at chosen addresses.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom};
use rustix::io::Errno;
pub use rustix::mm::Advice;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the kernel calls the memory of jobs, in its lists of descriptors and mappings.
pub const JOB_MEMORY: &str = "/memfd:ferroshmem";

/// Creates a sparse memory file of `size` bytes. It has no name: it is gone once the last
/// process that holds it is.
pub fn memory_file(size: u64) -> io::Result<File> {
    let create = |flags| rustix::fs::memfd_create("ferroshmem", flags);
    // Kernels before 6.3 do not know MFD_NOEXEC_SEAL.
    let file = create(MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL).or_else(|_| create(MemfdFlags::CLOEXEC))?;
    let file = File::from(file);
    resize(&file, size)?;
    Ok(file)
}

/// Makes a memory file so long.
pub fn resize(file: &File, size: u64) -> io::Result<()> {
    within_file_limit(size, || file.set_len(size))
}

/// Writes bytes to a memory file, which may be shorter.
pub fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    within_file_limit(offset + bytes.len() as u64, || file.write_all_at(bytes, offset))
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
            "its sparse file of {size} bytes exceeds the limit of {most} bytes on files, which cannot be raised here: \
                give the job a higher one (ulimit -f unlimited)"
        )));
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
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

/// Maps as [`map_shared`] does: at the address `first`, or within 4 TiB after it where there is room beside what is
/// there, else wherever there is.
pub fn map_shared_near(file: BorrowedFd<'_>, offset: u64, len: usize, first: usize) -> io::Result<*mut u8> {
    // SAFETY: nothing is replaced.
    let map = |place| unsafe { map_shared(file, offset, len, place) };
    let near = addresses_near(first, len).find_map(|at| map(MapAddress::Exactly(at)).ok());
    near.map_or_else(|| map(MapAddress::Anywhere), Ok)
}

/// Addresses for `len` bytes: beside as many mappings of that length, and beside fewer of up to 512 GiB.
fn addresses_near(first: usize, len: usize) -> impl Iterator<Item = usize> {
    const LARGE: usize = 512 << 30;
    const END: usize = 8 * LARGE;

    let small = len.next_power_of_two();
    let all = (0..END).step_by(LARGE).flat_map(move |large| (0..16).map(move |n| large + n * small));
    all.filter(move |offset| offset + len <= END).map(move |offset| first + offset)
}

/// Maps `len` bytes of `file` from `offset`, readable and writable, shared. By the C library's `mmap`, as
/// sanitizers learn of mappings there.
///
/// # Safety
/// With [`MapAddress::Over`], the caller owns all of the memory replaced.
pub unsafe fn map_shared(file: BorrowedFd<'_>, offset: u64, len: usize, place: MapAddress) -> io::Result<*mut u8> {
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

/// Reserves `len` bytes of addresses without memory: an access faults.
pub fn reserve(len: usize) -> io::Result<usize> {
    let (flags, nothing) = (MapFlags::PRIVATE | MapFlags::NORESERVE, ProtFlags::empty());
    // SAFETY: placed where there is room.
    let at = unsafe { mmap_anonymous(std::ptr::null_mut(), len, nothing, flags)? };
    Ok(at.expose_provenance())
}

/// Gives the kernel advice about a mapping; advice may be ignored, so errors are.
pub fn advise(at: usize, len: usize, advice: Advice) {
    let at = std::ptr::with_exposed_provenance_mut(at);
    // SAFETY: the advices used (huge pages, core dumps) do not change contents.
    let _ = unsafe { rustix::mm::madvise(at, len, advice) };
}

/// Bytes of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// Puts `len` bytes of a shared mapping on huge pages, whatever the system's setting; both are multiples of
/// [`HUGE_PAGE`]. All of the memory is allocated. Contents stay as they are, also if other threads and processes
/// use them.
///
/// # Errors
/// The kernel does not offer it (before Linux 6.1), or has no memory left in pieces of this size: from there on, pages
/// stay small. So does each page that others kept in use.
///
/// # Safety
/// The bytes are mapped.
pub unsafe fn collapse(at: usize, len: usize) -> io::Result<()> {
    /// The kernel moves a page at the same time, or another process is just mapping it: that ends soon.
    const ATTEMPTS: usize = 3;

    let mut in_use = None;
    for page in (at..at + len).step_by(HUGE_PAGE) {
        let page = std::ptr::with_exposed_provenance_mut::<u8>(page);
        // The kernel collapses no page that has no memory at all.
        // SAFETY: mapped, as the caller promises; others may write the byte, whose value is not used.
        unsafe { AtomicU8::from_ptr(page) }.load(Ordering::Relaxed);
        for attempt in 1..=ATTEMPTS {
            // SAFETY: the advice does not change contents.
            if unsafe { libc::madvise(page.cast(), HUGE_PAGE, libc::MADV_COLLAPSE) } == 0 {
                break;
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy if attempt < ATTEMPTS => {}
                io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => in_use = Some(error),
                _ => return Err(error),
            }
        }
    }
    in_use.map_or(Ok(()), Err)
}

/// Whether [`collapse`] works here.
pub fn can_collapse() -> bool {
    let one_page = || {
        let file = memory_file(HUGE_PAGE as u64)?;
        let at = map_huge(file.as_fd(), HUGE_PAGE)? as usize;
        // SAFETY: mapped just above.
        let collapsed = unsafe { collapse(at, HUGE_PAGE) };
        // SAFETY: mapped above, and used no more.
        unsafe { unmap(at, HUGE_PAGE) };
        collapsed
    };
    one_page().is_ok()
}

/// Maps `len` bytes of `file` at a multiple of [`HUGE_PAGE`].
pub(crate) fn map_huge(file: BorrowedFd<'_>, len: usize) -> io::Result<*mut u8> {
    // SAFETY: not placed over anything.
    let map = |len, place| unsafe { map_shared(file, 0, len, place) };
    // There is such a multiple in twice the room.
    let room = map(2 * len, MapAddress::Anywhere)? as usize;
    // SAFETY: mapped just above, and not used.
    unsafe { unmap(room, 2 * len) };
    map(len, MapAddress::Exactly(room.next_multiple_of(HUGE_PAGE)))
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

/// How often the kernel found no memory for a huge page since the machine started: the machine's memory is in pieces
/// then, and a test of huge pages has no outcome.
#[cfg(test)]
pub(crate) fn huge_pages_refused() -> u64 {
    let events = std::fs::read_to_string("/proc/vmstat").unwrap();
    let refused = events.lines().find_map(|line| line.strip_prefix("thp_collapse_alloc_failed "));
    refused.map_or(0, |number| number.parse().unwrap())
}

/// KiB on huge pages of the mapping at this address.
#[cfg(test)]
pub(crate) fn huge_kib(at: usize) -> usize {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut own = smaps.lines().skip_while(|line| !line.starts_with(&format!("{at:x}-")));
    let huge = own.find_map(|line| line.strip_prefix("ShmemPmdMapped:")?.strip_suffix("kB"));
    huge.unwrap().trim().parse().unwrap()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn huge_pages_have_the_contents_of_small_ones() {
        const LEN: usize = 4 * HUGE_PAGE;
        let refused = huge_pages_refused();
        let file = memory_file(LEN as u64).unwrap();
        let at = map_huge(file.as_fd(), LEN).unwrap();
        file.write_all_at(b"here", HUGE_PAGE as u64 + 7).unwrap();
        // SAFETY: mapped above.
        let collapsed = unsafe { collapse(at as usize, LEN) };
        let can = can_collapse();
        if huge_pages_refused() == refused {
            assert_eq!(collapsed.is_ok(), can, "{collapsed:?}");
        }
        // SAFETY: as above.
        let all = unsafe { std::slice::from_raw_parts(at, LEN) };
        assert_eq!(&all[HUGE_PAGE + 7..][..4], b"here");
        assert_eq!(all.iter().filter(|byte| **byte != 0).count(), 4);
        if collapsed.is_ok() {
            assert_eq!(huge_kib(at as usize), LEN >> 10);
        }
        // SAFETY: used no more.
        unsafe { unmap(at as usize, LEN) };
    }

    #[test]
    fn mappings_near_an_address_have_places_of_their_own() {
        const AT: usize = 80 << 40;
        const LARGE: usize = 300 << 30;
        let file = memory_file(1 << 20).unwrap();
        let map = |len| map_shared_near(file.as_fd(), 0, len, AT).unwrap() as usize;
        // As one of 1,024 PEs, and then several of few.
        let large = map(LARGE);
        let mut small: Vec<usize> = (0..100).map(|_| map(1 << 20)).collect();
        assert_eq!(large, AT);
        small.sort_unstable();
        small.dedup();
        assert_eq!(small.len(), 100);
        assert!(small.iter().all(|at| (AT + LARGE..AT + (4 << 40)).contains(at)), "{small:x?}");
        // SAFETY: used no more.
        unsafe {
            unmap(large, LARGE);
            for at in small {
                unmap(at, 1 << 20);
            }
        }
    }

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
        let covers =
            |from: u64, to: u64, byte: u64| parts(from, to).iter().any(|(from, to)| (*from..*to).contains(&byte));
        for byte in [3 * PAGE, 4 * PAGE, 40 * PAGE] {
            assert!(covers(0, 64 * PAGE, byte), "{byte}");
            assert!(covers(byte, byte + 1, byte), "{byte}");
            assert!(!covers(0, byte, byte), "{byte}");
        }
        let all: u64 = parts(0, 64 * PAGE).iter().map(|(from, to)| to - from).sum();
        assert!(all <= 64 * PAGE);
        assert!(parts(5 * PAGE, 5 * PAGE + 1).iter().all(|(from, to)| to - from == 1));
        assert!(punch_hole(file.as_fd(), 0, 64 * PAGE));
        assert_eq!(parts(0, 64 * PAGE), []);
    }
}
