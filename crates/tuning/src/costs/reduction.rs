//! Costs of reductions and scans.

use super::{Costs, Shares, Volume};
use crate::SCAN_RING_MEMBERS;
use crate::algorithm::{Algorithm, Choice, Form};
use crate::{FLAG_BYTES, RING_BYTES};

/// Bytes of a work buffer: the put/get forms divide longer arrays into parts.
const BUFFER: f64 = 128.0 * 1024.0;

impl Costs {
    /// A reduction of `n` bytes.
    pub(super) fn reduce(&self, choice: Choice, n: f64) -> f64 {
        if self.p <= 1.0 {
            return self.at_once(1.0, Volume::copy(n), 2.0 * n);
        }
        match (choice.algorithm, choice.form) {
            (Algorithm::Eager, _) => self.reduce_eagerly(n),
            (Algorithm::Flat, form) => self.flat(form, n),
            (Algorithm::RecursiveDoubling, form) => self.recursive_doubling(form, n),
            (Algorithm::Bruck, form) => self.bruck(form, n),
            (Algorithm::Rabenseifner, form) => self.rabenseifner(form, n),
            _ => {
                let p = self.p;
                let work = Volume::combine(p * n, p * n);
                self.shared_work(work, Shares::of(n), 2.0 * p, 2.0 * p * n)
            }
        }
    }

    fn reduce_eagerly(&self, n: f64) -> f64 {
        let (p, touched) = (self.p, 2.0 * self.p * n);
        let eager_copy = self.sync + self.at_once(p, Volume::copy(n), touched);
        let all = Volume::combine(p * n, n);
        if self.central_barrier {
            // The last member to arrive reduces for all, and each copies the result.
            eager_copy
                + self.fetch(1.0, p - 1.0, n)
                + self.at_once(1.0, all, touched)
                + self.fetch(p, 1.0, n)
                + self.at_once(p, Volume::copy(n), touched)
        } else {
            eager_copy + self.fetch(p, p - 1.0, n) + self.at_once(p, all, touched)
        }
    }

    fn flat(&self, form: Form, n: f64) -> f64 {
        let (p, touched) = (self.p, 2.0 * self.p * n);
        match form {
            Form::Direct => self.by_one(Volume::combine(p * n, p * n), 2.0 * p, touched),
            Form::PutGet => {
                // Each source is fetched and then combined, each result put.
                let work = Volume { copied: 2.0 * (p - 1.0) * n, ..Volume::combine(2.0 * p * n, p * n) };
                2.0 * self.sync + self.at_once(1.0, work, touched) + self.first_window(1.0, 2.0 * p)
            }
        }
    }

    /// What the extra ranks add, the members beyond a power of two: their values are folded in
    /// before the rounds, and they get the result after them.
    fn extra_ranks(&self, n: f64) -> f64 {
        if !self.has_extra_ranks() {
            return 0.0;
        }
        let work = Volume { copied: n, ..Volume::combine(2.0 * n, n) };
        2.0 * self.flag() + self.at_once((self.p / 3.0).ceil(), work, 2.0 * self.p * n)
    }

    /// Number of parts of the put/get forms, one after the other.
    fn parts(n: f64) -> f64 {
        (n / BUFFER).ceil().max(1.0)
    }

    /// Each pair of members reduces `n` bytes of both to both: the left one does it where PEs
    /// outnumber cores, else each does a half.
    fn pairs(&self, n: f64) -> f64 {
        let touched = 2.0 * self.p * n;
        let (workers, part) = if self.oversubscribed { ((self.p / 2.0).ceil(), 2.0 * n) } else { (self.p, n) };
        self.at_once(workers, Volume::combine(part, part), touched)
    }

    fn recursive_doubling(&self, form: Form, n: f64) -> f64 {
        let (p, k, touched) = (self.p, self.rounds(), 2.0 * self.p * n);
        match form {
            // The values travel with the flags.
            Form::Direct if n <= FLAG_BYTES as f64 => {
                let rounds = if self.has_extra_ranks() { k + 2.0 } else { k };
                rounds * (self.flag() + self.alone(Volume::combine(2.0 * n, n), 0.0))
            }
            Form::Direct => k * (2.0 * self.flag() + self.pairs(n)) + self.extra_ranks(n),
            Form::PutGet => {
                let work = Volume { copied: n, ..Volume::combine(2.0 * n, n) };
                let first = self.at_once(p, Volume::copy(n), touched);
                let flags = 2.0 * self.flag() * Self::parts(n);
                first + k * (flags + self.at_once(p, work, touched)) + self.extra_ranks(n)
            }
        }
    }

    fn bruck(&self, form: Form, n: f64) -> f64 {
        let (p, k, touched) = (self.p, self.rounds(), 2.0 * self.p * n);
        let flags = 2.0 * self.flag() * Self::parts(n);
        let combine = self.at_once(p, Volume::combine(2.0 * n, n), touched);
        let copy = self.at_once(p, Volume::copy(n), touched);
        let copies = match form {
            // From the second round on, the result goes through a buffer.
            Form::Direct => k - 1.0,
            Form::PutGet => k,
        };
        k * (flags + combine) + copies * copy + self.extra_ranks(n)
    }

    fn rabenseifner(&self, form: Form, n: f64) -> f64 {
        let (p, k, touched) = (self.p, self.rounds(), 2.0 * self.p * n);
        // Bytes left after all rounds of halving.
        let last = n / (1u64 << k as u32) as f64;
        let flags = 2.0 * k * self.flag();
        let (rounds, work, middle) = match form {
            Form::Direct => {
                let halves = n - 2.0 * last;
                let work = Volume { copied: halves, ..Volume::combine(2.0 * halves, halves) };
                // The last round of halving is done for both of a pair.
                (1.0, work, self.pairs(2.0 * last))
            }
            Form::PutGet => {
                let halves = n - last;
                let work = Volume { copied: 2.0 * halves, ..Volume::combine(2.0 * halves, halves) };
                (Self::parts(n), work, 0.0)
            }
        };
        flags * rounds + self.at_once(p, work, touched) + middle + self.extra_ranks(n)
    }

    /// A prefix sum of `n` bytes.
    pub(super) fn scan(&self, algorithm: Algorithm, n: f64) -> f64 {
        let (p, touched) = (self.p, 2.0 * self.p * n);
        // With a core for each, the last member's p sources decide; else the sum over all.
        let sources = if self.oversubscribed { (p + 1.0) / 2.0 } else { p };
        let own = self.at_once(p, Volume::combine(sources * n, n), touched);
        match algorithm {
            Algorithm::Eager => {
                let eager_copy = self.at_once(p, Volume::copy(n), touched);
                let waits = if n <= RING_BYTES as f64 && p <= SCAN_RING_MEMBERS as f64 {
                    // Each member is apart from the next by its share of the ring.
                    self.sync.min(p * self.ring_lag(n))
                } else {
                    self.sync
                };
                waits + eager_copy + self.fetch(p, sources - 1.0, n) + own
            }
            Algorithm::Pull => 2.0 * self.sync + own + self.first_window(p, sources),
            // Each partial sum is combined in a buffer, then copied.
            _ => {
                let work = Volume { copied: p * n, ..Volume::combine(2.0 * p * n, p * n) };
                self.shared_work(work, Shares::of(n), 2.0 * p, touched)
            }
        }
    }
}
