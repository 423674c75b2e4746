//! The connection with the PEs of other nodes: the fabric, and the memory that they reach through it.

pub(crate) mod discovery;

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use ferroshmem_config::FabricSettings;
use ferroshmem_fabric::{Config, Context, Events, Fabric, Remote};

use crate::constants::PREDEFINED_TEAMS;
use crate::job::{Attachment, Mailboxes, StreamAreas, mailboxes};
use crate::memory::AddressSpace;
use crate::wait::POLICY;
use ferroshmem_layout::{SHADOW, STREAM_AREA, TeamMailbox};

/// The connection with other nodes.
pub struct Internode {
    fabric: Fabric,
    /// Whether its atomics are atomic with those of this node's CPUs.
    atomics_by_cpu: bool,
    /// Operations of the library's own: collectives, locks.
    pub context: Context,
    /// The mailboxes of this node's PEs.
    pub mailboxes: Mailboxes,
    /// Digests of the layouts of all PEs' globals, see [`crate::memory::globals`].
    images: Vec<u64>,
    me: usize,
}

impl fmt::Debug for Internode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Internode").field("fabric", &self.fabric.name()).field("me", &self.me).finish_non_exhaustive()
    }
}

/// What is called when the fabric has news, and how often.
pub struct Monitor {
    /// Called by the fabric's threads.
    pub events: Arc<dyn Events>,
    /// Time from one [`Events::tick`] to the next.
    pub tick: Duration,
    /// How long a PE may leave an operation unanswered before it counts as failed.
    pub peer_timeout: Duration,
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor")
            .field("tick", &self.tick)
            .field("peer_timeout", &self.peer_timeout)
            .finish_non_exhaustive()
    }
}

impl Internode {
    /// Connects this PE with those of other nodes. Collective.
    pub fn open(
        job: &'static Attachment,
        space: &'static AddressSpace,
        monitor: Monitor,
        settings: &FabricSettings,
    ) -> Result<Self, InternodeError> {
        let config = Config {
            pe: job.pe,
            n_pes: job.n_pes(),
            local_pes: job.control.n_pes(),
            spin: spin(),
            tick: monitor.tick,
            peer_timeout: monitor.peer_timeout,
            ..fabric_config(settings)
        };
        let fabric = Fabric::open(&config, monitor.events)?;
        let mailboxes =
            Mailboxes::map(&job.file, job.control.offsets(), job.control.n_pes()).map_err(InternodeError::Mailboxes)?;
        let streams = StreamAreas::of(job).map_err(InternodeError::Mailboxes)?;
        share(&fabric, job, space, &mailboxes, streams)?;
        let image = space.globals().map_or(0, |globals| globals.image);
        let mut mine = image.to_le_bytes().to_vec();
        mine.extend(fabric.address());
        let bootstrap = job.bootstrap().ok_or(InternodeError::NoLauncher)?;
        let all = bootstrap.exchange(&mine)?;
        let mut images = Vec::with_capacity(all.len());
        for (pe, blob) in all.iter().enumerate() {
            let Some((image, _)) = blob.split_first_chunk() else {
                return Err(InternodeError::OtherVersion(pe));
            };
            images.push(u64::from_le_bytes(*image));
        }
        let by_cpu = fabric.atomics_by_cpu();
        let is_reached = |pe: usize| !by_cpu || job.placement.local_index(pe).is_none();
        let addresses = all.iter().enumerate().filter(|(pe, _)| is_reached(*pe));
        let mut addresses = addresses.map(|(pe, blob)| (pe, &blob[size_of::<u64>()..]));
        fabric.connect(job.n_pes(), &mut addresses)?;
        // No PE writes before all have connected.
        bootstrap.barrier()?;
        Ok(Self { fabric, atomics_by_cpu: by_cpu, context: Context::default(), mailboxes, images, me: job.pe })
    }

    /// The fabric.
    #[inline]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Whether PE `pe` runs another executable, so that globals are not symmetric with it.
    pub fn runs_other_program(&self, pe: usize) -> bool {
        self.images[pe] != self.images[self.me]
    }

    /// Whether atomics on this node must go through the fabric, too, to be atomic with those
    /// of other nodes.
    pub fn atomics_by_fabric(&self) -> bool {
        !self.atomics_by_cpu
    }

    /// PEs may write to the mailbox flags of team `team`, and of its shadow, once this has returned.
    pub fn open_mailboxes(&self, team: usize) -> Result<(), ferroshmem_fabric::Error> {
        let ready = mailboxes::team_mailbox_offset(team + SHADOW) + size_of::<TeamMailbox>();
        self.fabric.extend(MAILBOX, ready)
    }

    /// The first `ready` bytes for streams are in use.
    pub fn open_streams(&self, ready: usize) -> Result<(), ferroshmem_fabric::Error> {
        self.fabric.extend(STREAMS, ready)
    }

    /// A place in the memory for streams of PE `pe`, `offset` bytes from its start.
    pub fn streams(pe: usize, offset: usize) -> Remote {
        Remote { pe, segment: STREAMS, offset }
    }

    /// The first `ready` bytes of the heap are in use.
    pub fn open_heap(&self, ready: usize) -> Result<(), ferroshmem_fabric::Error> {
        self.fabric.extend(HEAP, ready)
    }

    /// A place in the mailbox of PE `pe`, `offset` bytes from its start.
    pub fn mailbox(pe: usize, offset: usize) -> Remote {
        Remote { pe, segment: MAILBOX, offset }
    }
}

/// Why this PE cannot be connected with those of other nodes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InternodeError {
    /// Only a launcher that joins nodes starts jobs on several.
    #[error("this job has no launcher that joins nodes")]
    NoLauncher,
    /// The mailboxes of the node's PEs.
    #[error("cannot map the mailboxes: {0}")]
    Mailboxes(#[source] io::Error),
    /// A PE's library is of another version.
    #[error("PE {0} runs another version of FerroSHMEM: install the same build for all PEs")]
    OtherVersion(usize),
    /// A setting of the fabric.
    #[error(transparent)]
    Settings(#[from] ferroshmem_config::ConfigError),
    /// The fabric.
    #[error(transparent)]
    Fabric(#[from] ferroshmem_fabric::Error),
    /// The launcher's server.
    #[error(transparent)]
    Launcher(#[from] ferroshmem_bootstrap::Error),
}

/// The symmetric heap, as a segment that PEs of other nodes reach.
pub const HEAP: usize = 0;
/// The program's global variables.
pub const GLOBALS: usize = 1;
/// What belongs to the library: [`ferroshmem_layout::Mailbox`].
const MAILBOX: usize = 2;
/// What streams have of it, in a job.
pub(crate) const STREAMS: usize = 3;
/// What belongs to a connection with another job, whose PEs have no mailbox: where its members synchronise.
pub(crate) const ANNOUNCEMENTS: usize = 2;
/// What the other job's PEs may import: [`ferroshmem_layout::Exports`].
pub(crate) const EXPORTS: usize = 3;

/// Makes this PE's memory reachable.
fn share(
    fabric: &Fabric,
    job: &Attachment,
    space: &AddressSpace,
    mailboxes: &Mailboxes,
    streams: &StreamAreas,
) -> Result<(), ferroshmem_fabric::Error> {
    let mailbox = mailboxes.of(job.index);
    let ready = mailboxes::team_mailbox_offset(PREDEFINED_TEAMS);
    share_symmetric(fabric, space)?;
    let len = size_of::<ferroshmem_layout::Mailbox>();
    // SAFETY: mailboxes stay mapped until the process ends.
    unsafe { fabric.share(MAILBOX, mailbox, len, ready)? };
    // SAFETY: as above.
    unsafe { fabric.share(STREAMS, streams.of_pe(job.index), STREAM_AREA, 0) }
}

/// Makes this PE's symmetric memory reachable.
pub(crate) fn share_symmetric(fabric: &Fabric, space: &AddressSpace) -> Result<(), ferroshmem_fabric::Error> {
    let heap = std::ptr::with_exposed_provenance_mut(space.heap_base());
    let heap_size = space.heap_size() as usize;
    // SAFETY: heap and globals stay mapped until the process ends.
    unsafe {
        if heap_size > 0 {
            fabric.share(HEAP, heap, heap_size, 0)?;
        }
        if let Some(globals) = space.globals() {
            let start = std::ptr::with_exposed_provenance_mut(globals.start);
            fabric.share(GLOBALS, start, globals.len, globals.len)?;
        }
    }
    Ok(())
}

/// What the user asks of the fabric.
pub fn fabric_config(settings: &FabricSettings) -> Config {
    Config {
        provider: settings.provider.clone(),
        interface: settings.interface.clone(),
        library: settings.library.clone(),
        aggregate: settings.aggregate,
        endpoints: settings.endpoints,
        ..Config::default()
    }
}

/// How long the fabric's waits poll: not at all where PEs outnumber cores.
pub(crate) fn spin() -> Duration {
    if POLICY.oversubscribed() { Duration::ZERO } else { Config::default().spin }
}
