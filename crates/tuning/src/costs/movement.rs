//! Costs of collectives that only move data.

use super::{Costs, Shares, Volume};
use crate::algorithm::Algorithm;
use crate::{FLAG_BYTES, RING_BYTES, RING_ENTRIES, SHORT_RING_ENTRIES};

impl Costs {
    /// A broadcast of `n` bytes.
    pub(super) fn broadcast(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        let touched = (p + 1.0) * n;
        let all = Volume::copy(p * n);
        match algorithm {
            Algorithm::Eager if n <= RING_BYTES as f64 => self.broadcast_ring(n),
            Algorithm::Eager => {
                let eager_copy = self.at_once(1.0, Volume::copy(n), touched);
                let taken = self.fetch(p, 1.0, n) + self.at_once(p, Volume::copy(n), touched);
                self.sync + eager_copy + taken
            }
            Algorithm::Push => self.by_one(all, p, touched),
            Algorithm::Tree => {
                let rounds = self.all_rounds();
                let one = self.at_once(1.0, Volume::copy(n), touched);
                let copies = (rounds * one).max(self.at_once(p, Volume::copy(n), touched));
                self.sync + rounds * self.flag() + copies
            }
            Algorithm::Pull => self.shared_work(all, Shares::each(p), 1.0, touched),
            _ => self.shared_work(all, Shares::of(n), p, touched),
        }
    }

    /// A small broadcast among many: the root may be several broadcasts ahead of the others.
    fn broadcast_ring(&self, n: f64) -> f64 {
        self.ring_lag(n) + self.fetch(1.0, 1.0, n) + self.alone(Volume::copy(2.0 * n), 0.0)
    }

    /// What a member of a small broadcast or scan waits for another that may be some calls apart.
    pub(super) fn ring_lag(&self, n: f64) -> f64 {
        let apart = if n <= FLAG_BYTES as f64 { SHORT_RING_ENTRIES } else { RING_ENTRIES };
        let lag = if self.oversubscribed { self.turn } else { self.parameters.alpha };
        (lag + self.first_access(1.0, self.p)) / apart as f64
    }

    /// An exchange in which each member gets a block of `n` bytes from each other member; its own
    /// source has `blocks` blocks.
    pub(super) fn gather(&self, algorithm: Algorithm, n: f64, blocks: f64) -> f64 {
        let p = self.p;
        let touched = p * (blocks + p) * n;
        let all = Volume::copy(p * p * n);
        match algorithm {
            Algorithm::Eager => {
                let eager_copy = self.at_once(p, Volume::copy(blocks * n), touched);
                let taken = self.at_once(p, Volume::copy(p * n), touched);
                self.sync + eager_copy + self.fetch(p, p - 1.0, n) + taken
            }
            Algorithm::Push => {
                let work = self.at_once(p, Volume::copy(p * n), touched);
                2.0 * self.sync + work + self.first_window(p, p)
            }
            _ => self.shared_work(all, Shares::each(p), p, touched),
        }
    }

    /// As `gather`, but members learn the others' lengths only by a synchronisation.
    pub(super) fn collect(&self, algorithm: Algorithm, n: f64) -> f64 {
        let p = self.p;
        match algorithm {
            Algorithm::Eager => self.gather(algorithm, n, 1.0),
            _ => {
                let work = Volume::copy(p * n);
                let work = self.at_once(p, work, p * (1.0 + p) * n);
                2.0 * self.sync + work + self.first_window(p, p)
            }
        }
    }

    /// As an all-to-all. Whether members read or write makes no difference.
    pub(super) fn exchange_strided(&self, n: f64) -> f64 {
        let p = self.p;
        let work = Volume::copy(p * p * n);
        self.shared_work(work, Shares::each(p), p, 2.0 * p * p * n)
    }
}
