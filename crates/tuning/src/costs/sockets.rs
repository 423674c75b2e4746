//! Costs of teams whose members are on several sockets.
//!
//! A flag to another socket takes longer than one within a socket, and all lines that pass between sockets
//! share the link between them. Algorithms that do not know sockets pass lines to whichever member is next.

use super::{Costs, FIRST_LINE, LINE, Shares, Volume};
use crate::EAGER;
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::{FLAG_BYTES, RING_BYTES};

/// A flag to another socket, in flags within one. This and the two that follow are assumptions: no machine of
/// several sockets was at hand to measure them.
const OTHER_SOCKET: f64 = 3.0;
/// What a flag that crosses occupies the link for, as a fraction of α: a request for the line, an answer, and
/// another read.
const FLAG_ON_LINK: f64 = 0.06;
/// The same of a line of data.
const LINE_ON_LINK: f64 = 0.02;

impl Costs {
    /// What sockets add to an algorithm that does not know them.
    pub(super) fn crossings(&self, collective: Collective, algorithm: Algorithm, n: f64) -> f64 {
        if self.sockets < 2.0 || self.oversubscribed {
            return 0.0;
        }
        let alpha = self.parameters.alpha;
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
        let on_link = flags * FLAG_ON_LINK + data * LINE_ON_LINK;
        (chain * (OTHER_SOCKET - 1.0) + on_link) * alpha
    }

    /// The collective by sockets; infinite for one socket.
    pub(super) fn by_sockets(&self, collective: Collective, n: f64) -> f64 {
        if self.sockets < 2.0 {
            return f64::INFINITY;
        }
        let alpha = self.parameters.alpha;
        let (p, m, sockets) = (self.p, self.widest, self.sockets);
        let on_link = |bytes: f64| (bytes / LINE).ceil() * LINE_ON_LINK * alpha;
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
        let gathered = levels(self.widest) * (1.0 + FIRST_LINE);
        let flags = match exchanges && self.sockets <= 2.0 {
            true => OTHER_SOCKET,
            false => 2.0 * levels(self.sockets) * OTHER_SOCKET,
        };
        let flag = if self.oversubscribed { self.flag() } else { self.parameters.alpha };
        (gathered + flags + levels(self.widest)) * flag
    }
}

/// Levels of a tree of so many with four children each.
fn levels(members: f64) -> f64 {
    f64::from((members as usize).next_power_of_two().ilog2().div_ceil(2))
}
