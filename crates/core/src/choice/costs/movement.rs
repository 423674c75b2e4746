//! Costs of collectives that only move data.

use super::{Costs, Pieces, Work};
use crate::choice::algorithm::Algorithm;
use crate::job::region::{STREAM_BYTES, STREAM_ENTRIES};

impl Costs {
    pub(super) fn broadcast(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        let touched = (p + 1.0) * n;
        let all = Work::copy(p * n);
        match algorithm {
            Algorithm::Eager if n <= STREAM_BYTES as f64 => self.stream(n),
            Algorithm::Eager => {
                let shown = self.at_once(1.0, Work::copy(n), touched);
                let taken = self.fetched(p, 1.0, n) + self.at_once(p, Work::copy(n), touched);
                self.sync + shown + taken
            }
            Algorithm::Push => self.by_one(all, p, touched),
            Algorithm::Tree => {
                let rounds = p.log2().ceil();
                let one = self.at_once(1.0, Work::copy(n), touched);
                let copies = (rounds * one).max(self.at_once(p, Work::copy(n), touched));
                self.sync + rounds * self.flag() + copies
            }
            Algorithm::Pull => self.shared_out(all, Pieces::each(p), 1.0, touched),
            _ => self.shared_out(all, Pieces::of(n), p, touched),
        }
    }

    /// A small broadcast as one of many: the root and the others may be some of them apart.
    fn stream(&self, n: f64) -> f64 {
        let apart = STREAM_ENTRIES as f64;
        let lag = if self.shared {
            self.turn
        } else {
            self.parameters.alpha
        };
        let seen = self.reached(1.0, self.p);
        (lag + seen) / apart + self.fetched(1.0, 1.0, n) + self.alone(Work::copy(2.0 * n), 0.0)
    }

    /// Each member gets a block of `n` bytes from each other; its own source has `blocks`.
    pub(super) fn gather(&self, algorithm: Algorithm, n: f64, blocks: f64) -> f64 {
        let p = self.p;
        let touched = p * (blocks + p) * n;
        let all = Work::copy(p * p * n);
        match algorithm {
            Algorithm::Eager => {
                let shown = self.at_once(p, Work::copy(blocks * n), touched);
                let taken = self.at_once(p, Work::copy(p * n), touched);
                self.sync + shown + self.fetched(p, p - 1.0, n) + taken
            }
            Algorithm::Push => {
                let work = self.at_once(p, Work::copy(p * n), touched);
                2.0 * self.sync + work + self.reached(p, p)
            }
            _ => self.shared_out(all, Pieces::each(p), p, touched),
        }
    }

    /// As `gather`, but nobody knows the others' lengths before a synchronisation.
    pub(super) fn collect(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        match algorithm {
            Algorithm::Eager => self.gather(algorithm, n, 1.0),
            _ => {
                let work = Work::copy(p * n);
                let work = self.at_once(p, work, p * (1.0 + p) * n);
                2.0 * self.sync + work + self.reached(p, p)
            }
        }
    }

    /// As an all-to-all; which side of a copy moves makes no difference.
    pub(super) fn exchange_strided(&self, n: f64) -> f64 {
        let p = self.p;
        let work = Work::copy(p * p * n);
        self.shared_out(work, Pieces::each(p), p, 2.0 * p * p * n)
    }
}
