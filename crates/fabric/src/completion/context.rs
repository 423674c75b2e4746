//! Communication contexts: operations that are completed together.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::*};
use std::sync::{Arc, OnceLock};

use ferroshmem_platform::atomic::{Atomic as _, AtomicNumber as _, Atomics, Std};

use crate::encoding::ContextBatches;

/// Operations that are completed together: one for each communication context.
///
/// Any number of threads may use one at the same time. What is under way when it is dropped
/// still completes.
pub struct Context(NonNull<ContextCounters>);

/// The number of the last endpoint.
pub(crate) const LAST: usize = u32::MAX as usize - 1;

/// How short puts of a context travel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregation {
    /// Each by a write, or by one with those that follow it before it is complete.
    Off = 0,
    /// While others are under way, in messages.
    On = 1,
    /// In messages.
    Batch = 2,
}

// SAFETY: the box holds atomics only.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// What of a context is under way.
#[derive(Default)]
pub(crate) struct ContextCounters<A: Atomics = Std> {
    /// Operations that are not complete: of even phases, and of odd ones.
    all: [A::Usize; 2],
    /// The phase of operations that begin: a quiet that does not wait ends it, if all of the one before are complete.
    phase: A::U32,
    /// Fences so far.
    fences: AtomicU32,
    /// An [`Aggregation`].
    aggregation: AtomicU8,
    /// The number of its own endpoint; 0: it has none.
    endpoint: AtomicU32,
    peers: OnceLock<Box<[PeerCounters]>>,
    /// What it gathers itself, of a context with an endpoint of its own.
    batches: OnceLock<Arc<ContextBatches>>,
}

/// The operations of a context to one PE.
#[derive(Default)]
pub(crate) struct PeerCounters<A: Atomics = Std> {
    /// Writes that are not complete.
    writes: A::U32,
    /// Other operations that are not complete.
    others: A::U32,
    /// The fence up to which they are known to be in order.
    fenced: AtomicU32,
    /// Short puts behind a fence that were writes, since none was under way.
    written: AtomicU32,
}

impl Default for Context {
    fn default() -> Context {
        Context(NonNull::from(Box::leak(Box::<ContextCounters>::default())))
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({} under way)", self.counters().in_flight())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Operations under way count themselves down: then the counters stay for them. The last
        // thing an operation does with them is to count down to 0.
        if self.counters().in_flight() == 0 {
            // SAFETY: the pointer is that of the box in `default`, and no operation refers to it.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl Context {
    /// A context whose short puts are aggregated: they are sent when there are many to a PE, when a thread
    /// waits, and after a while.
    pub fn aggregating() -> Context {
        let this = Context::default();
        this.expect_batch(false);
        this
    }

    /// Whether many operations are to follow, of an [aggregating](Self::aggregating) context: then its puts are
    /// never sent by themselves.
    pub fn expect_batch(&self, many: bool) {
        let aggregation = if many { Aggregation::Batch } else { Aggregation::On };
        let to = &self.counters().aggregation;
        to.store(aggregation as u8, Relaxed);
    }

    /// Has its operations issued and completed by an endpoint of its own, where [`Config::endpoints`] and the provider
    /// have any: contexts with other numbers have others, as far as there are as many. Active messages stay
    /// on the first endpoint. To be called before the first operation.
    ///
    /// [`Config::endpoints`]: crate::Config::endpoints
    pub fn use_own_endpoint(&self, number: usize) {
        let to = &self.counters().endpoint;
        to.store((number as u32).wrapping_add(1).max(1), Relaxed);
    }

    /// The same by an endpoint that no number gives, and that is there whatever [`Config::endpoints`] is: so short
    /// operations do not wait behind long ones of other contexts.
    ///
    /// [`Config::endpoints`]: crate::Config::endpoints
    pub fn use_last_endpoint(&self) {
        self.use_own_endpoint(LAST);
    }

    pub(crate) fn counters(&self) -> &ContextCounters {
        // SAFETY: lives until drop.
        unsafe { self.0.as_ref() }
    }
}

impl<A: Atomics> ContextCounters<A> {
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight_of(0).wrapping_add(self.in_flight_of(1))
    }

    /// Those of a phase that are not complete, and of others with as many over.
    fn in_flight_of(&self, phase: u32) -> usize {
        self.all[phase as usize % 2].load(Acquire)
    }

    /// Whether operations that begin are of an odd phase.
    #[inline]
    pub(crate) fn is_odd(&self) -> bool {
        self.phase.load(Relaxed) % 2 == 1
    }

    /// Ends the phase, if it can end now; its number, for [`is_quiet`](Self::is_quiet).
    pub(crate) fn end_phase(&self) -> u32 {
        let phase = self.phase.load(Acquire);
        self.is_quiet(phase);
        phase
    }

    /// Whether all operations that began in a phase, and those before, are complete; acquires what they have written.
    ///
    /// A phase ends when all of the one before are complete: so each of two counters has those of one phase. A thread
    /// may count an operation in a phase that another one has just ended. What comes to be counted there in its place
    /// does not begin before the operation is complete.
    pub(crate) fn is_quiet(&self, phase: u32) -> bool {
        let mut now = self.phase.load(Acquire);
        if now == phase && self.in_flight_of(now.wrapping_add(1)) == 0 {
            let next = |now: u32| (now == phase).then_some(now.wrapping_add(1));
            _ = self.phase.fetch_update(AcqRel, Acquire, next);
            now = self.phase.load(Acquire);
        }
        match now.wrapping_sub(phase) {
            0 => false,
            1 => self.in_flight_of(phase) == 0,
            _ => true,
        }
    }

    pub(crate) fn begin(&self, peer: &PeerCounters<A>, write: bool, is_odd: bool) {
        self.all[usize::from(is_odd)].fetch_add(1, Relaxed);
        peer.kind(write).fetch_add(1, Relaxed);
    }

    /// The operation is complete. Nothing of the context may be touched afterwards.
    pub(crate) fn end(&self, peer: &PeerCounters<A>, write: bool, is_odd: bool) {
        peer.kind(write).fetch_sub(1, Release);
        self.all[usize::from(is_odd)].fetch_sub(1, Release);
    }
}

impl ContextCounters {
    pub(crate) fn peer(&self, pe: usize, n_pes: usize) -> &PeerCounters {
        let peers = self.peers.get_or_init(|| (0..n_pes).map(|_| PeerCounters::default()).collect());
        &peers[pe]
    }

    /// The operations to this PE, if there ever were any to any.
    pub(crate) fn existing(&self, pe: usize) -> Option<&PeerCounters> {
        self.peers.get()?.get(pe)
    }

    #[inline]
    pub(crate) fn aggregation(&self) -> Aggregation {
        match self.aggregation.load(Relaxed) {
            0 => Aggregation::Off,
            1 => Aggregation::On,
            _ => Aggregation::Batch,
        }
    }

    /// The number that it was given for its own endpoint.
    #[inline]
    pub(crate) fn endpoint(&self) -> Option<usize> {
        let number = self.endpoint.load(Relaxed);
        number.checked_sub(1).map(|number| number as usize)
    }

    /// Whether it gathers small operations itself, in batches of its own: one thread at a time uses it, while others
    /// use others.
    #[inline]
    pub(crate) fn has_own_batches(&self) -> bool {
        self.endpoint.load(Relaxed) != 0
    }

    /// What it has gathered itself, if it ever has.
    #[inline]
    pub(crate) fn batches(&self) -> Option<&ContextBatches> {
        self.batches.get().map(|batches| &**batches)
    }

    /// As [`batches`](Self::batches), or new ones.
    pub(crate) fn batches_or(&self, new: impl FnOnce() -> Arc<ContextBatches>) -> &ContextBatches {
        self.batches.get_or_init(new)
    }

    pub(crate) fn fence(&self) {
        self.fences.fetch_add(1, Relaxed);
    }

    /// Whether a fence came after operations to this PE that may still be under way.
    pub(crate) fn has_fence_for(&self, peer: &PeerCounters) -> bool {
        peer.fenced.load(Relaxed) != self.fences.load(Relaxed)
    }

    /// All operations to this PE that came before the fences so far are complete.
    pub(crate) fn caught_up(&self, peer: &PeerCounters, fences: u32) {
        peer.fenced.store(fences, Relaxed);
        peer.written.store(0, Relaxed);
    }

    pub(crate) fn fences(&self) -> u32 {
        self.fences.load(Relaxed)
    }
}

impl<A: Atomics> PeerCounters<A> {
    fn kind(&self, write: bool) -> &A::U32 {
        if write { &self.writes } else { &self.others }
    }

    /// Operations that are not complete.
    pub(crate) fn in_flight(&self) -> u32 {
        let writes = self.writes.load(Acquire);
        writes.wrapping_add(self.others.load(Acquire))
    }

    /// Operations that are not complete and no writes.
    #[inline]
    pub(crate) fn others(&self) -> u32 {
        self.others.load(Acquire)
    }

    /// Whether none of those that are under way is a write.
    pub(crate) fn no_writes(&self) -> bool {
        self.writes.load(Acquire) == 0
    }

    /// Whether a short put behind a fence may be a write as those before it: if all that is under way are
    /// writes, and there were few of these.
    pub(crate) fn may_write_on(&self) -> bool {
        const MOST: u32 = 8;

        self.only_writes() && self.written.fetch_add(1, Relaxed) < MOST
    }

    /// Whether all that is under way are writes.
    pub(crate) fn only_writes(&self) -> bool {
        self.others.load(Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use loom::{sync::Arc, sync::atomic, thread};

    use super::*;
    use crate::Loom;

    #[test]
    fn a_quiet_is_of_the_operations_before_it() {
        let (all, peer) = <(ContextCounters, PeerCounters)>::default();
        let begin = || {
            let is_odd = all.is_odd();
            all.begin(&peer, true, is_odd);
            is_odd
        };
        let first = begin();
        let one = all.end_phase();
        assert!(!all.is_quiet(one));
        // The phase of the second cannot end before the first is complete: so the third is of it, too.
        let second = begin();
        let two = all.end_phase();
        let third = begin();
        all.end(&peer, true, first);
        assert!(all.is_quiet(one) && !all.is_quiet(two));
        let fourth = begin();
        all.end(&peer, true, second);
        assert!(!all.is_quiet(two));
        all.end(&peer, true, third);
        assert!(all.is_quiet(two) && all.is_quiet(one));
        assert_eq!(all.in_flight(), 1);
        let three = all.end_phase();
        assert!(!all.is_quiet(three));
        all.end(&peer, true, fourth);
        assert!(all.is_quiet(three) && all.in_flight() == 0);
    }

    /// Who finds none under way, of a context or to a PE, finds what each operation has written.
    #[test]
    fn operations_of_a_context_end_behind_what_they_write() {
        type Counters = (ContextCounters<Loom>, PeerCounters<Loom>);
        let ended: [fn(&Counters) -> bool; 3] =
            [|(all, _)| all.in_flight() == 0, |(_, peer)| peer.in_flight() == 0, |(all, _)| all.is_quiet(0)];
        for has_ended in ended {
            loom::model(move || {
                let shared = Arc::new((Counters::default(), <[atomic::AtomicU32; 2]>::default()));
                let ((all, peer), written) = &*shared;
                let operations = [false, true].map(|write| {
                    all.begin(peer, write, write);
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let ((all, peer), written) = &*shared;
                        written[usize::from(write)].store(1, Relaxed);
                        all.end(peer, write, write);
                    })
                });
                if has_ended(&shared.0) {
                    assert!(written.iter().all(|word| word.load(Relaxed) == 1));
                }
                let [other, write] = operations;
                other.join().and(write.join()).unwrap();
            });
        }
    }
}
