//! The cost model of PEs that share memory and cores. docs/collectives.md derives it.

use super::EAGER;
use super::algorithm::{Algorithm, Choice, Form};
use super::collective::Collective;

/// What the model knows of a machine. All times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Parameters {
    /// α: a flag from one core to another.
    pub alpha: f64,
    /// β: copying a byte.
    pub beta: f64,
    /// γ: combining a byte of a source into a result.
    pub gamma: f64,
    /// σ: ending a PE's turn on a core and beginning another's.
    pub sigma: f64,
    /// How many times one core's memory bandwidth all cores have together.
    pub streams: f64,
}

impl Parameters {
    /// Values for a machine that nobody has measured. They are those of the two-core virtual
    /// machine that the project is tested on; elsewhere `oshtune` finds better ones. Eight
    /// cores are taken to saturate the memory.
    pub fn default_for(cores: usize) -> Self {
        Self {
            alpha: 100.0,
            beta: 0.1,
            gamma: 0.05,
            sigma: 1200.0,
            streams: cores.clamp(1, 8) as f64,
        }
    }
}

/// Bytes that a value may have to travel in a flag's own cache line.
const IN_FLAG: f64 = 56.0;
/// Bytes of a cache line.
const LINE: f64 = 64.0;
/// A line from another core, as part of α: several are under way at once.
const LINE_COST: f64 = 0.25;

/// The costs of collectives of one team.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    parameters: Parameters,
    /// Members.
    p: f64,
    /// ⌈lg p⌉.
    rounds: f64,
    /// PEs on each core, 1 or more.
    crowd: f64,
    /// Cores at work together, at most.
    cores: f64,
    oversubscribed: bool,
    /// One synchronisation by the barrier in use.
    sync: f64,
}

impl Costs {
    /// The costs for a team of `members` on `cores` cores, with synchronisations by the
    /// cheapest barrier or by `barrier`. `oversubscribed`: the PEs of the job outnumber
    /// the cores.
    pub fn new(
        parameters: Parameters,
        members: usize,
        cores: usize,
        oversubscribed: bool,
        barrier: Option<Choice>,
    ) -> Self {
        let p = members.max(1) as f64;
        let cores = cores.max(1) as f64;
        let mut this = Self {
            parameters,
            p,
            rounds: p.log2().ceil(),
            crowd: (p / cores).max(1.0),
            cores: cores.min(p),
            oversubscribed,
            sync: 0.0,
        };
        let of = |choice: &Choice| this.barrier(choice.algorithm);
        this.sync = match barrier {
            Some(choice) => of(&choice),
            None => (Collective::Barrier.choices().iter())
                .map(of)
                .fold(f64::INFINITY, f64::min),
        };
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
            Collective::Collect | Collective::Fcollect => self.gather(choice.algorithm, n, 1.0),
            Collective::Alltoall | Collective::Alltoalls => {
                self.gather(choice.algorithm, n, self.p)
            }
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

    /// A flag to another member that waits for it: where PEs share cores, all others may have
    /// a turn before it runs.
    fn flag(&self) -> f64 {
        if self.oversubscribed {
            self.parameters.sigma * self.crowd
        } else {
            self.parameters.alpha
        }
    }

    /// Time of `bytes` copied by each of `members` at once.
    fn copied(&self, members: f64, bytes: f64) -> f64 {
        self.parallel(members) * bytes * self.parameters.beta
    }

    /// Time of `bytes` of sources combined by each of `members` at once.
    fn combined(&self, members: f64, bytes: f64) -> f64 {
        self.parallel(members) * bytes * self.parameters.gamma
    }

    /// How much longer work takes that `members` do at once than if one did its part alone.
    fn parallel(&self, members: f64) -> f64 {
        (members / self.cores.min(self.parameters.streams)).max(1.0)
    }

    /// Time for each of `members` to reach one line of each of `others`.
    fn reached(&self, members: f64, others: f64) -> f64 {
        (members / self.cores).max(1.0) * others * LINE_COST * self.parameters.alpha
    }

    fn barrier(&self, algorithm: Algorithm) -> f64 {
        if self.p <= 1.0 {
            return 0.0;
        }
        let alpha = self.parameters.alpha;
        let levels = (self.rounds / 2.0).ceil();
        match (algorithm, self.oversubscribed) {
            // The counter's line visits every member; the release is one more.
            (Algorithm::Central, false) => (self.p / 2.0 + 1.0) * alpha,
            // Each member arrives in one turn and leaves in the next barrier's.
            (Algorithm::Central, true) => self.flag(),
            (Algorithm::Dissemination, _) => self.rounds * self.flag(),
            // Up: three more lines for each parent to look at; down: one flag.
            (_, false) => levels * (2.0 + 3.0 * LINE_COST) * alpha,
            (_, true) => 2.0 * self.flag(),
        }
    }

    fn reduce(&self, choice: Choice, n: f64) -> f64 {
        let p = self.p;
        let direct = match choice.algorithm {
            Algorithm::Eager => {
                let gather = self.copied(p, n) + self.sync;
                if self.oversubscribed {
                    // The last to arrive does it for all.
                    gather + self.reached(1.0, p) + self.combined(1.0, p * n) + self.copied(p, n)
                } else {
                    gather + self.reached(p, p) + self.combined(p, p * n)
                }
            }
            Algorithm::Flat => {
                2.0 * self.sync
                    + self.reached(1.0, 2.0 * p)
                    + self.combined(1.0, p * n)
                    + self.copied(1.0, p * n)
            }
            Algorithm::RecursiveDoubling if n <= IN_FLAG && choice.form == Form::Direct => {
                self.rounds * (self.flag() + self.combined(p, n))
            }
            Algorithm::RecursiveDoubling => {
                let pairs = (p / 2.0).ceil();
                let round =
                    2.0 * self.flag() + self.combined(pairs, 2.0 * n) + self.copied(pairs, 2.0 * n);
                self.rounds * round
            }
            Algorithm::Bruck => {
                let round = 2.0 * self.flag() + self.combined(p, n) + self.copied(p, n);
                // The result begins in a buffer of its own.
                self.rounds * round + self.copied(p, n)
            }
            Algorithm::Rabenseifner => {
                let part = n * (p - 1.0) / p;
                2.0 * self.rounds * self.flag()
                    + self.combined(p, 2.0 * part)
                    + self.copied(p, 2.0 * part)
            }
            _ => {
                // Slices are whole cache lines: few bytes keep few members busy.
                let workers = (n / LINE).ceil().clamp(1.0, p);
                let slice = n / workers;
                2.0 * self.sync
                    + self.reached(workers, 2.0 * p)
                    + self.combined(workers, p * slice)
                    + self.copied(workers, p * slice)
            }
        };
        match choice.form {
            Form::Direct => direct,
            // Every message is copied once more, and acknowledged.
            Form::PutGet => {
                let (messages, bytes) = match choice.algorithm {
                    Algorithm::Flat => (2.0, 2.0 * p * n / p.max(1.0) * self.crowd),
                    Algorithm::Rabenseifner => (2.0 * self.rounds, 2.0 * n),
                    _ => (self.rounds, self.rounds * n),
                };
                direct + messages * self.flag() + self.copied(p, bytes)
            }
        }
    }

    fn broadcast(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        match algorithm {
            Algorithm::Eager => self.sync + self.copied(1.0, n) + self.copied(p, n),
            Algorithm::Pull => 2.0 * self.sync + self.reached(p, 1.0) + self.copied(p, n),
            Algorithm::Push => {
                2.0 * self.sync + self.reached(1.0, p) + self.copied(1.0, (p - 1.0) * n)
            }
            Algorithm::Tree => self.sync + self.rounds * (self.flag() + n * self.parameters.beta),
            // Half of a copy is its reading, which is spread over all.
            _ => {
                let workers = (n / LINE).ceil().clamp(1.0, p);
                let bytes = p * n / workers;
                2.0 * self.sync + self.reached(workers, p) + 0.75 * self.copied(workers, bytes)
            }
        }
    }

    /// Each member reads a block of `n` bytes of each other; its own source has `blocks`.
    fn gather(&self, algorithm: Algorithm, n: f64, blocks: f64) -> f64 {
        let p = self.p;
        let move_all = self.reached(p, p) + self.copied(p, p * n);
        match algorithm {
            Algorithm::Eager => self.sync + self.copied(p, blocks * n) + move_all,
            // A store to a line of another core takes it from there first.
            Algorithm::Push => 2.0 * self.sync + move_all + self.reached(p, p),
            _ => 2.0 * self.sync + move_all,
        }
    }

    fn scan(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        // Where all have a core, the last member's p sources decide; else the sum of all.
        let sources = if self.crowd > 1.0 { p / 2.0 } else { p };
        let pull = self.reached(p, sources) + self.combined(p, sources * n) + self.copied(p, n);
        match algorithm {
            Algorithm::Eager => self.sync + self.copied(p, n) + pull,
            Algorithm::Pull => 2.0 * self.sync + pull,
            _ => {
                let workers = (n / LINE).ceil().clamp(1.0, p);
                let slice = n / workers;
                2.0 * self.sync
                    + self.reached(workers, 2.0 * p)
                    + self.combined(workers, p * slice)
                    + self.copied(workers, p * slice)
            }
        }
    }
}

/// Bytes at which plans are made: powers of two to 16 MiB, and the limit of eager.
pub(super) fn sizes(collective: Collective, members: usize) -> impl Iterator<Item = usize> {
    let limit = collective.eager_limit(members);
    let powers = (3..=24).map(|k| 1_usize << k);
    let below = powers.clone().take_while(move |n| *n < limit);
    let above = powers.skip_while(move |n| *n <= limit);
    below.chain((limit > 0).then_some(limit)).chain(above)
}

const _: () = assert!(EAGER < 1 << 24);
