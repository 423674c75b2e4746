//! From an argument of the C API to a place in memory: the slow path's checks.

use std::ffi::c_void;

use ferroshmem_fabric::Remote;

use crate::fatal::fatal;
use crate::memory::Place;
use crate::nodes::segment;
use crate::runtime::Runtime;

/// Where a PE's copy of something symmetric is.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// In a window of this process.
    Here(*mut u8),
    /// On another node.
    There(Remote),
}

impl Runtime {
    /// Where PE `pe`'s copy of the `len` bytes at `addr` is. An address that is not
    /// symmetric ends the job; `argument` is its name in the prototype.
    #[inline]
    pub fn target(
        &self,
        name: &str,
        argument: &str,
        addr: *const c_void,
        len: usize,
        pe: usize,
    ) -> Target {
        match self.job.placement.index_here(pe) {
            Some(index) => Target::Here(self.mate(name, argument, addr, len, index)),
            None => Target::There(self.there(name, argument, addr, len, pe)),
        }
    }

    /// As [`target`](Self::target), for an atomic operation: a provider whose atomics are not a CPU's
    /// does those on this node, too ([`crate::nodes::Link::all_atomics`]).
    #[inline]
    pub fn atomic_target(
        &self,
        name: &str,
        argument: &str,
        addr: *const c_void,
        len: usize,
        pe: usize,
    ) -> Target {
        match self.target(name, argument, addr, len, pe) {
            Target::Here(_) if self.all_atomics() => {
                Target::There(self.there(name, argument, addr, len, pe))
            }
            target => target,
        }
    }

    /// As [`target`](Self::target), of PE `index` of this node.
    #[inline]
    pub fn mate(
        &self,
        name: &str,
        argument: &str,
        addr: *const c_void,
        len: usize,
        index: usize,
    ) -> *mut u8 {
        let there = self.space.translate(addr.expose_provenance(), len, index);
        match there {
            Some(there) if !self.settings.check => there,
            Some(there) => {
                self.check_block(name, argument, addr.addr(), len);
                there
            }
            None => {
                let pe = self.job.placement.here()[index] as usize;
                self.not_symmetric(name, argument, addr.addr(), len, pe)
            }
        }
    }

    /// As [`target`](Self::target), of this PE itself: where it says, if that is symmetric.
    #[inline]
    pub fn own(&self, name: &str, argument: &str, addr: *const c_void, len: usize) -> *mut u8 {
        if self.space.place(addr.addr(), len) == Place::Elsewhere {
            self.not_symmetric(name, argument, addr.addr(), len, self.me);
        }
        if self.settings.check {
            self.check_block(name, argument, addr.addr(), len);
        }
        addr.cast_mut().cast()
    }

    /// As [`target`](Self::target), of a PE that is to be reached over the fabric.
    pub fn there(
        &self,
        name: &str,
        argument: &str,
        addr: *const c_void,
        len: usize,
        pe: usize,
    ) -> Remote {
        let (place, offset) = self.space.position(addr.addr(), len);
        let segment = match place {
            Place::Heap => segment::HEAP,
            Place::Globals if !self.link().is_stranger(pe) => segment::GLOBALS,
            _ => self.not_symmetric(name, argument, addr.addr(), len, pe),
        };
        if self.settings.check {
            self.check_block(name, argument, addr.addr(), len);
        }
        Remote {
            pe,
            segment,
            offset,
        }
    }

    /// With `SHMEM_CHECK=1`: the `len` bytes lie within one live block of the heap.
    #[cold]
    #[inline(never)]
    fn check_block(&self, name: &str, argument: &str, addr: usize, len: usize) {
        if self.space.place(addr, 1) != Place::Heap {
            return;
        }
        let offset = (addr - self.space.heap_base()) as u64;
        let heap = self.heap.lock().unwrap_or_else(|e| e.into_inner());
        match heap.block_around(offset) {
            None => fatal(
                name,
                format_args!(
                    "{argument} = {addr:#x} is in the symmetric heap, but in no allocated block"
                ),
            ),
            Some((start, size)) if offset + len as u64 > start + size => fatal(
                name,
                format_args!(
                    "{argument} = {addr:#x}: {len} bytes end {} bytes past the block of {size} bytes",
                    offset + len as u64 - start - size
                ),
            ),
            Some(_) => {}
        }
    }

    #[cold]
    fn not_symmetric(&self, name: &str, argument: &str, addr: usize, len: usize, pe: usize) -> ! {
        if addr == 0 {
            fatal(name, format_args!("{argument} is a null pointer"));
        }
        let size = match self.space.place(addr, 1) {
            Place::Elsewhere => fatal(
                name,
                format_args!(
                    "{argument} = {addr:#x} is not a symmetric address: use shmem_malloc or a global variable"
                ),
            ),
            Place::Globals if self.is_stranger(pe) => fatal(
                name,
                format_args!(
                    "{argument} = {addr:#x} is a global variable, and PE {pe} runs another program"
                ),
            ),
            Place::Globals => "the global variables",
            Place::Heap => "the symmetric heap",
        };
        fatal(
            name,
            format_args!("{argument} = {addr:#x}: {len} bytes reach past the end of {size}"),
        )
    }

    /// Where PE `pe`'s copy of `addr` can be loaded and stored; null if it is not symmetric, or the
    /// PE is on another node.
    pub fn pointer(&self, addr: *const c_void, pe: usize) -> *mut c_void {
        let index = self.job.placement.index_here(pe);
        let there = index.and_then(|i| self.space.translate(addr.expose_provenance(), 1, i));
        there.map_or(std::ptr::null_mut(), |there| there.cast())
    }

    /// Whether PE `pe` runs another executable, so that globals are not symmetric with it.
    pub fn is_stranger(&self, pe: usize) -> bool {
        match self.job.placement.index_here(pe) {
            Some(index) => self.space.is_stranger(index),
            None => self.link().is_stranger(pe),
        }
    }
}
