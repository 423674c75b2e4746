//! How this process learns which PE of which job it is.

use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, RawFd};
use std::sync::OnceLock;

use ferroshmem_bootstrap::{Bootstrap, Config};
use rustix::io::FdFlags;

use super::Placement;
use super::control::Control;
use super::gathering::{self, Gathering};
use super::plan::Plan;
use crate::choice::Tuning;
use crate::config::{self, HeapSettings, JOB};
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
}

static ATTACHMENT: OnceLock<Result<Attachment, String>> = OnceLock::new();

/// Joins this process's job, once. The error is one line for the user.
pub fn join() -> Result<&'static Attachment, &'static str> {
    match ATTACHMENT.get_or_init(Attachment::new) {
        Ok(job) => Ok(job),
        Err(message) => Err(message),
    }
}

/// This process's place in its job, if it has joined one.
pub fn joined() -> Option<&'static Attachment> {
    ATTACHMENT.get()?.as_ref().ok()
}

impl Attachment {
    /// Tries `oshrun`, then the launchers whose servers can be talked to, then a job of one PE.
    /// The error is one line for the user.
    pub fn new() -> Result<Self, String> {
        if let Some(value) = config::handover() {
            return Self::launched(&value);
        }
        match ferroshmem_bootstrap::detect(&Config::default()).map_err(|e| e.to_string())? {
            Some(bootstrap) if bootstrap.size() > 1 => Self::gathered(bootstrap),
            started => Self::alone(started),
        }
    }

    fn launched(value: &str) -> Result<Self, String> {
        let variable = JOB.name;
        let bad = || format!("{variable}=\"{value}\" was not set by oshrun for this process");
        let (fd, pe) = value.split_once(':').ok_or_else(bad)?;
        let fd: RawFd = fd.parse().map_err(|_| bad())?;
        let pe: usize = pe.parse().map_err(|_| bad())?;
        if fd < 0 {
            return Err(bad());
        }
        // SAFETY: borrowed for this one call, which fails if no such descriptor is open.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        if rustix::io::fcntl_setfd(borrowed, FdFlags::CLOEXEC).is_err() {
            return Err(format!(
                "{variable} is set, but its descriptor {fd} is closed: start the program by oshrun itself, not by a program that closes descriptors"
            ));
        }
        // SAFETY: oshrun opened the descriptor for this library; removing the variable
        // below keeps a second attachment from taking it.
        let file = unsafe { File::from_raw_fd(fd) };
        let control = Control::open(&file).map_err(|e| format!("cannot join the job: {e}"))?;
        if pe >= control.n_pes() {
            return Err(bad());
        }
        // A program that this PE starts is not this PE.
        // SAFETY: shmem_init is called before other threads use the environment.
        unsafe { config::forget_handover() };
        Ok(Self {
            file,
            control,
            pe,
            index: pe,
            placement: Placement::one_node(control.n_pes()),
            launched: true,
            gathering: None,
        })
    }

    /// A job of several PEs by another launcher: they find each other through its server.
    fn gathered(bootstrap: Box<dyn Bootstrap>) -> Result<Self, String> {
        let (pe, gathering) = (bootstrap.rank(), Gathering::meet(bootstrap)?);
        let placement = gathering.placement(pe);
        let index = placement.index_here(pe).unwrap_or(0);
        let (file, control) = gathering.share_memory(&placement, pe)?;
        Ok(Self {
            file,
            control,
            pe,
            index,
            placement,
            launched: false,
            gathering: Some(gathering),
        })
    }

    fn alone(started: Option<Box<dyn Bootstrap>>) -> Result<Self, String> {
        let machine = Machine::here();
        let heap = HeapSettings::read().map_err(|e| e.to_string())?;
        let plan = Plan::new(1, &machine, heap).map_err(|e| e.to_string())?;
        let tuning = Tuning::default_for(machine.cores);
        let (file, control) = Control::create(&plan, 1, 1, machine.cores, tuning, 0)
            .map_err(|e| format!("cannot create the job's memory: {e}"))?;
        let gathering = started.map(Gathering::meet).transpose()?;
        Ok(Self {
            file,
            control,
            pe: 0,
            index: 0,
            placement: Placement::one_node(1),
            launched: false,
            gathering,
        })
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

    /// Has the launcher end the job, if it is one that must be told.
    pub fn abort(&self, status: i32, why: &str) {
        if let Some(gathering) = &self.gathering {
            gathering.bootstrap().abort(status, why);
        }
    }

    /// Tells the launcher that this PE's exit is regular from now on.
    pub fn part(&self) {
        if let Some(gathering) = &self.gathering {
            gathering.part();
        }
    }

    /// Votes on the candidates that some PE of any node could not place: bits of all.
    pub fn any_failed(&self, bits: u32) -> Result<u32, String> {
        match &self.gathering {
            Some(gathering) if self.placement.spans_nodes() => {
                gathering::any(gathering.bootstrap(), bits)
            }
            _ => Ok(bits),
        }
    }
}
