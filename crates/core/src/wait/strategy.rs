//! How long a waiter polls before it sleeps.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

pub use ferroshmem_platform::Spins;
use ferroshmem_platform::{Backoff, Limits, Step};

use ferroshmem_fabric::Fabric;

use super::record::{Recorder, WaitReason};
use crate::config::SPIN;

/// Decides between polling again and sleeping.
pub trait WaitStrategy {
    /// Called after each poll that found nothing: true to poll again at once, false to sleep.
    fn poll_again(&mut self) -> bool;

    /// Hands the polls at the beginning, if there are such, to a loop that keeps their count in
    /// registers, where it costs nothing.
    #[inline]
    fn spins(&mut self) -> Spins {
        Spins::default()
    }
}

/// The job's way of waiting, set at start-up.
#[derive(Debug)]
pub struct Policy {
    spins: AtomicU32,
    yields: AtomicU32,
    oversubscribed: AtomicBool,
}

/// The policy in force.
pub static POLICY: Policy = Policy {
    spins: AtomicU32::new(SPIN.value.default),
    yields: AtomicU32::new(0),
    oversubscribed: AtomicBool::new(false),
};

impl Policy {
    /// Sets the policy for `n_pes` PEs that may use `cores` cores; `spins` polls before a
    /// waiter gives up its core, if the user chose.
    ///
    /// Where PEs outnumber cores, giving up the core a few times before sleeping is several
    /// times as fast as sleeping at once: if all wait, each runs once per round, without the
    /// cost of a sleep and a wake-up. The fewer PEs share a core, the shorter such a round,
    /// so the number of yields is chosen such that together they take about as long.
    pub fn set(&self, n_pes: usize, cores: usize, spins: Option<u32>) {
        /// Schedulings of PEs on one core during all yields of a wait.
        const SCHEDULINGS: usize = 256;

        let oversubscribed = n_pes > cores;
        let default = SPIN.value.default_for(oversubscribed);
        let yields = if oversubscribed {
            (SCHEDULINGS * cores / n_pes).clamp(4, 64) as u32
        } else {
            0
        };
        self.spins
            .store(spins.unwrap_or(default), Ordering::Relaxed);
        self.yields.store(yields, Ordering::Relaxed);
        self.oversubscribed.store(oversubscribed, Ordering::Relaxed);
    }

    /// The limits of a waiter when its spins are over.
    fn limits(&self, internode: bool) -> Limits {
        let yields = self.yields.load(Ordering::Relaxed);
        if internode {
            let spins = self.spins.load(Ordering::Relaxed);
            Limits::internode(spins, yields, self.oversubscribed())
        } else {
            Limits::node(yields)
        }
    }

    /// Whether the node's PEs outnumber their cores.
    #[inline]
    pub fn oversubscribed(&self) -> bool {
        self.oversubscribed.load(Ordering::Relaxed)
    }
}

/// A wait under way: counts its polls, and records a wait that lasts.
#[derive(Debug)]
pub struct Waiter<'a> {
    reason: WaitReason<'a>,
    /// The connection to other nodes, if what is waited for may come from there.
    internode: Option<&'static Fabric>,
    spins: Spins,
    /// What follows the spins; made when they are over.
    backoff: Option<Backoff>,
    recorder: Option<Recorder>,
}

impl<'a> Waiter<'a> {
    /// A wait for PEs of this node, under the policy in force.
    #[inline]
    pub fn new(reason: WaitReason<'a>) -> Self {
        Self {
            reason,
            internode: None,
            spins: Spins::new(POLICY.spins.load(Ordering::Relaxed)),
            backoff: None,
            recorder: None,
        }
    }

    /// A wait for PEs of this node and, over `fabric`, of others: its polls let the fabric progress.
    #[inline]
    pub fn internode(fabric: Option<&'static Fabric>, reason: WaitReason<'a>) -> Self {
        let node = Self::new(reason);
        if fabric.is_none() {
            return node;
        }
        Self {
            internode: fabric,
            spins: Spins::default(),
            ..node
        }
    }

    /// What follows the spins. Out of line, so that loops of spins stay short.
    #[cold]
    #[inline(never)]
    fn poll_slowly(&mut self) -> bool {
        let internode = self.internode;
        let limits = || POLICY.limits(internode.is_some());
        let backoff = self.backoff.get_or_insert_with(|| Backoff::new(limits()));
        match backoff.step() {
            // What arrives meanwhile, also for other PEs than this one waits for, is answered in
            // half of the time that the progress thread takes, which must wake up for it.
            Step::Poll | Step::Offered => {
                if let Some(fabric) = internode {
                    fabric.progress();
                }
                true
            }
            Step::Yielded => true,
            Step::Sleep => {
                self.record();
                if let Some(fabric) = internode {
                    // The progress thread stays away while other threads let the fabric progress.
                    fabric.yield_progress();
                }
                false
            }
        }
    }

    /// Something has come from another node after this waiter slept for `slept`.
    pub fn reset(&mut self, slept: Duration) {
        if self.internode.is_some()
            && let Some(backoff) = &mut self.backoff
        {
            backoff.reset_after_sleep(slept);
        }
    }

    fn record(&mut self) {
        if self.recorder.is_none() {
            self.recorder = Some(Recorder::start(&self.reason));
        }
    }

    /// For variables whose change no PE announces: waits a little, longer each time.
    pub fn pause(&mut self) {
        if self.spins.again() {
            return;
        }
        self.record();
        let backoff = self
            .backoff
            .get_or_insert_with(|| Backoff::new(Limits::VARIABLE));
        if backoff.step() == Step::Sleep {
            backoff.sleep();
        }
    }
}

impl WaitStrategy for Waiter<'_> {
    #[inline]
    fn poll_again(&mut self) -> bool {
        self.spins.again() || self.poll_slowly()
    }

    #[inline]
    fn spins(&mut self) -> Spins {
        std::mem::take(&mut self.spins)
    }
}
