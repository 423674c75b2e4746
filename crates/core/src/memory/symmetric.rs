//! Symmetric addresses: whether an argument of the C API is one, and where another PE's copy of it
//! is. An address that is not symmetric ends the job with a line that names the argument.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard};

use super::address_space::{AddressSpace, MemoryKind};
use super::heap::Heap;
use super::symmetric_space::Spaces;
use crate::failure::fatal::fatal;

/// The symmetric memory of this PE's node, with the metadata of this PE's allocator.
#[derive(Debug)]
pub struct SymmetricMemory {
    /// Where the heaps and globals of the node's PEs are mapped.
    pub space: &'static AddressSpace,
    heap: Mutex<Heap>,
    spaces: Mutex<Spaces>,
}

/// An argument of a routine, for messages.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'a> {
    /// C name of the routine.
    pub routine: &'a str,
    /// The argument's name in the prototype.
    pub name: &'a str,
}

impl SymmetricMemory {
    /// With nothing allocated.
    pub fn new(space: &'static AddressSpace) -> Self {
        Self { space, heap: Mutex::new(Heap::new(space.heap_size(), space.heap_mark())), spaces: Mutex::default() }
    }

    /// The symmetric spaces. Who needs the heap, too, locks it first.
    pub fn spaces(&self) -> MutexGuard<'_, Spaces> {
        self.spaces.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The allocator's metadata.
    pub fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The block of the heap that an address is in: its start and its bytes. None, too, while another thread
    /// changes the heap.
    pub fn find_block(&self, address: usize) -> Option<(u64, u64)> {
        let base = self.space.heap_base();
        let offset = address.checked_sub(base)? as u64;
        let (start, len) = self.heap.try_lock().ok()?.block_around(offset)?;
        Some((base as u64 + start, len))
    }

    /// Where this PE's own `len` bytes at `addr` are: there, if that is symmetric.
    #[inline]
    pub fn own(&self, argument: Argument<'_>, addr: *const c_void, len: usize) -> *mut u8 {
        if self.space.kind(addr.addr(), len) == MemoryKind::NotSymmetric {
            self.not_symmetric(argument, addr.addr(), len, None);
        }
        addr.cast_mut().cast()
    }

    /// Where the copy of the `len` bytes at `addr` is that PE `pe` has, which is number `index` of
    /// this node.
    #[inline]
    pub fn of_node_peer(
        &self,
        argument: Argument<'_>,
        addr: *const c_void,
        len: usize,
        (index, pe): (usize, usize),
    ) -> *mut u8 {
        match self.space.translate(addr.expose_provenance(), len, index) {
            Some(copy) => copy,
            None => {
                let other_program = self.space.runs_other_program(index).then_some(pe);
                self.not_symmetric(argument, addr.addr(), len, other_program)
            }
        }
    }

    /// Checks that the `len` bytes, if they are in the heap, lie within one live block.
    pub fn check_block(&self, argument: Argument<'_>, addr: usize, len: usize) {
        if self.space.kind(addr, 1) != MemoryKind::Heap {
            return;
        }
        let Argument { routine, name } = argument;
        let offset = (addr - self.space.heap_base()) as u64;
        let in_space = self.spaces().around(offset).map(|space| space.blocks.block_around(offset));
        match in_space.unwrap_or_else(|| self.heap().block_around(offset)) {
            None => fatal(
                routine,
                format_args!("{name} = {addr:#x} is in the symmetric heap, but in no allocated block: was it freed?"),
            ),
            Some((start, size)) if offset + len as u64 > start + size => fatal(
                routine,
                format_args!(
                    "{name} = {addr:#x}: {len} bytes end {} bytes past the block of {size} bytes: allocate more, or \
                        give fewer elements",
                    offset + len as u64 - start - size
                ),
            ),
            Some(_) => {}
        }
    }

    /// Ends the job, as the `len` bytes at `addr` are not symmetric. `other_program` is the PE asked for, if it runs
    /// another executable: then globals are not.
    #[cold]
    pub(crate) fn not_symmetric(
        &self,
        Argument { routine, name }: Argument<'_>,
        addr: usize,
        len: usize,
        other_program: Option<usize>,
    ) -> ! {
        if addr == 0 {
            fatal(
                routine,
                format_args!("{name} is a null pointer: give symmetric memory, from shmem_malloc or a global variable"),
            );
        }
        let size = match (self.space.kind(addr, 1), other_program) {
            (MemoryKind::NotSymmetric, _) => fatal(
                routine,
                format_args!("{name} = {addr:#x} is not a symmetric address: use shmem_malloc or a global variable"),
            ),
            (MemoryKind::Globals, Some(pe)) => fatal(
                routine,
                format_args!(
                    "{name} = {addr:#x} is a global variable, and PE {pe} runs another program: use shmem_malloc"
                ),
            ),
            (MemoryKind::Globals, None) => "the global variables",
            (MemoryKind::Heap, _) => "the symmetric heap",
        };
        fatal(
            routine,
            format_args!("{name} = {addr:#x}: {len} bytes reach past the end of {size}: give fewer elements"),
        )
    }
}
