//! The way to the PEs of other nodes.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ferroshmem_fabric::{Config, Context, Fabric, Remote};

use super::segment;
use super::watch::Watch;
use crate::config::{FabricSettings, Settings};
use crate::job::region::{Mail, WaitKind};
use crate::job::{Attachment, Mailboxes, mailboxes};
use crate::memory::Space;
use crate::runtime::Runtime;
use crate::team;
use crate::wait::record::Recorder;
use crate::wait::{POLICY, WaitReason};

/// The fabric, connected.
pub struct Link {
    fabric: Fabric,
    /// Operations of the library's own: collectives, locks.
    pub stream: Context,
    /// The mailboxes of this node's PEs.
    pub mailboxes: Mailboxes,
    watch: Arc<Watch>,
    /// Digests of the layouts of all PEs' globals, see [`crate::memory::globals`].
    images: Vec<u64>,
    me: usize,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("fabric", &self.fabric.name())
            .field("me", &self.me)
            .finish_non_exhaustive()
    }
}

/// Opened by the first initialisation, and kept for the next ones.
static LINK: OnceLock<Link> = OnceLock::new();

impl Link {
    /// Connects this PE with those of other nodes. Collective. The error is one line for the
    /// user.
    pub fn open(
        job: &'static Attachment,
        space: &'static Space,
        settings: &Settings,
    ) -> Result<&'static Self, String> {
        if let Some(link) = LINK.get() {
            link.watch.begin(link);
            return Ok(link);
        }
        let watch = Arc::new(Watch::new(job, settings.fabric_timeout));
        let config = Config {
            pe: job.pe,
            n_pes: job.n_pes(),
            local_pes: job.control.n_pes(),
            spin: spin(),
            tick: watch.interval(),
            peer_timeout: watch.patience(),
            ..fabric_config(&settings.fabric)
        };
        let fabric = Fabric::open(&config, watch.clone()).map_err(|e| e.to_string())?;
        let mailboxes = Mailboxes::map(&job.file, job.control.offsets(), job.control.n_pes())
            .map_err(|e| format!("cannot map the mailboxes: {e}"))?;
        share(&fabric, job, space, &mailboxes).map_err(|e| e.to_string())?;
        let image = space.globals().map_or(0, |globals| globals.image);
        let mut mine = image.to_le_bytes().to_vec();
        mine.extend(fabric.address());
        let bootstrap = job.bootstrap("shmem_init");
        let all = bootstrap.exchange(&mine).map_err(|e| e.to_string())?;
        let mut images = Vec::with_capacity(all.len());
        for (pe, blob) in all.iter().enumerate() {
            let Some((image, _)) = blob.split_first_chunk() else {
                return Err(format!("PE {pe} runs another version of FerroSHMEM"));
            };
            images.push(u64::from_le_bytes(*image));
        }
        let by_cpu = fabric.atomics_by_cpu();
        let is_far = |pe: usize| !by_cpu || job.placement.index_here(pe).is_none();
        let addresses = all.iter().enumerate().filter(|(pe, _)| is_far(*pe));
        let mut addresses = addresses.map(|(pe, blob)| (pe, &blob[size_of::<u64>()..]));
        fabric
            .connect(job.n_pes(), &mut addresses)
            .map_err(|e| e.to_string())?;
        // Nobody writes before all have connected.
        bootstrap.barrier().map_err(|e| e.to_string())?;
        let link = LINK.get_or_init(|| Self {
            fabric,
            stream: Context::default(),
            mailboxes,
            watch,
            images,
            me: job.pe,
        });
        link.watch.begin(link);
        Ok(link)
    }

    /// The engine.
    #[inline]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Whether PE `pe` runs another executable, so that globals are not symmetric with it.
    pub fn is_stranger(&self, pe: usize) -> bool {
        self.images[pe] != self.images[self.me]
    }

    /// Whether atomics on this node must go through the fabric, too, to be atomic with those
    /// of other nodes.
    pub fn all_atomics(&self) -> bool {
        !self.fabric.atomics_by_cpu()
    }

    /// PEs may write to the mail of team `team` once this has returned.
    pub fn open_mail(&self, team: usize) -> Result<(), String> {
        let ready = mailboxes::mail_offset(team) + size_of::<Mail>();
        self.fabric
            .extend(segment::MAILBOX, ready)
            .map_err(|e| e.to_string())
    }

    /// The next `heap` bytes of the heap are in use.
    pub fn open_heap(&self, ready: usize) -> Result<(), String> {
        self.fabric
            .extend(segment::HEAP, ready)
            .map_err(|e| e.to_string())
    }

    /// A place in the mailbox of PE `pe`, `offset` bytes from its start.
    pub fn mailbox(pe: usize, offset: usize) -> Remote {
        Remote {
            pe,
            segment: segment::MAILBOX,
            offset,
        }
    }

    /// Has all PEs of the job end with `status`.
    pub fn end_all(&self, status: u8) {
        self.watch.end_all(status);
    }

    /// PEs that leave now are not missed: all have come to the end of the job.
    pub fn rest(&self) {
        self.watch.end();
    }
}

/// Makes this PE's memory reachable.
fn share(
    fabric: &Fabric,
    job: &Attachment,
    space: &Space,
    mailboxes: &Mailboxes,
) -> Result<(), ferroshmem_fabric::Error> {
    let mailbox = mailboxes.of(job.index);
    let ready = mailboxes::mail_offset(team::PREDEFINED);
    let heap = std::ptr::with_exposed_provenance_mut(space.heap_base());
    let heap_size = space.heap_size() as usize;
    // SAFETY: all of this stays mapped until the process ends.
    unsafe {
        if heap_size > 0 {
            fabric.share(segment::HEAP, heap, heap_size, 0)?;
        }
        if let Some(globals) = space.globals() {
            let start = std::ptr::with_exposed_provenance_mut(globals.start);
            fabric.share(segment::GLOBALS, start, globals.len, globals.len)?;
        }
        let len = size_of::<crate::job::region::Mailbox>();
        fabric.share(segment::MAILBOX, mailbox, len, ready)
    }
}

/// What the user asks of the fabric.
pub fn fabric_config(settings: &FabricSettings) -> Config {
    Config {
        provider: settings.provider.clone(),
        interface: settings.interface.clone(),
        library: settings.library.clone(),
        ..Config::default()
    }
}

/// How long the fabric's waits poll: not at all where PEs outnumber cores.
fn spin() -> Duration {
    if POLICY.oversubscribed() {
        Duration::ZERO
    } else {
        Config::default().spin
    }
}

impl Runtime {
    /// Shows, as long as the result lives, that this PE waits for PEs of other nodes in routine
    /// `name`: for the line that says what was waited for when one of them is gone.
    #[inline]
    pub fn show_wait(&self, name: &str) -> Recorder {
        Recorder::start(&WaitReason::at(WaitKind::Remote, name, 0))
    }

    /// What joins this node with the others: there are others.
    #[inline]
    pub fn link(&self) -> &'static Link {
        self.link.expect("PEs of other nodes are reached by a link")
    }

    /// Whether all atomics go through the fabric.
    #[inline]
    pub fn all_atomics(&self) -> bool {
        self.link.is_some_and(Link::all_atomics)
    }
}
