//! What share of each part of the time calls of each kind take: all that a page has of calls too many to show one by
//! one.

use crate::profile::Kind;

/// Kinds of calls that have a colour each. Regions are not among them: other calls are in them.
pub(super) const NAMES: [&str; KINDS] = ["put", "get", "atomic", "wait", "collective", "memory", "other"];
const KINDS: usize = 7;

/// The place in [`NAMES`].
pub(super) fn kind(kind: Kind) -> usize {
    match kind {
        Kind::Put | Kind::PutSignal | Kind::Send => 0,
        Kind::Get => 1,
        Kind::Atomic | Kind::Signal => 2,
        Kind::Wait | Kind::Test | Kind::Lock | Kind::Receive => 3,
        Kind::Barrier | Kind::Broadcast | Kind::Scan | Kind::Exchange => 4,
        Kind::Allocate | Kind::Free => 5,
        Kind::Quiet | Kind::Fence | Kind::Unlock | Kind::Region | Kind::Other => 6,
    }
}

/// Parts of the time of all rows of a page.
const ALL_PARTS: usize = 1 << 18;

/// In how many parts the time of each of so many rows is divided: a power of two.
pub(super) fn parts(rows: usize) -> usize {
    let parts = (ALL_PARTS / rows.max(1)).clamp(1 << 7, 1 << 14);
    1 << parts.ilog2()
}

/// One row's.
pub(super) struct Shares {
    from: u64,
    /// Nanoseconds of a part.
    part: f64,
    /// By part and kind, 1 for all of a part's time.
    shares: Vec<[f32; KINDS]>,
    /// Calls by the part that they begin in.
    calls: Vec<u32>,
}

impl Shares {
    pub(super) fn new((from, to): (u64, u64), parts: usize) -> Self {
        Self {
            from,
            part: (to - from) as f64 / parts.max(1) as f64,
            shares: vec![[0.0; KINDS]; parts],
            calls: vec![0; parts],
        }
    }

    pub(super) fn add(&mut self, of: Kind, begin: u64, end: u64) {
        let Some(last) = self.shares.len().checked_sub(1) else {
            return;
        };
        let at = |time: u64| time.saturating_sub(self.from) as f64 / self.part;
        let (begin, end) = (at(begin), at(end).min(last as f64 + 1.0));
        let first = (begin as usize).min(last);
        self.calls[first] = self.calls[first].saturating_add(1);
        if of == Kind::Region {
            return;
        }
        let of = kind(of);
        for place in first..=(end as usize).min(last) {
            let within = end.min(place as f64 + 1.0) - begin.max(place as f64);
            self.shares[place][of] += within.max(0.0) as f32;
        }
    }
}

/// The shares of all rows, as a page has them: the calls of each part in 32 bits, then a byte for each kind.
#[derive(Default)]
pub(super) struct Encoder {
    rows: usize,
    calls: Vec<u8>,
    shares: Vec<u8>,
}

impl Encoder {
    /// Rows so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn add(&mut self, row: &Shares) {
        self.rows += 1;
        let counts = row.calls.iter().flat_map(|c| c.to_le_bytes());
        self.calls.extend(counts);
        // A short call is seen all the same.
        let byte = |share: &f32| {
            if *share > 0.0 { (share * 255.0).clamp(1.0, 255.0) as u8 } else { 0 }
        };
        self.shares.extend(row.shares.as_flattened().iter().map(byte));
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.calls.append(&mut self.shares);
        self.calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_in_each_part_that_it_is_in() {
        let mut shares = Shares::new((1000, 1400), 4);
        shares.add(Kind::Barrier, 1050, 1225);
        shares.add(Kind::Put, 1225, 1250);
        // Begun before the window, and ended after it.
        shares.add(Kind::Wait, 900, 1010);
        shares.add(Kind::Get, 1390, 9999);
        shares.add(Kind::Region, 1000, 1400);
        let mut encoder = Encoder::default();
        encoder.add(&shares);
        let bytes = encoder.finish();
        let (calls, shares) = bytes.split_at(16);
        let calls: Vec<_> = calls.as_chunks::<4>().0.iter().copied().map(u32::from_le_bytes).collect();
        assert_eq!(calls, [3, 0, 1, 1]);
        let (rows, _) = shares.as_chunks::<KINDS>();
        let of = |part: usize, name: &str| {
            let kind = NAMES.iter().position(|n| *n == name).expect("a kind");
            f64::from(rows[part][kind]) / 255.0
        };
        for (part, name, share) in [
            (0, "collective", 0.5),
            (1, "collective", 1.0),
            (2, "collective", 0.25),
            (2, "put", 0.25),
            (0, "wait", 0.1),
            (3, "get", 0.1),
        ] {
            assert!((of(part, name) - share).abs() < 0.01, "{name} in part {part}");
        }
        let all: f64 = rows.as_flattened().iter().map(|b| f64::from(*b)).sum();
        assert!((all / 255.0 - 2.2).abs() < 0.05, "{all}");
    }

    #[test]
    fn pages_of_few_and_of_many_rows_are_as_large() {
        assert_eq!(parts(1), 1 << 14);
        assert_eq!(parts(64), 1 << 12);
        assert_eq!(parts(100), 1 << 11);
        assert_eq!(parts(4096), 128);
    }
}
