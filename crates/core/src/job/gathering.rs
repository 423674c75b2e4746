//! PEs that a launcher other than `oshrun` has started find each other: what each says of
//! itself, who shares a node, and how the node's first PE hands its memory to the others.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferroshmem_bootstrap::fdpass::{self, Server};
use ferroshmem_bootstrap::node::Identity;
use ferroshmem_bootstrap::secret::Secret;
use ferroshmem_bootstrap::{Bootstrap, Error};

use super::Placement;
use super::control::Control;
use super::error::JoinError;
use super::plan::Plan;
use super::region::VERSION;
use crate::choice::Tuning;
use crate::config::HeapSettings;
use crate::platform::{Cores, Machine};

/// How long the first PE of a node waits for the others, and they for it.
const DEADLINE: Duration = Duration::from_secs(60);

/// What a PE says of itself.
#[derive(Debug)]
struct Introduction {
    /// Of the memory's layout: [`VERSION`].
    version: u32,
    /// Cores that it may use.
    cores: Cores,
    /// Bytes of memory of its node.
    memory: u64,
    /// Bytes of address space that it may use, 0 for no limit.
    address_space: u64,
    identity: Identity,
}

impl Introduction {
    const FIXED: usize = 4 + Cores::BYTES + 8 + 8;

    fn of_this_process() -> Result<Self, Error> {
        let machine = Machine::here();
        Ok(Self {
            version: VERSION,
            cores: Cores::of_this_process(),
            memory: machine.memory,
            address_space: machine.address_space.unwrap_or(0),
            identity: Identity::here()?,
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::FIXED + 128);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.cores.to_bytes());
        bytes.extend(self.memory.to_le_bytes());
        bytes.extend(self.address_space.to_le_bytes());
        bytes.extend(self.identity.to_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first_chunk()?;
        let (cores, rest) = rest.split_first_chunk()?;
        let (memory, rest) = rest.split_first_chunk()?;
        let (address_space, rest) = rest.split_first_chunk()?;
        Some(Self {
            version: u32::from_le_bytes(*version),
            cores: Cores::from_bytes(cores),
            memory: u64::from_le_bytes(*memory),
            address_space: u64::from_le_bytes(*address_space),
            identity: Identity::from_bytes(rest).ok()?,
        })
    }
}

/// The PEs of a job, met through a launcher's server.
#[derive(Debug)]
pub(super) struct Gathering {
    bootstrap: Box<dyn Bootstrap>,
    secret: Secret,
    all: Vec<Introduction>,
    parted: AtomicBool,
}

impl Gathering {
    /// Introduces this PE and hears of the others. Collective.
    pub(super) fn meet(bootstrap: Box<dyn Bootstrap>) -> Result<Self, JoinError> {
        let secret = Secret::agree(&*bootstrap)?;
        let mine = Introduction::of_this_process()?;
        let blobs = bootstrap.exchange(&mine.to_bytes())?;
        let mut all = Vec::with_capacity(blobs.len());
        for (pe, blob) in blobs.iter().enumerate() {
            let said = Introduction::from_bytes(blob).filter(|i| i.version == VERSION);
            let Some(said) = said else {
                return Err(JoinError::OtherVersion(pe));
            };
            all.push(said);
        }
        Ok(Self {
            bootstrap,
            secret,
            all,
            parted: AtomicBool::new(false),
        })
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

    /// The same sizes for all nodes, since heaps have the same addresses everywhere: what the
    /// smallest can hold.
    fn plan(&self, widest: usize) -> Result<Plan, JoinError> {
        let limits = self.all.iter().map(|i| i.address_space);
        let machine = Machine {
            memory: self.all.iter().map(|i| i.memory).min().unwrap_or(0),
            address_space: limits.filter(|limit| *limit > 0).min(),
            ..Machine::here()
        };
        let heap = HeapSettings::read()?;
        Ok(Plan::new(widest, &machine, heap)?)
    }

    /// The memory of this node's PEs: made by the first of them, handed to the others.
    pub(super) fn share_memory(
        &self,
        placement: &Placement,
        me: usize,
    ) -> Result<(File, Control), JoinError> {
        let here = placement.local_pes();
        if here[0] as usize == me {
            let widest = placement.largest_node();
            let mut cores = Cores::default();
            for pe in here {
                cores.add(&self.all[*pe as usize].cores);
            }
            let made = self.plan(widest).and_then(|plan| {
                let tuning = Tuning::default_for(cores.count());
                Control::create(&plan, here.len(), widest, cores.count(), tuning, 0)
                    .map_err(JoinError::Create)
            });
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
    pub(super) fn part(&self) {
        if !self.parted.swap(true, Ordering::AcqRel) {
            self.bootstrap.finalize();
        }
    }
}

/// The bits that any PE sets. Collective.
pub(super) fn any(bootstrap: &dyn Bootstrap, bits: u32) -> Result<u32, JoinError> {
    let all = bootstrap.exchange(&bits.to_le_bytes())?;
    let of = |blob: &Vec<u8>| {
        blob.first_chunk()
            .map_or(u32::MAX, |b| u32::from_le_bytes(*b))
    };
    Ok(all.iter().map(of).fold(0, |any, bits| any | bits))
}
