//! The ranking of keys that are distributed over all PEs.
//!
//! The range of keys is cut into buckets of equal width, and each bucket belongs to a PE, so that
//! a PE's buckets are consecutive and hold about as many keys as any other's. One ranking is
//!
//! 1. count: each PE counts its keys by bucket;
//! 2. plan: a sum over all PEs gives the size and thereby the owner of each bucket; the counts of
//!    the PEs before this one give the offset of its keys in the bucket;
//! 3. send: each key is written directly to its place on the owner, by one put;
//! 4. rank: the owner counts the keys of each bucket by value and sums the counts: the rank of a
//!    key is the number of smaller keys on all PEs.

use std::ops::Range;

use ferroshmem::{Error, OutOfBounds, Pe, Sum, Symmetric, Window, World};

use crate::keys;
use crate::problem::{Problem, TESTS};

/// Few enough buckets that their cache lines stay in the first-level cache while keys are sent, and
/// enough that the shares of keys differ little between PEs.
const FEWEST_LOG2_BUCKETS: u32 = 8;
const MOST_LOG2_BUCKETS: u32 = 11;
const LOG2_BUCKETS_OF_PE: u32 = 6;

/// Keys in a cache line; every PE has a multiple of these.
const LINE: usize = 64 / size_of::<u32>();

/// Prefetch distance in keys: a few hundred nanoseconds of work.
const READ_AHEAD: usize = 32 * LINE;

const MOST_BUCKETS: usize = 1 << MOST_LOG2_BUCKETS;

/// A key's bucket, which the compiler knows to be below [`MOST_BUCKETS`], so that it omits the bounds
/// check of every key.
fn bucket(key: u32, shift: u32) -> usize {
    (key >> shift) as usize % MOST_BUCKETS
}

/// The place of the next key of a bucket.
#[derive(Debug, Clone, Copy)]
struct Place {
    pe: Pe,
    index: usize,
}

impl Place {
    fn send(&mut self, key: u32, received: &Window<'_, u32>) -> Result<(), OutOfBounds> {
        received.p(self.pe, self.index, key)?;
        self.index += 1;
        Ok(())
    }
}

/// Counts keys by their lower bits; there is a counter for each value.
fn count_values(keys: &Symmetric<'_, u32>, range: Range<usize>, counts: &mut [u32]) {
    assert!(counts.len().is_power_of_two());
    let mask = counts.len() - 1;
    let (lines, rest) = keys[range.clone()].as_chunks::<LINE>();
    for (i, line) in lines.iter().enumerate() {
        keys.prefetch(range.start + i * LINE + READ_AHEAD);
        for &key in line {
            counts[key as usize & mask] += 1;
        }
    }
    for &key in rest {
        counts[key as usize & mask] += 1;
    }
}

/// This PE's part of the ranking.
pub(crate) struct Ranking<'w> {
    world: &'w World,
    pub problem: &'static Problem,
    /// This PE's part of the sequence.
    pub keys: Symmetric<'w, u32>,
    buckets: usize,
    /// Number of the lower bits of a key, below those of its bucket.
    shift: u32,
    /// Keys by bucket, then the test keys, which are summed with the counts.
    counts: Symmetric<'w, u32>,
    totals: Symmetric<'w, u32>,
    /// Counts of the PEs before this one.
    before: Symmetric<'w, u32>,
    /// Keys of all PEs in the buckets before each.
    starts: Vec<usize>,
    places: Box<[Place; MOST_BUCKETS]>,
    mine: Range<usize>,
    /// Ranks of all possible keys of this PE's buckets.
    ranks: Vec<u32>,
}

fn log2_buckets(problem: &Problem, n_pes: usize) -> u32 {
    (n_pes.ilog2() + LOG2_BUCKETS_OF_PE).clamp(FEWEST_LOG2_BUCKETS, MOST_LOG2_BUCKETS).min(problem.log2_max_key)
}

impl<'w> Ranking<'w> {
    /// Generates the keys of a problem, and allocates room for those from other PEs.
    pub(crate) fn new(world: &'w World, problem: &'static Problem) -> Result<(Self, Symmetric<'w, u32>), Error> {
        let n = world.n_pes();
        let buckets = 1 << log2_buckets(problem, n);
        let share = problem.keys() / n;
        // A PE gets the buckets that begin in its share of the sorted keys. Only the last of
        // them can extend past the share; the fullest bucket has 8/3 times the mean number of keys.
        let received = world.alloc(share + 3 * problem.keys() / buckets + 64)?;

        let mut keys = world.alloc(share)?;
        let sequence = keys::from(world.my_pe().number() * share, problem.log2_max_key);
        for (place, key) in keys.iter_mut().zip(sequence) {
            *place = key;
        }
        let first = Place { pe: world.my_pe(), index: 0 };
        let ranking = Self {
            world,
            problem,
            keys,
            buckets,
            shift: problem.log2_max_key - log2_buckets(problem, n),
            counts: world.alloc(buckets + TESTS)?,
            totals: world.alloc(buckets + TESTS)?,
            before: world.alloc(buckets)?,
            starts: vec![0; buckets + 1],
            places: Box::new([first; MOST_BUCKETS]),
            mine: 0..0,
            ranks: vec![0; 1 << problem.log2_max_key],
        };
        Ok((ranking, received))
    }

    /// Ranks all keys; returns those of this PE's buckets, bucket by bucket.
    pub(crate) fn run(&mut self, received: Symmetric<'w, u32>) -> Result<Symmetric<'w, u32>, Error> {
        self.count();
        self.plan()?;
        let received = self.send(received)?;
        self.rank(&received);
        Ok(received)
    }

    /// Step 1.
    fn count(&mut self) {
        let mut counts = [0; MOST_BUCKETS];
        for (i, line) in self.keys.as_chunks::<LINE>().0.iter().enumerate() {
            self.keys.prefetch(i * LINE + READ_AHEAD);
            for &key in line {
                counts[bucket(key, self.shift)] += 1;
            }
        }
        self.counts[..self.buckets].copy_from_slice(&counts[..self.buckets]);
        let first = self.world.my_pe().number() * self.keys.len();
        for (count, test) in self.counts[self.buckets..].iter_mut().zip(&self.problem.tests) {
            let mine = test.index.checked_sub(first).and_then(|at| self.keys.get(at));
            *count = mine.copied().unwrap_or(0);
        }
    }

    /// Step 2.
    fn plan(&mut self) -> Result<(), Error> {
        self.world.reduce(&mut self.totals, &self.counts, Sum)?;
        self.world.exclusive_scan(&mut self.before, self.counts.part(..self.buckets)?)?;
        for (bucket, total) in self.totals[..self.buckets].iter().enumerate() {
            self.starts[bucket + 1] = self.starts[bucket] + *total as usize;
        }

        let pes: Vec<Pe> = self.world.pes().collect();
        let me = self.world.my_pe();
        let (mut base, mut last) = (0, None);
        self.mine = 0..0;
        for bucket in 0..self.buckets {
            // The PE whose share of the sorted keys holds the bucket's first key; the last PE owns
            // empty buckets at the end of the range.
            let pe = pes[(self.starts[bucket] / self.keys.len()).min(pes.len() - 1)];
            if last != Some(pe) {
                base = self.starts[bucket];
            }
            last = Some(pe);
            self.mine.start += usize::from(pe < me);
            self.mine.end += usize::from(pe <= me);
            let index = self.starts[bucket] - base + self.before[bucket] as usize;
            self.places[bucket] = Place { pe, index };
        }
        Ok(())
    }

    /// Step 3.
    fn send(&mut self, received: Symmetric<'w, u32>) -> Result<Symmetric<'w, u32>, Error> {
        let received = received.open();
        for (i, line) in self.keys.as_chunks::<LINE>().0.iter().enumerate() {
            self.keys.prefetch(i * LINE + READ_AHEAD);
            for [even, odd] in line.as_chunks::<2>().0 {
                // Prefetching the next line with every other key is enough.
                let place = &mut self.places[bucket(*even, self.shift)];
                received.prefetch(place.pe, place.index + LINE);
                place.send(*even, &received)?;
                self.places[bucket(*odd, self.shift)].send(*odd, &received)?;
            }
        }
        Ok(received.close())
    }

    /// Step 4, one bucket after the other, so that its counters stay in the cache.
    fn rank(&mut self, received: &Symmetric<'_, u32>) {
        let width = 1 << self.shift;
        let first = self.starts[self.mine.start];
        for (bucket, ranks) in self.mine.clone().zip(self.ranks.chunks_exact_mut(width)) {
            let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
            ranks.fill(0);
            count_values(received, start - first..end - first, ranks);
            let mut smaller = start as u32;
            for rank in ranks {
                smaller += std::mem::replace(rank, smaller);
            }
        }
    }

    /// The rank of a key, if it is in one of this PE's buckets.
    pub(crate) fn rank_of(&mut self, key: u32) -> Option<&mut u32> {
        let first = self.mine.start << self.shift;
        let is_mine = self.mine.contains(&((key >> self.shift) as usize));
        is_mine.then(|| &mut self.ranks[key as usize - first])
    }

    /// The test keys.
    pub(crate) fn test_keys(&self) -> [u32; TESTS] {
        std::array::from_fn(|test| self.totals[self.buckets + test])
    }

    /// Ranks of the keys in this PE's buckets.
    pub(crate) fn my_ranks(&self) -> Range<usize> {
        self.starts[self.mine.start]..self.starts[self.mine.end]
    }

    /// Values of the keys in this PE's buckets.
    pub(crate) fn my_values(&self) -> Range<u32> {
        (self.mine.start << self.shift) as u32..(self.mine.end << self.shift) as u32
    }
}
