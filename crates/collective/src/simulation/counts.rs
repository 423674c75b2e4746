//! What each PE does in one call of a collective.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_core::group::CallSummary;
use ferroshmem_core::group::threads::{Array, Member};
use ferroshmem_core::simulation::{self as turns, FutexCalls, Waits};
use ferroshmem_core::wait::{Fairness, Rendezvous, WaitReason, Waiter, ticket};
use ferroshmem_layout::WaitKind;
use ferroshmem_simd::Operator;
use ferroshmem_simd::ops::Sum;
use ferroshmem_tuning::{Choice, Collective, DecisionTable};

use super::lines::{self, Lines};
use super::trace::{self, Access, Trace};
use crate::alltoall::{Strides, alltoall, alltoalls};
use crate::broadcast::broadcast;
use crate::collect::{collect, fcollect};
use crate::reduce::reduce;
use crate::scan::scan;

/// A collective call, as all members make it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) collective: Collective,
    pub(crate) choice: Choice,
    pub(crate) barrier: Choice,
    /// Bytes of an array or block, a multiple of 8.
    pub(crate) bytes: usize,
    /// What its members say beside the flags of a barrier.
    pub(crate) says: FlagPayload,
}

/// What the members of a barrier say beside its flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagPayload {
    Nothing,
    /// Words that are combined, as in a split of a team.
    Words,
    /// A summary of the call that all make, as in an allocation.
    Summary,
}

/// What one PE does in [`CALLS`] calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) epochs: usize,
    /// Of each call.
    pub(crate) lines: Vec<Lines>,
    pub(crate) futex: FutexCalls,
    /// Bytes that the algorithm reads and writes.
    pub(crate) bytes: (usize, usize),
}

/// Calls before those that are counted, and those: flags and buffers alternate between calls.
const BEFORE: usize = 2;
pub(crate) const CALLS: usize = 2;

const LINE: usize = 64;

/// The symmetric arrays of a call.
struct Arrays {
    source: Array<u64>,
    dest: Array<u64>,
}

impl Call {
    fn arrays(&self, pes: usize) -> Arrays {
        use Collective::{Alltoall, Alltoalls, Collect, Fcollect};
        let n = (self.bytes / 8).max(1);
        let blocks = |are: bool| if are { pes } else { 1 };
        let from_all = matches!(self.collective, Collect | Fcollect | Alltoall | Alltoalls);
        let to_all = matches!(self.collective, Alltoall | Alltoalls);
        Arrays { source: Array::new(pes, n * blocks(to_all)), dest: Array::new(pes, n * blocks(from_all)) }
    }

    /// Takes part in the call; the bytes that it moves.
    fn make(&self, arrays: &Arrays, member: &Member, decisions: &DecisionTable) -> (usize, usize) {
        let (group, n) = (member.group(decisions), self.bytes / 8);
        let (dest, source) = (arrays.dest.addresses(member.me), arrays.source.addresses(member.me));
        let sum = Operator::of::<u64, Sum>();
        // SAFETY: the arrays are long enough; all members call this.
        unsafe {
            match self.collective {
                Collective::Barrier => match self.says {
                    FlagPayload::Nothing => group.sync(),
                    FlagPayload::Words => {
                        group.combine_words([1, 2, 3, 4]);
                    }
                    FlagPayload::Summary => {
                        let (routine, arguments) = (1, [2, 3, 4]);
                        let call = CallSummary { routine, arguments };
                        group.sync_comparing(&call).expect("all say the same");
                    }
                },
                Collective::Reduce => reduce(&group, dest.bytes(), source.bytes(), n, sum),
                Collective::Broadcast => {
                    broadcast(&group, dest.bytes(), source.bytes(), self.bytes, 0, true);
                }
                Collective::Collect => {
                    let (dest, source) = (dest.bytes(), source.bytes());
                    collect(&group, source.of(member.me), self.bytes, |_| (dest, source));
                }
                Collective::Fcollect => fcollect(&group, dest.bytes(), source.bytes(), self.bytes),
                Collective::Alltoall => alltoall(&group, dest.bytes(), source.bytes(), self.bytes),
                Collective::Alltoalls => {
                    let strides = Strides { dest: 1, source: 1, elem: 8 };
                    alltoalls(&group, dest.bytes(), source.bytes(), strides, n);
                }
                Collective::Scan => scan(&group, dest.bytes(), source.bytes(), n, sum, true),
            }
        }
        group.traffic().total()
    }
}

/// What a program does between two calls: it writes its source and reads its result.
fn use_arrays(arrays: &Arrays, me: usize) {
    for (array, is_write) in [(&arrays.source, true), (&arrays.dest, false)] {
        let mine = array.addresses(me).of(me).addr();
        let bytes = size_of_val(array.of(me));
        for line in (mine..mine + bytes).step_by(LINE) {
            trace::note(line, is_write);
        }
    }
}

/// Runs `each` on PE after PE, with what is counted of it between `begin` and `end`.
fn run(pes: usize, waits: Waits, traced: Option<&[Range<usize>]>, each: impl Fn(usize) + Sync) -> Vec<Access> {
    let trace = traced.map(Trace::begin);
    turns::run(pes, waits, each);
    trace.map(Trace::end).unwrap_or_default()
}

/// What each of `pes` PEs does in [`CALLS`] calls: where waiters poll, or where they sleep at once.
pub(crate) fn count(call: &Call, pes: usize, waits: Waits) -> Vec<Counts> {
    let decisions = DecisionTable::fixed(call.collective, call.choice).with(Collective::Barrier, call.barrier);
    let arrays = call.arrays(pes);
    let members: Vec<_> = Member::all(pes, 0).collect();
    let counts: Vec<_> = (0..pes).map(|_| Mutex::new(Counts::default())).collect();
    let memory = [members[0].slots(), arrays.source.pages(), arrays.dest.pages()];
    let traced = (waits == Waits::Poll).then_some(memory.as_slice());
    let accesses = run(pes, waits, traced, |me| {
        let member = &members[me];
        let mut counted = Counts::default();
        for i in 0..BEFORE + CALLS {
            trace::accesses_of(me, 0);
            if traced.is_some() {
                use_arrays(&arrays, me);
            }
            let (epochs, futex) = (member.epochs(), turns::futex_calls());
            trace::accesses_of(me, (i + 1).saturating_sub(BEFORE));
            let (read, written) = call.make(&arrays, member, &decisions);
            trace::accesses_of(me, 0);
            if i >= BEFORE {
                let after = turns::futex_calls();
                counted.epochs += (member.epochs() - epochs) as usize;
                counted.futex.waits += after.waits - futex.waits;
                counted.futex.wakes += after.wakes - futex.wakes;
                counted.bytes.0 += read;
                counted.bytes.1 += written;
            }
        }
        *counts[me].lock().unwrap() = counted;
    });
    let lines = lines::taken(&accesses, pes, CALLS);
    let counts = counts.into_iter().zip(lines);
    let all = counts.map(|(counts, lines)| Counts { lines, ..counts.into_inner().unwrap() });
    all.collect()
}

/// What each of `pes` PEs does that takes a lock, holds it while the others come, and releases it.
pub(crate) fn count_lock(pes: usize, waits: Waits) -> Vec<Counts> {
    let fairness = Fairness { overtakes: 0, clock: || 0 };
    let (counts, word) = count_at_word(pes, waits, |lock| {
        let waiter = || Waiter::new(WaitReason::at(WaitKind::Lock, "shmem_set_lock", 0));
        ticket::acquire(lock, fairness, waiter);
        turns::let_others_run();
        ticket::release(lock, fairness);
    });
    assert_eq!(word, 0, "the lock is free again");
    counts
}

/// What each of `pes` PEs does in the first synchronisation of `shmem_init`.
pub(crate) fn count_rendezvous(pes: usize, waits: Waits) -> Vec<Counts> {
    let (counts, _) = count_at_word(pes, waits, |words| {
        let first = words.as_ptr().cast::<u32>();
        // SAFETY: the halves of the word, which live as long as it, and are used as atomics alone.
        let [arrived, epoch] = [0, 1].map(|i| unsafe { AtomicU32::from_ptr(first.add(i)) });
        let n = pes as u32;
        let rendezvous = Rendezvous { arrived, epoch, n };
        let reason = WaitReason::at(WaitKind::Team, "shmem_init", 0);
        rendezvous.wait(rendezvous.arrive(), &reason);
    });
    counts
}

/// What each of `pes` PEs does in `call` on a word of shared memory, and what that is at the end.
fn count_at_word(pes: usize, waits: Waits, call: impl Fn(&AtomicU64) + Sync) -> (Vec<Counts>, u64) {
    let page = Array::<u64>::new(1, 1);
    // SAFETY: the word is used as an atomic alone, and lives as long as the array.
    let word = unsafe { AtomicU64::from_ptr(&raw mut page.of(0)[0]) };
    let memory = [page.pages()];
    let calls: Vec<_> = (0..pes).map(|_| Mutex::new(FutexCalls::default())).collect();
    let traced = (waits == Waits::Poll).then_some(memory.as_slice());
    let accesses = run(pes, waits, traced, |me| {
        trace::accesses_of(me, 1);
        call(word);
        *calls[me].lock().unwrap() = turns::futex_calls();
    });
    let lines = lines::taken(&accesses, pes, 1);
    let all = calls.into_iter().zip(lines).map(|(futex, lines)| Counts {
        lines,
        futex: futex.into_inner().unwrap(),
        ..Counts::default()
    });
    (all.collect(), word.load(Ordering::Relaxed))
}
