//! The memory of the job at the other end of a connection, mapped.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use ferroshmem_platform::machine::page_size;
use ferroshmem_platform::mapping::{self, Advice, MapAddress};

use crate::job::Attachment;
use crate::job::control::Control;
use crate::job::plan::MIN_STRIDE;
use crate::memory::{AddressSpace, IN_GLOBALS, MOST_APART, Origins, offset_in};

/// Why the other job's memory cannot be mapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The address space has no room.
    #[error(
        "the address space has no room for the other job's {n_pes} heaps of {heap_size} bytes: set \
            SHMEM_SYMMETRIC_SIZE to less"
    )]
    NoRoom {
        /// PEs of the other job.
        n_pes: usize,
        /// Bytes of the heap of each.
        heap_size: u64,
    },
    /// The system refused.
    #[error("the other job's memory cannot be mapped: {0}")]
    Io(#[from] io::Error),
}

/// What the members of the other group run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Programs {
    /// Most bytes of their globals.
    pub globals_len: usize,
    /// Whether all run this PE's program.
    pub are_own: bool,
}

impl Programs {
    /// Of members with these digests of the layouts of their globals, and bytes of these.
    pub(super) fn of(space: &AddressSpace, members: impl Iterator<Item = (u64, u64)>) -> Self {
        let own = space.globals().map_or(0, |g| g.image);
        let none = Self { globals_len: 0, are_own: own != 0 };
        members.fold(none, |all, (image, len)| Self {
            globals_len: all.globals_len.max(len as usize),
            are_own: all.are_own && image == own,
        })
    }
}

/// The memory that another job has on this node.
#[derive(Debug)]
pub(super) struct OtherJob {
    control: Control,
    /// Bytes from one PE's memory to the next: of addresses.
    stride: u64,
    heap_size: u64,
    /// Bytes from this PE's memory to that of PE 0 of the other job.
    distance: usize,
    /// Where this PE would have the other job's globals, and their bytes: its own, if all of its PEs run this
    /// PE's program; else an address that is no memory.
    globals: Option<(usize, usize)>,
    /// What is mapped: address and bytes.
    mapped: Vec<(usize, usize)>,
}

impl OtherJob {
    /// Maps this memory of a job, whose PEs run these programs.
    pub(super) fn map(
        job: &Attachment,
        space: &AddressSpace,
        file: &File,
        control: Control,
        programs: &Programs,
    ) -> Result<Self, MapError> {
        let header = control.header();
        let len = programs.globals_len;
        // An address in the largest heap must not be one of the next PE.
        let stride = match control.n_pes() {
            2..=MOST_APART => header.slot_size.max(1 << space.log2_stride()),
            _ => header.slot_size,
        };
        let mut this =
            Self { control, stride, heap_size: header.heap_size, distance: 0, globals: None, mapped: Vec::new() };
        let own = space.globals().filter(|_| programs.are_own).map(|g| g.start);
        this.map_at_distance(job, space, file, own.map(|start| (start, len)))?;
        if this.globals.is_none() && len > 0 {
            let offsets = |pe: usize| control.offsets().globals(pe);
            let at = this.map_part(file, &offsets, len, MapAddress::Anywhere)?;
            this.globals = Some((at.wrapping_sub(this.distance), len));
        }
        Ok(this)
    }

    /// Maps the heaps, and at the same distance from this PE's own the globals, if they are of the same program
    /// and there is room.
    fn map_at_distance(
        &mut self,
        job: &Attachment,
        space: &AddressSpace,
        file: &File,
        globals: Option<(usize, usize)>,
    ) -> Result<(), MapError> {
        /// Distances to try.
        const TRIES: u64 = 256;

        let n_pes = self.control.n_pes() as u64;
        let span = (n_pes * self.stride).max(MIN_STRIDE);
        // Behind this job's last window.
        let behind_own = (job.control.n_pes() as u64) << space.log2_stride();
        let (base, offsets) = (space.heap_base(), self.control.offsets());
        let heap_size = self.heap_size as usize;
        // Where some distance has room for the heaps alone, that is kept in mind.
        let mut heaps_alone = None;
        for k in 0..TRIES {
            let distance = (behind_own + k * span.min(behind_own.max(MIN_STRIDE))) as usize;
            let exactly = |at: usize| MapAddress::Exactly(at.wrapping_add(distance));
            let mapped_before = self.mapped.len();
            if heap_size > 0 {
                match self.map_part(file, &|pe| offsets.heap(pe), heap_size, exactly(base)) {
                    Ok(_) => {}
                    Err(e) if is_taken(&e) => continue,
                    Err(e) => return Err(e.into()),
                }
            }
            self.distance = distance;
            let Some((start, len)) = globals else {
                return Ok(());
            };
            match self.map_part(file, &|pe| offsets.globals(pe), len, exactly(start)) {
                Ok(_) => {
                    self.globals = Some((start, len));
                    return Ok(());
                }
                Err(e) if is_taken(&e) => {
                    heaps_alone.get_or_insert(distance);
                    // SAFETY: mapped just above, and not used yet.
                    unsafe { self.unmap_from(mapped_before) };
                }
                Err(e) => return Err(e.into()),
            }
        }
        let no_room = MapError::NoRoom { n_pes: self.control.n_pes(), heap_size: self.heap_size };
        self.distance = heaps_alone.ok_or(no_room)?;
        let exactly = MapAddress::Exactly(base.wrapping_add(self.distance));
        self.map_part(file, &|pe| offsets.heap(pe), heap_size, exactly)?;
        Ok(())
    }

    /// Maps `len` bytes of each PE's window, of which that of PE i is at `offset(i)` in the file; the address of that
    /// of PE 0. Windows are apart or one mapping as those of a job's own PEs: see [`MOST_APART`].
    #[inline(never)]
    fn map_part(
        &mut self,
        file: &File,
        offset: &dyn Fn(usize) -> u64,
        len: usize,
        place: MapAddress,
    ) -> io::Result<usize> {
        let (n_pes, stride) = (self.control.n_pes(), self.stride as usize);
        let all = (n_pes - 1) * stride + len;
        // SAFETY: not placed over anything.
        let at = unsafe { mapping::map_shared(file.as_fd(), offset(0), all, place)? } as usize;
        let window = |pe: usize| at + pe * stride;
        if self.stride != self.control.header().slot_size {
            for pe in 1..n_pes {
                let over = MapAddress::Over(window(pe));
                // SAFETY: over a part of what is mapped just above, and not used yet.
                unsafe {
                    if let Err(e) = mapping::map_shared(file.as_fd(), offset(pe), len, over) {
                        mapping::unmap(at, all);
                        return Err(e);
                    }
                }
            }
        }
        mapping::advise(at, all, Advice::LinuxDontDump);
        let pages = len.next_multiple_of(page_size());
        if n_pes > MOST_APART || pages >= stride {
            self.mapped.push((at, all));
            return Ok(at);
        }
        for pe in 0..n_pes {
            self.mapped.push((window(pe), len));
            if pe + 1 < n_pes {
                // SAFETY: between two windows, where nothing is used.
                unsafe { mapping::unmap(window(pe) + pages, stride - pages) };
            }
        }
        Ok(at)
    }

    /// Removes the mappings from the `from`th on.
    ///
    /// # Safety
    /// Nothing uses them.
    unsafe fn unmap_from(&mut self, from: usize) {
        for (at, len) in self.mapped.drain(from..) {
            // SAFETY: mapped by `map_part`; the caller promises that nothing uses it.
            unsafe { mapping::unmap(at, len) };
        }
    }

    /// The control part.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// Bytes from this PE's memory to that of PE `pe` of the other job.
    pub(super) fn offset(&self, pe: usize) -> usize {
        self.distance.wrapping_add(pe * self.stride as usize)
    }

    /// Bytes of the heap of each PE.
    pub(super) fn heap_size(&self) -> u64 {
        self.heap_size
    }

    /// What `addr` stands for in the windows of the other job's PEs.
    pub(super) fn origins(&self, addr: usize) -> Origins {
        let n_pes = self.control.n_pes();
        // As if this PE were the one after the last.
        let last = self.offset(n_pes);
        Origins::new(n_pes, n_pes, self.stride, addr.wrapping_sub(last))
    }

    /// Whether each PE has a copy of the `len` bytes at `addr`, for this PE, whose heap is at `heap_base`.
    pub(super) fn holds(&self, heap_base: usize, addr: usize, len: usize) -> bool {
        let is_in = |memory| offset_in(memory, addr, len).is_some();
        is_in((heap_base, self.heap_size as usize)) || self.globals.is_some_and(is_in)
    }

    /// Where this PE would have the other job's globals, and their bytes.
    pub(super) fn globals(&self) -> Option<(usize, usize)> {
        self.globals
    }

    /// The address by which this PE names what is at `place` in the other job.
    pub(super) fn address_of(&self, heap_base: usize, place: u64) -> Option<usize> {
        if place < IN_GLOBALS {
            return Some(heap_base.wrapping_add(place as usize));
        }
        let (start, _) = self.globals?;
        Some(start.wrapping_add((place - IN_GLOBALS) as usize))
    }
}

impl Drop for OtherJob {
    fn drop(&mut self) {
        // SAFETY: the connection is over: no number names a PE of this job any more.
        unsafe {
            self.unmap_from(0);
            self.control.unmap();
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EEXIST | libc::EINVAL | libc::ENOMEM | libc::EPERM))
}
