//! Costs of reductions and scans.

use super::{Costs, Pieces, Work};
use crate::choice::algorithm::{Algorithm, Choice, Form};
use crate::job::region::LANE_BYTES;

/// Bytes of a work buffer: the put/get forms go through longer arrays in parts.
const BUFFER: f64 = 128.0 * 1024.0;

impl Costs {
    pub(super) fn reduce(&self, choice: Choice, n: f64) -> f64 {
        if self.p <= 1.0 {
            return self.at_once(1.0, Work::copy(n), 2.0 * n);
        }
        match (choice.algorithm, choice.form) {
            (Algorithm::Eager, _) => self.reduce_eagerly(n),
            (Algorithm::Flat, form) => self.flat(form, n),
            (Algorithm::RecursiveDoubling, form) => self.recursive_doubling(form, n),
            (Algorithm::Bruck, form) => self.bruck(form, n),
            (Algorithm::Rabenseifner, form) => self.rabenseifner(form, n),
            _ => {
                let p = self.p;
                let work = Work::combine(p * n, p * n);
                self.shared_out(work, Pieces::of(n), 2.0 * p, 2.0 * p * n)
            }
        }
    }

    fn reduce_eagerly(&self, n: f64) -> f64 {
        let (p, touched) = (self.p, 2.0 * self.p * n);
        let shown = self.sync + self.at_once(p, Work::copy(n), touched);
        let all = Work::combine(p * n, n);
        if self.has_last {
            // The last to arrive does it for all, who then take it.
            shown
                + self.fetched(1.0, p - 1.0, n)
                + self.at_once(1.0, all, touched)
                + self.fetched(p, 1.0, n)
                + self.at_once(p, Work::copy(n), touched)
        } else {
            shown + self.fetched(p, p - 1.0, n) + self.at_once(p, all, touched)
        }
    }

    fn flat(&self, form: Form, n: f64) -> f64 {
        let (p, touched) = (self.p, 2.0 * self.p * n);
        match form {
            Form::Direct => self.by_one(Work::combine(p * n, p * n), 2.0 * p, touched),
            Form::PutGet => {
                // Each source is fetched and then combined, each result put.
                let work = Work {
                    copied: 2.0 * (p - 1.0) * n,
                    ..Work::combine(2.0 * p * n, p * n)
                };
                2.0 * self.sync + self.at_once(1.0, work, touched) + self.reached(1.0, 2.0 * p)
            }
        }
    }

    /// What the members beyond a power of two add: they are taken in before and told after.
    fn guests(&self, n: f64) -> f64 {
        if !self.has_guests() {
            return 0.0;
        }
        let work = Work {
            copied: n,
            ..Work::combine(2.0 * n, n)
        };
        2.0 * self.flag() + self.at_once((self.p / 3.0).ceil(), work, 2.0 * self.p * n)
    }

    /// Parts that the put/get forms go through one after the other.
    fn parts(n: f64) -> f64 {
        (n / BUFFER).ceil().max(1.0)
    }

    /// Each pair of members reduces `n` bytes of both to both: the left one where PEs share
    /// cores, else each does a half.
    fn pairs(&self, n: f64) -> f64 {
        let touched = 2.0 * self.p * n;
        let (workers, part) = if self.shared {
            ((self.p / 2.0).ceil(), 2.0 * n)
        } else {
            (self.p, n)
        };
        self.at_once(workers, Work::combine(part, part), touched)
    }

    fn recursive_doubling(&self, form: Form, n: f64) -> f64 {
        let (p, k, touched) = (self.p, self.rounds(), 2.0 * self.p * n);
        match form {
            // The values travel with the flags.
            Form::Direct if n <= LANE_BYTES as f64 => {
                let rounds = if self.has_guests() { k + 2.0 } else { k };
                rounds * (self.flag() + self.alone(Work::combine(2.0 * n, n), 0.0))
            }
            Form::Direct => k * (2.0 * self.flag() + self.pairs(n)) + self.guests(n),
            Form::PutGet => {
                let work = Work {
                    copied: n,
                    ..Work::combine(2.0 * n, n)
                };
                let first = self.at_once(p, Work::copy(n), touched);
                let flags = 2.0 * self.flag() * Self::parts(n);
                first + k * (flags + self.at_once(p, work, touched)) + self.guests(n)
            }
        }
    }

    fn bruck(&self, form: Form, n: f64) -> f64 {
        let (p, k, touched) = (self.p, self.rounds(), 2.0 * self.p * n);
        let flags = 2.0 * self.flag() * Self::parts(n);
        let combine = self.at_once(p, Work::combine(2.0 * n, n), touched);
        let copy = self.at_once(p, Work::copy(n), touched);
        let copies = match form {
            // From the second round on the result goes by way of a buffer.
            Form::Direct => k - 1.0,
            Form::PutGet => k,
        };
        k * (flags + combine) + copies * copy + self.guests(n)
    }

    fn rabenseifner(&self, form: Form, n: f64) -> f64 {
        let (p, k, touched) = (self.p, self.rounds(), 2.0 * self.p * n);
        // What is left after all rounds of halving, and the sum of the halves before.
        let last = n / k.exp2();
        let flags = 2.0 * k * self.flag();
        let (rounds, work, middle) = match form {
            Form::Direct => {
                let halves = n - 2.0 * last;
                let work = Work {
                    copied: halves,
                    ..Work::combine(2.0 * halves, halves)
                };
                // The last round of halving is done for both of a pair.
                (1.0, work, self.pairs(2.0 * last))
            }
            Form::PutGet => {
                let halves = n - last;
                let work = Work {
                    copied: 2.0 * halves,
                    ..Work::combine(2.0 * halves, halves)
                };
                (Self::parts(n), work, 0.0)
            }
        };
        flags * rounds + self.at_once(p, work, touched) + middle + self.guests(n)
    }

    pub(super) fn scan(&self, algorithm: Algorithm, n: f64) -> f64 {
        let (p, touched) = (self.p, 2.0 * self.p * n);
        // Where all have a core, the last member's p sources decide; else the sum of all.
        let sources = if self.shared { (p + 1.0) / 2.0 } else { p };
        let own = self.at_once(p, Work::combine(sources * n, n), touched);
        match algorithm {
            Algorithm::Eager => {
                let shown = self.at_once(p, Work::copy(n), touched);
                self.sync + shown + self.fetched(p, sources - 1.0, n) + own
            }
            Algorithm::Pull => 2.0 * self.sync + own + self.reached(p, sources),
            // Each partial sum is combined in a buffer, then copied.
            _ => {
                let work = Work {
                    copied: p * n,
                    ..Work::combine(2.0 * p * n, p * n)
                };
                self.shared_out(work, Pieces::of(n), 2.0 * p, touched)
            }
        }
    }
}
