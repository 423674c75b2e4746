//! The cost model of PEs that share memory and cores. docs/collectives.md explains it.

mod movement;
mod parameters;
mod reduction;

pub use parameters::{Parameter, Parameters};

use super::algorithm::{Algorithm, Choice};
use super::collective::Collective;
use crate::job::region::{LANE_BYTES, STREAM_BYTES};

/// Bytes of a cache line.
const LINE: f64 = 64.0;
/// A line that another core wrote last, as part of α: several are under way at once.
const LINE_COST: f64 = 0.17;
/// The first of such lines, as part of α: it is asked for after the flag was seen.
const FIRST_LINE: f64 = 0.5;
/// Lines that come with the first one: they are asked for before it has arrived.
const UNDER_WAY: f64 = 4.0;
/// A place in another's array where PEs share cores, as part of α.
const COLD: f64 = 0.3;
/// Turns of all PEs that a flag takes where PEs share cores: some find theirs posted when
/// their turn comes.
const TURNS: f64 = 0.7;
/// What another core adds where PEs share cores: those on it are not all at work at once.
const SHARED_CORE: f64 = 0.4;
/// The same where those that run take work on demand.
const DEMAND_CORE: f64 = 0.8;
/// Most bytes of arrays that members without cores of their own work on on demand.
const ON_DEMAND: f64 = 8.0 * 1024.0 * 1024.0;
/// What working on demand adds to a synchronisation: there is more to wait for.
const DEMAND: f64 = 0.05;

/// The costs of collectives of one team.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    parameters: Parameters,
    /// Members.
    p: f64,
    /// Whether PEs of the job share cores.
    shared: bool,
    /// Cores of the machine, at most one for each member.
    cores: f64,
    /// Nanoseconds of one turn of every member.
    turn: f64,
    /// Nanoseconds of a synchronisation by the barrier in use.
    sync: f64,
    /// Whether that barrier has a last member to arrive, who can work for all.
    has_last: bool,
}

/// What one member does in a step of an algorithm, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    /// Copied.
    copied: f64,
    /// Read as sources of a reduction.
    combined: f64,
    /// Written as results of a reduction.
    written: f64,
}

impl Work {
    fn copy(bytes: f64) -> Self {
        Self {
            copied: bytes,
            ..Self::default()
        }
    }

    /// Combines so many bytes of sources to so many of results.
    fn combine(combined: f64, written: f64) -> Self {
        Self {
            combined,
            written,
            ..Self::default()
        }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            copied: self.copied * factor,
            combined: self.combined * factor,
            written: self.written * factor,
        }
    }
}

impl Costs {
    /// The costs for a team of `members` in a job whose PEs have `cores` cores and outnumber
    /// them if `shared`; with synchronisations by `barrier`, else by the fastest.
    pub fn new(
        parameters: Parameters,
        members: usize,
        cores: usize,
        shared: bool,
        barrier: Option<Choice>,
    ) -> Self {
        let p = members.max(1) as f64;
        let cores = cores.max(1) as f64;
        let mut this = Self {
            parameters,
            p,
            shared,
            cores: cores.min(p),
            turn: parameters.sigma * (p / cores).max(1.0),
            sync: 0.0,
            has_last: false,
        };
        let barrier = barrier.unwrap_or_else(|| this.best(Collective::Barrier, 0));
        this.sync = this.barrier(barrier.algorithm);
        this.has_last = barrier.algorithm == Algorithm::Central;
        this
    }

    /// Nanoseconds of one call of `collective` by `choice`; bytes as
    /// [`Plan::choose`](super::Plan::choose) counts them. Infinite where the choice does not
    /// exist (eager beyond its limit).
    pub fn time(&self, collective: Collective, choice: Choice, bytes: usize) -> f64 {
        let limit = collective.eager_limit(self.p as usize);
        if choice.algorithm == Algorithm::Eager && bytes > limit {
            return f64::INFINITY;
        }
        let n = bytes as f64;
        match collective {
            Collective::Barrier => self.barrier(choice.algorithm),
            Collective::Reduce => self.reduce(choice, n),
            Collective::Broadcast => self.broadcast(choice.algorithm, n),
            Collective::Collect => self.collect(choice.algorithm, n),
            Collective::Fcollect => self.gather(choice.algorithm, n, 1.0),
            Collective::Alltoall => self.gather(choice.algorithm, n, self.p),
            Collective::Alltoalls => self.exchange_strided(n),
            Collective::Scan => self.scan(choice.algorithm, n),
        }
    }

    /// The choice of `collective` that takes least time; the first of several.
    pub fn best(&self, collective: Collective, bytes: usize) -> Choice {
        let time = |choice: &Choice| self.time(collective, *choice, bytes);
        let least = |a: Choice, b: Choice| if time(&b) < time(&a) { b } else { a };
        let choices = collective.choices().iter().copied();
        choices.reduce(least).expect("every collective has choices")
    }

    /// ⌊lg p⌋: the rounds between the largest power of two of members.
    fn rounds(&self) -> f64 {
        self.p.log2().floor()
    }

    /// Whether there are members beyond that power of two.
    fn has_guests(&self) -> bool {
        self.rounds().exp2() < self.p
    }

    /// A flag to another member that waits for it.
    fn flag(&self) -> f64 {
        if self.shared {
            TURNS * self.turn
        } else {
            self.parameters.alpha
        }
    }

    fn barrier(&self, algorithm: Algorithm) -> f64 {
        if self.p <= 1.0 {
            return 0.0;
        }
        let alpha = self.parameters.alpha;
        let levels = (self.p.log2() / 2.0).ceil();
        match algorithm {
            // Every member must have a turn.
            Algorithm::Central if self.shared => self.turn,
            // The counter's line visits every member; the release is one more flag.
            Algorithm::Central => (self.p / 2.0 + 0.75) * alpha,
            Algorithm::Dissemination => self.p.log2().ceil() * self.flag(),
            _ if self.shared => 2.0 * levels * self.flag(),
            // Up: three more lines for each parent to look at; down: one flag.
            _ => levels * (2.0 + 3.0 * FIRST_LINE) * alpha,
        }
    }

    /// The part of accesses that miss a core's caches, if all members touch so many bytes:
    /// what is used again and again loses its place long before a cache is full.
    fn misses(&self, touched: f64) -> f64 {
        let by_each_core = touched / self.cores;
        (1.0 - self.parameters.cache / 2.0 / by_each_core).max(0.0)
    }

    /// How many cores' worth of work `members` get done at once.
    fn speed(&self, members: f64, misses: f64) -> f64 {
        let cores = members.min(self.cores);
        let bandwidth = cores.min(self.parameters.streams);
        let speed = cores + (bandwidth - cores) * misses;
        if self.shared {
            1.0 + (speed - 1.0) * SHARED_CORE
        } else {
            speed
        }
    }

    /// Nanoseconds for one core to do `work`.
    fn alone(&self, work: Work, misses: f64) -> f64 {
        let Parameters {
            beta,
            gamma,
            memory,
            ..
        } = self.parameters;
        let mixed = |cached: f64, far: f64| cached + (far.max(cached) - cached) * misses;
        // A copied byte is a byte read and a byte written.
        work.copied * mixed(beta, memory)
            + work.combined * mixed(gamma, memory / 2.0)
            + work.written * mixed(beta / 2.0, memory / 2.0)
    }

    /// Nanoseconds for `members` to do `work` each, at once, where all touch `touched` bytes.
    fn at_once(&self, members: f64, work: Work, touched: f64) -> f64 {
        let misses = self.misses(touched);
        self.alone(work, misses) * members / self.speed(members, misses)
    }

    /// Nanoseconds for `members` at once to find a place in arrays of `others` each.
    fn reached(&self, members: f64, others: f64) -> f64 {
        let lines = if self.shared {
            // Whoever comes back to a core finds its caches cold.
            COLD * others * members / self.cores
        } else {
            // The first comes with the flag that says it is ready, more or less.
            LINE_COST * (others - 1.0).max(0.0) * (members / self.cores).max(1.0)
        };
        lines * self.parameters.alpha
    }

    /// Nanoseconds for `members` at once to look at `bytes` bytes that each of `others` has
    /// just written.
    fn fetched(&self, members: f64, others: f64, bytes: f64) -> f64 {
        let more = others * ((bytes / LINE).ceil() - UNDER_WAY).max(0.0);
        let lines = if self.shared {
            0.0
        } else {
            FIRST_LINE + more * LINE_COST
        };
        lines * self.parameters.alpha + self.reached(members, others)
    }

    /// All of `work` shared out in `pieces`, for each of which `arrays` arrays are touched, one
    /// for each member at most: between two synchronisations, or by those that run in one.
    fn shared_out(&self, work: Work, pieces: Pieces, arrays: f64, touched: f64) -> f64 {
        if self.has_last && touched <= ON_DEMAND {
            let misses = self.misses(touched);
            let cores = pieces.on_demand.min(self.cores);
            let time = self.alone(work, misses) / (1.0 + (cores - 1.0) * DEMAND_CORE);
            return (1.0 + DEMAND) * self.sync + time + self.reached(pieces.touching, arrays);
        }
        let members = pieces.own.clamp(1.0, self.p);
        let each = work.times(1.0 / members);
        let time = self.at_once(members, each, touched);
        2.0 * self.sync + time + self.reached(members, arrays)
    }

    /// All `work` done by one member: the last to arrive, or the first between two
    /// synchronisations.
    fn by_one(&self, work: Work, arrays: f64, touched: f64) -> f64 {
        let syncs = if self.has_last { 1.0 } else { 2.0 };
        syncs * self.sync + self.at_once(1.0, work, touched) + self.reached(1.0, arrays)
    }
}

/// Into how many pieces work can be shared out.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    /// If each member has its own.
    own: f64,
    /// If whoever runs takes the next.
    on_demand: f64,
    /// How many of these begin in arrays that nobody was in before.
    touching: f64,
}

impl Pieces {
    /// Arrays of `bytes` bytes: whole lines, and on demand whole pages.
    fn of(bytes: f64) -> Self {
        Self {
            own: (bytes / LINE).ceil(),
            on_demand: (bytes / 4096.0).ceil().clamp(1.0, 16.0),
            touching: 1.0,
        }
    }

    /// One for each of so many members.
    fn each(members: f64) -> Self {
        Self {
            own: members,
            on_demand: members,
            touching: members,
        }
    }
}

/// Bytes at which plans are made, ascending: powers of two to 16 MiB, and where something ends.
pub(super) fn sizes(collective: Collective, members: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = (3..=24).map(|k| 1 << k).collect();
    sizes.extend(Some(collective.eager_limit(members)).filter(|limit| *limit > 0));
    match collective {
        Collective::Reduce => sizes.push(LANE_BYTES),
        Collective::Broadcast => sizes.push(STREAM_BYTES),
        _ => {}
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests;
