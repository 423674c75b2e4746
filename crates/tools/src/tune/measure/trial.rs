//! Times of collectives, by the library's own code, with every choice forced in turn.

use std::time::{Duration, Instant};

use ferroshmem_api::constants::TEAM_WORLD;
use ferroshmem_api::ops::Sum;
use ferroshmem_api::{collective, setup};
use ferroshmem_core::job::Localities;
use ferroshmem_core::team::{LocalMembers, Members};
use ferroshmem_platform::socket::Locality;
use ferroshmem_tuning::{Choice, Collective, Shape, overriding};

use super::buffer::Buffer;
use super::finding::Point;
use super::{Finding, NAME};
use crate::tune::schedule::{Depth, Unit};
use crate::tune::statistics::lower_quartile;

/// Size in bytes from which on a choice that is [`SLOW`] is not measured any more.
const SETTLED: usize = 16 << 10;
/// A choice is slow if it takes this many times as long as the fastest.
const SLOW: f64 = 5.0;

/// What PE 0 has all PEs do next.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// Which choice of the collective; none ends the unit.
    choice: Option<usize>,
    /// Calls in a row.
    calls: u32,
}

/// The buffers of a trial.
struct Trial {
    source: Buffer,
    dest: Buffer,
    orders: Buffer,
    me: usize,
}

/// Measures all units of `depth` in about `time`, and has PE 0 report.
pub(super) fn run(depth: Depth, time: Duration, mut report: impl FnMut(Finding)) {
    let members = setup::n_pes(NAME) as usize;
    let units = depth.units(members);
    let most = |part: fn((usize, usize)) -> usize| {
        let bytes = units.iter().map(|u| part(u.buffers(members)));
        bytes.max().unwrap_or(0).div_ceil(size_of::<f64>())
    };
    let trial = Trial {
        source: Buffer::new(most(|b| b.0), 1.0),
        dest: Buffer::new(most(|b| b.1), 0.0),
        orders: Buffer::new(2, 0.0),
        me: setup::my_pe(NAME) as usize,
    };
    let rounds = match depth {
        Depth::Quick => 3,
        Depth::Full => 15,
    };
    report(Finding::Shape(shape(members, trial.me)));
    let end = Instant::now() + time;
    let mut slow: Vec<(Collective, Choice)> = Vec::new();
    for (done, unit) in units.iter().enumerate() {
        report(Finding::Progress(done, units.len()));
        let left = end.saturating_duration_since(Instant::now());
        let budget = left / (units.len() - done) as u32;
        if trial.me > 0 {
            trial.follow(unit, members);
            continue;
        }
        let skip = |c: &Choice| slow.contains(&(unit.collective, *c));
        let times = trial.lead(unit, members, skip, rounds, budget);
        let best = times.iter().map(|t| t.1).fold(f64::INFINITY, f64::min);
        for (choice, time) in times {
            if unit.bytes >= SETTLED && time > SLOW * best {
                slow.push((unit.collective, choice));
            }
            report(Finding::Time(Point { collective: unit.collective, choice, bytes: unit.bytes, time }));
        }
    }
    report(Finding::Progress(units.len(), units.len()));
}

/// How the PEs are spread over sockets, as the library counts them.
fn shape(members: usize, me: usize) -> Shape {
    let mut locality = Buffer::new(1, 0.0);
    locality.set(0, f64::from(Locality::of_this_process().to_word()));
    collective::sync_all(NAME);
    let localities = (0..members).map(|pe| Locality::from_word(locality.get(pe, 0) as u32));
    LocalMembers::new(Members::world(members), me, &Localities::new(localities)).shape()
}

impl Trial {
    /// On PE 0: nanoseconds of a call of `unit` by each choice that is not to be skipped, the
    /// lower quartile of some rounds over all choices, in about the time `budget`.
    fn lead(
        &self,
        unit: &Unit,
        members: usize,
        skip: impl Fn(&Choice) -> bool,
        rounds: u32,
        budget: Duration,
    ) -> Vec<(Choice, f64)> {
        let choices: Vec<Choice> = unit.choices(members).collect();
        let at_work: Vec<usize> = (0..choices.len()).filter(|i| !skip(&choices[*i])).collect();
        let budget = budget.as_nanos() as f64;
        // The first call maps memory and fills caches; the second shows how long one takes.
        let first: Vec<f64> = (at_work.iter())
            .map(|i| {
                self.timed(unit, &choices, *i, 1);
                self.timed(unit, &choices, *i, 2)
            })
            .collect();
        let once: f64 = first.iter().sum();
        let rounds = ((budget / once) as u32).clamp(1, rounds);
        let share = budget / f64::from(rounds) / at_work.len() as f64;
        let mut times = vec![Vec::new(); at_work.len()];
        for _ in 0..rounds {
            for (slot, (i, once)) in at_work.iter().zip(&first).enumerate() {
                let calls = (share / once).clamp(1.0, 20_000.0) as u32;
                times[slot].push(self.timed(unit, &choices, *i, calls));
            }
        }
        self.send_order(Order { choice: None, calls: 0 });
        let choices = at_work.iter().map(|i| choices[*i]);
        let times = times.iter_mut().map(|t| lower_quartile(t));
        choices.zip(times).collect()
    }

    /// On the other PEs: does what PE 0 orders until the unit ends.
    fn follow(&self, unit: &Unit, members: usize) {
        let choices: Vec<Choice> = unit.choices(members).collect();
        loop {
            let order = self.take();
            let Some(i) = order.choice else { return };
            self.calls(unit, choices[i], order.calls);
        }
    }

    /// Nanoseconds of one of `calls` calls in a row on PE 0, where all PEs make them.
    fn timed(&self, unit: &Unit, choices: &[Choice], i: usize, calls: u32) -> f64 {
        self.send_order(Order { choice: Some(i), calls });
        self.calls(unit, choices[i], calls)
    }

    fn send_order(&self, order: Order) {
        let [choice, calls] = [order.choice.map_or(0, |i| i + 1), order.calls as usize];
        let words = self.orders.mine().cast::<usize>();
        // SAFETY: the buffer has two words of 8 bytes; the other PEs read them after the
        // first synchronisation, and PE 0 writes them again after the second.
        unsafe {
            words.write_volatile(choice);
            words.add(1).write_volatile(calls);
        }
        collective::sync_all(NAME);
        collective::sync_all(NAME);
    }

    fn take(&self) -> Order {
        let words = self.orders.of(0).cast::<usize>();
        collective::sync_all(NAME);
        // SAFETY: the buffer has two words of 8 bytes; PE 0 has written them before the
        // synchronisation, and writes them again only after the next.
        let (choice, calls) = unsafe { (words.read_volatile(), words.add(1).read_volatile()) };
        collective::sync_all(NAME);
        Order { choice: choice.checked_sub(1), calls: calls as u32 }
    }

    /// Makes `calls` calls by `choice`; the nanoseconds of one.
    fn calls(&self, unit: &Unit, choice: Choice, calls: u32) -> f64 {
        overriding(unit.collective, Some(choice));
        collective::sync_all(NAME);
        let start = Instant::now();
        for _ in 0..calls {
            self.call(unit);
        }
        let time = start.elapsed().as_nanos() as f64 / f64::from(calls);
        collective::sync_all(NAME);
        overriding(unit.collective, None);
        time
    }

    fn call(&self, unit: &Unit) {
        const ELEMENT: usize = size_of::<f64>();
        let (dest, source) = (self.dest.mine(), self.source.mine().cast_const());
        let (bytes, len) = (unit.bytes, unit.bytes / ELEMENT);
        let (to, from) = (dest.cast(), source.cast());
        // SAFETY: symmetric buffers, large enough for every unit (see `run`).
        unsafe {
            match unit.collective {
                Collective::Barrier => {
                    collective::sync_all(NAME);
                    0
                }
                Collective::Reduce => collective::reduce::<f64, Sum>(NAME, TEAM_WORLD, dest, source, len),
                Collective::Broadcast => collective::broadcast(NAME, TEAM_WORLD, to, from, bytes, 0),
                Collective::Collect => collective::collect(NAME, TEAM_WORLD, to, from, bytes),
                Collective::Fcollect => collective::fcollect(NAME, TEAM_WORLD, to, from, bytes),
                Collective::Alltoall => collective::alltoall(NAME, TEAM_WORLD, to, from, bytes),
                Collective::Alltoalls => collective::alltoalls(NAME, TEAM_WORLD, to, from, 1, 1, len, ELEMENT),
                Collective::Scan => collective::scan(NAME, TEAM_WORLD, dest, source, len, true),
            }
        };
    }
}
