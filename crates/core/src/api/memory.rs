//! Symmetric memory routines (standard, "Memory Management Routines"). Collective over all
//! PEs; every PE's allocator comes to the same result.

use std::ffi::{c_long, c_void};
use std::ptr;

use crate::constants::MALLOC_HINTS;
use crate::failure::fatal::{debug, fatal};
use crate::group::Group;
use crate::memory::heap::BLOCK_ALIGN;
use crate::runtime::{self, Runtime};

fn world<'a>(rt: &'a Runtime, name: &'static str) -> Group<'a> {
    Group::of_team(&rt.node, name, rt.teams.world())
}

fn take(rt: &Runtime, name: &str, size: usize, align: usize) -> *mut c_void {
    let mut heap = rt.node.transport.memory.heap();
    match heap.allocate(size as u64, align as u64) {
        Some(offset) => {
            // Before the synchronisation at the end, after which others may write there.
            open(rt, name, offset + size as u64);
            ptr::with_exposed_provenance_mut(
                rt.node.transport.memory.space.heap_base() + offset as usize,
            )
        }
        None => {
            let (free, blocks) = (heap.free_bytes(), heap.block_count());
            debug(|| {
                format!(
                    "{name}: no room for {size} bytes: {free} of {} bytes of the symmetric heap are free, beside {blocks} blocks",
                    rt.node.transport.memory.space.heap_size()
                )
            });
            ptr::null_mut()
        }
    }
}

/// PEs of other nodes may reach the heap up to `end`.
fn open(rt: &Runtime, name: &str, end: u64) {
    if let Some(internode) = rt.node.transport.internode() {
        internode
            .open_heap(end as usize)
            .unwrap_or_else(|e| fatal(name, e));
    }
}

/// The offset of a live block; another pointer ends the job.
fn block(rt: &Runtime, name: &str, at: *mut c_void) -> (u64, u64) {
    let offset = at
        .addr()
        .wrapping_sub(rt.node.transport.memory.space.heap_base()) as u64;
    if offset >= rt.node.transport.memory.space.heap_size() {
        fatal(name, format_args!("{at:p} is not in the symmetric heap"));
    }
    let heap = rt.node.transport.memory.heap();
    match (heap.block_size(offset), heap.block_around(offset)) {
        (Some(size), _) => (offset, size),
        (None, Some((start, _))) => fatal(
            name,
            format_args!(
                "{at:p} is {} bytes into a block, not its start",
                offset - start
            ),
        ),
        (None, None) => fatal(
            name,
            format_args!("{at:p} is not an allocated block: freed twice, or never allocated"),
        ),
    }
}

fn allocate(
    name: &'static str,
    size: usize,
    align: usize,
    arguments: &[(&str, u64)],
    zero: bool,
) -> *mut c_void {
    let rt = runtime::get(name);
    // Zero bytes: no action, no barrier (standard, shmem_malloc).
    if size == 0 {
        return ptr::null_mut();
    }
    let group = world(rt, name);
    group.check_agreement(&rt.node, arguments);
    let at = take(rt, name, size, align);
    if zero && !at.is_null() {
        // SAFETY: a block of `size` bytes that this PE was just given.
        unsafe { ptr::write_bytes(at.cast::<u8>(), 0, size) };
    }
    rt.node.transport.quiet_default();
    group.sync();
    at
}

/// Allocates `size` bytes; null if there is no room.
pub fn malloc(name: &'static str, size: usize) -> *mut c_void {
    allocate(
        name,
        size,
        BLOCK_ALIGN as usize,
        &[("size", size as u64)],
        false,
    )
}

/// Free bytes of the symmetric heap, and all of its bytes.
pub fn room(name: &'static str) -> (u64, u64) {
    let rt = runtime::get(name);
    let heap = rt.node.transport.memory.heap();
    (
        heap.free_bytes(),
        rt.node.transport.memory.space.heap_size(),
    )
}

/// As [`malloc`]; on a node all memory serves atomics and signals alike.
pub fn malloc_with_hints(name: &'static str, size: usize, hints: c_long) -> *mut c_void {
    if hints & !MALLOC_HINTS != 0 {
        debug(|| format!("{name}: unknown hints {hints:#x} ignored"));
    }
    let same = [("size", size as u64), ("hints", hints as u64)];
    allocate(name, size, BLOCK_ALIGN as usize, &same, false)
}

/// Allocates `count` objects of `size` bytes, all zero.
pub fn calloc(name: &'static str, count: usize, size: usize) -> *mut c_void {
    // A product beyond the address space is beyond any heap: usize::MAX finds no room.
    let bytes = count.saturating_mul(size);
    let same = [("count", count as u64), ("size", size as u64)];
    allocate(name, bytes, BLOCK_ALIGN as usize, &same, true)
}

/// Allocates `size` bytes at a multiple of `alignment`.
pub fn align(name: &'static str, alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        fatal(
            name,
            format_args!("alignment = {alignment} is not a power of two"),
        );
    }
    let same = [("alignment", alignment as u64), ("size", size as u64)];
    allocate(name, size, alignment, &same, false)
}

/// Gives a block back; null does nothing.
///
/// # Safety
/// No PE uses the block any more.
pub unsafe fn free(name: &'static str, at: *mut c_void) {
    let rt = runtime::get(name);
    if at.is_null() {
        return;
    }
    let group = world(rt, name);
    group.check_agreement(&rt.node, &[("ptr", at.addr() as u64)]);
    let (offset, _) = block(rt, name, at);
    rt.node.transport.quiet_default();
    group.sync();
    rt.node.transport.memory.heap().release(offset);
}

/// Changes the size of a block, moving it if need be; null if there is no room, and then
/// the block is unchanged.
///
/// # Safety
/// No PE uses the block during the call.
pub unsafe fn realloc(name: &'static str, at: *mut c_void, size: usize) -> *mut c_void {
    if at.is_null() {
        return malloc(name, size);
    }
    if size == 0 {
        // SAFETY: the caller promises that no PE uses the block.
        unsafe { free(name, at) };
        return ptr::null_mut();
    }
    let rt = runtime::get(name);
    let group = world(rt, name);
    group.check_agreement(
        &rt.node,
        &[("ptr", at.addr() as u64), ("size", size as u64)],
    );
    let (offset, old) = block(rt, name, at);
    rt.node.transport.quiet_default();
    group.sync();
    let memory = &rt.node.transport.memory;
    let in_place = memory.heap().resize_in_place(offset, size as u64);
    let new = if in_place {
        open(rt, name, offset + size as u64);
        at
    } else {
        let new = take(rt, name, size, BLOCK_ALIGN as usize);
        if !new.is_null() {
            // SAFETY: two live blocks of this PE, of at least as many bytes each.
            unsafe {
                ptr::copy_nonoverlapping(at.cast::<u8>(), new.cast(), size.min(old as usize));
            };
            memory.heap().release(offset);
        }
        new
    };
    group.sync();
    new
}
