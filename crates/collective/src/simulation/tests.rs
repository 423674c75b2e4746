//! What calls cost against the formulas of `docs/scaling.md`.

use std::collections::HashSet;

use ferroshmem_core::simulation::{FutexCalls, Waits};
use ferroshmem_tuning::{Algorithm, Choice, Collective};

use super::counts::{CALLS, Call, Counts, FlagPayload, count, count_lock, count_rendezvous};
use super::formula::{Variables, value};
use crate::alltoall::BY_FEW;

const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scaling.md"));

/// Numbers of PEs.
const SIZES: [usize; 8] = [2, 4, 8, 16, 64, 256, 1024, 4096];
/// Most accesses of all PEs in a call that is simulated, each of which costs a signal.
const FEW: i64 = 4_000;
/// The same in long runs.
const MANY: i64 = 1_000_000;

/// A row of a table: a kind of call, and the formulas of its counts.
#[derive(Debug)]
struct Row {
    line: &'static str,
    call: Call,
    formulas: Vec<&'static str>,
}

/// What the columns of formulas mean.
const COLUMNS: usize = 9;

/// The counts in the order of the columns, for one call.
fn columns(polling: &[Counts], sleeping: &[Counts]) -> [usize; COLUMNS] {
    let lines = || polling.iter().flat_map(|c| &c.lines);
    let all = |counts: &[Counts], of: fn(&Counts) -> usize| {
        let sum: usize = counts.iter().map(of).sum();
        sum.div_ceil(CALLS)
    };
    [
        polling[0].epochs / CALLS,
        lines().map(|l| l.read).max().unwrap(),
        all(polling, |c| c.lines.iter().map(|l| l.read).sum()),
        lines().map(|l| l.written).max().unwrap(),
        all(polling, |c| c.lines.iter().map(|l| l.written).sum()),
        all(polling, |c| c.bytes.0),
        all(polling, |c| c.bytes.1),
        all(sleeping, |c| c.futex.waits),
        all(sleeping, |c| c.futex.wakes),
    ]
}

/// The rows of the tables of collectives.
fn rows() -> Vec<Row> {
    let cells = |line: &'static str| -> Vec<&'static str> {
        let line = line.trim_matches('|').split('|');
        line.map(|cell| cell.trim().trim_matches('`')).collect()
    };
    let row = |line: &'static str| {
        let cells = cells(line);
        let (collective, says) = match cells[0] {
            "split" => (Collective::Barrier, FlagPayload::Words),
            "malloc" => (Collective::Barrier, FlagPayload::Summary),
            name => (Collective::named(name)?, FlagPayload::Nothing),
        };
        let [_, choice, barrier, bytes, ref formulas @ ..] = cells[..] else {
            panic!("too few columns: {line}");
        };
        assert_eq!(formulas.len(), COLUMNS, "{line}");
        let call = Call {
            collective,
            choice: collective.choice(choice).expect(line),
            barrier: Collective::Barrier.choice(barrier).expect(line),
            bytes: bytes.parse().expect(line),
            says,
        };
        Some(Row { line, call, formulas: formulas.to_vec() })
    };
    let lines = DOCUMENT.lines().filter(|line| line.starts_with('|'));
    lines.filter_map(row).collect()
}

/// What a formula says of some PEs.
#[derive(Debug)]
struct Expected {
    value: i64,
    /// Or the most.
    is_exact: bool,
}

impl Expected {
    /// What a formula says, perhaps after `≤`.
    fn of(formula: &str, variables: Variables<'_>) -> Option<Self> {
        let most = formula.strip_prefix('≤');
        Some(Self { value: value(most.unwrap_or(formula), variables)?, is_exact: most.is_none() })
    }

    fn is(&self, counted: i64) -> bool {
        counted == self.value || counted < self.value && !self.is_exact
    }
}

impl Row {
    /// The values of the formulas; None where one is wrong.
    fn expected(&self, pes: usize) -> Option<Vec<Expected>> {
        let (p, n) = (pes as i64, self.call.bytes as i64);
        let variables: Variables<'_> = &|name| match name {
            "p" => Some(p),
            "k" => Some(p.ilog2().into()),
            "n" => Some(n),
            "m" => Some((n + 63) / 64),
            _ => None,
        };
        let formulas = self.formulas.iter();
        formulas.map(|f| Expected::of(f, variables)).collect()
    }

    fn check(&self, most: i64) -> Vec<String> {
        let mut wrong = Vec::new();
        let is_by_few = |pes| {
            let (collective, algorithm) = (self.call.collective, self.call.choice.algorithm);
            let is_short = match collective {
                Collective::Alltoall | Collective::Fcollect => {
                    matches!(algorithm, Algorithm::Eager | Algorithm::Pull)
                }
                Collective::Alltoalls => algorithm == Algorithm::Pull,
                _ => false,
            };
            is_short && self.call.barrier.algorithm == Algorithm::Central && pes >= BY_FEW
        };
        for pes in SIZES.into_iter().take_while(|pes| !is_by_few(*pes)) {
            let expected = self.expected(pes);
            if self.call.choice.algorithm == Algorithm::Eager && self.call.bytes > self.call.collective.eager_limit(pes)
            {
                break;
            }
            let large = expected.as_ref().map_or(pes > 16, |e| {
                let bytes = e[5].value + e[6].value;
                e[2].value + e[4].value + bytes / 8 > most
            });
            if large && pes > 16 {
                break;
            }
            let counted = [Waits::Poll, Waits::Sleep].map(|waits| count(&self.call, pes, waits));
            let counted = columns(&counted[0], &counted[1]).map(|n| n as i64);
            let is_right = |e: &Vec<Expected>| e.iter().zip(counted).all(|(e, n)| e.is(n));
            if !expected.as_ref().is_some_and(is_right) {
                wrong.push(format!("{}\n{pes} PEs: {counted:?}, not {expected:?}", self.line));
            }
        }
        wrong
    }
}

/// Checks the rows of a collective with all numbers of PEs that make at most so many accesses.
fn check(collective: Collective, most: i64) {
    let rows = rows();
    let of = rows.iter().filter(|row| row.call.collective == collective);
    assert!(of.clone().next().is_some());
    let wrong: Vec<_> = of.flat_map(|row| row.check(most)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each algorithm has a row with the barrier that is used where PEs outnumber cores, and one with the other.
#[test]
fn all_algorithms_have_formulas() {
    let rows = rows();
    let have: HashSet<_> = rows.iter().map(|row| (row.call.collective, row.call.choice, row.call.barrier)).collect();
    for collective in Collective::ALL {
        // The groups here are on one socket; what crosses between several is counted in the tests of
        // collectives.
        let choices = collective.choices().iter();
        for choice in choices.filter(|choice| choice.algorithm != Algorithm::Sockets) {
            for barrier in [Algorithm::Central, Algorithm::Dissemination] {
                let barrier = match collective {
                    Collective::Barrier => *choice,
                    _ => Choice::direct(barrier),
                };
                let key = (collective, *choice, barrier);
                assert!(have.contains(&key), "no row in docs/scaling.md: {key:?}");
            }
        }
    }
}

/// Checks the row of what PEs do at words that are in no team's slots.
fn check_at_words(name: &str, sizes: &[usize], count: fn(usize, Waits) -> Vec<Counts>) {
    let row = format!("| `{name}` |");
    let line = DOCUMENT.lines().find(|l| l.starts_with(&row));
    let formulas = line.expect("a row").split('|').skip(2).take(4);
    let formulas: Vec<_> = formulas.map(|cell| cell.trim().trim_matches('`')).collect();
    for &pes in sizes {
        let counted = [Waits::Poll, Waits::Sleep].map(|waits| count(pes, waits));
        let sum = |counts: &[Counts], of: fn(&Counts) -> usize| counts.iter().map(of).sum::<usize>();
        let counted = [
            sum(&counted[0], |c| c.lines[0].read),
            sum(&counted[0], |c| c.lines[0].written),
            sum(&counted[1], |c| c.futex.waits),
            sum(&counted[1], |c| c.futex.wakes),
        ];
        let variables: Variables<'_> = &|name| (name == "p").then_some(pes as i64);
        let expected = formulas.iter().map(|f| Expected::of(f, variables).expect(f));
        assert!(expected.zip(&counted).all(|(e, n)| e.is(*n as i64)), "{name}, {pes} PEs: {counted:?}");
    }
}

/// A lock that all PEs want at once: each hand-over is read by those that wait, and wakes one that sleeps.
#[test]
fn locks_cost_what_is_written() {
    check_at_words("lock", &SIZES[..5], count_lock);
}

#[test]
fn the_first_synchronisation_costs_what_is_written() {
    check_at_words("init", &SIZES[..6], count_rendezvous);
}

/// An exchange of short blocks by few PEs, here one, for all.
#[test]
fn exchanges_by_few_cost_what_is_written() {
    check_at_words("few", &[BY_FEW, 2 * BY_FEW], |pes, waits| {
        let choice = Choice::direct(Algorithm::Pull);
        let (collective, barrier) = (Collective::Alltoall, Choice::direct(Algorithm::Central));
        let mut counted =
            count(&Call { collective, choice, barrier, bytes: 8, says: FlagPayload::Nothing }, pes, waits);
        // Of one call.
        let (waits, wakes) = counted.iter().fold((0, 0), |sum, c| (sum.0 + c.futex.waits, sum.1 + c.futex.wakes));
        for one in &mut counted {
            one.futex = FutexCalls::default();
        }
        counted[0].futex = FutexCalls { waits: waits / CALLS, wakes: wakes / CALLS };
        counted
    });
}

/// A test for each collective, and a long one with many PEs.
macro_rules! collectives {
    ($($collective:ident, $few:ident, $many:ident;)*) => {$(
        #[test]
        fn $few() {
            check(Collective::$collective, FEW);
        }

        #[test]
        #[ignore = "minutes"]
        fn $many() {
            check(Collective::$collective, MANY);
        }
    )*};
}

collectives! {
    Barrier, barriers_cost_what_is_written, barriers_of_many_pes;
    Reduce, reductions_cost_what_is_written, reductions_of_many_pes;
    Broadcast, broadcasts_cost_what_is_written, broadcasts_of_many_pes;
    Collect, gatherings_cost_what_is_written, gatherings_of_many_pes;
    Fcollect, gatherings_of_equal_blocks_cost_what_is_written, gatherings_of_equal_blocks_of_many_pes;
    Alltoall, exchanges_cost_what_is_written, exchanges_of_many_pes;
    Alltoalls, strided_exchanges_cost_what_is_written, strided_exchanges_of_many_pes;
    Scan, scans_cost_what_is_written, scans_of_many_pes;
}

#[test]
#[ignore = "minutes"]
fn locks_and_start_of_many_pes() {
    check_at_words("lock", &SIZES[5..7], count_lock);
    check_at_words("init", &SIZES[6..], count_rendezvous);
}
