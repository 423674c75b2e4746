//! The cost model of PEs that share memory and cores. docs/collectives.md explains it.

mod movement;
mod parameters;
mod reduction;
mod sockets;

pub use parameters::{Parameter, Parameters};

use super::algorithm::{Algorithm, Choice};
use super::collective::Collective;
use super::shape::Shape;
use crate::{FLAG_BYTES, RING_BYTES};

/// Bytes of a cache line.
const LINE: f64 = 64.0;
/// Cost of a line that another core wrote last, as a fraction of α: several are in flight at once.
const LINE_COST: f64 = 0.17;
/// Cost of the first such line, as a fraction of α: it is requested after the flag was seen.
const FIRST_LINE: f64 = 0.5;
/// Lines that arrive with the first one: they are requested before it has arrived.
const IN_FLIGHT: f64 = 4.0;
/// Cost of the first access to another member's array where PEs outnumber cores, as a fraction
/// of α.
const COLD: f64 = 0.3;
/// Lines of page tables that lead to another member's window: windows are so far apart that each has its own.
const TABLE_LINES: f64 = 2.0;
/// Turns of all PEs that a flag takes where PEs outnumber cores. It is less than 1 because some
/// members find their flag posted when their turn comes.
const TURNS: f64 = 0.7;
/// Fraction of a core's work that each further core adds where PEs outnumber cores: the PEs on
/// a core do not all work at the same time.
const SHARED_CORE: f64 = 0.4;
/// The same fraction where the running PEs take work on demand.
const DEMAND_CORE: f64 = 0.8;
/// Most bytes of arrays whose work is taken on demand (see `Group::share_work`).
const ON_DEMAND: f64 = 8.0 * 1024.0 * 1024.0;
/// What work on demand adds to a synchronisation, as a fraction of it.
const DEMAND: f64 = 0.05;

/// The costs of collectives of one team.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    parameters: Parameters,
    /// Members.
    p: f64,
    /// Sockets that they are on.
    sockets: f64,
    /// Most members on one socket.
    widest: f64,
    /// Whether PEs of the job outnumber cores.
    oversubscribed: bool,
    /// Cores of the machine, at most one for each member.
    cores: f64,
    /// Nanoseconds of one turn of every member.
    turn: f64,
    /// Nanoseconds of a synchronisation by the barrier in use.
    sync: f64,
    /// Whether that barrier is the central one, whose last member to arrive can work for all.
    central_barrier: bool,
}

/// Bytes that one member moves in a step of an algorithm.
#[derive(Debug, Clone, Copy, Default)]
struct Volume {
    /// Copied.
    copied: f64,
    /// Read as sources of a reduction.
    combined: f64,
    /// Written as results of a reduction.
    written: f64,
}

impl Volume {
    fn copy(bytes: f64) -> Self {
        Self { copied: bytes, ..Self::default() }
    }

    /// A reduction of `combined` bytes of sources to `written` bytes of results.
    fn combine(combined: f64, written: f64) -> Self {
        Self { combined, written, ..Self::default() }
    }

    fn times(self, factor: f64) -> Self {
        Self { copied: self.copied * factor, combined: self.combined * factor, written: self.written * factor }
    }
}

impl Costs {
    /// The costs of a team of this `shape` in a job on `cores` cores, which the job's PEs outnumber
    /// if `oversubscribed`. Synchronisations use `barrier`, or the fastest barrier if None.
    pub fn new(
        parameters: Parameters,
        shape: impl Into<Shape>,
        cores: usize,
        oversubscribed: bool,
        barrier: Option<Choice>,
    ) -> Self {
        let shape = shape.into();
        let p = shape.size.max(1) as f64;
        let cores = cores.max(1) as f64;
        let mut this = Self {
            parameters,
            p,
            sockets: shape.sockets as f64,
            widest: shape.widest as f64,
            oversubscribed,
            cores: cores.min(p),
            turn: parameters.sigma * (p / cores).max(1.0),
            sync: 0.0,
            central_barrier: false,
        };
        let exists = |choice: &Choice| this.time(Collective::Barrier, *choice, 0).is_finite();
        let barrier = barrier.filter(exists);
        let barrier = barrier.unwrap_or_else(|| this.best(Collective::Barrier, 0));
        this.sync = this.time(Collective::Barrier, barrier, 0);
        this.central_barrier = barrier.algorithm == Algorithm::Central;
        this
    }

    /// Nanoseconds of one call of `collective` by `choice`; bytes as
    /// [`DecisionTable::choose`](super::DecisionTable::choose) counts them. Infinite where the choice does not
    /// exist (eager beyond its limit, sockets where there is one).
    pub fn time(&self, collective: Collective, choice: Choice, bytes: usize) -> f64 {
        let limit = collective.eager_limit(self.p as usize);
        if choice.algorithm == Algorithm::Eager && bytes > limit {
            return f64::INFINITY;
        }
        let n = bytes as f64;
        if choice.algorithm == Algorithm::Sockets {
            return self.by_sockets(collective, n);
        }
        let time = match collective {
            Collective::Barrier => self.barrier(choice.algorithm),
            Collective::Reduce => self.reduce(choice, n),
            Collective::Broadcast => self.broadcast(choice.algorithm, n),
            Collective::Collect => self.collect(choice.algorithm, n),
            Collective::Fcollect => self.gather(choice.algorithm, n, 1.0),
            Collective::Alltoall => self.gather(choice.algorithm, n, self.p),
            Collective::Alltoalls => self.exchange_strided(n),
            Collective::Scan => self.scan(choice.algorithm, n),
        };
        time + self.crossings(collective, choice.algorithm, n)
    }

    /// The choice of `collective` that takes the least time; the first one of equals.
    pub fn best(&self, collective: Collective, bytes: usize) -> Choice {
        let time = |choice: &Choice| self.time(collective, *choice, bytes);
        let least = |a: Choice, b: Choice| if time(&b) < time(&a) { b } else { a };
        let choices = collective.choices().iter().copied();
        choices.reduce(least).expect("every collective has choices")
    }

    // Logarithms are those of whole numbers: for `f64` they come from libm, a shared library more to load.

    /// ⌊lg p⌋: the rounds among the largest power of two of members.
    fn rounds(&self) -> f64 {
        f64::from((self.p as usize).max(1).ilog2())
    }

    /// ⌈lg p⌉: the rounds among all members.
    fn all_rounds(&self) -> f64 {
        f64::from((self.p as usize).next_power_of_two().ilog2())
    }

    /// Whether there are members beyond that power of two.
    fn has_extra_ranks(&self) -> bool {
        !(self.p as usize).is_power_of_two()
    }

    /// Nanoseconds from posting a flag until the waiting member goes on.
    fn flag(&self) -> f64 {
        if self.oversubscribed { TURNS * self.turn } else { self.parameters.alpha }
    }

    fn barrier(&self, algorithm: Algorithm) -> f64 {
        if self.p <= 1.0 {
            return 0.0;
        }
        let alpha = self.parameters.alpha;
        let levels = (self.all_rounds() / 2.0).ceil();
        match algorithm {
            // Every member must have a turn.
            Algorithm::Central if self.oversubscribed => self.turn,
            // The counter's line visits every member; the release is one more flag.
            Algorithm::Central => (self.p / 2.0 + 0.75) * alpha,
            Algorithm::Dissemination => self.all_rounds() * self.flag(),
            _ if self.oversubscribed => 2.0 * levels * self.flag(),
            // Up: each parent reads three more lines; down: one flag.
            _ => levels * (2.0 + 3.0 * FIRST_LINE) * alpha,
        }
    }

    /// The fraction of accesses that miss a core's caches if all members together touch `touched`
    /// bytes. Misses begin at half a full cache.
    fn misses(&self, touched: f64) -> f64 {
        let by_each_core = touched / self.cores;
        (1.0 - self.parameters.cache / 2.0 / by_each_core).max(0.0)
    }

    /// The speed of `members` at work at once, in cores.
    fn speed(&self, members: f64, misses: f64) -> f64 {
        let cores = members.min(self.cores);
        let bandwidth = cores.min(self.parameters.streams);
        let speed = cores + (bandwidth - cores) * misses;
        if self.oversubscribed { 1.0 + (speed - 1.0) * SHARED_CORE } else { speed }
    }

    /// Nanoseconds for one core to do `work`.
    fn alone(&self, work: Volume, misses: f64) -> f64 {
        let Parameters { beta, gamma, memory, .. } = self.parameters;
        let mixed = |cached: f64, uncached: f64| cached + (uncached.max(cached) - cached) * misses;
        // A copied byte is a byte read and a byte written.
        work.copied * mixed(beta, memory)
            + work.combined * mixed(gamma, memory / 2.0)
            + work.written * mixed(beta / 2.0, memory / 2.0)
    }

    /// Nanoseconds for `members` to do `work` each, at once, where all touch `touched` bytes.
    fn at_once(&self, members: f64, work: Volume, touched: f64) -> f64 {
        let misses = self.misses(touched);
        self.alone(work, misses) * members / self.speed(members, misses)
    }

    /// Nanoseconds for `members` at once, each to make its first access to the arrays of `others`.
    fn first_access(&self, members: f64, others: f64) -> f64 {
        let lines = if self.oversubscribed {
            // A PE that is scheduled again finds the core's caches cold.
            COLD * others * members / self.cores
        } else {
            // The first line arrives about when the flag does that says it is ready.
            LINE_COST * (others - 1.0).max(0.0) * (members / self.cores).max(1.0)
        };
        lines * self.parameters.alpha
    }

    /// The same where the arrays are in the windows of `others`, not side by side in the job's control part: page
    /// tables are read, too, which are cold where those of all members do not fit the caches.
    fn first_window(&self, members: f64, others: f64) -> f64 {
        let mut time = self.first_access(members, others);
        if self.oversubscribed {
            let tables = TABLE_LINES * LINE * self.p * self.p;
            time += TABLE_LINES * self.misses(tables) * time;
        }
        time
    }

    /// Nanoseconds for `members` at once, each to read `bytes` bytes that each of `others` has just
    /// written.
    fn fetch(&self, members: f64, others: f64, bytes: f64) -> f64 {
        let more = others * ((bytes / LINE).ceil() - IN_FLIGHT).max(0.0);
        let lines = if self.oversubscribed { 0.0 } else { FIRST_LINE + more * LINE_COST };
        lines * self.parameters.alpha + self.first_access(members, others)
    }

    /// Nanoseconds for the members to share `work` in `shares`, each of which touches `arrays`
    /// arrays: between two synchronisations, or on demand within one.
    fn shared_work(&self, work: Volume, shares: Shares, arrays: f64, touched: f64) -> f64 {
        if self.central_barrier && touched <= ON_DEMAND {
            let misses = self.misses(touched);
            let cores = shares.on_demand.min(self.cores);
            let time = self.alone(work, misses) / (1.0 + (cores - 1.0) * DEMAND_CORE);
            return (1.0 + DEMAND) * self.sync + time + self.first_window(shares.touching, arrays);
        }
        // Not by clamp, which formats its bounds where it panics: 30 KB of the library.
        let members = shares.own.max(1.0).min(self.p);
        let each = work.times(1.0 / members);
        let time = self.at_once(members, each, touched);
        2.0 * self.sync + time + self.first_window(members, arrays)
    }

    /// Nanoseconds for one member to do all `work`: the last to arrive, or the first member
    /// between two synchronisations.
    fn by_one(&self, work: Volume, arrays: f64, touched: f64) -> f64 {
        let syncs = if self.central_barrier { 1.0 } else { 2.0 };
        syncs * self.sync + self.at_once(1.0, work, touched) + self.first_window(1.0, arrays)
    }
}

/// Into how many shares work can be divided.
#[derive(Debug, Clone, Copy)]
struct Shares {
    /// If each member does its own share.
    own: f64,
    /// If the running members take shares on demand.
    on_demand: f64,
    /// How many of these make a first access to their arrays.
    touching: f64,
}

impl Shares {
    /// Arrays of `bytes` bytes: whole lines, and on demand whole pages.
    fn of(bytes: f64) -> Self {
        Self { own: (bytes / LINE).ceil(), on_demand: (bytes / 4096.0).ceil().clamp(1.0, 16.0), touching: 1.0 }
    }

    /// One share for each of `members`.
    fn each(members: f64) -> Self {
        Self { own: members, on_demand: members, touching: members }
    }
}

/// The sizes in bytes at which decision tables choose, ascending: powers of two up to 16 MiB, and
/// the limits of algorithms.
pub(super) fn sizes(collective: Collective, members: usize) -> Vec<usize> {
    if collective == Collective::Barrier {
        return vec![0];
    }
    let mut sizes: Vec<usize> = (3..=24).map(|k| 1 << k).collect();
    sizes.extend(Some(collective.eager_limit(members)).filter(|limit| *limit > 0));
    match collective {
        Collective::Reduce => sizes.push(FLAG_BYTES),
        Collective::Broadcast | Collective::Scan => sizes.extend([FLAG_BYTES, RING_BYTES]),
        _ => {}
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests;
