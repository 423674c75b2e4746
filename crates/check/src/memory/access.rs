//! What a call accesses: whether it stays within its variable or block, and whether what it reads was ever written.

use ferroshmem_layout::Operation;

use super::blocks::{Block, Violation};
use super::pattern::Pattern;
use super::{Memory, READS, locked, place};
use crate::call::{Call, Role};
use crate::finding::{Finding, Kind, Place};
use crate::job::ThisPe;
use crate::span::Span;

impl Memory {
    /// Checks the memory that a call accesses.
    pub(super) fn accesses(&self, job: &ThisPe, call: &Call) {
        let target = job.target(call);
        // Of PEs of other jobs, and wrong ones, the library knows.
        if call.argument(Role::Pe).is_some() && target.is_none() {
            return;
        }
        if call.argument(Role::Team).is_some_and(|team| !job.library.is_team(team)) {
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
            let pe = target.filter(|_| is_remote).unwrap_or(job.me);
            if self.is_in_block(job, call, (pe, span), reads)
                && uses_value(call, parameter.role)
                && (parameter.role != Role::Source || job.reads_source(call, number))
            {
                self.check_written(job, call, (pe, span), None);
            }
        }
        let is_nbi = call.operation() == Operation::PutNbi
            || (call.operation() == Operation::PutSignal && call.name().ends_with("_nbi"));
        if is_nbi {
            self.remember(job, call, target.unwrap_or(job.me));
        }
    }

    /// Remembers the source of a non-blocking put.
    fn remember(&self, job: &ThisPe, call: &Call, target: usize) {
        let source = call.parameters().find(|(_, p)| p.role == Role::Read);
        if let Some((number, parameter)) = source {
            let bytes = call.span(number, parameter, 1).bounds();
            let context = job.context_of(call);
            // SAFETY: the program promises that it is readable, by the put.
            unsafe {
                locked(&self.pending).add(context, bytes, job.site(call), target);
            }
        }
    }

    /// Reports an access that leaves its variable or block. True: it is within a block.
    fn is_in_block(&self, job: &ThisPe, call: &Call, (pe, span): (usize, Span), reads: bool) -> bool {
        let (at, len) = span.bounds();
        if len == 0 {
            return false;
        }
        let detail = if reads { READS } else { 0 };
        let report = |kind, place, bytes, other| {
            job.records.report(&Finding {
                target: pe,
                other,
                place,
                bytes,
                detail,
                ..job.finding(kind, job.site(call))
            });
        };
        if let Some(place) = job.global(at) {
            if let Some((start, size)) = job.globals.around(at) {
                let past = at.saturating_add(len).saturating_sub(start + size);
                if past > 0 {
                    report(Kind::PastEnd, place, past as u64, None);
                }
            }
            return false;
        }
        let violation = self.blocks().violation(at, len);
        let Some(violation) = violation else {
            return true;
        };
        if !job.library.is_symmetric(at, job.me) {
            return false;
        }
        let here = |start: usize, block: &Block| place(at, start, block);
        match violation {
            Violation::PastEnd(start, block, past) => {
                report(Kind::PastEnd, here(start, &block), past as u64, None);
            }
            Violation::BeforeStart(start, block) => {
                report(Kind::BeforeStart, here(start, &block), len as u64, None);
            }
            Violation::AfterFree(start, block) => {
                let freed = block.freed.map(|freed| (job.me, freed));
                report(Kind::UseAfterFree, here(start, &block), len as u64, freed);
            }
            Violation::Outside => {
                report(Kind::Outside, Place::Heap(at as u64), len as u64, None);
            }
        }
        false
    }

    /// The same of a get from another host, by what it has fetched.
    pub(super) fn check_fetched(&self, job: &ThisPe, call: &Call) {
        let row = |role| {
            let (number, parameter) = call.parameters().find(|(_, p)| p.role == role)?;
            let span = call.span(number, parameter, 1);
            let mut blocks = span.blocks();
            let first = blocks.next();
            first.filter(|_| blocks.next().is_none())
        };
        if let (Some(pe), Some((at, len)), Some((fetched, _))) = (job.target(call), row(Role::Source), row(Role::Write))
            && job.library.ptr(at, pe).is_none()
        {
            self.check_written(job, call, (pe, Span::row(at, len)), Some(fetched));
        }
    }

    /// Reports a read of memory of a block of which nothing was ever written. `span` is within a block; where PE
    /// `pe` is on another host, what was read from there is at `fetched`.
    fn check_written(&self, job: &ThisPe, call: &Call, (pe, span): (usize, Span), fetched: Option<usize>) {
        let (at, _) = span.bounds();
        let Some((start, block)) = self.blocks().around(at) else {
            return;
        };
        let end = start + block.filled;
        let seen = if pe == job.me { Some(at) } else { fetched.or_else(|| job.library.ptr(at, pe)) };
        let Some(distance) = seen.map(|seen| seen.wrapping_sub(at)) else {
            return;
        };
        let is_new = |(at, len): (usize, usize)| {
            // SAFETY: the bytes are of a block, which this PE can read: its own, by the address of shmem_ptr, or
            // what it has fetched.
            at + len <= end && unsafe { Pattern::New.is_in(at.wrapping_add(distance), at, len) }
        };
        if span.count > 0 && span.blocks().all(is_new) {
            job.records.report(&Finding {
                target: pe,
                place: place(at, start, &block),
                bytes: span.blocks().map(|(_, len)| len as u64).sum(),
                detail: READS,
                ..job.finding(Kind::Uninitialized, job.site(call))
            });
        }
    }
}

/// Whether the call's result depends on what the argument's memory holds.
fn uses_value(call: &Call, role: Role) -> bool {
    match (call.operation(), role) {
        (_, Role::Source | Role::Read | Role::Variable) => true,
        (Operation::AtomicUpdate, Role::Dest) => !call.name().contains("_set"),
        (Operation::AtomicFetchUpdate, Role::Dest) => !call.name().contains("swap") || call.name().contains("compare"),
        _ => false,
    }
}
