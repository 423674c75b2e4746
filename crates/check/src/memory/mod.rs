//! `--check=memory`: what calls do to memory that they should not.
//!
//! Blocks of the symmetric heap get a zone behind them that nobody may write, and blocks that were given back are kept for a while.
//! What a block holds before it is written depends on the address ([`pattern`]), so memory that nobody has written is known
//! whoever writes it, by calls or stores.

mod blocks;
mod pattern;
mod pending;
mod reach;

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferroshmem_core::platform::unwind;

use self::blocks::{Block, Blocks, Wrong};
use self::pattern::Pattern;
use self::pending::{Change, Pending};
use crate::call::{Call, Role, Span};
use crate::finding::{Finding, Kind, Place};
use crate::job::Job;
use crate::operation::Operation;
use crate::shared::mixed;

/// Bytes behind a block that nobody may write.
const ZONE: usize = 64;
/// Bytes of a block that are filled: more would take the program's time and memory.
const FILLED: usize = 1 << 20;
/// Blocks whose zones are looked at in each barrier.
const LOOKED_AT: usize = 256;

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
    Place::Block {
        offset: at.wrapping_sub(start) as i64,
        size: block.size as u64,
        site: block.site,
    }
}

impl Memory {
    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        locked(&self.blocks)
    }

    /// Before the library's function.
    pub(crate) fn enter(&self, job: &Job, call: &mut Call) {
        match call.operation() {
            Operation::Malloc | Operation::MallocWithHints => self.enlarge(call, 0),
            Operation::Align => self.enlarge(call, 1),
            Operation::Calloc => {
                if let Some(size) = call.value(0).checked_mul(call.value(1)) {
                    call.set_value(0, 1);
                    call.set_value(1, size);
                    self.enlarge(call, 1);
                }
            }
            Operation::Realloc => {
                let (at, size) = (call.value(0), call.value(1));
                self.look_at_zone(job, at, job.site(call));
                if size > 0 || at == 0 {
                    self.enlarge(call, 1);
                }
            }
            Operation::Free => self.free(job, call),
            Operation::SpaceFree => {
                self.blocks().remove(call.value(1));
            }
            Operation::SpaceDestroy => self.blocks().remove_space(call.value(0)),
            Operation::Quiet | Operation::DestroyContext => {
                let context = call.argument(Role::Context).unwrap_or(call.context);
                self.complete(job, call, Some(context));
            }
            // The release of a lock completes what the default context has under way.
            Operation::ClearLock => {
                self.complete(job, call, Some(0));
                self.accesses(job, call);
            }
            Operation::Barrier => {
                self.complete(job, call, Some(0));
                self.look_at_zones(job, call, false);
            }
            Operation::Sync => self.look_at_zones(job, call, false),
            Operation::Finalize => {
                self.complete(job, call, None);
                self.look_at_zones(job, call, true);
                self.leaks(job, call);
                // The library may be initialised again.
                *self.blocks() = Blocks::default();
            }
            Operation::Other | Operation::Init | Operation::GlobalExit => {}
            _ => self.accesses(job, call),
        }
    }

    /// After it; the result that the program gets.
    pub(crate) fn leave(&self, job: &Job, call: &Call, result: usize) -> usize {
        match call.operation() {
            Operation::Malloc
            | Operation::MallocWithHints
            | Operation::Align
            | Operation::Calloc
            | Operation::Realloc => self.allocated(job, call, result),
            Operation::SpaceMalloc => {
                let number = call.parameters().count();
                let factor = if call.name().contains("calloc") {
                    call.value(1)
                } else {
                    1
                };
                let size = call.value(number - 1).saturating_mul(factor);
                if result != 0 {
                    let block = Block {
                        size,
                        zone: 0,
                        filled: 0,
                        site: job.site(call),
                        stack: 0,
                        space: Some(call.value(0)),
                        freed: None,
                    };
                    self.blocks().insert(result, block);
                }
                result
            }
            _ => result,
        }
    }

    /// Makes room for the zone.
    fn enlarge(&self, call: &mut Call, number: usize) {
        let size = call.value(number);
        // Without bytes, nothing is allocated, and PEs are not synchronised.
        if size > 0
            && let Some(larger) = size.checked_add(ZONE)
        {
            call.scratch[0] = size;
            call.set_value(number, larger);
        }
    }

    fn allocated(&self, job: &Job, call: &Call, mut at: usize) -> usize {
        let size = call.scratch[0];
        let is_realloc = call.operation() == Operation::Realloc;
        let old = is_realloc.then(|| call.value(0)).filter(|old| *old != 0);
        if size == 0 {
            if let Some(old) = old {
                self.blocks().remove(old);
            }
            return at;
        }
        if at == 0 {
            // All PEs keep the same blocks.
            while let Some(at) = self.let_go(job, true) {
                job.library.free(at);
            }
            let (library, value) = (&job.library, |number| call.value(number));
            at = match call.operation() {
                Operation::Malloc => library.malloc(value(0)),
                // Zero, as all that was never allocated, or cleared below.
                Operation::Calloc => library.malloc(value(1)),
                Operation::Align => library.align(value(0), value(1)),
                Operation::MallocWithHints => library.malloc_with_hints(value(0), value(1)),
                _ => library.realloc(value(0), value(1)),
            };
            if at != 0 && call.operation() == Operation::Calloc {
                // SAFETY: the block is this PE's, and no other PE knows it yet.
                unsafe { std::ptr::write_bytes(at as *mut u8, 0, size) };
            }
        }
        if at == 0 {
            return 0;
        }
        let kept = old
            .and_then(|old| self.blocks().remove(old))
            .map_or(0, |b| b.size.min(size));
        let from = match call.operation() {
            Operation::Calloc => size,
            _ => kept,
        };
        let filled = size.min(FILLED).max(from) - from;
        // SAFETY: the block is this PE's, and no other PE may access it before the barrier.
        unsafe {
            Pattern::New.fill(at + from, filled);
            Pattern::Zone.fill(at + size, ZONE);
        }
        let block = Block {
            size,
            zone: ZONE,
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

    fn free(&self, job: &Job, call: &mut Call) {
        let at = call.value(0);
        let found = self.blocks().get(at);
        let Some(block) = found.filter(|_| at != 0) else {
            return;
        };
        let site = job.site(call);
        if let Some(freed) = block.freed {
            job.shared.report(&Finding {
                other: Some((job.me, freed)),
                place: place(at, at, &block),
                ..job.finding(Kind::DoubleFree, site)
            });
        } else {
            self.complete(job, call, Some(0));
            self.look_at_zone(job, at, site);
        }
        // As the library's function, which follows later.
        call.skip = 1;
        job.library.barrier_all();
        if block.freed.is_some() {
            return;
        }
        // SAFETY: all PEs give the block back.
        unsafe { Pattern::Freed.fill(at, block.size.min(FILLED)) };
        self.blocks().keep(at, site);
        job.library.barrier_all();
        while let Some(oldest) = self.let_go(job, false) {
            job.library.free(oldest);
        }
    }

    /// The oldest block that is to be given back at last.
    fn let_go(&self, job: &Job, all: bool) -> Option<usize> {
        let (at, block) = self.blocks().let_go(all)?;
        self.look_at_freed(job, at, &block);
        Some(at)
    }

    fn look_at_freed(&self, job: &Job, at: usize, block: &Block) {
        // SAFETY: the block is part of the heap.
        let changed = unsafe { Pattern::Freed.first_changed(at, block.size.min(FILLED)) };
        if let (Some(changed), Some(freed)) = (changed, block.freed) {
            job.shared.report(&Finding {
                other: Some((job.me, freed)),
                place: place(at + changed, at, block),
                ..job.finding(Kind::FreedDamaged, freed)
            });
        }
    }

    fn look_at_zone(&self, job: &Job, at: usize, site: u32) {
        if let Some(block) = self.blocks().get(at) {
            Self::look_at_zone_of(job, at, &block, site);
        }
    }

    fn look_at_zone_of(job: &Job, at: usize, block: &Block, site: u32) {
        let zone = at + block.size;
        // SAFETY: the zone is part of the block that the library has given.
        let changed = unsafe { Pattern::Zone.first_changed(zone, block.zone) };
        if let Some(changed) = changed {
            job.shared.report(&Finding {
                place: place(zone + changed, at, block),
                ..job.finding(Kind::ZoneDamaged, site)
            });
            // SAFETY: nobody else may write there.
            unsafe { Pattern::Zone.fill(zone, block.zone) };
        }
    }

    fn look_at_zones(&self, job: &Job, call: &Call, all: bool) {
        let site = job.site(call);
        let blocks = self.blocks();
        for (at, block) in blocks.live().take(if all { usize::MAX } else { LOOKED_AT }) {
            Self::look_at_zone_of(job, at, &block, site);
        }
        if all {
            for (at, block) in blocks.freed() {
                self.look_at_freed(job, at, &block);
            }
        }
    }

    /// Blocks of the same calls that are never given back, and of which the program has no pointer any more: one alone may be
    /// meant to last.
    fn leaks(&self, job: &Job, call: &Call) {
        let mut live: Vec<(usize, Block)> = {
            let blocks = self.blocks();
            let own = blocks.live().filter(|(_, block)| block.space.is_none());
            own.map(|(at, block)| (reach::hidden(at), block)).collect()
        };
        live.sort_by_key(|(_, block)| (block.site, block.stack));
        let same =
            |a: &(usize, Block), b: &(usize, Block)| (a.1.site, a.1.stack) == (b.1.site, b.1.stack);
        let several = live.chunk_by(same).filter(|same| same.len() > 1);
        let suspects: Vec<usize> = several.flatten().map(|(at, _)| *at).collect();
        if suspects.is_empty() {
            return;
        }
        let contents = live.iter().map(|(at, block)| {
            at - reach::hidden(0)..at - reach::hidden(0) + block.size.min(FILLED)
        });
        let others = contents.chain([job.globals.range.clone()]);
        let stack = std::ptr::from_ref(call).addr();
        let lost = reach::unreachable(&suspects, others, stack);
        live.retain(|(at, _)| lost.contains(at));
        for same in live.chunk_by(same) {
            job.shared.report(&Finding {
                bytes: same.iter().map(|(_, block)| block.size as u64).sum(),
                detail: same.len() as u64,
                ..job.finding(Kind::Leak, same[0].1.site)
            });
        }
    }

    fn complete(&self, job: &Job, call: &Call, context: Option<usize>) {
        let context = context.map(|context| match context == job.library.default_context {
            true => 0,
            false => context,
        });
        let changed = locked(&self.pending).complete(context);
        for (put, change) in changed {
            let kind = match change {
                Change::Changed => Kind::SourceChanged,
                Change::Gone => Kind::SourceGone,
            };
            job.shared.report(&Finding {
                target: put.target,
                other: Some((job.me, job.site(call))),
                bytes: put.len as u64,
                ..job.finding(kind, put.site)
            });
        }
    }

    /// The memory that a call accesses.
    fn accesses(&self, job: &Job, call: &Call) {
        let target = job.target(call);
        // Of PEs of other jobs, and wrong ones, the library knows.
        if call.argument(Role::Pe).is_some() && target.is_none() {
            return;
        }
        let mut members = None;
        for (number, parameter) in call.parameters() {
            let is_remote = match parameter.role {
                Role::Dest | Role::Source | Role::Signal => target.is_some(),
                Role::Variable | Role::Read | Role::Write => false,
                _ => continue,
            };
            if call.argument(Role::Pe).is_none() && members.is_none() {
                members = Some(job.members(call).map_or(1, |members| members.size));
            }
            let span = call.span(number, parameter, members.unwrap_or(1));
            let reads = matches!(parameter.role, Role::Source | Role::Read | Role::Variable);
            let pe = if is_remote {
                target.unwrap_or(job.me)
            } else {
                job.me
            };
            if self.bounds(job, call, span, pe, reads) && self.reads(call, parameter.role) {
                self.written(job, call, span, pe);
            }
        }
        let is_nbi = call.operation() == Operation::PutNbi
            || (call.operation() == Operation::PutSignal && call.name().ends_with("_nbi"));
        if is_nbi {
            self.remember(job, call, target.unwrap_or(job.me));
        }
    }

    fn remember(&self, job: &Job, call: &Call, target: usize) {
        let source = call.parameters().find(|(_, p)| p.role == Role::Read);
        if let Some((number, parameter)) = source {
            let span = call.span(number, parameter, 1);
            let context = match call.context == job.library.default_context {
                true => 0,
                false => call.context,
            };
            let (at, len) = span.bounds();
            locked(&self.pending).add(context, at, len, job.site(call), target);
        }
    }

    /// Whether the call takes what is there for a value.
    fn reads(&self, call: &Call, role: Role) -> bool {
        match (call.operation(), role) {
            (_, Role::Source | Role::Read | Role::Variable) => true,
            (Operation::AtomicUpdate, Role::Dest) => !call.name().contains("_set"),
            (Operation::AtomicFetchUpdate, Role::Dest) => {
                !call.name().contains("swap") || call.name().contains("compare")
            }
            _ => false,
        }
    }

    /// Reports an access that leaves its variable or block; whether it is within a block.
    fn bounds(&self, job: &Job, call: &Call, span: Span, pe: usize, reads: bool) -> bool {
        let (at, len) = span.bounds();
        if len == 0 {
            return false;
        }
        let detail = if reads { READS } else { 0 };
        let report = |kind, place, bytes| {
            job.shared.report(&Finding {
                target: pe,
                place,
                bytes,
                detail,
                ..job.finding(kind, job.site(call))
            });
        };
        if let Some(place) = job.global(at) {
            if let Some((start, size)) = job.globals.around(at) {
                let past = (at + len).saturating_sub(start + size);
                if past > 0 {
                    report(Kind::PastEnd, place, past as u64);
                }
            }
            return false;
        }
        let Some(wrong) = self.blocks().wrong(at, len) else {
            return true;
        };
        match wrong {
            _ if !job.library.is_symmetric(at, job.me) => {}
            Wrong::PastEnd(start, block, past) => {
                report(Kind::PastEnd, place(at, start, &block), past as u64);
            }
            Wrong::BeforeStart(start, block) => {
                report(Kind::BeforeStart, place(at, start, &block), len as u64);
            }
            Wrong::Freed(start, block) => job.shared.report(&Finding {
                target: pe,
                other: block.freed.map(|freed| (job.me, freed)),
                place: place(at, start, &block),
                bytes: len as u64,
                detail,
                ..job.finding(Kind::UseAfterFree, job.site(call))
            }),
            Wrong::Outside => report(Kind::Outside, Place::Heap(at as u64), len as u64),
        }
        false
    }

    /// Reports a read of memory of a block of which nothing was ever written.
    fn written(&self, job: &Job, call: &Call, span: Span, pe: usize) {
        let (at, _) = span.bounds();
        let Some((start, block)) = self.blocks().around(at) else {
            return;
        };
        let end = start + block.filled;
        let seen = match pe == job.me {
            true => Some(at),
            false => job.library.ptr(at, pe),
        };
        let Some(distance) = seen.map(|seen| seen.wrapping_sub(at)) else {
            return;
        };
        let is_new = |(at, len): (usize, usize)| {
            // SAFETY: within a block of the heap, of this PE or where this PE can read it.
            at + len <= end && unsafe { Pattern::New.is_in(at.wrapping_add(distance), at, len) }
        };
        if span.count > 0 && span.blocks().all(is_new) {
            job.shared.report(&Finding {
                target: pe,
                place: place(at, start, &block),
                bytes: span.blocks().map(|(_, len)| len as u64).sum(),
                detail: READS,
                ..job.finding(Kind::NeverWritten, job.site(call))
            });
        }
    }
}
