//! Which CPUs each PE is bound to.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::super::options::{Binding, Mapping};
use crate::topology::{Cpu, Topology};

/// What is to be placed.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Request {
    /// `--bind-to`.
    pub binding: Binding,
    /// `--map-by`.
    pub mapping: Mapping,
    /// Number of PEs.
    pub n_pes: usize,
    /// Threads of each PE, if the user said so.
    pub threads: Option<usize>,
}

/// Why PEs are not bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum Unbound {
    #[error("--bind-to none")]
    Asked,
    #[error("a single PE may use all of them")]
    OnePe,
    #[error("a control group limits the processor time")]
    Quota,
    #[error("{pes} PEs on {cpus} CPUs")]
    Oversubscribed { pes: usize, cpus: usize },
    #[error("other jobs have {taken} of the {cpus} CPUs")]
    Taken { taken: usize, cpus: usize },
}

/// The CPUs of each PE, ascending.
pub(super) type Sets = Vec<Vec<usize>>;

/// How many PEs are bound to each CPU.
pub(in super::super) type Load = BTreeMap<usize, usize>;

/// The CPUs of each PE, on cores that are not `taken` by other jobs. PEs that are to be bound although these do not
/// suffice get those with the least `load` of the jobs that this `oshrun` has started.
pub(super) fn place(
    topology: &Topology,
    request: Request,
    taken: &BTreeSet<usize>,
    load: &Load,
) -> Result<Sets, Unbound> {
    let Request { n_pes, mapping, .. } = request;
    let all = &topology.0;
    let threads = units(all, |a, b| a.number == b.number);
    let cores = units(all, |a, b| (a.socket, a.core) == (b.socket, b.core));
    let is_free = |unit: &&[Cpu]| !unit.iter().any(|cpu| taken.contains(&cpu.number));
    let free = |units: &[&'_ [Cpu]]| -> Vec<Vec<Cpu>> {
        let free = units.iter().filter(|unit| is_free(unit));
        free.map(|unit| unit.to_vec()).collect()
    };
    match request.binding {
        Binding::None => Err(Unbound::Asked),
        Binding::Auto => {
            if n_pes > all.len() {
                let cpus = all.len();
                return Err(Unbound::Oversubscribed { pes: n_pes, cpus });
            }
            if n_pes == 1 && request.threads.is_none() {
                return Err(Unbound::OnePe);
            }
            let (free_cores, free_threads) = (free(&cores), free(&threads));
            let units = match free_cores.len() >= n_pes {
                true => free_cores,
                false => free_threads,
            };
            if units.len() < n_pes {
                let (taken, cpus) = (all.len() - units.len(), all.len());
                return Err(Unbound::Taken { taken, cpus });
            }
            Ok(shares(&units, n_pes, request.threads, mapping))
        }
        chosen => {
            let units = match chosen {
                Binding::Hwthread => &threads,
                _ => &cores,
            };
            let free = free(units);
            let pes_on = |unit: &Vec<Cpu>| {
                let numbers = unit.iter().map(|cpu| cpu.number);
                let most = numbers.filter_map(|cpu| load.get(&cpu)).max();
                // Those of other launchers are not counted.
                most.copied().unwrap_or(usize::from(!is_free(&unit.as_slice())))
            };
            let candidates = match free.len() >= n_pes {
                true => free,
                false => {
                    let mut all: Vec<Vec<Cpu>> = units.iter().map(|unit| unit.to_vec()).collect();
                    all.sort_by_key(pes_on);
                    all
                }
            };
            let of_pe = |pe: usize| match mapping {
                Mapping::Spread if n_pes < candidates.len() => &candidates[pe * candidates.len() / n_pes],
                _ => &candidates[pe % candidates.len()],
            };
            let widened = |unit: &Vec<Cpu>| {
                let here = unit[0];
                let belongs = |cpu: &&Cpu| match chosen {
                    Binding::L3cache => (cpu.socket, cpu.cache) == (here.socket, here.cache),
                    Binding::Numa => cpu.numa == here.numa,
                    Binding::Socket => cpu.socket == here.socket,
                    _ => unit.contains(cpu),
                };
                numbers(all.iter().filter(belongs))
            };
            Ok((0..n_pes).map(of_pe).map(widened).collect())
        }
    }
}

/// Runs of CPUs that belong together.
fn units(cpus: &[Cpu], same: impl Fn(&Cpu, &Cpu) -> bool) -> Vec<&[Cpu]> {
    cpus.chunk_by(same).collect()
}

/// As many units for each PE as it has threads; else all units, evenly.
fn shares(units: &[Vec<Cpu>], n_pes: usize, threads: Option<usize>, mapping: Mapping) -> Sets {
    let even = units.len() / n_pes;
    let width = threads.map_or(even, |threads| threads.clamp(1, even));
    let stride = match mapping {
        Mapping::Compact => width,
        Mapping::Spread => even,
    };
    let of_pe = |pe: usize| numbers(units[pe * stride..][..width].iter().flatten());
    (0..n_pes).map(of_pe).collect()
}

/// The numbers of `cpus`, ascending.
pub(super) fn numbers<'a>(cpus: impl Iterator<Item = &'a Cpu>) -> Vec<usize> {
    let mut numbers: Vec<_> = cpus.map(|cpu| cpu.number).collect();
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sockets with caches with cores with hardware threads, numbered as the kernel does: the second
    /// hardware threads come after the first of all cores.
    fn machine(sockets: usize, caches: usize, cores: usize, threads: usize) -> Topology {
        let all = sockets * caches * cores;
        let mut cpus: Vec<_> = (0..all * threads)
            .map(|number| {
                let core = number % all;
                let cache = core / cores;
                Cpu {
                    socket: cache / caches * caches * cores,
                    numa: cache / caches,
                    cache: cache * cores,
                    core,
                    number,
                }
            })
            .collect();
        cpus.sort_unstable();
        Topology(cpus)
    }

    fn request(binding: Binding, n_pes: usize) -> Request {
        Request { binding, mapping: Mapping::Compact, n_pes, threads: None }
    }

    fn auto(topology: &Topology, n_pes: usize, taken: &[usize]) -> Result<Sets, Unbound> {
        let taken = taken.iter().copied().collect();
        place(topology, request(Binding::Auto, n_pes), &taken, &Load::new())
    }

    #[test]
    fn by_default_each_pe_has_a_core_or_a_share() {
        let plain = machine(1, 1, 4, 1);
        assert_eq!(auto(&plain, 4, &[]).unwrap(), [[0], [1], [2], [3]]);
        assert_eq!(auto(&plain, 2, &[]).unwrap(), [[0, 1], [2, 3]]);
        assert_eq!(auto(&plain, 3, &[]).unwrap(), [[0], [1], [2]]);
        // A core with both of its hardware threads, or one of them where PEs outnumber cores.
        let smt = machine(2, 1, 2, 2);
        let cores = [[0, 4], [1, 5], [2, 6], [3, 7]];
        assert_eq!(auto(&smt, 4, &[]).unwrap(), cores);
        assert_eq!(auto(&smt, 2, &[]).unwrap(), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        let threads = auto(&smt, 8, &[]).unwrap();
        assert_eq!(threads, [[0], [4], [1], [5], [2], [6], [3], [7]]);
    }

    #[test]
    fn pes_that_do_not_fit_are_not_bound() {
        let plain = machine(1, 1, 4, 1);
        let oversubscribed = Unbound::Oversubscribed { pes: 5, cpus: 4 };
        assert_eq!(auto(&plain, 5, &[]), Err(oversubscribed));
        assert_eq!(auto(&plain, 1, &[]), Err(Unbound::OnePe));
        let none = place(&plain, request(Binding::None, 2), &BTreeSet::new(), &Load::new());
        assert_eq!(none, Err(Unbound::Asked));
    }

    #[test]
    fn cores_of_other_jobs_are_left_to_them() {
        let plain = machine(1, 1, 4, 1);
        assert_eq!(auto(&plain, 2, &[0, 2]).unwrap(), [[1], [3]]);
        let taken = Unbound::Taken { taken: 3, cpus: 4 };
        assert_eq!(auto(&plain, 2, &[0, 1, 2]), Err(taken));
        // Half of a core is not a core.
        let smt = machine(1, 1, 3, 2);
        assert_eq!(auto(&smt, 2, &[0]).unwrap(), [[1, 4], [2, 5]]);
        // Who asks for binding gets it.
        let core = |taken: &[usize]| {
            let taken = taken.iter().copied().collect();
            place(&plain, request(Binding::Core, 2), &taken, &Load::new()).unwrap()
        };
        assert_eq!(core(&[0, 1, 2]), [[3], [0]]);
        assert_eq!(core(&[0, 1, 2, 3]), [[0], [1]]);
        assert_eq!(core(&[0, 1]), [[2], [3]]);
    }

    #[test]
    fn jobs_of_a_launcher_go_round_the_cores() {
        let plain = machine(1, 1, 3, 1);
        let mut load = Load::new();
        let mut cores = Vec::new();
        for n_pes in [2, 1, 2, 2, 1] {
            let taken = load.keys().copied().collect();
            let sets = place(&plain, request(Binding::Core, n_pes), &taken, &load).unwrap();
            for cpu in sets.into_iter().flatten() {
                *load.entry(cpu).or_default() += 1;
                cores.push(cpu);
            }
        }
        assert_eq!(cores, [0, 1, 2, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn pes_with_threads_have_a_core_for_each() {
        let large = machine(2, 2, 4, 2);
        let of = |threads, mapping| Request { threads: Some(threads), mapping, ..request(Binding::Auto, 2) };
        let sets = |request| place(&large, request, &BTreeSet::new(), &Load::new()).unwrap();
        let compact = sets(of(2, Mapping::Compact));
        assert_eq!(compact, [[0, 1, 16, 17], [2, 3, 18, 19]]);
        let spread = sets(of(2, Mapping::Spread));
        assert_eq!(spread, [[0, 1, 16, 17], [8, 9, 24, 25]]);
        // More threads than there is room for: all cores, evenly.
        let many = sets(of(100, Mapping::Compact));
        assert!(many[0].len() == 16 && many[1].contains(&8) && many[1].len() == 16);
    }

    #[test]
    fn explicit_bindings() {
        let large = machine(2, 2, 2, 2);
        let sets = |binding, n_pes, mapping| {
            let request = Request { mapping, ..request(binding, n_pes) };
            place(&large, request, &BTreeSet::new(), &Load::new()).unwrap()
        };
        let (compact, spread) = (Mapping::Compact, Mapping::Spread);
        assert_eq!(sets(Binding::Core, 2, compact), [[0, 8], [1, 9]]);
        assert_eq!(sets(Binding::Core, 2, spread), [[0, 8], [4, 12]]);
        assert_eq!(sets(Binding::Hwthread, 2, compact), [[0], [8]]);
        assert_eq!(sets(Binding::L3cache, 2, spread), [[0, 1, 8, 9], [4, 5, 12, 13]]);
        assert_eq!(sets(Binding::Numa, 1, compact), [[0, 1, 2, 3, 8, 9, 10, 11]]);
        assert_eq!(sets(Binding::Socket, 2, spread)[1], [4, 5, 6, 7, 12, 13, 14, 15]);
        // In turn where PEs outnumber cores.
        let turns = sets(Binding::Core, 9, compact);
        assert_eq!((&turns[8], turns.len()), (&turns[0], 9));
    }
}
