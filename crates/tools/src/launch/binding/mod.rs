//! Binding PEs to cores.
//!
//! By default PEs that fit the cores are bound, each to a share of its own: a core, or several where
//! there are more or the PEs have threads. Where they do not fit, because there are too few cores, other
//! jobs have them, or a control group limits the processor time, the kernel distributes PEs better.

mod claim;
mod place;

use std::collections::BTreeSet;

use ferroshmem_platform::number_list::list;
use ferroshmem_platform::{Machine, NodeCores};
use nix::sched::CpuSet;

use self::claim::Claims;
pub(super) use self::place::Load;
pub(super) use self::place::Request;
use self::place::{Sets, Unbound, numbers, place};
use super::options::Binding;
use crate::topology::{Cpu, Topology};

/// The CPUs that the PEs of a job are bound to.
#[derive(Debug)]
pub(super) struct Bindings {
    sets: Result<Sets, Unbound>,
    /// The CPUs that the PEs may use.
    topology: Topology,
    /// Whether these are not all that this process may use.
    is_part: bool,
    /// CPUs that other jobs have.
    taken: BTreeSet<usize>,
    /// Other jobs see what this one has, until it ends.
    _claims: Claims,
}

impl Bindings {
    /// Those of a job's PEs, on the CPUs `cpus` or all, beside the `load` of earlier jobs.
    ///
    /// # Errors
    /// What is wrong with `cpus`.
    pub(super) fn new(
        request: Request,
        cpus: Option<&BTreeSet<usize>>,
        machine: &Machine,
        load: &Load,
    ) -> Result<Self, String> {
        let topology = match cpus {
            None => Topology::here().clone(),
            Some(cpus) => Topology::here().part(cpus)?,
        };
        let mut claims = Claims::default();
        let mut taken = BTreeSet::new();
        let sets = loop {
            if request.binding == Binding::Auto && machine.quota {
                break Err(Unbound::Quota);
            }
            let sets = match place(&topology, request, &taken, load) {
                Ok(sets) => sets,
                Err(reason) => break Err(reason),
            };
            let wanted: BTreeSet<usize> = sets.iter().flatten().copied().collect();
            let refused = claims.claim(&wanted);
            // Where all are taken, they are shared: the user asked for it.
            if refused.is_subset(&taken) {
                break Ok(sets);
            }
            taken.extend(refused);
        };
        Ok(Self { sets, topology, is_part: cpus.is_some(), taken, _claims: claims })
    }

    /// The cores that the PEs have: those of the `machine` that no other job has, at least one. PEs that outnumber
    /// them share cores with those of other jobs, so they are to wait and to choose algorithms as if they
    /// shared cores among themselves.
    pub(super) fn node_cores(&self, machine: &Machine) -> NodeCores {
        let mut cores = machine.node_cores();
        let is_free = |cpu: &&Cpu| !self.taken.contains(&cpu.number);
        let free = self.topology.0.iter().filter(is_free).count();
        cores.count = cores.count.min(free.max(1));
        cores
    }

    /// The CPUs that the PEs may use, where more of them than there are CPUs share these.
    pub(super) fn shared_cpus(&self, n_pes: usize) -> Vec<usize> {
        let all: BTreeSet<usize> = match &self.sets {
            Ok(sets) => sets.iter().flatten().copied().collect(),
            Err(_) => self.topology.0.iter().map(|cpu| cpu.number).collect(),
        };
        if n_pes <= all.len() {
            return Vec::new();
        }
        all.into_iter().collect()
    }

    /// Counts its PEs for each CPU that they are bound to.
    pub(super) fn add_to(&self, load: &mut Load) {
        for cpu in self.sets.iter().flatten().flatten() {
            *load.entry(*cpu).or_default() += 1;
        }
    }

    /// The affinity mask of PE `pe`, if it may not use all CPUs.
    pub(super) fn affinity(&self, pe: usize) -> Option<CpuSet> {
        let mut mask = CpuSet::new();
        let cpus = match &self.sets {
            Ok(sets) => sets.get(pe)?.clone(),
            Err(_) if self.is_part => numbers(self.topology.0.iter()),
            Err(_) => return None,
        };
        for cpu in cpus {
            mask.set(cpu).ok()?;
        }
        Some(mask)
    }

    /// What PE `pe` is bound to, if it is.
    pub(super) fn of_pe(&self, pe: usize) -> Option<String> {
        let cpus = self.sets.as_ref().ok()?.get(pe)?;
        let mine = self.topology.0.iter().filter(|c| cpus.contains(&c.number));
        let (mut cores, mut sockets, mut nodes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for cpu in mine {
            cores.insert((cpu.socket, cpu.core));
            sockets.insert(cpu.socket);
            nodes.insert(cpu.numa);
        }
        // A socket is known by its first CPU; users count them.
        let all: BTreeSet<_> = self.topology.0.iter().map(|c| c.socket).collect();
        let counted: Vec<_> =
            (0..).zip(&all).filter(|(_, socket)| sockets.contains(*socket)).map(|(number, _)| number).collect();
        let nodes: Vec<_> = nodes.into_iter().collect();
        let plural = if cores.len() == 1 { "core" } else { "cores" };
        Some(format!(
            "CPUs {}: {} {plural} of socket {}, NUMA node {}",
            list(cpus),
            cores.len(),
            list(&counted),
            list(&nodes)
        ))
    }

    /// The report of `--report-bindings` for `n_pes` PEs, by lines.
    pub(super) fn report(&self, n_pes: usize) -> Vec<String> {
        match &self.sets {
            Err(reason) => {
                let cpus = list(&numbers(self.topology.0.iter()));
                vec![format!("PEs are not bound, and may use CPUs {cpus}: {reason}")]
            }
            Ok(_) => (0..n_pes).filter_map(|pe| Some(format!("PE {pe}: {}", self.of_pe(pe)?))).collect(),
        }
    }
}
