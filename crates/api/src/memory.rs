//! Symmetric memory routines (standard, "Memory Management Routines"). Collective over all
//! PEs; every PE's allocator comes to the same result.

use std::ffi::{c_long, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use ferroshmem_core::constants::{
    MALLOC_ATOMICS_REMOTE, MALLOC_HIGH_BW_MEM, MALLOC_HINTS, MALLOC_LOW_LAT_MEM, MALLOC_SIGNAL_REMOTE,
};
use ferroshmem_core::failure::checks;
use ferroshmem_core::failure::fatal::{debug, fatal};
pub use ferroshmem_core::group::{CallDiffers, CallSummary, Group};
use ferroshmem_core::memory::heap::{BLOCK_ALIGN, Heap};
use ferroshmem_core::memory::{Memkind, MemoryRequest};
use ferroshmem_platform::machine::page_size;
use ferroshmem_platform::mapping;
use ferroshmem_runtime::{self as runtime, Runtime};

/// A kind of call that all PEs make alike, by its number in [`CallSummary::routine`].
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum Kind {
    Malloc = 1,
    MallocWithHints,
    Calloc,
    Align,
    Free,
    Realloc,
    SpaceMalloc,
    SpaceCalloc,
    SpaceAlign,
    SpaceFree,
    SpaceDestroy,
}

impl Kind {
    /// Each by its number, from 1 on: the C routine, and the names of its arguments.
    const TABLE: [(Self, &'static str, &'static [&'static str]); 11] = [
        (Self::Malloc, "shmem_malloc", &["size"]),
        (Self::MallocWithHints, "shmem_malloc_with_hints", &["size", "hints"]),
        (Self::Calloc, "shmem_calloc", &["count", "size"]),
        (Self::Align, "shmem_align", &["alignment", "size"]),
        (Self::Free, "shmem_free", &["ptr"]),
        (Self::Realloc, "shmem_realloc", &["ptr", "size"]),
        (Self::SpaceMalloc, "shmemx_space_malloc", &["size"]),
        (Self::SpaceCalloc, "shmemx_space_calloc", &["count", "size"]),
        (Self::SpaceAlign, "shmemx_space_align", &["alignment", "size"]),
        (Self::SpaceFree, "shmemx_space_free", &["ptr"]),
        (Self::SpaceDestroy, "shmemx_space_destroy", &["space"]),
    ];

    /// The C routine.
    fn routine(self) -> &'static str {
        Self::TABLE[self as usize - 1].1
    }

    /// The names of the arguments.
    fn arguments(self) -> &'static [&'static str] {
        Self::TABLE[self as usize - 1].2
    }

    /// The kind of this number.
    fn numbered(number: u32) -> Option<Self> {
        Some(Self::TABLE.get((number as usize).checked_sub(1)?)?.0)
    }
}

/// One call as this PE makes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeapCall {
    pub name: &'static str,
    pub kind: Kind,
    /// As [`Kind::arguments`] names them; 0 where it names fewer.
    pub arguments: [u64; 2],
}

impl HeapCall {
    fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = self.kind.arguments().iter().copied();
        names.zip(self.arguments)
    }

    /// With `SHMEM_CHECK=1`: all PEs make this call.
    pub(crate) fn check(&self, group: &Group<'_>, rt: &Runtime) {
        if rt.node.settings.check {
            let arguments: Vec<_> = self.named().collect();
            group.check_matching(&rt.node, &arguments);
        }
    }

    /// Synchronises the PEs. One that makes another call ends the job, since from then on each would have
    /// its blocks at addresses of its own: the offset of the call's `block` is compared, too. Comparing takes
    /// 16 of the 176 ns of `shmem_malloc` and 17 of the 194 ns of `shmem_free` with two PEs, so it is always done.
    #[inline]
    pub(crate) fn synchronise(&self, group: &Group<'_>, block: u64) {
        let [a, b] = self.arguments;
        let mine = CallSummary { routine: self.kind as u32, arguments: [a, b, block] };
        if let Err(differs) = group.sync_comparing(&mine) {
            self.differs(&differs, block);
        }
    }

    #[cold]
    fn differs(&self, CallDiffers { pe, call }: &CallDiffers, block: u64) -> ! {
        const REMEDY: &str = "all PEs must make the same allocation calls in the same order";
        let other = call.and_then(|call| Some((Kind::numbered(call.routine)?, call.arguments)));
        let Some((kind, theirs)) = other else {
            fatal(self.name, format_args!("PE {pe} calls another routine at this point: {REMEDY}"));
        };
        let show = |name: &str, value: u64| match name {
            "ptr" | "space" => format!("{name} = {value:#x}"),
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
            fatal(self.name, format_args!("called with {mine}, but PE {pe} calls {routine} with {other}: {REMEDY}"));
        }
        if mine != other {
            fatal(self.name, format_args!("{mine} here, but {other} on PE {pe}: {REMEDY}"));
        }
        fatal(
            self.name,
            format_args!(
                "the block with {mine} is at byte {block} of the heap here, but at {} on PE {pe}, so earlier calls \
                    differed: {REMEDY}",
                theirs[2]
            ),
        )
    }
}

/// As the offset of a block: there is none.
pub(crate) const NO_BLOCK: u64 = u64::MAX;

fn world<'a>(rt: &'a Runtime, name: &'static str) -> Group<'a> {
    Group::of_team(&rt.node, name, rt.teams.world())
}

/// How a block is to lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes.
    pub size: usize,
    /// What its address is a multiple of.
    pub align: usize,
    /// What the bytes that it takes are a multiple of.
    pub unit: u64,
    /// Whether it is all zero.
    pub zero: bool,
    /// The kind of its memory, if it has one of its own.
    pub kind: Option<Memkind>,
    /// How much of its memory it has at once.
    pub touched: usize,
}

impl Shape {
    /// As blocks lie that need nothing else.
    pub(crate) fn of(size: usize) -> Self {
        Self { size, align: BLOCK_ALIGN as usize, unit: BLOCK_ALIGN, zero: false, kind: None, touched: 0 }
    }

    /// At a multiple of `align`.
    pub(crate) fn aligned(size: usize, align: usize) -> Self {
        let of = Self::of(size);
        Self { align, ..of }
    }

    /// In units of `unit` bytes, of a kind of memory if it has one of its own.
    fn hinted(size: usize, unit: u64, kind: Option<Memkind>) -> Self {
        Self { unit, kind, ..Self::aligned(size, unit as usize) }
    }

    /// All zero.
    pub(crate) fn zeroed(self) -> Self {
        Self { zero: true, ..self }
    }
}

/// Takes a block from `heap`, the symmetric heap or a space; null if there is no room.
pub(crate) fn take(rt: &Runtime, name: &str, heap: &mut Heap, shape: Shape) -> *mut c_void {
    let Shape { size, align, unit, zero, kind, touched } = shape;
    let mark = heap.mark();
    match heap.allocate_units(size as u64, align as u64, unit) {
        Some(offset) => {
            if let Some(kind) = kind {
                heap.set_placed(offset, kind);
                place(rt, name, heap, offset, kind);
            }
            // What was never in a block is zero, and shall cost nothing before it is used.
            let written = mark.saturating_sub(offset).min(size as u64);
            if zero && written > 0 {
                // SAFETY: the beginning of a block that this PE was just given.
                unsafe {
                    let space = rt.node.transport.memory.space;
                    space.clear_heap(rt.node.job, offset, written);
                }
            }
            if rt.node.settings.huge_pages == Some(true) {
                collapse(rt, name, offset, size as u64);
            }
            touch(rt, offset, touched);
            // Before the synchronisation at the end, after which others may write there.
            open(rt, name, offset + size as u64);
            ptr::with_exposed_provenance_mut(rt.node.transport.memory.space.heap_base() + offset as usize)
        }
        None => {
            if heap.is_low() {
                fatal(
                    name,
                    format_args!(
                        "{size} bytes do not fit below the symmetric space of a team, of which other PEs do not know: \
                            set SHMEM_SYMMETRIC_SIZE to more, or create spaces over all PEs"
                    ),
                );
            }
            let (free, blocks, all) = (heap.free_bytes(), heap.block_count(), heap.size());
            debug(|| {
                format!(
                    "{name}: no room for {size} bytes: {free} of {all} bytes of the symmetric heap or space are free, \
                        beside {blocks} blocks"
                )
            });
            ptr::null_mut()
        }
    }
}

/// Takes a block of the symmetric heap, which core files have from then on; null if there is no room.
fn take_from_heap(rt: &Runtime, name: &str, shape: Shape) -> *mut c_void {
    let memory = &rt.node.transport.memory;
    let mut heap = memory.heap();
    let block = take(rt, name, &mut heap, shape);
    memory.space.dump_heap_to(heap.mark());
    block
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
        internode.open_heap(end as usize).unwrap_or_else(|e| fatal(name, e));
    }
    for remote in rt.node.transport.connections.remote() {
        remote.open_heap(end as usize).unwrap_or_else(|e| fatal(name, e));
    }
}

/// The offset of a live block; another pointer ends the job.
fn block(rt: &Runtime, name: &str, at: *mut c_void) -> (u64, u64) {
    let offset = at.addr().wrapping_sub(rt.node.transport.memory.space.heap_base()) as u64;
    if offset >= rt.node.transport.memory.space.heap_size() {
        fatal(name, format_args!("{at:p} is not in the symmetric heap: give what shmem_malloc has returned"));
    }
    let memory = &rt.node.transport.memory;
    if memory.spaces().around(offset).is_some() {
        fatal(name, format_args!("{at:p} is in a symmetric space: use shmemx_space_free"));
    }
    live_block(name, &memory.heap(), at, offset)
}

/// The block of `heap` that begins at `offset`, for which a program gives `at`; another one ends the job.
pub(crate) fn live_block(name: &str, heap: &Heap, at: *mut c_void, offset: u64) -> (u64, u64) {
    match (heap.block_size(offset), heap.block_around(offset)) {
        (Some(size), _) => (offset, size),
        (None, Some((start, _))) => {
            fatal(name, format_args!("{at:p} is {} bytes into a block: give its start", offset - start))
        }
        (None, None) => fatal(name, format_args!("{at:p} is not an allocated block: freed twice, or never allocated")),
    }
}

fn allocate(call: HeapCall, shape: Shape) -> *mut c_void {
    let rt = runtime::get(call.name);
    // Zero bytes: no action, no barrier (standard, shmem_malloc).
    if shape.size == 0 {
        return ptr::null_mut();
    }
    let group = world(rt, call.name);
    call.check(&group, rt);
    let at = take_from_heap(rt, call.name, shape);
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset_of(rt, at));
    at
}

/// The offset in the heap of a block that [`take`] has returned.
pub(crate) fn offset_of(rt: &Runtime, block: *mut c_void) -> u64 {
    if block.is_null() {
        return NO_BLOCK;
    }
    (block.addr() - rt.node.transport.memory.space.heap_base()) as u64
}

/// Allocates `size` bytes; null if there is no room.
pub fn malloc(name: &'static str, size: usize) -> *mut c_void {
    let call = HeapCall { name, kind: Kind::Malloc, arguments: [size as u64, 0] };
    allocate(call, Shape::of(size))
}

/// Free bytes of the symmetric heap, and all of its bytes.
pub fn room(name: &'static str) -> (u64, u64) {
    let rt = runtime::get(name);
    let heap = rt.node.transport.memory.heap();
    (heap.free_bytes(), rt.node.transport.memory.space.heap_size())
}

/// Bytes that cores fetch together: pairs of cache lines on x86-64, lines of up to 256 bytes on aarch64 (A64FX).
const FETCHED_TOGETHER: u64 = if cfg!(target_arch = "aarch64") { 256 } else { 128 };

/// A block with hints is touched by its PE up to this size, so that no other PE's update waits for its memory.
const TOUCHED_AT_ONCE: usize = 2 << 20;

/// As [`malloc`], by hints that a block is used for atomics or signals, or is to be of a kind of memory. A hint
/// that the node cannot follow is none.
pub fn malloc_with_hints(name: &'static str, size: usize, hints: c_long) -> *mut c_void {
    if hints & !MALLOC_HINTS != 0 {
        debug(|| format!("{name}: unknown hints {hints:#x} ignored"));
    }
    let call = HeapCall { name, kind: Kind::MallocWithHints, arguments: [size as u64, hints as u64] };
    let kind = match hints {
        _ if hints & MALLOC_HIGH_BW_MEM != 0 => Some(Memkind::HighBandwidth),
        _ if hints & MALLOC_LOW_LAT_MEM != 0 => Some(Memkind::LowLatency),
        _ => None,
    };
    let is_polled = hints & (MALLOC_ATOMICS_REMOTE | MALLOC_SIGNAL_REMOTE) != 0;
    let unit = match kind {
        // Memory is of one kind by pages.
        Some(_) => page_size() as u64,
        None if is_polled => FETCHED_TOGETHER,
        None => BLOCK_ALIGN,
    };
    let touched = if is_polled { size.min(TOUCHED_AT_ONCE) } else { 0 };
    let shape = Shape { touched, ..Shape::hinted(size, unit, kind) };
    allocate(call, shape)
}

/// Gives the pages of a block, of which it has all, the memory of `kind`, if there is any.
fn place(rt: &Runtime, name: &str, heap: &Heap, offset: u64, kind: Memkind) {
    let Some(range) = heap.placed(offset) else {
        return;
    };
    let request = MemoryRequest { kind, huge_pages: false, is_strict: false };
    let space = rt.node.transport.memory.space;
    rt.node.empty_heap(&range);
    if let Err(why) = request.apply(space, &range) {
        debug(|| format!("{name}: the hint is not followed: {why}"));
    }
}

/// Has the kernel find memory for bytes of this PE's heap.
fn touch(rt: &Runtime, offset: u64, bytes: usize) {
    let Some(last) = bytes.checked_sub(1) else {
        return;
    };
    let start = rt.node.transport.memory.space.heap_base() + offset as usize;
    let pages = (start..start + bytes).step_by(page_size());
    for at in pages.chain([start + last]) {
        let at = ptr::with_exposed_provenance_mut::<u8>(at);
        // SAFETY: in a block of this PE's heap. A page of shared memory is found for a load as for a store.
        unsafe { AtomicU8::from_ptr(at) }.load(Ordering::Relaxed);
    }
}

/// Gives a block of the heap back.
fn release(rt: &Runtime, offset: u64) {
    let mut heap = rt.node.transport.memory.heap();
    if let Some(range) = heap.placed(offset) {
        rt.node.replace_heap(&range);
    }
    heap.release(offset);
}

/// Allocates `count` objects of `size` bytes, all zero.
pub fn calloc(name: &'static str, count: usize, size: usize) -> *mut c_void {
    // A product beyond the address space is beyond any heap: usize::MAX finds no room.
    let bytes = count.saturating_mul(size);
    let call = HeapCall { name, kind: Kind::Calloc, arguments: [count as u64, size as u64] };
    allocate(call, Shape::of(bytes).zeroed())
}

/// Allocates `size` bytes at a multiple of `alignment`; null if there is no room, or `alignment` is no
/// power of two (standard, `shmem_align`: "otherwise, it returns a null pointer").
pub fn align(name: &'static str, alignment: usize, size: usize) -> *mut c_void {
    if !is_alignment(name, alignment) {
        return ptr::null_mut();
    }
    let call = HeapCall { name, kind: Kind::Align, arguments: [alignment as u64, size as u64] };
    allocate(call, Shape::aligned(size, alignment))
}

/// Whether there can be blocks at multiples of `alignment`. All PEs give the same one, so none waits for another
/// where there cannot.
pub(crate) fn is_alignment(name: &str, alignment: usize) -> bool {
    if alignment.is_power_of_two() {
        return true;
    }
    runtime::get(name);
    let message = || format!("alignment = {alignment} is not a power of two: give 8, 16, 64, ...");
    if checks::are_on() {
        fatal(name, message());
    }
    debug(|| format!("{name}: {}", message()));
    false
}

/// As [`align`], with all bytes zero.
pub fn align_zeroed(name: &'static str, alignment: usize, size: usize) -> *mut c_void {
    debug_assert!(alignment.is_power_of_two());
    let call = HeapCall { name, kind: Kind::Align, arguments: [alignment as u64, size as u64] };
    allocate(call, Shape::aligned(size, alignment).zeroed())
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
    let call = HeapCall { name, kind: Kind::Free, arguments: [at.addr() as u64, 0] };
    call.check(&group, rt);
    let (offset, _) = block(rt, name, at);
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset);
    release(rt, offset);
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
    let call = HeapCall { name, kind: Kind::Realloc, arguments: [at.addr() as u64, size as u64] };
    call.check(&group, rt);
    let (offset, old) = block(rt, name, at);
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset);
    let memory = &rt.node.transport.memory;
    let mut heap = memory.heap();
    let is_placed = heap.placed(offset).is_some();
    let rest = heap.resize_in_place(offset, size as u64);
    drop(heap);
    let new = if let Some(rest) = rest {
        if is_placed {
            rt.node.replace_heap(&rest);
        }
        if rt.node.settings.huge_pages == Some(true) {
            collapse(rt, name, offset, size as u64);
        }
        open(rt, name, offset + size as u64);
        at
    } else {
        let (unit, kind) = memory.heap().hints(offset).unwrap_or((BLOCK_ALIGN, None));
        let new = take_from_heap(rt, name, Shape::hinted(size, unit, kind));
        if !new.is_null() {
            // SAFETY: two live blocks of this PE, of at least as many bytes each.
            unsafe {
                ptr::copy_nonoverlapping(at.cast::<u8>(), new.cast(), size.min(old as usize));
            };
            release(rt, offset);
        }
        new
    };
    group.sync();
    new
}
