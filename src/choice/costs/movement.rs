//! Costs of collectives that only move data.

use super::{Costs, LINE, Work};
use crate::choice::algorithm::Algorithm;

impl Costs {
    pub(super) fn broadcast(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        let touched = (p + 1.0) * n;
        let all = Work::copy(p * n);
        match algorithm {
            Algorithm::Eager => {
                let shown = self.at_once(1.0, Work::copy(n), touched);
                // Only the root has written: the others fetch its lines at once.
                let fetched = self.fetched(n) / (p - 1.0).max(1.0);
                self.sync + shown + fetched + self.at_once(p, Work::copy(n), touched)
            }
            Algorithm::Push => self.by_one(all, touched),
            Algorithm::Tree => {
                let rounds = p.log2().ceil();
                let one = self.at_once(1.0, Work::copy(n), touched);
                let copies = (rounds * one).max(self.at_once(p, Work::copy(n), touched));
                self.sync + rounds * self.flag() + copies
            }
            Algorithm::Pull => self.shared_out(all, p, touched),
            _ => self.shared_out(all, n / LINE, touched),
        }
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
                self.sync + shown + self.fetched(n) + taken
            }
            Algorithm::Push => {
                2.0 * self.sync + self.at_once(p, Work::copy(p * n), touched) + self.reached()
            }
            _ => self.shared_out(all, p, touched),
        }
    }

    /// As `gather`, but nobody knows the others' lengths before a synchronisation.
    pub(super) fn collect(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        match algorithm {
            Algorithm::Eager => self.gather(algorithm, n, 1.0),
            _ => {
                let work = Work::copy(p * n);
                2.0 * self.sync + self.at_once(p, work, p * (1.0 + p) * n) + self.reached()
            }
        }
    }

    /// As an all-to-all; which side of a copy moves makes no difference.
    pub(super) fn exchange_strided(&self, n: f64) -> f64 {
        let p = self.p;
        self.shared_out(Work::copy(p * p * n), p, 2.0 * p * p * n)
    }
}
