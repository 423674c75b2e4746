//! What flags and lines take between cores, by as many PEs as there are cores, each on one of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ferroshmem_api::{collective, setup};
use ferroshmem_platform::Cores;
use ferroshmem_simd as simd;

use super::buffer::Buffer;
use super::{Finding, NAME, Pair};
use crate::topology::Topology;
use crate::tune::distance::Distance;
use crate::tune::schedule::Depth;
use crate::tune::statistics::lower_quartile;

/// Lines of a block that a PE writes and another one reads.
const LINES: usize = 256;
/// Numbers in a cache line.
const LINE: usize = 8;
/// Nanoseconds of what is too short to be measured.
const LEAST: f64 = 0.01;

/// What the PEs of the job exchange.
struct Exchange {
    me: usize,
    pes: usize,
    /// Flags that one PE has sent to another, and received from it, are equally many.
    counts: Vec<u64>,
    /// A line for each PE that sends flags to this one.
    flags: Buffer,
    /// What other PEs read.
    block: Buffer,
    /// What this PE has read.
    copy: Buffer,
}

/// Nanoseconds of a flag, and of a line.
type Times = (f64, f64);

/// Measures every pair of PEs several times in about `time`, and has PE 0 report the pairs and the parameters.
pub(super) fn run(depth: Depth, time: Duration, mut report: impl FnMut(Finding)) {
    let (rounds, flags) = match depth {
        Depth::Quick => (3, 100),
        Depth::Full => (25, 300),
    };
    let pes = setup::n_pes(NAME) as usize;
    if pes < 2 {
        return;
    }
    let mut exchange = Exchange {
        me: setup::my_pe(NAME) as usize,
        pes,
        counts: vec![0; pes],
        flags: Buffer::new(pes * LINE, 0.0),
        block: Buffer::new(LINES * LINE, 1.0),
        copy: Buffer::new(LINES * LINE, 0.0),
    };
    let pairs = exchange.pairs(time, rounds, flags);
    for pair in &pairs {
        report(Finding::Pair(*pair));
    }
    let mut parameter = |name: &str, value| report(Finding::Parameter(name.to_owned(), value));
    let median = |wanted: &dyn Fn(Distance) -> bool| {
        let mut times: Vec<f64> = pairs.iter().filter(|pair| wanted(pair.distance)).map(|pair| pair.flag).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    };
    // Hardware threads of one core count where there is nothing else.
    let is_near = |distance: Distance| !distance.crosses();
    let near = median(&|distance| is_near(distance) && distance != Distance::Core).or_else(|| median(&is_near));
    if let Some(alpha) = near {
        parameter("alpha", alpha);
    }
    let farthest = pairs.iter().map(|pair| pair.distance).max().filter(|distance| distance.crosses());
    // All PEs know all pairs, so they agree on whether there is a link.
    if let Some(farthest) = farthest {
        let (flag, line) = exchange.link(&pairs, farthest, rounds, flags);
        parameter("socket_alpha", median(&|distance| distance == farthest).unwrap_or(f64::NAN));
        parameter("socket_flag", flag);
        parameter("socket_line", line);
    }
}

/// Every pair of so many PEs, the lower one first.
fn pairs_of(pes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..pes).flat_map(move |a| (a + 1..pes).map(move |b| (a, b)))
}

impl Exchange {
    /// Every pair, on all PEs.
    fn pairs(&mut self, time: Duration, rounds: usize, flags: u64) -> Vec<Pair> {
        /// Other work on the machine disturbs one round, or two.
        const FEWEST: usize = 3;

        let end = Instant::now() + time;
        let mut samples = vec![(Vec::new(), Vec::new()); self.pes];
        let mut goes_on = Buffer::new(1, 0.0);
        for round in 1.. {
            for (a, b) in pairs_of(self.pes) {
                collective::sync_all(NAME);
                let partner = [(a, b), (b, a)].into_iter().find(|(pe, _)| *pe == self.me);
                if let Some((_, partner)) = partner {
                    let (flag, line) = self.times(partner, flags);
                    samples[partner].0.push(flag);
                    samples[partner].1.push(line);
                }
            }
            // The clock of PE 0 decides for all.
            let more = round < FEWEST || (round < rounds && Instant::now() < end);
            goes_on.set(0, f64::from(u8::from(more)));
            collective::sync_all(NAME);
            if goes_on.get(0, 0) == 0.0 {
                break;
            }
        }
        // Times with each other PE, and the CPU at the end.
        let mut results = Buffer::new(2 * self.pes + 1, 0.0);
        for (partner, (flags, lines)) in samples.iter_mut().enumerate() {
            results.set(2 * partner, lower_quartile(flags));
            results.set(2 * partner + 1, lower_quartile(lines));
        }
        results.set(2 * self.pes, Cores::of_this_process().iter().next().unwrap_or(0) as f64);
        collective::sync_all(NAME);
        let cpus = Vec::from_iter((0..self.pes).map(|pe| results.get(pe, 2 * self.pes) as usize));
        let topology = Topology::of(&cpus.iter().copied().fold(Cores::default(), Cores::with));
        let cpu = |pe: usize| *topology.0.iter().find(|cpu| cpu.number == cpus[pe]).expect("a CPU of a PE");
        let mean = |(a, b), of: usize| (results.get(a, 2 * b + of) + results.get(b, 2 * a + of)) / 2.0;
        let pair = |pes: (usize, usize)| {
            let (a, b) = (cpu(pes.0), cpu(pes.1));
            let (cpus, distance) = ((a.number, b.number), Distance::between(a, b));
            Pair { pes, cpus, distance, flag: mean(pes, 0), line: mean(pes, 1) }
        };
        pairs_of(self.pes).map(pair).collect()
    }

    /// What a flag, and a line, occupies the link for that PEs at this `distance` share: how much longer each takes
    /// where as many pairs as possible use the link at once, for each of them.
    fn link(&mut self, pairs: &[Pair], distance: Distance, rounds: usize, flags: u64) -> Times {
        let is_far = |pe: &usize| pairs.iter().any(|pair| pair.pes == (0, *pe) && pair.distance == distance);
        let (there, here): (Vec<usize>, Vec<usize>) = (0..self.pes).partition(is_far);
        let couples: Vec<(usize, usize)> = here.into_iter().zip(there).collect();
        let mut taken = |at_once: usize| {
            let mut directions = couples[..at_once].iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
            let partner = directions.find(|(pe, _)| *pe == self.me);
            let (mut of_flags, mut of_lines) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                collective::sync_all(NAME);
                if let Some((_, partner)) = partner {
                    let (flag, line) = self.times(partner, flags);
                    of_flags.push(flag);
                    of_lines.push(line);
                }
            }
            // PE 0, which reports, is of the first couple.
            (lower_quartile(&mut of_flags), lower_quartile(&mut of_lines))
        };
        let (one, all) = (taken(1), taken(couples.len()));
        let occupied = |one: f64, all: f64| ((all - one) / couples.len() as f64).max(LEAST);
        (occupied(one.0, all.0), occupied(one.1, all.1))
    }

    /// The times between this PE and `partner`, which calls this, too: of `flags` flags each way in turn, and of a
    /// block that each of them writes and the other reads.
    fn times(&mut self, partner: usize, flags: u64) -> Times {
        self.swap(partner);
        let start = Instant::now();
        for _ in 0..flags {
            self.swap(partner);
        }
        let flag = start.elapsed().as_nanos() as f64 / flags as f64 / 2.0;
        for line in 0..LINES {
            self.block.set(line * LINE, flag);
        }
        self.swap(partner);
        let start = Instant::now();
        // SAFETY: both hold so many bytes; they are of different buffers. The partner has written its block before
        // its flag, and writes it again only after this PE's next one.
        unsafe { simd::copy(self.copy.mine().cast(), self.block.of(partner).cast(), LINES * LINE * size_of::<f64>()) };
        let line = start.elapsed().as_nanos() as f64 / LINES as f64;
        self.swap(partner);
        (flag, line)
    }

    /// Sends a flag to `partner` and receives one from it: the lower PE begins, the other one answers.
    fn swap(&mut self, partner: usize) {
        let flag = |on: usize, from: usize| {
            // SAFETY: an aligned word of a symmetric array with a line for each PE; it lives until the job ends, and
            // is accessed as an atomic only. All-zero bytes are 0.
            unsafe { AtomicU64::from_ptr(self.flags.of(on).add(from * LINE).cast()) }
        };
        self.counts[partner] += 1;
        let count = self.counts[partner];
        let send = || flag(partner, self.me).store(count, Ordering::Release);
        if self.me < partner {
            send();
        }
        while flag(self.me, partner).load(Ordering::Acquire) != count {}
        if self.me > partner {
            send();
        }
    }
}
