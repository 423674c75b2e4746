//! The executable's global and static variables, made symmetric.
//!
//! At start-up the writable segment is copied into the job's memory and that is mapped over
//! it, at the same addresses with the same contents; after that any PE can map it.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::slice;

use ferroshmem_platform::loaded::{Loaded, find_loaded};
use ferroshmem_platform::machine::page_size;
use ferroshmem_platform::mapping::{self, MapAddress};
use ferroshmem_platform::threads::Stopped;

use super::window_error::WindowError;
use crate::job::Attachment;

/// Name under which executables ask for this library.
const SONAME_STEM: &[u8] = b"libshmem.so";
/// Beginnings of names of other OpenSHMEM libraries: Open MPI's, Sandia's and Cray's. Calls of programs that ask for
/// one may be translated for this library.
pub const OTHER_LIBRARIES: [&[u8]; 2] = [b"liboshmem.so", b"libsma.so"];

/// The executable's writable memory, page aligned, without what is read-only after
/// relocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Globals {
    /// First address.
    pub start: usize,
    /// Bytes.
    pub len: usize,
    /// Bytes from the start that the executable's file holds; the rest began as zero.
    pub in_file: usize,
    /// Digest of the segment layout and the notes, of which the linker's build id is one: PEs with the same digest run
    /// the same executable.
    pub image: u64,
}

impl Globals {
    /// The globals of the executable, if it was linked against this library: an
    /// interpreter that loads the library later is left alone.
    pub fn find() -> Option<Self> {
        // The executable comes first.
        find_loaded(|executable| {
            let has_us = executable.is_this_library() || needs_us(executable);
            ControlFlow::Break(has_us.then(|| writable(executable, page_size())))
        })?
        .flatten()
    }

    /// Whether `addr` is in the globals.
    pub fn contains(&self, addr: usize) -> bool {
        addr.wrapping_sub(self.start) < self.len
    }

    /// Copies the globals into the job's memory and maps the copy over the original. The other threads
    /// of this process stand still meanwhile: what they wrote between copy and mapping would be lost.
    pub fn share(&self, job: &Attachment) -> Result<(), WindowError> {
        let (len, room) = (self.len as u64, job.control.header().slot_size);
        if len > room {
            return Err(WindowError::GlobalsTooLarge { len, room });
        }
        let offset = job.control.offsets().globals(job.index);
        let mut pages = Pages::new(self);
        // From here to the mapping nothing may be allocated or freed: a thread that stands still may
        // hold the allocator's lock, and a static executable has the allocator's state among its globals.
        let stopped = Stopped::all().map_err(WindowError::Threads)?;
        pages.find_touched();
        let copied = self.copy_to(&job.file, offset, &pages);
        // SAFETY: replaces memory by a copy of itself, which no other thread writes meanwhile.
        let mapped = copied.and_then(|()| unsafe {
            let over = MapAddress::Over(self.start);
            mapping::map_shared(job.file.as_fd(), offset, self.len, over)
        });
        drop(stopped);
        mapped.map_err(|e| WindowError::Io("share the global variables", e))?;
        Ok(())
    }

    /// Copies the pages that hold anything to `file` at `offset`.
    fn copy_to(&self, file: &File, offset: u64, pages: &Pages) -> io::Result<()> {
        let page = page_size();
        let mut i = 0;
        while i < pages.count() {
            let run = (i..pages.count()).take_while(|at| pages.hold(*at)).count();
            if run > 0 {
                let start = self.start + i * page;
                // SAFETY: pages of this process's own readable segment.
                unsafe { write_all_at(file, start, run * page, offset + (i * page) as u64)? };
            }
            i += run.max(1);
        }
        Ok(())
    }

    /// Gives this process, a child of `fork`, globals of its own: what it writes must not
    /// reach the PE that it was forked from.
    ///
    /// # Safety
    /// Called in the child while it has one thread; `file` at `offset` backs the globals.
    pub unsafe fn make_private(&self, file: &File, offset: u64) -> io::Result<()> {
        // SAFETY: new memory where there is room, then moved over the old in one step; the
        // populated parts are read from the file before, which is what is mapped here.
        unsafe {
            let fresh = libc::mmap(
                std::ptr::null_mut(),
                self.len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            if fresh == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let end = offset + self.len as u64;
            let mut at = offset;
            loop {
                let data = libc::lseek(file.as_raw_fd(), at as i64, libc::SEEK_DATA);
                if data < 0 || data as u64 >= end {
                    break;
                }
                let data = data as u64;
                let hole = libc::lseek(file.as_raw_fd(), data as i64, libc::SEEK_HOLE);
                let hole = if hole < 0 { end } else { (hole as u64).min(end) };
                let skip = (data - offset) as usize;
                read_all_at(file, fresh as usize + skip, (hole - data) as usize, data)?;
                at = hole;
            }
            let moved = libc::mremap(
                fresh,
                self.len,
                self.len,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                self.start as *mut c_void,
            );
            if moved == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

/// Writes `len` bytes of memory from `start` on to `file`. By the bare system call: a whole
/// segment holds the red zones of AddressSanitizer, whose `pwrite` would take offence.
///
/// # Safety
/// The memory is mapped and readable.
unsafe fn write_all_at(file: &File, start: usize, len: usize, offset: u64) -> io::Result<()> {
    // SAFETY: the caller promises that the memory is mapped and readable.
    unsafe { transfer(libc::SYS_pwrite64, file, start, len, offset) }
}

/// Reads `len` bytes of `file` to memory from `start` on, as [`write_all_at`] writes.
///
/// # Safety
/// The memory is mapped, writable, and used by no other thread.
unsafe fn read_all_at(file: &File, start: usize, len: usize, offset: u64) -> io::Result<()> {
    // SAFETY: the caller promises that the memory is writable and used by no other thread.
    unsafe { transfer(libc::SYS_pread64, file, start, len, offset) }
}

unsafe fn transfer(call: libc::c_long, file: &File, start: usize, len: usize, offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        // SAFETY: the callers' promise.
        let n = unsafe { libc::syscall(call, file.as_raw_fd(), start + done, len - done, offset + done as u64) };
        match usize::try_from(n) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => done += n,
            Err(_) => {
                let e = io::Error::last_os_error();
                if e.kind() != io::ErrorKind::Interrupted {
                    return Err(e);
                }
            }
        }
    }
    Ok(())
}

/// The span of the writable segments, less what RELRO makes read-only.
fn writable(executable: &Loaded<'_>, page: usize) -> Option<Globals> {
    let base = executable.base;
    let down = |a: usize| a & !(page - 1);
    let relro_end =
        executable.segments(libc::PT_GNU_RELRO).next().map_or(0, |h| down(base + (h.p_vaddr + h.p_memsz) as usize));
    let mut span: Option<(usize, usize)> = None;
    let mut file_end = 0;
    let mut image = 0xcbf2_9ce4_8422_2325_u64;
    let mut digest = |word: u64| image = (image ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    for notes in executable.segments(libc::PT_NOTE) {
        // SAFETY: the notes of a loaded object are loaded; the dynamic linker reads them, too.
        let notes = unsafe { slice::from_raw_parts(executable.address(notes) as *const u8, notes.p_memsz as usize) };
        for byte in notes {
            digest((*byte).into());
        }
    }
    for h in executable.segments(libc::PT_LOAD) {
        for word in [h.p_vaddr, h.p_filesz, h.p_memsz, u64::from(h.p_flags)] {
            digest(word);
        }
        if h.p_flags & libc::PF_W == 0 {
            continue;
        }
        let start = down(base + h.p_vaddr as usize).max(relro_end);
        let end = (base + (h.p_vaddr + h.p_memsz) as usize).next_multiple_of(page);
        if start < end {
            // Writable segments are neighbours; if RELRO splits them, the last one holds
            // .data and .bss.
            let joined = span.filter(|s| s.1 == start).map_or(start, |s| s.0);
            span = Some((joined, end));
            file_end = base + (h.p_vaddr + h.p_filesz) as usize;
        }
    }
    let (start, end) = span?;
    Some(Globals { start, len: end - start, in_file: file_end.saturating_sub(start), image: image | 1 })
}

/// Whether the executable names this library as needed.
fn needs_us(executable: &Loaded<'_>) -> bool {
    const DT_NEEDED: usize = 1;
    const DT_STRTAB: usize = 5;
    let Some(strings) = executable.table(DT_STRTAB) else {
        return false;
    };
    executable.dynamic().filter(|entry| entry[0] == DT_NEEDED).any(|[_, at]| {
        // SAFETY: the string table of a loaded object is loaded, and the entry is the place of a string in it.
        let name = unsafe { CStr::from_ptr((strings + at) as *const _) }.to_bytes();
        name.starts_with(SONAME_STEM) || OTHER_LIBRARIES.iter().any(|other| name.starts_with(other))
    })
}

/// Which pages of the globals hold anything: those that come from the executable's file, and those that
/// were touched. The kernel says so, since looking would touch them; if it does not, all do.
struct Pages {
    /// Place of the first page in the kernel's list.
    first: u64,
    /// Pages that the executable's file fills.
    in_file: usize,
    /// The kernel's list of this process's pages, unless the file fills all.
    pagemap: Option<File>,
    /// An entry of the list for each page.
    entries: Vec<[u8; 8]>,
}

impl Pages {
    fn new(globals: &Globals) -> Self {
        let page = page_size();
        Self {
            first: (globals.start / page) as u64,
            in_file: globals.in_file.div_ceil(page),
            pagemap: (globals.in_file <= globals.len - page).then(|| File::open("/proc/self/pagemap").ok()).flatten(),
            entries: vec![[0; 8]; globals.len / page],
        }
    }

    /// Reads the list, without allocating.
    fn find_touched(&mut self) {
        let (at, raw) = (self.first * 8, self.entries.as_flattened_mut());
        let read = |file: &File| file.read_exact_at(raw, at).is_ok();
        if !self.pagemap.as_ref().is_some_and(read) {
            self.entries.fill([0xff; 8]);
        }
    }

    fn count(&self) -> usize {
        self.entries.len()
    }

    fn hold(&self, at: usize) -> bool {
        const PRESENT_OR_SWAPPED: u64 = 3 << 62;
        let entry = u64::from_ne_bytes(self.entries[at]);
        at < self.in_file || entry & PRESENT_OR_SWAPPED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: u32, flags: u32, vaddr: u64, memsz: u64) -> libc::Elf64_Phdr {
        libc::Elf64_Phdr {
            p_type: kind,
            p_flags: flags,
            p_offset: 0,
            p_vaddr: vaddr,
            p_paddr: vaddr,
            p_filesz: memsz / 2,
            p_memsz: memsz,
            p_align: 4096,
        }
    }

    const RW: u32 = libc::PF_R | libc::PF_W;

    fn writable_at(base: usize, headers: &[libc::Elf64_Phdr]) -> Option<Globals> {
        let path = c"";
        let executable = Loaded { base, path, headers };
        writable(&executable, 4096)
    }

    #[test]
    fn relro_is_left_out() {
        let headers = [
            header(libc::PT_LOAD, libc::PF_R, 0, 0x500),
            header(libc::PT_LOAD, RW, 0x3db0, 0x1250),
            header(libc::PT_GNU_RELRO, libc::PF_R, 0x3db0, 0x250),
        ];
        let g = writable_at(0x1_0000, &headers).unwrap();
        assert_eq!((g.start, g.len), (0x1_4000, 0x1000));
    }

    #[test]
    fn separate_relro_segment_of_other_linkers() {
        let headers = [
            header(libc::PT_LOAD, RW, 0x3000, 0x1000),
            header(libc::PT_LOAD, RW, 0x5000, 0x2345),
            header(libc::PT_GNU_RELRO, libc::PF_R, 0x3000, 0x1000),
        ];
        let g = writable_at(0, &headers).unwrap();
        assert_eq!((g.start, g.len), (0x5000, 0x3000));
    }

    #[test]
    fn no_writable_segment() {
        assert_eq!(writable_at(0, &[header(libc::PT_LOAD, libc::PF_R, 0, 10)]), None);
    }

    #[test]
    fn an_executable_that_holds_the_library_is_found() {
        static mut WORD: u32 = 7;
        let g = Globals::find().expect("the test holds the library");
        assert!(g.contains(&raw const WORD as usize));
        let on_stack = 0;
        assert!(!g.contains(&raw const on_stack as usize));
    }
}
