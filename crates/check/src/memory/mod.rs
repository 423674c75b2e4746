//! `--check=memory`: what calls do to memory that they should not.
//!
//! Blocks of the symmetric heap get a red zone behind them that no PE may write, and freed ones are in quarantine for a
//! while. What a block holds before it is written depends on the address (`pattern`), so memory that no PE has
//! written is known whoever writes it, by calls or stores.

mod access;
mod blocks;
mod leaks;
mod pattern;
mod pending;
mod reach;

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferroshmem_layout::Operation;
use ferroshmem_platform::unwind;

use self::blocks::{Block, Blocks};
use self::pattern::Pattern;
use self::pending::{Change, Pending};
use crate::call::Call;
use crate::finding::{Finding, Kind, Place};
use crate::job::ThisPe;
use crate::shared::mixed;

/// Bytes behind a block that no PE may write.
const RED_ZONE: usize = 64;
/// Bytes of a block that are filled: more would take the program's time and memory.
const FILLED: usize = 1 << 20;
/// Blocks whose red zones are checked in each barrier.
const CHECKED_IN_BARRIERS: usize = 256;

/// In [`Finding::detail`]: the access reads.
pub const READS: u64 = 1;

/// The state of these checks.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    blocks: Mutex<Blocks>,
    pending: Mutex<Pending>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The calls that led here, as one number.
fn stack() -> u64 {
    const DEPTH: usize = 24;
    let (mut sum, mut depth) = (0, 0);
    unwind::frames(&mut |frame| {
        sum = mixed(sum, frame.address as u64);
        depth += 1;
        match depth < DEPTH {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    sum
}

fn place(at: usize, start: usize, block: &Block) -> Place {
    Place::Block { offset: at.wrapping_sub(start) as i64, size: block.size as u64, site: block.site }
}

impl Memory {
    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        locked(&self.blocks)
    }

    /// Before the library's function.
    pub(crate) fn enter(&self, job: &ThisPe, call: &mut Call) {
        if call.allocates() && call.synchronizes() {
            self.complete(job, call, Some(0));
        }
        match call.operation() {
            Operation::Malloc | Operation::MallocWithHints => enlarge(call, 0),
            Operation::Align => enlarge(call, 1),
            Operation::Calloc => {
                if let Some(size) = call.value(0).checked_mul(call.value(1)) {
                    call.set_value(0, 1);
                    call.set_value(1, size);
                    enlarge(call, 1);
                }
            }
            Operation::Realloc => self.reallocate(job, call),
            Operation::Free => self.free(job, call),
            Operation::SpaceMalloc if space_bytes(call) > 0 => self.complete(job, call, Some(0)),
            Operation::SpaceFree if call.value(1) != 0 => {
                self.complete(job, call, Some(0));
                self.blocks().remove(call.value(1));
            }
            Operation::SpaceDestroy => {
                self.complete(job, call, Some(0));
                self.blocks().remove_space(call.value(0));
            }
            Operation::Quiet | Operation::DestroyContext => {
                self.complete(job, call, Some(job.context_of(call)));
            }
            // The release of a lock completes what the default context has under way.
            Operation::ClearLock => {
                self.complete(job, call, Some(0));
                self.accesses(job, call);
            }
            Operation::Barrier => {
                self.complete(job, call, Some(0));
                self.check_red_zones(job, call, CHECKED_IN_BARRIERS);
            }
            Operation::Sync => self.check_red_zones(job, call, CHECKED_IN_BARRIERS),
            Operation::Finalize => {
                self.complete(job, call, None);
                self.check_red_zones(job, call, usize::MAX);
                self.check_quarantine(job);
                self.leaks(job, call);
                // The library may be initialised again.
                *self.blocks() = Blocks::default();
            }
            Operation::Other | Operation::Init | Operation::GlobalExit => {}
            _ => self.accesses(job, call),
        }
    }

    /// After it; the result that the program gets.
    pub(crate) fn leave(&self, job: &ThisPe, call: &Call, result: usize) -> usize {
        match call.operation() {
            _ if call.allocates() => self.allocated(job, call, result),
            Operation::SpaceMalloc => {
                self.space_allocated(job, call, result);
                result
            }
            Operation::Get => {
                self.check_fetched(job, call);
                result
            }
            _ => result,
        }
    }

    fn space_allocated(&self, job: &ThisPe, call: &Call, at: usize) {
        if at == 0 {
            return;
        }
        let block = Block {
            size: space_bytes(call),
            red_zone: 0,
            filled: 0,
            site: job.site(call),
            stack: 0,
            space: Some(call.value(0)),
            freed: None,
        };
        self.blocks().insert(at, block);
    }

    fn reallocate(&self, job: &ThisPe, call: &mut Call) {
        let at = call.value(0);
        let site = job.site(call);
        let block = self.blocks().get(at);
        if let Some((block, freed)) = block.and_then(|block| Some((block, block.freed?))) {
            job.records.report(&Finding {
                other: Some((job.me, freed)),
                place: place(at, at, &block),
                bytes: block.size as u64,
                detail: READS,
                ..job.finding(Kind::UseAfterFree, site)
            });
            // The library still has it.
            self.blocks().restore(at);
        }
        if let Some(block) = block {
            check_red_zone(job, at, &block, site);
        }
        enlarge(call, 1);
    }

    /// A block was allocated, or could not be: the result that the program gets.
    fn allocated(&self, job: &ThisPe, call: &Call, mut at: usize) -> usize {
        let size = call.scratch.requested;
        let is_realloc = call.operation() == Operation::Realloc;
        let old = is_realloc.then(|| call.value(0)).filter(|old| *old != 0);
        if call.scratch.is_enlarged == 0 {
            if let Some(old) = old {
                self.blocks().remove(old);
            }
            return at;
        }
        if at == 0 {
            at = self.allocate_again(job, call);
        }
        if at == 0 {
            return 0;
        }
        let kept = old.and_then(|old| self.blocks().remove(old)).map_or(0, |block| block.size.min(size));
        let is_zeroed = call.operation() == Operation::Calloc;
        let from = if is_zeroed { size } else { kept };
        let filled = size.min(FILLED).max(from) - from;
        // SAFETY: the block is this PE's, and no other PE may access it before the barrier.
        unsafe {
            Pattern::New.fill(at + from, filled);
            Pattern::RedZone.fill(at + size, RED_ZONE);
        }
        let block = Block {
            size,
            red_zone: RED_ZONE,
            filled: if filled > 0 { from + filled } else { 0 },
            site: job.site(call),
            stack: stack(),
            space: None,
            freed: None,
        };
        self.blocks().insert(at, block);
        job.library.barrier_all();
        at
    }

    /// Gives the library the blocks in quarantine and calls its function again: all PEs do, since they have the same
    /// blocks.
    fn allocate_again(&self, job: &ThisPe, call: &Call) -> usize {
        while let Some(oldest) = self.evict(job, true) {
            job.library.free(oldest);
        }
        let (library, first) = (&job.library, call.value(0));
        match call.operation() {
            Operation::Malloc => library.malloc(first),
            Operation::Calloc => {
                let at = library.malloc(call.value(1));
                if at != 0 {
                    // SAFETY: the block is this PE's, and no other PE knows it yet.
                    unsafe { std::ptr::write_bytes(at as *mut u8, 0, call.scratch.requested) };
                }
                at
            }
            Operation::Align => library.align(first, call.value(1)),
            Operation::MallocWithHints => library.malloc_with_hints(first, call.value(1)),
            _ => library.realloc(first, call.value(1)),
        }
    }

    fn free(&self, job: &ThisPe, call: &mut Call) {
        let at = call.value(0);
        let found = self.blocks().get(at).filter(|block| block.space.is_none());
        let Some(block) = found else {
            return;
        };
        let site = job.site(call);
        if let Some(freed) = block.freed {
            job.records.report(&Finding {
                other: Some((job.me, freed)),
                place: place(at, at, &block),
                ..job.finding(Kind::DoubleFree, site)
            });
        } else {
            self.complete(job, call, Some(0));
            check_red_zone(job, at, &block, site);
        }
        // As the library's function, which is called when the block leaves quarantine.
        call.skip = 1;
        job.library.barrier_all();
        if block.freed.is_some() {
            return;
        }
        // SAFETY: all PEs have freed the block.
        unsafe { Pattern::Freed.fill(at, block.size.min(FILLED)) };
        self.blocks().quarantine(at, site);
        job.library.barrier_all();
        while let Some(oldest) = self.evict(job, false) {
            job.library.free(oldest);
        }
    }

    /// Takes the oldest block from quarantine, as [`Blocks::evict`].
    fn evict(&self, job: &ThisPe, all: bool) -> Option<usize> {
        let (at, block) = self.blocks().evict(all)?;
        check_freed(job, at, &block);
        Some(at)
    }

    /// Checks the red zones of the first blocks, `most` of them.
    fn check_red_zones(&self, job: &ThisPe, call: &Call, most: usize) {
        let site = job.site(call);
        for (start, block) in self.blocks().live().take(most) {
            check_red_zone(job, start.address(), &block, site);
        }
    }

    fn check_quarantine(&self, job: &ThisPe) {
        for (start, block) in self.blocks().freed() {
            check_freed(job, start.address(), &block);
        }
    }

    /// The puts of a context, or of all, are complete: reports those whose source has changed.
    fn complete(&self, job: &ThisPe, call: &Call, context: Option<usize>) {
        let changed = locked(&self.pending).complete(context);
        for (put, change) in changed {
            let kind = match change {
                Change::Changed => Kind::SourceChanged,
                Change::Unmapped => Kind::SourceUnmapped,
            };
            job.records.report(&Finding {
                target: put.target,
                other: Some((job.me, job.site(call))),
                bytes: put.len as u64,
                ..job.finding(kind, put.site)
            });
        }
    }
}

/// Bytes that a call asks for which allocates in a space.
fn space_bytes(call: &Call) -> usize {
    let last = call.parameters().count() - 1;
    let elements = if call.name().contains("calloc") { call.value(1) } else { 1 };
    call.value(last).saturating_mul(elements)
}

/// Makes room for the red zone, in the argument that has the size. Without bytes, nothing is allocated.
fn enlarge(call: &mut Call, number: usize) {
    let size = call.scratch.requested;
    if size > 0
        && let Some(larger) = size.checked_add(RED_ZONE)
    {
        call.scratch.is_enlarged = 1;
        call.set_value(number, larger);
    }
}

fn check_red_zone(job: &ThisPe, at: usize, block: &Block, site: u32) {
    let zone = at + block.size;
    // SAFETY: the red zone is part of what the library has allocated.
    let changed = unsafe { Pattern::RedZone.first_changed(zone, block.red_zone) };
    if let Some(changed) = changed {
        job.records.report(&Finding {
            place: place(zone + changed, at, block),
            ..job.finding(Kind::RedZoneOverwritten, site)
        });
        // SAFETY: no PE may write there.
        unsafe { Pattern::RedZone.fill(zone, block.red_zone) };
    }
}

fn check_freed(job: &ThisPe, at: usize, block: &Block) {
    // SAFETY: the block is part of the heap, and the library has not got it back.
    let changed = unsafe { Pattern::Freed.first_changed(at, block.size.min(FILLED)) };
    if let (Some(changed), Some(freed)) = (changed, block.freed) {
        job.records.report(&Finding {
            other: Some((job.me, freed)),
            place: place(at + changed, at, block),
            ..job.finding(Kind::FreedOverwritten, freed)
        });
    }
}
