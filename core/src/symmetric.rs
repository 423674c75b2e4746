//! From an argument of the C API to a place in memory: the slow path's checks.

use std::ffi::c_void;

use crate::fatal::fatal;
use crate::memory::Place;
use crate::runtime::Runtime;

impl Runtime {
    /// Where PE `pe`'s copy of the `len` bytes at `addr` is. An address that is not
    /// symmetric ends the job; `argument` is its name in the prototype.
    #[inline]
    pub fn remote(
        &self,
        name: &str,
        argument: &str,
        addr: *const c_void,
        len: usize,
        pe: usize,
    ) -> *mut u8 {
        let there = self.space.translate(addr.expose_provenance(), len, pe);
        match there {
            Some(there) if !self.settings.check => there,
            Some(there) => {
                self.check_block(name, argument, addr.addr(), len);
                there
            }
            None => self.not_symmetric(name, argument, addr.addr(), len, pe),
        }
    }

    /// With `SHMEM_CHECK=1`: the `len` bytes lie within one live block of the heap.
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
            Place::Globals if self.space.is_stranger(pe) => fatal(
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
}
