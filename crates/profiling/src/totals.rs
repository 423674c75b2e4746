//! Sums of the counters of a node's PEs, and the line that shows how fast they grow.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use ferroshmem_core::job::control::Control;
use ferroshmem_layout::Count;
use ferroshmem_layout::WaitKind;
use ferroshmem_layout::profile::Kind;

/// The sums of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    kinds: [Count; Kind::ALL.len()],
    /// PEs that have waited for more than a moment.
    waiting: usize,
    n_pes: usize,
}

impl Default for Totals {
    fn default() -> Self {
        Self { kinds: [Count::default(); Kind::ALL.len()], waiting: 0, n_pes: 0 }
    }
}

/// A name, and the kinds that it stands for.
type Group = (&'static str, &'static [Kind]);

/// What is shown of all kinds, in the order of `SHMEMX_COUNTER_*`.
pub const GROUPS: [Group; 9] = [
    ("put", &[Kind::Put, Kind::PutSignal]),
    ("get", &[Kind::Get]),
    ("atomic", &[Kind::Atomic]),
    ("signal", &[Kind::Signal]),
    ("collective", &[Kind::Barrier, Kind::Broadcast, Kind::Scan, Kind::Exchange]),
    ("wait", &[Kind::Wait, Kind::Test]),
    ("quiet", &[Kind::Quiet, Kind::Fence]),
    ("lock", &[Kind::Lock, Kind::Unlock]),
    ("message", &[Kind::Send, Kind::Receive]),
];

/// The sum of several kinds.
pub fn sum(kinds: &[Kind], count: impl Fn(Kind) -> Count) -> Count {
    sum_of(kinds.iter().map(|kind| count(*kind)))
}

fn sum_of(counts: impl Iterator<Item = Count>) -> Count {
    counts.fold(Count::default(), |sum, count| Count {
        operations: sum.operations.wrapping_add(count.operations),
        bytes: sum.bytes.wrapping_add(count.bytes),
        ns: sum.ns.wrapping_add(count.ns),
    })
}

impl Totals {
    /// Those of the PEs of a node, as they are now.
    pub fn of(control: &Control) -> Self {
        let n_pes = control.n_pes();
        let of_kind = |kind: Kind| sum_of((0..n_pes).map(|pe| control.pe_block(pe).counters.of(kind)));
        let waits = |pe: &usize| {
            let kind = control.pe_block(*pe).wait.kind.load(Ordering::Relaxed);
            kind != WaitKind::None as u32
        };
        Self { kinds: Kind::ALL.map(of_kind), waiting: (0..n_pes).filter(waits).count(), n_pes }
    }

    /// How much was done each second since `before`, `seconds` ago: `put 1.2 M/s 9.6 MB/s, 3 of 4 PEs wait`.
    pub fn rates(&self, before: &Self, seconds: f64) -> String {
        let mut line = String::new();
        for (name, kinds) in GROUPS {
            let now = sum(kinds, |kind| self.kinds[kind as usize]);
            let then = sum(kinds, |kind| before.kinds[kind as usize]);
            // A PE may have begun again at zero.
            let operations = now.operations.saturating_sub(then.operations);
            let bytes = now.bytes.saturating_sub(then.bytes);
            if operations > 0 {
                let each = |n: u64| scaled(n as f64 / seconds);
                let _ = write!(line, "{name} {}/s", each(operations));
                if bytes > 0 {
                    let _ = write!(line, " {}B/s", each(bytes));
                }
                line.push_str(", ");
            }
        }
        if line.is_empty() {
            line.push_str("no call has ended, ");
        }
        let _ = write!(line, "{} of {} PEs wait", self.waiting, self.n_pes);
        line
    }
}

/// A number with three digits, and the letter of its thousands: `1.23 M`.
pub fn scaled(number: f64) -> String {
    let mut number = number;
    let mut unit = 0;
    const UNITS: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    while number >= 999.5 && unit + 1 < UNITS.len() {
        number /= 1000.0;
        unit += 1;
    }
    let digits = match number {
        n if n >= 99.95 || (unit == 0 && n.fract() == 0.0) => 0,
        n if n >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let all = [0.0, 7.0, 0.25, 999.4, 999.6, 1234.0, 45_600.0, 1e6, 9.6e9];
        let shown = all.map(scaled);
        let expected = ["0 ", "7 ", "0.25 ", "999 ", "1.00 k", "1.23 k", "45.6 k", "1.00 M", "9.60 G"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_grows_is_shown() {
        let of = |operations, bytes| {
            let mut kinds = [Count::default(); Kind::ALL.len()];
            kinds[Kind::Put as usize] = Count { operations, bytes, ns: 0 };
            Totals { kinds, waiting: 1, n_pes: 4 }
        };
        let rates = of(3000, 48_000).rates(&of(1000, 16_000), 2.0);
        assert_eq!(rates, "put 1.00 k/s 16.0 kB/s, 1 of 4 PEs wait");
        let rates = of(1, 1).rates(&of(1, 1), 1.0);
        assert_eq!(rates, "no call has ended, 1 of 4 PEs wait");
    }
}
