//! PEs that a launcher other than `oshrun` has started find each other: what each says of
//! itself, who shares a node, and how the node's first PE hands its memory to the others.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferroshmem_bootstrap::Bootstrap;
use ferroshmem_bootstrap::fdpass::{self, Server};
use ferroshmem_bootstrap::node::Identity;
use ferroshmem_bootstrap::secret::Secret;
use ferroshmem_config::{GivenSettings, HeapSettings};
use ferroshmem_platform::{Cores, Machine, NodeCores};
use ferroshmem_tuning::Tuning;

use super::Placement;
use super::business_card::BusinessCard;
use super::control::Control;
use super::declaration::Disagreement;
use super::error::JoinError;
use super::plan::{Plan, PlanError};

/// How long the first PE of a node waits for the others, and they for it.
const DEADLINE: Duration = Duration::from_secs(60);

/// How long the other PEs leave it to one of them to report what all have found.
const REPORT: Duration = Duration::from_secs(5);

/// The PEs of a job, by a launcher's server.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    bootstrap: Arc<dyn Bootstrap>,
    secret: Secret,
    all: Vec<BusinessCard>,
    finalized: AtomicBool,
}

impl ProcessGroup {
    /// Exchanges the business cards of all PEs. Collective.
    pub(super) fn join(bootstrap: Arc<dyn Bootstrap>) -> Result<Self, JoinError> {
        let secret = Secret::agree(&*bootstrap)?;
        let mine = BusinessCard::of_this_process()?;
        let blobs = bootstrap.exchange(&mine.to_bytes())?;
        let cards: Vec<_> = blobs.iter().map(|b| BusinessCard::from_bytes(b)).collect();
        if let Some(pe) = cards.iter().position(Option::is_none) {
            // The PEs that differ from PE 0 report it, by their first.
            let known = cards.iter().position(Option::is_some);
            let reports = pe == 0 && known == Some(bootstrap.rank());
            return Err(refused(JoinError::OtherVersion(pe), reports));
        }
        let all = cards.into_iter().flatten().collect();
        Ok(Self { bootstrap, secret, all, finalized: AtomicBool::new(false) })
    }

    /// The launcher's side.
    pub(super) fn bootstrap(&self) -> &dyn Bootstrap {
        &*self.bootstrap
    }

    /// Which PEs are on which node, as PE `me` sees it.
    pub(super) fn placement(&self, me: usize) -> Placement {
        let identities: Vec<&Identity> = self.all.iter().map(|i| &i.identity).collect();
        Placement::new(&identities, me)
    }

    /// The name of PE `pe`'s host.
    pub(super) fn host_of(&self, pe: usize) -> Option<&str> {
        self.all.get(pe).map(|i| i.identity.host())
    }

    /// What holds for the whole job: what PE 0 is given.
    ///
    /// # Errors
    /// The first PE that cannot take part in a job with PE 0, and why.
    pub(super) fn agree(&self) -> Result<GivenSettings, (usize, Disagreement)> {
        let first = &self.all[0];
        let spans_nodes = self.all.iter().any(|i| i.identity != first.identity);
        let host = |pe: usize| match self.host_of(pe) {
            Some(host) if spans_nodes => format!(" (host {})", host.escape_debug()),
            _ => String::new(),
        };
        for (pe, card) in self.all.iter().enumerate() {
            let hosts = (host(pe), host(0));
            card.declaration.agree(&first.declaration, (&hosts.0, &hosts.1)).map_err(|why| (pe, why))?;
        }
        Ok(first.declaration.given.clone())
    }

    /// The same sizes for all nodes, since heaps have the same addresses everywhere: what PE 0 is
    /// given, if the smallest node can hold it. All PEs come to the same result; on failure, the one
    /// that has least reports.
    fn plan(&self, widest: usize, me: usize) -> Result<Plan, JoinError> {
        let of_least = |of: fn(&BusinessCard) -> u64| {
            let limited = self.all.iter().enumerate().filter(|(_, i)| of(i) > 0);
            limited.min_by_key(|(_, i)| of(i)).map(|(pe, _)| pe)
        };
        let least_memory = of_least(|i| i.memory).unwrap_or(0);
        let least_space = of_least(|i| i.address_space);
        let machine = Machine {
            memory: self.all[least_memory].memory,
            address_space: least_space.map(|pe| self.all[pe].address_space),
            ..Machine::here()
        };
        let heap = HeapSettings::of_job(&self.all[0].declaration.given);
        let heap = heap.map_err(|e| refused(e.into(), me == 0))?;
        Plan::new(widest, &machine, heap).map_err(|error| {
            let pe = match error {
                PlanError::LargerThanMemory { .. } => least_memory,
                PlanError::AddressSpaceLimit { .. } => least_space.unwrap_or(0),
                PlanError::NoRoom { .. } | PlanError::BadCount(_) => 0,
            };
            let host = self.host_of(pe).unwrap_or_default().escape_debug();
            let host = host.to_string();
            refused(JoinError::NoPlan { pe, host, error }, pe == me)
        })
    }

    /// The memory of this node's PEs: made by the first of them, handed to the others.
    pub(super) fn share_memory(&self, placement: &Placement, me: usize) -> Result<(File, Control), JoinError> {
        let here = placement.local_pes();
        let widest = placement.largest_node();
        let plan = self.plan(widest, me)?;
        if here[0] as usize == me {
            let mut cores = Cores::default();
            for pe in here {
                cores.add(&self.all[*pe as usize].cores);
            }
            let cores = NodeCores::new(&cores);
            let tuning = Tuning::default_for(cores.count);
            let made = Control::create(&plan, here.len(), widest, cores, tuning, 0).map_err(JoinError::Create);
            let server = made.as_ref().ok().map(|_| Server::open()).transpose()?;
            let name = server.as_ref().map_or(&[][..], |s| s.name());
            self.exchange(name)?;
            let (file, control) = made?;
            if let Some(server) = server {
                let others: Vec<usize> = here[1..].iter().map(|pe| *pe as usize).collect();
                server.serve(&self.secret, &others, &[file.as_fd()], DEADLINE)?;
            }
            return Ok((file, control));
        }
        let names = self.exchange(&[])?;
        let name = &names[here[0] as usize];
        if name.is_empty() {
            return Err(JoinError::NoMemory(here[0]));
        }
        let mut files = fdpass::fetch(name, &self.secret, me, 1, DEADLINE)?;
        let file = File::from(files.remove(0));
        let control = Control::open(&file).map_err(JoinError::Memory)?;
        Ok((file, control))
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, JoinError> {
        Ok(self.bootstrap.exchange(mine)?)
    }

    /// Notifies the launcher that this PE's exit is regular from now on.
    pub(super) fn finalize(&self) {
        if !self.finalized.swap(true, Ordering::AcqRel) {
            self.bootstrap.finalize();
        }
    }
}

/// The error that all PEs have found, once the one that `reports` it could: the launcher ends the
/// others then.
fn refused(error: JoinError, reports: bool) -> JoinError {
    if !reports {
        std::thread::sleep(REPORT);
    }
    error
}

/// The bits that any PE sets. Collective.
pub(super) fn any(bootstrap: &dyn Bootstrap, bits: u32) -> Result<u32, JoinError> {
    let all = bootstrap.exchange(&bits.to_le_bytes())?;
    let of = |blob: &Vec<u8>| blob.first_chunk().map_or(u32::MAX, |b| u32::from_le_bytes(*b));
    Ok(all.iter().map(of).fold(0, |any, bits| any | bits))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Barrier, Mutex};

    use ferroshmem_bootstrap::Error;

    use super::*;
    use ferroshmem_config::Values;

    /// A launcher's server for threads as PEs.
    #[derive(Debug)]
    struct Server {
        barrier: Barrier,
        given: Mutex<Vec<Vec<u8>>>,
        exchanges: AtomicUsize,
        /// What PE 1 sends in place of its business card.
        forged: Option<Vec<u8>>,
    }

    #[derive(Debug)]
    struct Client {
        server: Arc<Server>,
        rank: usize,
    }

    impl Bootstrap for Client {
        fn launcher(&self) -> &str {
            "a test"
        }

        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.server.given.lock().unwrap().len()
        }

        fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
            assert!(mine.len() <= BusinessCard::MOST_BYTES);
            let forged = self.server.forged.as_ref();
            let forged = forged.filter(|_| self.rank == 1 && mine.len() > 100);
            self.server.given.lock().unwrap()[self.rank] = forged.map_or(mine, |f| f).to_vec();
            self.barrier()?;
            let all = self.server.given.lock().unwrap().clone();
            self.barrier()?;
            self.server.exchanges.fetch_add(1, Ordering::Relaxed);
            Ok(all)
        }

        fn barrier(&self) -> Result<(), Error> {
            self.server.barrier.wait();
            Ok(())
        }

        fn abort(&self, _: i32, _: &str) {}

        fn finalize(&self) {}
    }

    /// Has PEs meet, of which PE 1 says something `forged`.
    fn join_all(pes: usize, forged: Option<Vec<u8>>) -> (Vec<Result<ProcessGroup, JoinError>>, usize) {
        let server = Arc::new(Server {
            barrier: Barrier::new(pes),
            given: Mutex::new(vec![Vec::new(); pes]),
            exchanges: AtomicUsize::new(0),
            forged,
        });
        let pe = |rank| {
            let server = server.clone();
            std::thread::spawn(move || ProcessGroup::join(Arc::new(Client { server, rank })))
        };
        let threads: Vec<_> = (0..pes).map(pe).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        let joined = joined.collect();
        (joined, server.exchanges.load(Ordering::Relaxed) / pes)
    }

    fn with(value: &str) -> BusinessCard {
        let mut card = BusinessCard::of_this_process().unwrap();
        card.declaration.given = GivenSettings::of_pe(&[("SHMEM_CHECK", value)]);
        card
    }

    #[test]
    fn pes_agree_without_further_exchanges() {
        let (joined, exchanges) = join_all(3, None);
        // The secret and the cards.
        assert_eq!(exchanges, 2);
        for group in joined {
            let given = group.unwrap().agree().unwrap();
            assert_eq!(given.value("SHMEM_CHECK"), None);
        }
    }

    #[test]
    fn all_pes_learn_which_one_differs() {
        let (joined, _) = join_all(3, Some(with("1").to_bytes()));
        for group in joined {
            let (pe, why) = group.unwrap().agree().unwrap_err();
            assert_eq!(pe, 1);
            assert!(why.to_string().starts_with("SHMEM_CHECK is \"1\" on"), "{why}");
        }
        let (joined, _) = join_all(2, Some(with("0").to_bytes()));
        assert!(joined.iter().all(|joined| joined.as_ref().unwrap().agree().is_ok()));
    }

    #[test]
    fn other_versions_are_refused() {
        let (joined, _) = join_all(2, Some(vec![7; 200]));
        for group in joined {
            let error = group.unwrap_err();
            assert!(matches!(error, JoinError::OtherVersion(1)), "{error}");
        }
    }

    #[test]
    fn the_smallest_node_limits_the_heap_that_pe_0_asks_for() {
        let mut card = with("0");
        card.memory = 1 << 20;
        let (joined, _) = join_all(2, Some(card.to_bytes()));
        let mut joined = joined.into_iter().map(Result::unwrap);
        let (mut first, second) = (joined.next().unwrap(), joined.next().unwrap());
        assert!(second.plan(1, 1).is_ok());
        first.all[0].declaration.given = GivenSettings::of_pe(&[("SHMEM_SYMMETRIC_SIZE", "2m")]);
        let error = first.plan(1, 1).unwrap_err();
        assert!(matches!(error, JoinError::NoPlan { pe: 1, .. }), "{error}");
        first.all[1].memory = 1 << 30;
        assert_eq!(first.plan(1, 1).unwrap().heap_size, 2 << 20);
    }
}
