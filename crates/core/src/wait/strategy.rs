//! How long a waiter looks before it sleeps.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::far::Far;
use super::record::{Recorder, WaitReason};
use crate::config::SPIN;
use crate::nodes::Link;

/// Decides between looking again and sleeping.
pub trait WaitStrategy {
    /// Called after each unsuccessful look: true to look again at once, false to sleep.
    fn poll_again(&mut self) -> bool;

    /// Hands over the looks that come before all others, if there are such: to loops that keep
    /// them where they cost nothing, in registers.
    #[inline]
    fn spins(&mut self) -> Spins {
        Spins::default()
    }
}

/// Looks in a row, without giving up the core.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spins {
    looks: u32,
    all: u32,
}

impl Spins {
    #[inline]
    fn new(all: u32) -> Self {
        Self { looks: 0, all }
    }

    /// One more, if that can still pay.
    #[inline]
    pub fn again(&mut self) -> bool {
        /// Looks in a row before the first rest. A rest (`pause`) is about as long as a cache
        /// line takes between two cores: in an exchange of single lines it would be a third
        /// of the time.
        const RESTLESS: u32 = 500;

        if self.looks < self.all {
            self.looks += 1;
            if self.looks > RESTLESS {
                spin_loop();
            }
            return true;
        }
        false
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

    /// Whether the node's PEs outnumber their cores.
    #[inline]
    pub fn oversubscribed(&self) -> bool {
        self.oversubscribed.load(Ordering::Relaxed)
    }
}

/// A wait under way: counts the looks and records a wait that lasts.
#[derive(Debug)]
pub struct Waiter<'a> {
    what: WaitReason<'a>,
    /// What other nodes send, if that is what is waited for.
    far: Option<Far>,
    spins: Spins,
    yields: u32,
    /// Looks of [`pause`](Self::pause) since the spins.
    pauses: u32,
    recorder: Option<Recorder>,
}

impl<'a> Waiter<'a> {
    /// A wait for `what`, under the policy in force.
    #[inline]
    pub fn new(what: WaitReason<'a>) -> Self {
        Self {
            what,
            far: None,
            spins: Spins::new(POLICY.spins.load(Ordering::Relaxed)),
            yields: POLICY.yields.load(Ordering::Relaxed),
            pauses: 0,
            recorder: None,
        }
    }

    /// A wait for `what`, which PEs of other nodes bring about over `link`, too.
    #[inline]
    pub fn internode(link: Option<&'static Link>, what: WaitReason<'a>) -> Self {
        let near = Self::new(what);
        let spins = near.spins.all;
        match link {
            Some(link) => Self {
                far: Some(Far::new(link, spins)),
                spins: Spins::default(),
                ..near
            },
            None => near,
        }
    }

    /// What follows the spins. Out of line, so that loops of spins stay short.
    #[cold]
    #[inline(never)]
    fn poll_slowly(&mut self) -> bool {
        if let Some(far) = &mut self.far
            && far.look()
        {
            return true;
        }
        if self.yields > 0 {
            self.yields -= 1;
            std::thread::yield_now();
            return true;
        }
        self.record();
        if let Some(far) = &self.far {
            far.hand_over();
        }
        false
    }

    /// Something has come after this waiter has slept so long.
    pub fn reset(&mut self, slept: Duration) {
        if let Some(far) = &mut self.far {
            far.reset(slept);
        }
    }

    fn record(&mut self) {
        if self.recorder.is_none() {
            self.recorder = Some(Recorder::start(&self.what));
        }
    }

    /// For variables that nobody announces a change of: waits a little, longer each time.
    pub fn pause(&mut self) {
        /// Looks that end with giving up the core before sleeps begin.
        const YIELDS: u32 = 256;
        /// Sleeps double in length seven times, from 20 us to 2.5 ms: a change is seen after
        /// at most a tenth of the time already waited.
        const DOUBLINGS: u32 = 7;

        if self.spins.again() {
            return;
        }
        self.record();
        if self.pauses < YIELDS {
            self.pauses += 1;
            std::thread::yield_now();
        } else {
            let doublings = ((self.pauses - YIELDS) / 8).min(DOUBLINGS);
            std::thread::sleep(Duration::from_micros(20 << doublings));
            // Never let the count run around.
            self.pauses = (self.pauses + 1).min(YIELDS + 8 * (DOUBLINGS + 1));
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
