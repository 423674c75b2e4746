//! Symmetric memory routines (standard, "Memory Management Routines"). Collective over all
//! PEs; every PE's allocator comes to the same result.

use std::ffi::{c_long, c_void};
use std::ptr;

use crate::constants::MALLOC_HINTS;
use crate::failure::checks;
use crate::failure::fatal::{debug, fatal};
use crate::group::{CallDiffers, CallSummary, Group};
use crate::memory::heap::BLOCK_ALIGN;
use crate::platform::mapping;
use crate::runtime::{self, Runtime};

/// A kind of call that all PEs make alike, by its number in [`CallSummary::routine`].
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
enum Kind {
    Malloc = 1,
    MallocWithHints,
    Calloc,
    Align,
    Free,
    Realloc,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Malloc,
        Self::MallocWithHints,
        Self::Calloc,
        Self::Align,
        Self::Free,
        Self::Realloc,
    ];

    /// The routine of the standard.
    fn routine(self) -> &'static str {
        match self {
            Self::Malloc => "shmem_malloc",
            Self::MallocWithHints => "shmem_malloc_with_hints",
            Self::Calloc => "shmem_calloc",
            Self::Align => "shmem_align",
            Self::Free => "shmem_free",
            Self::Realloc => "shmem_realloc",
        }
    }

    /// The names of the arguments.
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Malloc => &["size"],
            Self::MallocWithHints => &["size", "hints"],
            Self::Calloc => &["count", "size"],
            Self::Align => &["alignment", "size"],
            Self::Free => &["ptr"],
            Self::Realloc => &["ptr", "size"],
        }
    }

    /// The kind of this number.
    fn numbered(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// One call as this PE makes it.
#[derive(Debug, Clone, Copy)]
struct HeapCall {
    name: &'static str,
    kind: Kind,
    /// As [`Kind::arguments`] names them; 0 where it names fewer.
    arguments: [u64; 2],
}

impl HeapCall {
    fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = self.kind.arguments().iter().copied();
        names.zip(self.arguments)
    }

    /// With `SHMEM_CHECK=1`: all PEs make this call.
    fn check(&self, group: &Group<'_>, rt: &Runtime) {
        if rt.node.settings.check {
            let arguments: Vec<_> = self.named().collect();
            group.check_agreement(&rt.node, &arguments);
        }
    }

    /// Synchronises all PEs. One that makes another call ends the job, since from then on each would have
    /// its blocks at addresses of its own: the offset of the call's `block` is compared, too.
    #[inline]
    fn synchronise(&self, group: &Group<'_>, block: u64) {
        let [a, b] = self.arguments;
        let mine = CallSummary {
            routine: self.kind as u32,
            arguments: [a, b, block],
        };
        if let Err(differs) = group.sync_comparing(&mine) {
            self.differs(&differs, block);
        }
    }

    #[cold]
    fn differs(&self, CallDiffers { pe, said }: &CallDiffers, block: u64) -> ! {
        const REMEDY: &str = "all PEs must make the same allocation calls in the same order";
        let other = said.and_then(|said| Some((Kind::numbered(said.routine)?, said.arguments)));
        let Some((kind, theirs)) = other else {
            fatal(
                self.name,
                format_args!("PE {pe} calls another routine at this point: {REMEDY}"),
            );
        };
        let show = |name: &str, value: u64| match name {
            "ptr" => format!("ptr = {value:#x}"),
            _ => format!("{name} = {}", value as i64),
        };
        let list = |kind: Kind, values: &[u64]| {
            let shown = kind.arguments().iter().zip(values);
            let shown: Vec<String> = shown.map(|(name, value)| show(name, *value)).collect();
            shown.join(", ")
        };
        let (mine, other) = (list(self.kind, &self.arguments), list(kind, &theirs));
        if kind as u32 != self.kind as u32 {
            let routine = kind.routine();
            fatal(
                self.name,
                format_args!(
                    "called with {mine}, but PE {pe} calls {routine} with {other}: {REMEDY}"
                ),
            );
        }
        if mine != other {
            fatal(
                self.name,
                format_args!("{mine} here, but {other} on PE {pe}: {REMEDY}"),
            );
        }
        fatal(
            self.name,
            format_args!(
                "the block with {mine} is at byte {block} of the heap here, but at {} on PE {pe}, so earlier calls differed: {REMEDY}",
                theirs[2]
            ),
        )
    }
}

/// As the offset of a block: there is none.
const NO_BLOCK: u64 = u64::MAX;

fn world<'a>(rt: &'a Runtime, name: &'static str) -> Group<'a> {
    Group::of_team(&rt.node, name, rt.teams.world())
}

fn take(rt: &Runtime, name: &str, size: usize, align: usize, zero: bool) -> *mut c_void {
    let mut heap = rt.node.transport.memory.heap();
    let mark = heap.mark();
    match heap.allocate(size as u64, align as u64) {
        Some(offset) => {
            // What was never in a block is zero, and shall cost nothing before it is used.
            let written = mark.saturating_sub(offset).min(size as u64);
            if zero && written > 0 {
                // SAFETY: the beginning of a block that this PE was just given.
                unsafe {
                    let space = rt.node.transport.memory.space;
                    space.clear_heap(rt.node.job, offset, written);
                }
            }
            if rt.node.settings.huge_pages {
                collapse(rt, name, offset, size as u64);
            }
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

/// Puts a block on huge pages, if it has the size of one.
#[cold]
fn collapse(rt: &Runtime, name: &str, offset: u64, size: u64) {
    if size < mapping::HUGE_PAGE as u64 {
        return;
    }
    let space = rt.node.transport.memory.space;
    if let Err(error) = space.collapse_heap(offset, size) {
        debug(|| format!("{name}: {size} bytes are not all on huge pages: {error}"));
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
        fatal(
            name,
            format_args!(
                "{at:p} is not in the symmetric heap: give what shmem_malloc has returned"
            ),
        );
    }
    let heap = rt.node.transport.memory.heap();
    match (heap.block_size(offset), heap.block_around(offset)) {
        (Some(size), _) => (offset, size),
        (None, Some((start, _))) => fatal(
            name,
            format_args!(
                "{at:p} is {} bytes into a block: give its start",
                offset - start
            ),
        ),
        (None, None) => fatal(
            name,
            format_args!("{at:p} is not an allocated block: freed twice, or never allocated"),
        ),
    }
}

fn allocate(call: HeapCall, size: usize, align: usize, zero: bool) -> *mut c_void {
    let rt = runtime::get(call.name);
    // Zero bytes: no action, no barrier (standard, shmem_malloc).
    if size == 0 {
        return ptr::null_mut();
    }
    let group = world(rt, call.name);
    call.check(&group, rt);
    let at = take(rt, call.name, size, align, zero);
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset_of(rt, at));
    at
}

/// The offset in the heap of a block that [`take`] has returned.
fn offset_of(rt: &Runtime, block: *mut c_void) -> u64 {
    if block.is_null() {
        return NO_BLOCK;
    }
    (block.addr() - rt.node.transport.memory.space.heap_base()) as u64
}

/// Allocates `size` bytes; null if there is no room.
pub fn malloc(name: &'static str, size: usize) -> *mut c_void {
    let call = HeapCall {
        name,
        kind: Kind::Malloc,
        arguments: [size as u64, 0],
    };
    allocate(call, size, BLOCK_ALIGN as usize, false)
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
    let call = HeapCall {
        name,
        kind: Kind::MallocWithHints,
        arguments: [size as u64, hints as u64],
    };
    allocate(call, size, BLOCK_ALIGN as usize, false)
}

/// Allocates `count` objects of `size` bytes, all zero.
pub fn calloc(name: &'static str, count: usize, size: usize) -> *mut c_void {
    // A product beyond the address space is beyond any heap: usize::MAX finds no room.
    let bytes = count.saturating_mul(size);
    let call = HeapCall {
        name,
        kind: Kind::Calloc,
        arguments: [count as u64, size as u64],
    };
    allocate(call, bytes, BLOCK_ALIGN as usize, true)
}

/// Allocates `size` bytes at a multiple of `alignment`; null if there is no room, or `alignment` is no
/// power of two (standard, `shmem_align`: "otherwise, it returns a null pointer").
pub fn align(name: &'static str, alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        runtime::get(name);
        let message =
            || format!("alignment = {alignment} is not a power of two: give 8, 16, 64, ...");
        if checks::are_on() {
            fatal(name, message());
        }
        debug(|| format!("{name}: {}", message()));
        // All PEs give the same alignment, so none waits for another.
        return ptr::null_mut();
    }
    let call = HeapCall {
        name,
        kind: Kind::Align,
        arguments: [alignment as u64, size as u64],
    };
    allocate(call, size, alignment, false)
}

/// As [`align`], with all bytes zero.
pub fn align_zeroed(name: &'static str, alignment: usize, size: usize) -> *mut c_void {
    debug_assert!(alignment.is_power_of_two());
    let call = HeapCall {
        name,
        kind: Kind::Align,
        arguments: [alignment as u64, size as u64],
    };
    allocate(call, size, alignment, true)
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
    let call = HeapCall {
        name,
        kind: Kind::Free,
        arguments: [at.addr() as u64, 0],
    };
    call.check(&group, rt);
    let (offset, _) = block(rt, name, at);
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset);
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
    let call = HeapCall {
        name,
        kind: Kind::Realloc,
        arguments: [at.addr() as u64, size as u64],
    };
    call.check(&group, rt);
    let (offset, old) = block(rt, name, at);
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset);
    let memory = &rt.node.transport.memory;
    let in_place = memory.heap().resize_in_place(offset, size as u64);
    let new = if in_place {
        if rt.node.settings.huge_pages {
            collapse(rt, name, offset, size as u64);
        }
        open(rt, name, offset + size as u64);
        at
    } else {
        let new = take(rt, name, size, BLOCK_ALIGN as usize, false);
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
