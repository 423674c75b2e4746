//! Symmetric spaces (extension): parts of the symmetric heap with a kind of memory of their own, made and used
//! collectively by a team. An address in one is an address in the heap for every routine.
//!
//! The names are those of the proposals to the OpenSHMEM specification (issues 195 and 455) and of OSHMPI.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;

use ferroshmem_core::constants::{
    FALLBACK_DEFAULT, FALLBACK_NONE, MEM_DEFAULT, MEM_HIGH_BW, MEM_INTERLEAVED, MEM_LARGE_CAP, MEM_LOCAL, MEM_LOW_LAT,
    MEM_NUMA, PAGES_DEFAULT, PAGES_HUGE, SPACE_FALLBACK, SPACE_INVALID, SPACE_MEMKIND, SPACE_NUMA_DOMAIN, SPACE_PGSIZE,
    SPACE_SHEAP_SIZE,
};
use ferroshmem_core::failure::fatal::{debug, fatal, warn};
use ferroshmem_core::group::Group;
use ferroshmem_core::memory::heap::Heap;
use thiserror::Error;

use super::memory::{HeapCall, Kind, Shape, is_alignment, live_block, offset_of, take};
pub use ferroshmem_core::memory::{Memkind, MemkindError, MemoryRequest, SymmetricSpace};
use ferroshmem_core::team::Team;
use ferroshmem_platform::machine::page_size;
use ferroshmem_platform::mapping::HUGE_PAGE;
use ferroshmem_runtime::{self as runtime, Runtime};

/// `shmemx_space_config_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SpaceConfig {
    /// Bytes on each PE.
    pub sheap_size: usize,
    /// `SHMEMX_MEM_*`.
    pub memkind: c_int,
    /// The node of `SHMEMX_MEM_NUMA`.
    pub numa_domain: c_int,
    /// `SHMEMX_PAGES_*`.
    pub pgsize: c_int,
    /// `SHMEMX_FALLBACK_*`.
    pub fallback: c_int,
}

/// Why a space was not made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// The heap has no room on some member.
    #[error(
        "no room for {bytes} bytes in the symmetric heap of {heap} bytes: set SHMEM_SYMMETRIC_SIZE to more, or free \
            blocks"
    )]
    NoRoom {
        /// Bytes of the space.
        bytes: u64,
        /// Bytes of the heap.
        heap: u64,
    },
    /// This PE has no such memory.
    #[error(transparent)]
    Memkind(#[from] MemkindError),
    /// Another PE has none.
    #[error("PE {0} has no such memory: see its message, or let the space fall back to the default kind")]
    OtherPe(usize),
    /// PEs outside of the team are on other nodes.
    #[error("the team has {members} of {n_pes} PEs, which are on several nodes: create the space over all PEs")]
    SomePes {
        /// PEs of the team.
        members: usize,
        /// PEs of the job.
        n_pes: usize,
    },
}

/// Bytes of a heap in which spaces begin and end at a huge page.
const ROOMY: u64 = 64 << 20;

/// The space that a configuration asks for; what it does not set is the default.
///
/// # Safety
/// `config` is valid or null.
unsafe fn request(name: &str, config: *const SpaceConfig, mask: c_long) -> (u64, MemoryRequest) {
    // SAFETY: the caller promises that `config` is valid or null.
    let Some(config) = (unsafe { config.as_ref() }) else {
        fatal(
            name,
            "config is a null pointer: give a configuration with sheap_size, and SHMEMX_SPACE_SHEAP_SIZE in \
                config_mask",
        );
    };
    let value = |bit, value, default| if mask & bit != 0 { value } else { default };
    let wrong = |field: &str, value: c_int, names: &str| -> ! {
        fatal(name, format_args!("{field} = {value}: give one of {names}"))
    };
    if mask & SPACE_SHEAP_SIZE == 0 || config.sheap_size == 0 {
        fatal(name, "the space has no size: set sheap_size, and SHMEMX_SPACE_SHEAP_SIZE in config_mask");
    }
    let kind = match value(SPACE_MEMKIND, config.memkind, MEM_DEFAULT) {
        MEM_DEFAULT => Memkind::Default,
        MEM_LOCAL => Memkind::Local,
        MEM_NUMA => match usize::try_from(value(SPACE_NUMA_DOMAIN, config.numa_domain, -1)) {
            Ok(node) => Memkind::Numa(node),
            Err(_) => fatal(
                name,
                "SHMEMX_MEM_NUMA without a NUMA node: set numa_domain, and SHMEMX_SPACE_NUMA_DOMAIN in config_mask",
            ),
        },
        MEM_INTERLEAVED => Memkind::Interleaved,
        MEM_HIGH_BW => Memkind::HighBandwidth,
        MEM_LOW_LAT => Memkind::LowLatency,
        MEM_LARGE_CAP => Memkind::LargeCapacity,
        other => wrong("memkind", other, "SHMEMX_MEM_*"),
    };
    let huge_pages = match value(SPACE_PGSIZE, config.pgsize, PAGES_DEFAULT) {
        PAGES_DEFAULT => false,
        PAGES_HUGE => true,
        other => wrong("pgsize", other, "SHMEMX_PAGES_*"),
    };
    let is_strict = match value(SPACE_FALLBACK, config.fallback, FALLBACK_NONE) {
        FALLBACK_NONE => true,
        FALLBACK_DEFAULT => false,
        other => wrong("fallback", other, "SHMEMX_FALLBACK_*"),
    };
    let request = MemoryRequest { kind, huge_pages, is_strict };
    (config.sheap_size as u64, request)
}

/// Makes a space of a team: 0, or -1 if a member cannot have it, of which the first one prints a line. Collective.
///
/// # Safety
/// `config` and `new_space` are valid.
pub unsafe fn create(
    name: &'static str,
    team: usize,
    config: *const SpaceConfig,
    mask: c_long,
    new_space: *mut usize,
) -> c_int {
    let rt = runtime::get(name);
    let made = rt.teams.find(name, team).and_then(|found| {
        // SAFETY: the caller promises that `config` is valid.
        let (bytes, request) = unsafe { request(name, config, mask) };
        let made = make(rt, name, (team, found), bytes, &request);
        // One line: of the first PE that has no such memory, or of the first member.
        match &made {
            Err(SpaceError::OtherPe(_)) | Ok(_) => {}
            Err(SpaceError::Memkind(why)) => warn(name, &why.to_string()),
            Err(why) if found.index == 0 => warn(name, &why.to_string()),
            Err(_) => {}
        }
        made.ok()
    });
    // SAFETY: the caller promises that `new_space` can be written.
    unsafe { super::handles::give(new_space, made, SPACE_INVALID) }
}

/// As [`create`], for Rust: the handle.
///
/// # Errors
/// A member cannot have it. On all members, each with its own reason.
pub fn create_for(name: &'static str, team: usize, bytes: u64, request: &MemoryRequest) -> Result<usize, SpaceError> {
    let rt = runtime::get(name);
    let found = rt.teams.find(name, team);
    let found = found.unwrap_or_else(|| fatal(name, "there is no such team"));
    make(rt, name, (team, found), bytes, request)
}

fn make(
    rt: &Runtime,
    name: &'static str,
    (team, found): (usize, &Team),
    bytes: u64,
    request: &MemoryRequest,
) -> Result<usize, SpaceError> {
    let memory = &rt.node.transport.memory;
    let (members, n_pes) = (found.members.size, rt.node.n_pes);
    let is_of_all = members == n_pes;
    if !is_of_all && rt.node.transport.internode().is_some() {
        return Err(SpaceError::SomePes { members, n_pes });
    }
    let group = Group::of_team(&rt.node, name, found);
    let same = [("sheap_size", bytes), ("memkind", number(request.kind))];
    group.check_matching(&rt.node, &same);
    let heap = memory.space.heap_size();
    // A huge page that the kernel makes by itself would take the kind of memory of its first page for a
    // space that begins within. Small heaps have no room for as much.
    let unit = match request.huge_pages || heap >= ROOMY {
        true => HUGE_PAGE as u64,
        false => page_size() as u64,
    };
    let start = bytes.checked_next_multiple_of(unit).and_then(|len| {
        let start = match is_of_all {
            true => memory.heap().allocate(len, unit),
            false => agree_on_start(rt, &group, len, unit),
        };
        Some((start?, len))
    });
    let range = start.map(|(start, len)| start..start + len);
    let mut is_zero = false;
    let made = match &range {
        None => Err(SpaceError::NoRoom { bytes, heap }),
        Some(range) => {
            is_zero = rt.node.empty_heap(range);
            match request.apply(memory.space, range) {
                Err(why) if request.is_strict => Err(why.into()),
                Err(why) => {
                    debug(|| format!("{name}: the space has the default kind of memory: {why}"));
                    memory.space.replace_heap(range);
                    Ok(())
                }
                Ok(()) => Ok(()),
            }
        }
    };
    let failed = first_failed(&group, made.is_ok(), range.as_ref().map_or(0, |r| r.start + 1), bytes, request);
    let Some(range) = range else {
        return Err(SpaceError::NoRoom { bytes, heap });
    };
    if let Some(first) = failed {
        rt.node.replace_heap(&range);
        if is_of_all {
            memory.heap().release(range.start);
        }
        return match made {
            Err(why) if first == rt.node.me => Err(why),
            _ => Err(SpaceError::OtherPe(first)),
        };
    }
    memory.space.dump_heap(&range);
    let mark = if is_zero { range.start } else { range.end };
    let end = range.start + bytes.next_multiple_of(page_size() as u64);
    let handle = memory.space.heap_base() + range.start as usize;
    let mut heap = memory.heap();
    let mut spaces = memory.spaces();
    spaces.insert(SymmetricSpace { team, is_of_all, blocks: Heap::within(range.start..end, mark), range });
    heap.set_ceiling(spaces.lowest());
    Ok(handle)
}

/// What the members say at once: for each of them a word.
fn gather(group: &Group<'_>, word: u64) -> Vec<u64> {
    if group.size == 1 {
        return vec![word];
    }
    let epoch = group.epoch();
    epoch.publish(word);
    epoch.synchronise();
    // No member publishes for the epoch after next before this PE has entered the next one.
    (0..group.size).map(|member| epoch.published(member)).collect()
}

/// The highest start of a space of `len` bytes that is free on all members.
fn agree_on_start(rt: &Runtime, group: &Group<'_>, len: u64, align: u64) -> Option<u64> {
    let memory = &rt.node.transport.memory;
    let mut bound = memory.space.heap_size();
    loop {
        let floor = memory.heap().end();
        let mine = memory.spaces().highest_free(floor, bound, len, align);
        // 0 means none; each PE says less in each round, or all the same.
        let starts = gather(group, mine.map_or(0, |start| start + 1));
        let least = starts.iter().copied().min().unwrap_or(0).checked_sub(1)?;
        if group.has_failed() {
            return None;
        }
        if starts.iter().all(|start| *start == least + 1) {
            return Some(least);
        }
        bound = least + len;
    }
}

/// A number of the kind, as all members must give it.
fn number(kind: Memkind) -> u64 {
    let number = match kind {
        Memkind::Default => MEM_DEFAULT,
        Memkind::Local => MEM_LOCAL,
        // Each member may have a node of its own.
        Memkind::Numa(_) => MEM_NUMA,
        Memkind::Interleaved => MEM_INTERLEAVED,
        Memkind::HighBandwidth => MEM_HIGH_BW,
        Memkind::LowLatency => MEM_LOW_LAT,
        Memkind::LargeCapacity => MEM_LARGE_CAP,
    };
    number as u64
}

/// The first PE of the team for which it did not go well. Members that ask for different spaces end the job.
fn first_failed(group: &Group<'_>, is_well: bool, place: u64, bytes: u64, request: &MemoryRequest) -> Option<usize> {
    let flags = u64::from(request.huge_pages) << 1 | u64::from(request.is_strict);
    let details = [bytes, place, number(request.kind) << 2 | flags];
    let digest =
        details.iter().fold(0_u64, |sum, detail| (sum ^ detail).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    let mine = digest << 1 | u64::from(is_well);
    let words = gather(group, mine);
    if group.has_failed() {
        return Some(usize::MAX);
    }
    if let Some(member) = words.iter().position(|word| (word ^ mine) >> 1 != 0) {
        fatal(
            group.name,
            format_args!(
                "PE {} creates another space at this point: all PEs of the team must give the same size, kind, pages \
                    and fallback, after the same allocation calls",
                group.pe(member)
            ),
        );
    }
    let failed = words.iter().position(|word| word & 1 == 0)?;
    Some(group.pe(failed))
}

/// The start of a space, which must be one of this PE's, and the handle of its team.
fn find(rt: &Runtime, name: &str, space: usize) -> (u64, usize) {
    let memory = &rt.node.transport.memory;
    let start = space.wrapping_sub(memory.space.heap_base()) as u64;
    match memory.spaces().get(start) {
        Some(found) => (start, found.team),
        None if space == SPACE_INVALID => {
            fatal(name, "the space is SHMEMX_SPACE_INVALID: check the result of shmemx_space_create")
        }
        None => fatal(name, format_args!("{space:#x} is no space of this PE: destroyed, or never created")),
    }
}

/// The members of a space's team, in a call on the space.
fn members<'a>(rt: &'a Runtime, name: &'static str, team: usize) -> Group<'a> {
    match rt.teams.find(name, team) {
        Some(team) => Group::of_team(&rt.node, name, team),
        None => fatal(name, "the space has no team any more"),
    }
}

/// Ends a space with all of its blocks. Collective over its team; `SHMEMX_SPACE_INVALID` does nothing.
///
/// # Safety
/// No PE uses memory of the space any more.
pub unsafe fn destroy(name: &'static str, space: usize) {
    let rt = runtime::get(name);
    if space == SPACE_INVALID {
        return;
    }
    let (start, team) = find(rt, name, space);
    let group = members(rt, name, team);
    let call = HeapCall { name, kind: Kind::SpaceDestroy, arguments: [space as u64, 0] };
    call.check(&group, rt);
    rt.node.transport.quiet_default();
    call.synchronise(&group, start);
    rt.node.end_space(start);
}

fn allocate(call: HeapCall, space: usize, shape: Shape) -> *mut c_void {
    let rt = runtime::get(call.name);
    let (start, team) = find(rt, call.name, space);
    // As for the heap.
    if shape.size == 0 {
        return ptr::null_mut();
    }
    let group = members(rt, call.name, team);
    call.check(&group, rt);
    let block = match rt.node.transport.memory.spaces().get(start) {
        Some(space) => take(rt, call.name, &mut space.blocks, shape),
        None => ptr::null_mut(),
    };
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset_of(rt, block));
    block
}

/// Allocates `size` bytes of a space; null if there is no room. Collective over its team.
pub fn malloc(name: &'static str, space: usize, size: usize) -> *mut c_void {
    let call = HeapCall { name, kind: Kind::SpaceMalloc, arguments: [size as u64, 0] };
    allocate(call, space, Shape::of(size))
}

/// Allocates `count` objects of `size` bytes of a space, all zero.
pub fn calloc(name: &'static str, space: usize, count: usize, size: usize) -> *mut c_void {
    let call = HeapCall { name, kind: Kind::SpaceCalloc, arguments: [count as u64, size as u64] };
    allocate(call, space, Shape::of(count.saturating_mul(size)).zeroed())
}

/// Allocates `size` bytes of a space at a multiple of `alignment`; null if there is no room, or `alignment` is no
/// power of two.
pub fn align(name: &'static str, space: usize, alignment: usize, size: usize) -> *mut c_void {
    if !is_alignment(name, alignment) {
        return ptr::null_mut();
    }
    let call = HeapCall { name, kind: Kind::SpaceAlign, arguments: [alignment as u64, size as u64] };
    allocate(call, space, Shape::aligned(size, alignment))
}

/// As [`align`], with all bytes zero.
pub fn align_zeroed(name: &'static str, space: usize, alignment: usize, size: usize) -> *mut c_void {
    debug_assert!(alignment.is_power_of_two());
    let call = HeapCall { name, kind: Kind::SpaceAlign, arguments: [alignment as u64, size as u64] };
    allocate(call, space, Shape::aligned(size, alignment).zeroed())
}

/// Gives a block of a space back; null does nothing. Collective over its team.
///
/// # Safety
/// No PE uses the block any more.
pub unsafe fn free(name: &'static str, space: usize, at: *mut c_void) {
    let rt = runtime::get(name);
    let (start, team) = find(rt, name, space);
    if at.is_null() {
        return;
    }
    let group = members(rt, name, team);
    let call = HeapCall { name, kind: Kind::SpaceFree, arguments: [at.addr() as u64, 0] };
    call.check(&group, rt);
    let memory = &rt.node.transport.memory;
    let offset = at.addr().wrapping_sub(memory.space.heap_base()) as u64;
    if let Some(space) = memory.spaces().get(start) {
        if !space.range.contains(&offset) {
            fatal(name, format_args!("{at:p} is not in the space: give what shmemx_space_malloc has returned"));
        }
        live_block(name, &space.blocks, at, offset);
    }
    rt.node.transport.quiet_default();
    call.synchronise(&group, offset);
    if let Some(space) = memory.spaces().get(start) {
        space.blocks.release(offset);
    }
}

/// Free bytes of a space, and all of its bytes.
pub fn room(name: &'static str, space: usize) -> (u64, u64) {
    let rt = runtime::get(name);
    let (start, _) = find(rt, name, space);
    let mut spaces = rt.node.transport.memory.spaces();
    spaces.get(start).map_or((0, 0), |s| (s.blocks.free_bytes(), s.blocks.size()))
}
