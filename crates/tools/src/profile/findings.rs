//! What a profile says in words: at most five findings, each with evidence and a remedy.

use std::collections::{BTreeMap, BTreeSet};

use ferroshmem_layout::profile::peer;
use serde::Serialize;

use super::analysis::{Analysis, SiteSum};
use super::record::Kind;

/// Most findings.
const MOST: usize = 5;

/// Something that costs time, or looks wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// One sentence.
    pub what: String,
    /// The numbers behind it.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
    /// The share of the PEs' time that it concerns, to put findings in order.
    #[serde(skip)]
    weight: f64,
    /// The PE that it is about.
    #[serde(skip)]
    pe: Option<usize>,
}

/// A job too short to speak about.
const SHORTEST: u64 = 5_000_000;

fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p >= 9.95 => format!("{p:.0}%"),
        p => format!("{p:.1}%"),
    }
}

/// A number of nanoseconds for people.
pub fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        _ if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

/// A count for people.
pub fn count(n: u64) -> String {
    match n {
        0..100_000 => n.to_string(),
        100_000..10_000_000 => format!("{:.2} million", n as f64 / 1e6),
        _ => format!("{:.0} million", n as f64 / 1e6),
    }
}

fn place(site: &SiteSum) -> String {
    format!("{} at {}", site.name, site.position.line)
}

impl SiteSum {
    /// The number of calls, as far as it is known.
    pub fn calls(&self) -> String {
        let least = if self.is_partial { "at least " } else { "" };
        format!("{least}{}", count(self.calls))
    }
}

impl Analysis {
    /// The findings, the weightiest first.
    pub fn findings(&self) -> Vec<Finding> {
        if self.wall < SHORTEST || self.pes.len() < 2 {
            return Vec::new();
        }
        let mut all = Vec::new();
        for site in &self.sites {
            all.extend(self.late(site));
            all.extend(self.odd_target(site));
            all.extend(self.small_internode(site));
            all.extend(self.contended(site));
        }
        all.extend(self.late_sender());
        all.extend(self.without_core());
        let explained = all.iter().any(|f| f.pe.is_some());
        if !explained {
            all.extend(self.uneven());
            all.extend(self.needless_barrier());
        }
        all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let mut seen = BTreeSet::new();
        // One PE that is late is late everywhere.
        all.retain(|f| f.pe.is_none_or(|pe| seen.insert(pe)));
        all.truncate(MOST);
        all
    }

    /// One PE comes last to a collective.
    fn late(&self, site: &SiteSum) -> Option<Finding> {
        const CALLS: u64 = 3;
        const SHARE_OF_RUN: f64 = 0.05;
        if !site.kind.is_collective() || site.aligned < CALLS {
            return None;
        }
        let caused: u64 = site.caused.values().sum();
        let (pe, ns) = site.caused.iter().max_by_key(|(_, ns)| **ns)?;
        let share = *ns as f64 / caused.max(1) as f64;
        let weight = site.waiting as f64 * share / self.pe_time() as f64;
        // Of two PEs, one has to be last.
        let enough = if self.pes.len() == 2 { 0.85 } else { 0.6 };
        if share < enough || weight < SHARE_OF_RUN {
            return None;
        }
        let last = site.last.get(pe).copied().unwrap_or(0);
        // A PE that was held up once is not one that is late.
        if last * 2 < site.aligned {
            return None;
        }
        // How long each other PE waits for it, and how long it was itself without a core.
        let each = site.waiting as f64 * share / (self.pes.len() - 1) as f64;
        let without_core = self.without_core_of(*pe);
        let lacked_core = without_core as f64 * 2.0 >= each;
        if lacked_core && self.without_core().is_some() {
            return None;
        }
        let own = site.computed.get(pe).copied().unwrap_or(0) as f64;
        let others: Vec<_> = site.computed.iter().filter(|(p, _)| *p != pe).collect();
        let mean = others.iter().map(|(_, ns)| **ns as f64).sum::<f64>() / others.len().max(1) as f64;
        let others_share = weight * self.pes.len() as f64 / (self.pes.len() - 1) as f64;
        // The others wait for what it computes longer, or for something else.
        let is_explained = (own - mean) * others.len() as f64 * 2.0 >= *ns as f64;
        let (ratio, remedy) = if own > 1.2 * mean && is_explained {
            let ratio = format!("; it computes {:.1} times as long before it as the others", own / mean.max(1.0));
            (
                ratio,
                format!(
                    "give PE {pe} less work, or the others more; the trace (oshrun --trace) shows what PE {pe} does \
                        meanwhile"
                ),
            )
        } else if lacked_core {
            let ratio = format!("; it was without a core for {}", time(without_core));
            (ratio, format!("leave PE {pe}'s core to it: the kernel ran other processes or threads there"))
        } else {
            (
                String::new(),
                format!(
                    "look at what PE {pe} does before this call: output, files or routines that the others do not call"
                ),
            )
        };
        Some(Finding {
            what: format!(
                "PE {pe} arrives last in {} of {}; the others wait {} of the run for it",
                percent(last as f64 / site.aligned as f64),
                place(site),
                percent(others_share)
            ),
            evidence: format!(
                "{} calls, {} of waiting by all PEs, {} of it for PE {pe}{ratio}",
                site.calls(),
                time(site.waiting),
                percent(share),
            ),
            remedy,
            weight,
            pe: Some(*pe),
        })
    }

    /// Waiting for one PE's updates or messages.
    fn late_sender(&self) -> Option<Finding> {
        const SHARE_OF_RUN: f64 = 0.15;
        let waits = self.sites.iter().filter(|s| matches!(s.kind, Kind::Wait | Kind::Receive));
        let mut caused: BTreeMap<usize, u64> = BTreeMap::new();
        let mut largest: Option<&SiteSum> = None;
        for site in waits {
            for (pe, ns) in &site.caused {
                *caused.entry(*pe).or_default() += ns;
            }
            if largest.is_none_or(|l| l.waiting < site.waiting) {
                largest = Some(site);
            }
        }
        let site = largest?;
        let all: u64 = caused.values().sum();
        let (pe, ns) = caused.iter().max_by_key(|(_, ns)| **ns)?;
        let share = *ns as f64 / all.max(1) as f64;
        let weight = *ns as f64 / self.pe_time() as f64;
        let waiters = site.pes.iter().filter(|p| *p != pe).count();
        if share < 0.6 || weight < SHARE_OF_RUN || waiters < 2 {
            return None;
        }
        Some(Finding {
            what: format!(
                "{waiters} PEs wait for PE {pe} in {}, {} of the run",
                place(site),
                percent(weight * self.pes.len() as f64 / waiters as f64)
            ),
            evidence: format!("{} of all {} of waiting for updates is for those of PE {pe}", percent(share), time(all)),
            remedy: format!("let PE {pe} send earlier, or compute something that needs no update before the wait"),
            weight,
            pe: Some(*pe),
        })
    }

    /// Work is spread unevenly, and not over one PE alone.
    fn uneven(&self) -> Option<Finding> {
        const SHARE_OF_RUN: f64 = 0.10;
        const RATIO: f64 = 1.3;
        let site = self.sites.iter().filter(|s| s.kind.is_collective() && s.aligned >= 3).max_by_key(|s| s.waiting)?;
        let weight = site.waiting as f64 / self.pe_time() as f64;
        let (most, ns) = site.computed.iter().max_by_key(|(_, ns)| **ns)?;
        let sum: u64 = site.computed.values().sum();
        let mean = sum as f64 / site.computed.len() as f64;
        let ratio = *ns as f64 / mean.max(1.0);
        // Each PE waits for the one that computes most: the rest of the waiting has other reasons, as too few cores.
        let ns_on_core = ns.saturating_sub(self.without_core_of(*most));
        let explained = (ns_on_core * site.computed.len() as u64).saturating_sub(sum);
        let is_explained = explained * 2 >= site.caused.values().sum();
        if weight < SHARE_OF_RUN || ratio < RATIO || !is_explained {
            return None;
        }
        Some(Finding {
            what: format!(
                "work before {} is uneven: PE {most} computes {ratio:.1} times the mean; PEs wait {} of the run",
                place(site),
                percent(weight)
            ),
            evidence: format!(
                "{} calls, {} of waiting; computing before them: {} on PE {most}, {} on average",
                site.calls(),
                time(site.waiting),
                time(*ns),
                time(mean as u64)
            ),
            remedy:
                "divide the work by how long it takes, not by how much it is, or let PEs fetch it (an atomic counter)"
                    .to_owned(),
            weight,
            pe: Some(*most),
        })
    }

    /// One PE sends elsewhere than all others do, as seen from each.
    fn odd_target(&self, site: &SiteSum) -> Option<Finding> {
        const CALLS: u64 = 10;
        let n = self.n_pes;
        if n < 4 || !matches!(site.kind, Kind::Put | Kind::Get | Kind::PutSignal | Kind::Signal | Kind::Atomic) {
            return None;
        }
        // The distance that most of a PE's operations go.
        let main = site.targets.iter().filter_map(|(pe, targets)| {
            let all: u64 = targets.values().sum();
            let (target, most) = targets.iter().max_by_key(|t| t.1)?;
            let target = (*target)?;
            (all >= CALLS && *most * 10 >= all * 9).then_some((*pe, target, (target + n - pe) % n, *most))
        });
        let main: Vec<_> = main.collect();
        let mut by_distance: BTreeMap<usize, usize> = BTreeMap::new();
        for (_, _, distance, _) in &main {
            *by_distance.entry(*distance).or_default() += 1;
        }
        let (usual, pes) = by_distance.iter().max_by_key(|(_, pes)| **pes)?;
        let odd: Vec<_> = main.iter().filter(|m| m.2 != *usual).collect();
        let [(pe, target, _, calls)] = odd[..] else {
            return None;
        };
        if pes + 1 < main.len() || *pes < 3 || *pes + 1 < site.targets.len() {
            return None;
        }
        let usual_target = (pe + usual) % n;
        let direction = if *usual <= n / 2 { format!("PE + {usual}") } else { format!("PE - {}", n - usual) };
        Some(Finding {
            what: format!(
                "PE {pe} reaches PE {target} by {}, where the other {pes} PEs each reach {direction}",
                place(site)
            ),
            evidence: format!(
                "{} operations of PE {pe} go to PE {target}; by the others' rule they would go to PE {usual_target}",
                count(*calls)
            ),
            remedy: format!("check how PE {pe} computes the PE at this line"),
            weight: 0.5,
            pe: None,
        })
    }

    /// Small operations on other nodes.
    fn small_internode(&self, site: &SiteSum) -> Option<Finding> {
        const CALLS: u64 = 5_000;
        let (all, small) = site.internode;
        let weight = site.ns as f64 / self.pe_time() as f64;
        if small < CALLS || small * 2 < all || weight < 0.02 {
            return None;
        }
        let remedy = match site.kind {
            Kind::Put | Kind::PutSignal => {
                "set SHMEM_AGGREGATE=auto, which sends small puts together, or collect values and put them as one block"
            }
            Kind::Get => "get a block that has all values, or begin them by shmem_get_nbi and wait once by shmem_quiet",
            _ => "use the forms that fetch nothing, or add up on the node first",
        };
        let size = site.bytes / site.calls.max(1);
        Some(Finding {
            what: format!("{size}-byte operations on PEs of other nodes: {} by {}", count(small), place(site)),
            evidence: format!(
                "{} of the run, {} a call; a network sends a kilobyte in about the same time",
                percent(weight),
                time(site.ns / site.calls.max(1))
            ),
            remedy: remedy.to_owned(),
            weight: weight.max(0.05),
            pe: None,
        })
    }

    /// PEs wait for a lock.
    fn contended(&self, site: &SiteSum) -> Option<Finding> {
        const SHARE_OF_RUN: f64 = 0.10;
        let weight = site.ns as f64 / self.pe_time() as f64;
        (site.kind == Kind::Lock && weight >= SHARE_OF_RUN).then(|| Finding {
            what: format!("PEs spend {} of the run in {}", percent(weight), place(site)),
            evidence: format!(
                "{} calls by {} PEs, {} each, the longest {}",
                site.calls(),
                site.pes.len(),
                time(site.ns / site.calls.max(1)),
                time(site.longest)
            ),
            remedy: "hold the lock for less time, use one lock for each part of the data, or an atomic operation \
                instead of a lock"
                .to_owned(),
            weight,
            pe: None,
        })
    }

    /// How long a PE was ready to run, and others had the cores.
    fn without_core_of(&self, pe: usize) -> u64 {
        self.pes.iter().find(|times| times.pe == pe).map_or(0, |times| times.without_core)
    }

    /// How long all PEs were.
    fn all_without_core(&self) -> u64 {
        self.pes.iter().map(|pe| pe.without_core).sum()
    }

    /// PEs are ready to run, and others have the cores.
    fn without_core(&self) -> Option<Finding> {
        const SHARE_OF_RUN: f64 = 0.05;
        let all = self.all_without_core();
        let weight = all as f64 / self.pe_time() as f64;
        let most = self.pes.iter().max_by_key(|pe| pe.without_core)?;
        (weight >= SHARE_OF_RUN).then(|| Finding {
            what: format!("{} of the run, PEs wait for a core", percent(weight)),
            evidence: format!(
                "PE {} most, {} in all: the kernel ran other processes or threads on the cores of its node",
                most.pe,
                time(most.without_core)
            ),
            remedy:
                "start no more PEs and threads than a node has cores (oshmem_info says how many), and leave those to \
                the job"
                    .to_owned(),
            weight,
            pe: None,
        })
    }

    /// All PEs synchronise where each has only few to tell something.
    fn needless_barrier(&self) -> Option<Finding> {
        const SHARE_OF_RUN: f64 = 0.10;
        const CALLS: u64 = 20;
        const PARTNERS: usize = 2;
        if self.pes.len() < 4 {
            return None;
        }
        let site = self
            .sites
            .iter()
            .filter(|s| s.kind == Kind::Barrier && s.pes.len() == self.pes.len())
            .max_by_key(|s| s.ns)?;
        // A PE that waits in a barrier gives its core to another one: a signal would not give it more cores.
        let weight = site.ns.saturating_sub(self.all_without_core()) as f64 / self.pe_time() as f64;
        let rounds = site.calls / site.pes.len() as u64;
        let others = self
            .sites
            .iter()
            .filter(|s| matches!(s.kind, Kind::Exchange | Kind::Broadcast | Kind::Scan | Kind::Get | Kind::Wait))
            .map(|s| s.calls)
            .sum::<u64>();
        let mut partners: BTreeMap<usize, usize> = BTreeMap::new();
        let mut puts = 0;
        for ((from, to), words) in &self.traffic {
            if from != to && words[peer::PUTS] > 0 {
                *partners.entry(*from).or_default() += 1;
                puts += words[peer::PUTS];
            }
        }
        let most = partners.values().max().copied().unwrap_or(0);
        let is_neighbours = most > 0 && most <= PARTNERS && partners.len() + 1 >= self.pes.len();
        if weight < SHARE_OF_RUN
            || rounds < CALLS
            || others * 10 > site.calls
            || !is_neighbours
            || puts * 2 < site.calls
        {
            return None;
        }
        Some(Finding {
            what: format!(
                "{} synchronises all {} PEs where each puts to at most {most} of them: a signal would do",
                place(site),
                self.pes.len()
            ),
            evidence: format!(
                "{} of the run in {} calls on each PE; {} puts, none to more than {most} PEs",
                percent(weight),
                count(rounds),
                count(puts)
            ),
            remedy:
                "put by shmem_put_signal, and let the receiver wait by shmem_signal_wait_until instead of the barrier"
                    .to_owned(),
            weight,
            pe: None,
        })
    }
}
