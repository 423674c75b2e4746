//! How this process learns which PE of which job it is.

use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, RawFd};
use std::sync::OnceLock;

use ferroshmem_bootstrap::{Bootstrap, Config};
use rustix::io::FdFlags;

use super::Placement;
use super::control::Control;
use super::declaration::{Declaration, Disagreement};
use super::error::JoinError;
use super::gathering::{self, Gathering};
use super::plan::Plan;
use crate::choice::Tuning;
use crate::config::{self, GivenSettings, HeapSettings, JOB};
use crate::platform::Machine;

/// This process's place in its job.
#[derive(Debug)]
pub struct Attachment {
    /// The memory of the job's PEs on this node.
    pub file: File,
    /// Its control part, mapped.
    pub control: Control,
    /// This PE's number in the job.
    pub pe: usize,
    /// This PE's number among those of its node.
    pub index: usize,
    /// Which PEs are on which node.
    pub placement: Placement,
    /// Whether `oshrun` started the job (and watches it).
    pub launched: bool,
    /// Another launcher's side, and what all PEs have said of themselves.
    gathering: Option<Gathering>,
    /// What this PE declares of itself.
    declaration: Declaration,
}

static ATTACHMENT: OnceLock<Result<Attachment, JoinError>> = OnceLock::new();

/// Joins this process's job, once.
pub fn join() -> Result<&'static Attachment, &'static JoinError> {
    match ATTACHMENT.get_or_init(Attachment::new) {
        Ok(job) => Ok(job),
        Err(error) => Err(error),
    }
}

/// This process's place in its job, if it has joined one.
pub fn joined() -> Option<&'static Attachment> {
    ATTACHMENT.get()?.as_ref().ok()
}

impl Attachment {
    /// Tries `oshrun`, then the launchers whose servers can be talked to, then a job of one PE.
    pub fn new() -> Result<Self, JoinError> {
        if let Some(value) = config::handover() {
            return Self::launched(&value);
        }
        match ferroshmem_bootstrap::detect(&Config::default())? {
            Some(bootstrap) if bootstrap.size() > 1 => Self::gathered(bootstrap),
            started => Self::alone(started),
        }
    }

    fn launched(value: &str) -> Result<Self, JoinError> {
        let variable = JOB.name;
        let bad = || JoinError::NotFromLauncher {
            variable,
            value: value.to_owned(),
        };
        let (fd, pe) = value.split_once(':').ok_or_else(bad)?;
        let fd: RawFd = fd.parse().map_err(|_| bad())?;
        let pe: usize = pe.parse().map_err(|_| bad())?;
        if fd < 0 {
            return Err(bad());
        }
        // SAFETY: borrowed for this one call, which fails if no such descriptor is open.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        if rustix::io::fcntl_setfd(borrowed, FdFlags::CLOEXEC).is_err() {
            return Err(JoinError::ClosedDescriptor {
                variable,
                descriptor: fd,
            });
        }
        // SAFETY: oshrun opened the descriptor for this library; removing the variable
        // below keeps a second attachment from taking it.
        let file = unsafe { File::from_raw_fd(fd) };
        let control = Control::open(&file).map_err(JoinError::Memory)?;
        if pe >= control.n_pes() {
            return Err(bad());
        }
        // A program that this PE starts is not this PE.
        // SAFETY: shmem_init is called before other threads use the environment.
        unsafe { config::forget_handover() };
        let declaration = Declaration::of_this_process();
        control.pe_block(pe).declaration.store(&declaration);
        Ok(Self {
            file,
            control,
            pe,
            index: pe,
            placement: Placement::one_node(control.n_pes()),
            launched: true,
            gathering: None,
            declaration,
        })
    }

    /// A job of several PEs by another launcher: they find each other through its server.
    fn gathered(bootstrap: Box<dyn Bootstrap>) -> Result<Self, JoinError> {
        let (pe, gathering) = (bootstrap.rank(), Gathering::meet(bootstrap)?);
        let placement = gathering.placement(pe);
        let index = placement.local_index(pe).unwrap_or(0);
        let (file, control) = gathering.share_memory(&placement, pe)?;
        Ok(Self {
            file,
            control,
            pe,
            index,
            placement,
            launched: false,
            gathering: Some(gathering),
            declaration: Declaration::of_this_process(),
        })
    }

    fn alone(started: Option<Box<dyn Bootstrap>>) -> Result<Self, JoinError> {
        let machine = Machine::here();
        let heap = HeapSettings::read()?;
        let plan = Plan::new(1, &machine, heap)?;
        let tuning = Tuning::default_for(machine.cores);
        let (file, control) =
            Control::create(&plan, 1, 1, machine.cores, tuning, 0).map_err(JoinError::Create)?;
        let gathering = started.map(Gathering::meet).transpose()?;
        Ok(Self {
            file,
            control,
            pe: 0,
            index: 0,
            placement: Placement::one_node(1),
            launched: false,
            gathering,
            declaration: Declaration::of_this_process(),
        })
    }

    /// What holds for the whole job: what PE 0 is given. The node's PEs have synchronised since
    /// they joined.
    ///
    /// # Errors
    /// A PE that cannot take part in a job with PE 0, and why: this one, or under a launcher other
    /// than `oshrun` the first that cannot, on all PEs.
    pub fn agree(&self) -> Result<GivenSettings, (usize, Disagreement)> {
        if let Some(gathering) = &self.gathering {
            return gathering.agree();
        }
        if !self.launched {
            return Ok(self.declaration.given.clone());
        }
        let first = self.control.pe_block(0).declaration.load();
        let first = first.ok_or((self.pe, Disagreement::Unknown))?;
        let agreed = self.declaration.agree(&first, ("", ""));
        agreed.map_err(|why| (self.pe, why))?;
        Ok(first.given)
    }

    /// Number of PEs of the job.
    pub fn n_pes(&self) -> usize {
        self.placement.n_pes()
    }

    /// The launcher's side of a job that was not started by `oshrun`.
    pub fn bootstrap(&self) -> Option<&dyn Bootstrap> {
        self.gathering.as_ref().map(Gathering::bootstrap)
    }

    /// The name of PE `pe`'s host.
    pub fn host_of(&self, pe: usize) -> &str {
        let known = self.gathering.as_ref().and_then(|g| g.host_of(pe));
        known.unwrap_or("this host")
    }

    /// Has the launcher end the job, where it does not notice by itself.
    pub fn abort(&self, status: i32, why: &str) {
        if let Some(gathering) = &self.gathering {
            gathering.bootstrap().abort(status, why);
        }
    }

    /// Notifies the launcher that this PE's exit is regular from now on.
    pub fn part(&self) {
        if let Some(gathering) = &self.gathering {
            gathering.part();
        }
    }

    /// Votes on the candidates that some PE of any node could not place: bits of all.
    pub fn any_failed(&self, bits: u32) -> Result<u32, JoinError> {
        match &self.gathering {
            Some(gathering) if self.placement.spans_nodes() => {
                gathering::any(gathering.bootstrap(), bits)
            }
            _ => Ok(bits),
        }
    }
}
