//! Costs of teams whose members are on several sockets.
//!
//! A flag to another socket takes longer than one within a socket, and all lines that pass between sockets
//! share the link between them. Algorithms that do not know sockets pass lines to whichever member is next.

use super::{Costs, FIRST_LINE, LINE, Parameters, Shares, Volume};
use crate::EAGER;
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::{FLAG_BYTES, RING_BYTES};

impl Costs {
    /// What sockets add to an algorithm that does not know them.
    pub(super) fn crossings(&self, collective: Collective, algorithm: Algorithm, n: f64) -> f64 {
        if self.sockets < 2.0 || self.oversubscribed {
            return 0.0;
        }
        let Parameters { alpha, socket_alpha, socket_flag, socket_line, .. } = self.parameters;
        let (p, others) = (self.p, self.p * (1.0 - 1.0 / self.sockets));
        let lines = (n / LINE).ceil();
        // How often a chain of flags crosses where members of a socket follow each other: in the rounds between
        // sockets, and once in those within them.
        let crossing = f64::from((self.sockets as usize).next_power_of_two().ilog2()) + 1.0;
        // A barrier inside another collective is in the time of a synchronisation.
        let (chain, flags, data) = match (collective, algorithm) {
            (Collective::Barrier, Algorithm::Tree) => (crossing, p, 0.0),
            (Collective::Barrier, _) => (crossing, 2.0 * p, 0.0),
            (Collective::Reduce, Algorithm::RecursiveDoubling) if n <= FLAG_BYTES as f64 => (crossing, p, 0.0),
            (Collective::Reduce, Algorithm::Eager) => (0.0, 0.0, p * lines),
            (Collective::Reduce, Algorithm::Slices) => (0.0, 0.0, 2.0 * others * lines),
            (Collective::Reduce, _) => (crossing, p, 2.0 * others * lines),
            (Collective::Broadcast, _) => (0.0, 0.0, others * lines),
            (Collective::Collect | Collective::Fcollect, _) => (0.0, 0.0, p * others * lines),
            // The same by all algorithms.
            _ => return 0.0,
        };
        // A machine whose sockets are as near as cores has no crossings.
        chain * (socket_alpha - alpha).max(0.0) + flags * socket_flag + data * socket_line
    }

    /// The collective by sockets; infinite for one socket.
    pub(super) fn by_sockets(&self, collective: Collective, n: f64) -> f64 {
        if self.sockets < 2.0 {
            return f64::INFINITY;
        }
        let Parameters { alpha, socket_line, .. } = self.parameters;
        let (p, m, sockets) = (self.p, self.widest, self.sockets);
        let on_link = |bytes: f64| (bytes / LINE).ceil() * socket_line;
        let sync = self.socket_tree(n <= FLAG_BYTES as f64);
        match collective {
            Collective::Barrier => sync,
            Collective::Reduce if n <= EAGER as f64 => {
                let work = Volume::combine(5.0 * n, n);
                let levels = levels(m) + levels(sockets);
                // Few bytes come with the flags.
                let lines = match n <= FLAG_BYTES as f64 {
                    true => 0.0,
                    false => (n / LINE).ceil() * FIRST_LINE * alpha,
                };
                sync + levels * (self.alone(work, 0.0) + lines) + on_link(2.0 * (sockets - 1.0) * n)
            }
            Collective::Reduce => {
                let touched = 2.0 * p * n;
                let within = self.at_once(p, Volume::combine(n, n / m), touched);
                let between = Volume { copied: n, ..Volume::combine(sockets * n / p, n / sockets) };
                let between = self.at_once(p, between, touched);
                let windows = self.first_window(p, 2.0 * m);
                4.0 * self.sync + within + between + windows + on_link(2.0 * (sockets - 1.0) * n)
            }
            Collective::Broadcast if n <= RING_BYTES as f64 => {
                let copied = self.alone(Volume::copy(n), 0.0);
                self.broadcast(Algorithm::Eager, n) + copied + on_link((sockets - 1.0) * n)
            }
            Collective::Broadcast => {
                let work = Volume::copy(p * n);
                let shared = self.shared_work(work, Shares::of(n), m, (p + 1.0) * n);
                shared + on_link((sockets - 1.0) * n)
            }
            Collective::Collect | Collective::Fcollect => {
                let work = Volume::copy(p * p * n);
                let shared = self.shared_work(work, Shares::each(p), p, p * (1.0 + p) * n);
                shared + on_link((sockets - 1.0) * p * n)
            }
            _ => f64::INFINITY,
        }
    }

    /// The tree barrier of each socket around one of their leaders, who exchange flags if they are two.
    fn socket_tree(&self, exchanges: bool) -> f64 {
        let within = levels(self.widest) * (2.0 + FIRST_LINE);
        let between = match exchanges && self.sockets <= 2.0 {
            true => 1.0,
            false => 2.0 * levels(self.sockets),
        };
        let Parameters { alpha, socket_alpha, .. } = self.parameters;
        // Where PEs share cores, a flag waits for its receiver's turn, wherever it comes from.
        let (flag, crossing) = match self.oversubscribed {
            true => (self.flag(), self.flag() * (socket_alpha / alpha).max(1.0)),
            false => (alpha, socket_alpha),
        };
        within * flag + between * crossing
    }
}

/// Levels of a tree of so many with four children each.
fn levels(members: f64) -> f64 {
    f64::from((members as usize).next_power_of_two().ilog2().div_ceil(2))
}
