//! The page of device memory to which the processor stores descriptors.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::descriptor::Descriptor;
use super::portal::{Portal, Submitted};

/// Bytes of a queue's portal.
const PAGE: usize = 4096;

/// A queue's portal.
pub(super) struct Mapped {
    page: *mut u8,
    is_shared: bool,
    submissions: AtomicUsize,
}

// SAFETY: the page stays mapped, and is only written by instructions whose stores a device takes from any thread.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps the portal of a queue; `ErrorKind::Unsupported`: the processor lacks the instruction for it.
    pub(super) fn new(queue: &File, is_shared: bool) -> io::Result<Self> {
        if !instruction::is_there(is_shared) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (null, fd) = (std::ptr::null_mut(), queue.as_raw_fd());
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        // SAFETY: a new mapping, of the length that the driver wants.
        let page = unsafe { libc::mmap(null, PAGE, libc::PROT_WRITE, flags, fd, 0) };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            page: page.cast(),
            is_shared,
            submissions: AtomicUsize::new(0),
        })
    }
}

impl Portal for Mapped {
    fn submit(&self, descriptor: &Descriptor) -> Submitted {
        // Any line of the page is the portal; in turn they do not wait for each other.
        let number = self.submissions.fetch_add(1, Ordering::Relaxed);
        let line = number * size_of::<Descriptor>() % PAGE;
        let line = self.page.wrapping_add(line);
        // SAFETY: a line of a portal, which is mapped where the processor has the instruction.
        match unsafe { instruction::store(line, descriptor, self.is_shared) } {
            true => Submitted::Accepted,
            false => Submitted::Busy,
        }
    }
}

/// ENQCMD for shared queues, MOVDIR64B for dedicated ones (Intel's "Software Developer's Manual", volume 2).
#[cfg(target_arch = "x86_64")]
mod instruction {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count, _mm_sfence};

    /// Whether the processor has it (CPUID leaf 7, ECX).
    pub(super) fn is_there(is_shared: bool) -> bool {
        const MOVDIR64B: u32 = 1 << 28;
        const ENQCMD: u32 = 1 << 29;

        // Since Rust 1.94 these are safe functions.
        #[allow(unused_unsafe)]
        // SAFETY: every processor of this architecture has the instruction; leaf 0 tells whether there is a leaf 7.
        let found = unsafe {
            match __cpuid(0).eax {
                7.. => __cpuid_count(7, 0).ecx,
                _ => 0,
            }
        };
        found & if is_shared { ENQCMD } else { MOVDIR64B } != 0
    }

    /// Stores a descriptor; false: a shared queue has no room. A dedicated one does not say it, `Queue` counts.
    ///
    /// # Safety
    /// `line` is a line of a portal of a queue that is shared or is not, and the processor has the instruction.
    pub(super) unsafe fn store<D>(line: *mut u8, descriptor: &D, is_shared: bool) -> bool {
        const { assert!(size_of::<D>() == 64) };
        let is_busy: u8;
        // SAFETY: the caller promises the line, and a descriptor has the 64 bytes that are read. Both instructions are
        // weakly ordered, hence the fence: the device sees what was stored before.
        unsafe {
            _mm_sfence();
            if is_shared {
                asm!(
                    "enqcmd {line}, [{descriptor}]",
                    "setz {is_busy}",
                    line = in(reg) line,
                    descriptor = in(reg) descriptor,
                    is_busy = out(reg_byte) is_busy,
                    options(nostack),
                );
            } else {
                is_busy = 0;
                asm!(
                    "movdir64b {line}, [{descriptor}]",
                    line = in(reg) line,
                    descriptor = in(reg) descriptor,
                    options(nostack),
                );
            }
        }
        is_busy == 0
    }
}

/// No other architecture has such devices.
#[cfg(not(target_arch = "x86_64"))]
mod instruction {
    pub(super) fn is_there(_: bool) -> bool {
        false
    }

    /// # Safety
    /// None is needed.
    pub(super) unsafe fn store<D>(_: *mut u8, _: &D, _: bool) -> bool {
        false
    }
}
