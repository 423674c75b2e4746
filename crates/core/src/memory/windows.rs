//! Mapping the other PEs' windows. Their number must not grow with that of the PEs: each PE maps for itself, so
//! mappings one by one would take time that grows with the square.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use ferroshmem_platform::machine::address_space_limit;
use ferroshmem_platform::mapping::{self, Advice, HUGE_PAGE, MapAddress};

/// Most PEs of a node whose windows are mapped one by one. A stray access between two windows faults then, and
/// is explained. Of more PEs all windows are one mapping, and a PE finds at its end what was written
/// between them ([`Windows::stray`]).
pub(crate) const MOST_APART: usize = 16;

/// Which memory of each PE is mapped, and where: its heap or its globals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    /// This PE.
    pub me: usize,
    /// Number of PEs.
    pub n_pes: usize,
    /// Bytes from one PE's memory to the next: of addresses, and in the job's file.
    pub stride: u64,
    /// Whether those two are the same.
    pub is_planned: bool,
    /// Bytes that each PE has there.
    pub len: usize,
    /// Byte offset in the job's file of PE 0's.
    pub first_offset: u64,
    /// Bytes from one PE's to the next in the file.
    pub file_stride: u64,
}

/// What is mapped of the others.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// Addresses.
    ranges: Vec<Range<usize>>,
    /// Whether ranges hold what lies between windows, too.
    gaps: bool,
}

impl Windows {
    /// Maps the others' windows around this PE's own memory at `own`: as few mappings as there can be.
    pub(super) fn map_around(&self, file: &File, own: usize) -> io::Result<Mapped> {
        let place = |pe: usize| MapAddress::Exactly(self.address(own, pe));
        let others = [0..self.me, self.me + 1..self.n_pes];
        if self.may_join() {
            let ranges = others.clone().into_iter().filter(|pes| !pes.is_empty());
            if let Ok(mapped) = self.map(file, ranges, place) {
                return Ok(mapped);
            }
        }
        let each = others.into_iter().flatten().map(|pe| pe..pe + 1);
        self.map(file, each, place)
    }

    /// Maps the others' windows wherever there is room, and gives all addresses; this PE's own memory is at `own`.
    pub(super) fn map_anywhere(&self, file: &File, own: usize) -> io::Result<(Vec<usize>, Mapped)> {
        let others = || (0..self.n_pes).filter(|pe| *pe != self.me);
        let anywhere = |_| MapAddress::Anywhere;
        let mut bases = vec![own; self.n_pes];
        if self.may_join()
            && let Ok(mapped) = self.map(file, std::iter::once(0..self.n_pes), anywhere)
        {
            for pe in others() {
                bases[pe] = mapped.ranges[0].start + pe * self.stride as usize;
            }
            return Ok((bases, mapped));
        }
        let mapped = self.map(file, others().map(|pe| pe..pe + 1), anywhere)?;
        for (pe, range) in others().zip(&mapped.ranges) {
            bases[pe] = range.start;
        }
        Ok((bases, mapped))
    }

    /// Address of PE `pe`'s memory where this PE's own is at `own`.
    fn address(&self, own: usize, pe: usize) -> usize {
        let distance = (pe as i64 - self.me as i64).wrapping_mul(self.stride as i64);
        own.wrapping_add(distance as usize)
    }

    /// Whether windows of several PEs are to be one mapping.
    fn may_join(&self) -> bool {
        // Gaps would be taken from what a limited address space has for the program.
        let with_gaps = self.n_pes > MOST_APART && address_space_limit().is_none();
        self.is_planned && (with_gaps || self.len as u64 == self.stride)
    }

    /// Maps the windows of each range of PEs in one; all or nothing.
    fn map(
        &self,
        file: &File,
        ranges: impl Iterator<Item = Range<usize>>,
        place: impl Fn(usize) -> MapAddress,
    ) -> io::Result<Mapped> {
        let mut mapped = Mapped::default();
        for pes in ranges {
            let offset = self.first_offset + pes.start as u64 * self.file_stride;
            let len = (pes.len() - 1) * self.stride as usize + self.len;
            // SAFETY: not placed over anything.
            let at = unsafe { mapping::map_shared(file.as_fd(), offset, len, place(pes.start)) };
            match at {
                Ok(at) => {
                    mapping::advise(at as usize, len, Advice::LinuxDontDump);
                    mapped.ranges.push(at as usize..at as usize + len);
                    mapped.gaps |= pes.len() > 1 && (self.len as u64) < self.stride;
                }
                Err(e) => {
                    // SAFETY: mapped just above, and not used yet.
                    unsafe { mapped.unmap() };
                    return Err(e);
                }
            }
        }
        Ok(mapped)
    }

    /// How far behind this PE's memory, up to the next PE's, there is memory that some PE has touched: in bytes
    /// from the end, less than a huge page after it. Only a stray access of another PE can do that.
    pub(super) fn stray(&self, file: &File) -> Option<u64> {
        let own = self.first_offset + self.me as u64 * self.file_stride;
        let end = own + self.len as u64;
        // The kernel may have allocated a huge page for the last bytes.
        let from = end.next_multiple_of(HUGE_PAGE as u64);
        let touched = mapping::first_memory(file.as_fd(), from)?;
        (touched < own + self.file_stride).then(|| touched - end)
    }
}

impl Mapped {
    /// Whether ranges hold what lies between windows, where a stray access is not noticed when it happens.
    pub(super) fn has_gaps(&self) -> bool {
        self.gaps
    }

    /// Removes the mappings.
    ///
    /// # Safety
    /// Nothing uses them.
    pub(super) unsafe fn unmap(&self) {
        for range in &self.ranges {
            // SAFETY: mapped by `Windows::map`; the caller promises that nothing uses it.
            unsafe { mapping::unmap(range.start, range.len()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const STRIDE: u64 = 4 << 20;

    fn windows(n_pes: usize, len: usize) -> (File, Windows) {
        let file = mapping::memory_file(STRIDE * n_pes as u64).unwrap();
        let windows = Windows {
            me: n_pes / 2,
            n_pes,
            stride: STRIDE,
            is_planned: true,
            len,
            first_offset: 0,
            file_stride: STRIDE,
        };
        (file, windows)
    }

    /// An address with as much room around it as the windows need. Each is far from the others, and from where
    /// the kernel places mappings: other tests make some meanwhile.
    fn room(windows: &Windows) -> usize {
        const FIRST: usize = 20 << 40;
        const EACH: usize = 64 << 30;
        static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

        let all = windows.stride as usize * windows.n_pes;
        assert!(all < EACH);
        let (file, _) = self::windows(windows.n_pes, 4096);
        let map = |place| {
            // SAFETY: placed where there is room, and not used.
            unsafe {
                let at = mapping::map_shared(file.as_fd(), 0, all, place)?;
                mapping::unmap(at as usize, all);
                io::Result::Ok(at as usize)
            }
        };
        let far = NEXT.fetch_add(EACH, Ordering::Relaxed);
        // Sanitizers have memory of their own in places.
        let at = map(MapAddress::Exactly(far)).or_else(|_| map(MapAddress::Anywhere));
        at.unwrap() + windows.me * windows.stride as usize
    }

    #[test]
    fn mappings_do_not_grow_with_the_pes() {
        for (n, len, mappings) in [
            (2, 4096, 1),
            (MOST_APART, 4096, MOST_APART - 1),
            (MOST_APART + 1, 4096, 2),
            (200, 4096, 2),
            (5, STRIDE as usize, 2),
            (200, STRIDE as usize, 2),
        ] {
            let (file, windows) = windows(n, len);
            let own = room(&windows);
            let mapped = windows.map_around(&file, own).unwrap();
            assert_eq!(mapped.ranges.len(), mappings, "{n} PEs, {len} bytes");
            assert_eq!(mapped.has_gaps(), n > MOST_APART && len < STRIDE as usize);
            for pe in (0..n).filter(|pe| *pe != windows.me) {
                let there = std::ptr::with_exposed_provenance_mut::<u8>(windows.address(own, pe));
                // SAFETY: PE `pe`'s window, mapped above.
                unsafe { there.write(pe as u8 + 1) };
                let mut byte = [0];
                file.read_exact_at(&mut byte, pe as u64 * STRIDE).unwrap();
                assert_eq!(byte[0], pe as u8 + 1, "PE {pe} of {n}");
            }
            // SAFETY: not used any more.
            unsafe { mapped.unmap() };
            let (bases, mapped) = windows.map_anywhere(&file, own).unwrap();
            assert_eq!(bases.len(), n);
            assert!(mapped.ranges.len() <= mappings, "{n} PEs, {len} bytes");
            for (pe, base) in bases.iter().enumerate().filter(|(pe, _)| *pe != windows.me) {
                // SAFETY: PE `pe`'s window, mapped above.
                let byte = unsafe { *std::ptr::with_exposed_provenance::<u8>(*base) };
                assert_eq!(byte, pe as u8 + 1, "PE {pe} of {n}");
            }
        }
    }

    #[test]
    fn windows_without_room_leave_nothing_behind() {
        let (file, windows) = windows(20, 4096);
        let own = room(&windows);
        let taken = windows.address(own, 19);
        // SAFETY: placed where there is room.
        unsafe { mapping::map_shared(file.as_fd(), 0, 4096, MapAddress::Exactly(taken)) }.unwrap();
        windows.map_around(&file, own).unwrap_err();
        for pe in (0..19).filter(|pe| *pe != windows.me) {
            let at = MapAddress::Exactly(windows.address(own, pe));
            // SAFETY: placed where there is room.
            unsafe { mapping::map_shared(file.as_fd(), 0, 4096, at) }.unwrap();
        }
    }

    #[test]
    fn memory_behind_a_window_is_found() {
        let (file, windows) = windows(4, 1 << 20);
        let own = windows.me as u64 * STRIDE;
        file.write_all_at(&[1], own).unwrap();
        file.write_all_at(&[1], own + STRIDE).unwrap();
        assert_eq!(windows.stray(&file), None);
        file.write_all_at(&[1], own + STRIDE - 1).unwrap();
        assert_eq!(windows.stray(&file), Some((3 << 20) - 4096));
    }
}
