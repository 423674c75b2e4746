//! How this process learns which PE of which job it is.

use std::fmt;
use std::fs::{self, File};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ferroshmem_bootstrap::{Bootstrap, Config};
use ferroshmem_config::{self as config, GivenSettings, HeapSettings, JOB};
use ferroshmem_layout::PeBlock;
use ferroshmem_platform::mapping::JOB_MEMORY;
use ferroshmem_platform::object::Object;
use ferroshmem_platform::{Machine, output};
use ferroshmem_tuning::Tuning;
use rustix::io::FdFlags;

use super::Placement;
use super::adoption::{self, AdoptionError};
use super::control::Control;
use super::declaration::{Declaration, Disagreement};
use super::error::JoinError;
use super::plan::Plan;
use super::process_group::{self, ProcessGroup};
use super::service::StartedJob;

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
    /// By which `oshrun` can be asked for more jobs, once it is there.
    service: OnceLock<OwnedFd>,
    /// The job whose PEs have asked for this one, and the connection with it, until they are mapped.
    pub parents: Mutex<Option<StartedJob>>,
    /// Of a process that takes the number of a PE that has failed: the blocks of the symmetric heap, until it has them.
    blocks: Mutex<Option<File>>,
    /// Another launcher's side, and what all PEs have said of themselves.
    process_group: Option<ProcessGroup>,
    /// What this PE declares of itself.
    declaration: Declaration,
}

/// Why no `oshrun` can be asked for jobs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoService {
    /// The job has PEs on several nodes.
    #[error("its PEs are on several nodes, where this works in C alone: start the job by oshrun on one node")]
    SeveralNodes,
    /// Another launcher watches the job.
    #[error("another launcher has started this job, where this works in C alone: start it by oshrun")]
    AnotherLauncher,
    /// No launcher has started this program, and `oshrun` cannot be started.
    #[error(transparent)]
    NotStarted(#[from] AdoptionError),
}

/// A PE, as messages name it: with the number of its job, if that is not the one that a user has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeName {
    job_number: u32,
    pe: usize,
}

impl fmt::Display for PeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.job_number {
            0 => write!(f, "PE {}", self.pe),
            number => write!(f, "job {number}, PE {}", self.pe),
        }
    }
}

/// The launcher's side, from the first connection on: a PE that cannot join its job has it end the others.
static LAUNCHER: OnceLock<Option<Arc<dyn Bootstrap>>> = OnceLock::new();

/// Whether another PE has said already why this one cannot join its job.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// Whether this process, which has not joined its job, says why it ends.
pub fn reports_unjoined() -> bool {
    !IS_SILENT.load(Ordering::Relaxed)
}

/// Whether this process has a descriptor of this number.
fn is_open(fd: RawFd) -> bool {
    // SAFETY: borrowed for this one call, which fails if no such descriptor is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    rustix::io::fcntl_getfd(borrowed).is_ok()
}

/// Whether the memory of a job is open in this process, which has joined none by this copy of the library. PEs leave
/// none to the programs that they start.
fn has_other_runtime() -> bool {
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let files = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let memory = JOB_MEMORY.as_bytes();
    files.into_iter().any(|file| file.as_os_str().as_bytes().starts_with(memory))
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

/// Whether this process has joined a job, or tried to.
pub fn has_tried_to_join() -> bool {
    ATTACHMENT.get().is_some() || LAUNCHER.get().is_some()
}

/// The launcher of a process that has not joined its job, or cannot: the other PEs would wait for this one
/// until their patience ends. Connects to it if this process has not tried to join.
pub fn launcher_of_unjoined() -> Option<&'static dyn Bootstrap> {
    /// The process is about to end.
    const DEADLINE: Duration = Duration::from_secs(5);

    if config::handover().is_some() {
        // oshrun watches its PEs.
        return None;
    }
    let launcher = LAUNCHER.get_or_init(|| {
        let config = Config { deadline: DEADLINE, ..Config::default() };
        // Where this fails, there is no launcher that could end the job.
        let found = ferroshmem_bootstrap::detect(&config).ok().flatten();
        found.map(Arc::from)
    });
    launcher.as_deref()
}

/// Has `launcher` end the job once what this process has printed is on its way.
pub fn abort(launcher: &dyn Bootstrap, status: i32, why: &str) {
    output::wait_until_forwarded();
    launcher.abort(status, why);
}

impl Attachment {
    /// Tries `oshrun`, then the launchers whose servers can be talked to, then a job of one PE.
    pub fn new() -> Result<Self, JoinError> {
        if let Some(value) = config::handover() {
            return Self::launched(&value);
        }
        Self::without_oshrun()
    }

    #[cold]
    #[inline(never)] // a PE of oshrun touches no stack for it
    fn without_oshrun() -> Result<Self, JoinError> {
        if has_other_runtime() {
            let here = Object::around(has_other_runtime as *const () as usize);
            let here = here.map(|object| object.path).filter(|p| !p.is_empty());
            let here = here.unwrap_or_else(|| "the program's own".to_owned());
            return Err(JoinError::SecondRuntime(here));
        }
        let found = ferroshmem_bootstrap::detect(&Config::default()).inspect_err(|_| drop(LAUNCHER.set(None)))?;
        let found: Option<Arc<dyn Bootstrap>> = found.map(Arc::from);
        let _ = LAUNCHER.set(found.clone());
        match found {
            Some(bootstrap) if bootstrap.size() > 1 => Self::gathered(bootstrap),
            started => Self::alone(started),
        }
    }

    fn launched(value: &str) -> Result<Self, JoinError> {
        let bad = || JoinError::NotFromLauncher { variable: JOB.name, value: value.to_owned() };
        let (descriptors, pe) = value.split_once(':').ok_or_else(bad)?;
        let pe: usize = pe.parse().map_err(|_| bad())?;
        let numbers = descriptors.split(',');
        let descriptors = numbers.map(|fd| fd.parse::<RawFd>().ok().filter(|fd| *fd >= 0));
        let descriptors = descriptors.collect::<Option<Vec<_>>>().ok_or_else(bad)?;
        let (memory, others) = descriptors.split_first().ok_or_else(bad)?;
        let (parents, blocks) = match others {
            [] | [_] => (None, None),
            [_, blocks] => (None, Some(*blocks)),
            [_, connection, memory] => (Some((*connection, *memory)), None),
            _ => return Err(bad()),
        };
        if let Some(closed) = descriptors.iter().find(|fd| !is_open(**fd)) {
            return Err(JoinError::ClosedDescriptor { variable: JOB.name, descriptor: *closed });
        }
        // SAFETY: open (above). Not closed unless it is the job's memory: the variable may have been
        // set by hand, and name a descriptor of the program's.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(*memory) });
        let control = Control::open(&file).map_err(|e| {
            IS_SILENT.store(!Control::claim_refusal(&file), Ordering::Relaxed);
            JoinError::Memory(e)
        })?;
        if pe >= control.n_pes() {
            return Err(bad());
        }
        // oshrun opened the descriptors for this library; removing the variable below keeps a second
        // attachment from taking them.
        let file = ManuallyDrop::into_inner(file);
        for fd in &descriptors {
            // SAFETY: open (above).
            let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
            let _ = rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC);
        }
        // A program that this PE starts is not this PE.
        // SAFETY: shmem_init is called before other threads use the environment.
        unsafe { config::forget_handover() };
        let declaration = Declaration::of_this_process();
        control.pe_block(pe).declaration.store(&declaration.to_bytes());
        // SAFETY: open (above), and this object's from now on.
        let owned = |fd: RawFd| unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self {
            file,
            control,
            pe,
            index: pe,
            placement: Placement::one_node(control.n_pes()),
            launched: true,
            service: others.first().copied().map(owned).map_or_else(OnceLock::new, OnceLock::from),
            parents: Mutex::new(parents.map(|(connection, memory)| StartedJob {
                job_number: 0,
                memory: owned(memory).into(),
                connection: owned(connection).into(),
            })),
            blocks: Mutex::new(blocks.map(|fd| owned(fd).into())),
            process_group: None,
            declaration,
        })
    }

    /// A job of several PEs by another launcher: they find each other through its server.
    fn gathered(bootstrap: Arc<dyn Bootstrap>) -> Result<Self, JoinError> {
        let (pe, process_group) = (bootstrap.rank(), ProcessGroup::join(bootstrap)?);
        let placement = process_group.placement(pe);
        let index = placement.local_index(pe).unwrap_or(0);
        let (file, control) = process_group.share_memory(&placement, pe)?;
        Ok(Self {
            file,
            control,
            pe,
            index,
            placement,
            launched: false,
            service: OnceLock::new(),
            parents: Mutex::default(),
            blocks: Mutex::default(),
            process_group: Some(process_group),
            declaration: Declaration::of_this_process(),
        })
    }

    fn alone(started: Option<Arc<dyn Bootstrap>>) -> Result<Self, JoinError> {
        let machine = Machine::here();
        let heap = HeapSettings::read()?;
        let plan = Plan::new(1, &machine, heap)?;
        let tuning = Tuning::default_for(machine.cores);
        let (file, control) =
            Control::create(&plan, 1, 1, machine.node_cores(), tuning, 0).map_err(JoinError::Create)?;
        let process_group = started.map(ProcessGroup::join).transpose()?;
        Ok(Self {
            file,
            control,
            pe: 0,
            index: 0,
            placement: Placement::one_node(1),
            launched: false,
            service: OnceLock::new(),
            parents: Mutex::default(),
            blocks: Mutex::default(),
            process_group,
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
        if let Some(process_group) = &self.process_group {
            return process_group.agree();
        }
        if !self.launched {
            return Ok(self.declaration.given.clone());
        }
        let first = self.control.pe_block(0).declaration.load();
        let first = first.and_then(|bytes| Declaration::from_bytes(&bytes));
        let first = first.ok_or((self.pe, Disagreement::Unknown))?;
        let agreed = self.declaration.agree(&first, ("", ""));
        agreed.map_err(|why| (self.pe, why))?;
        Ok(first.given)
    }

    /// Whether this process takes the number of a PE that has failed, and is in its first `shmem_init`.
    pub fn is_replacing(&self) -> bool {
        self.blocks.lock().unwrap_or_else(|e| e.into_inner()).is_some()
    }

    /// The blocks of the symmetric heap that such a process has from the beginning; once.
    pub fn take_blocks(&self) -> Option<File> {
        self.blocks.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    /// This PE's block.
    #[inline]
    pub fn block(&self) -> &'static PeBlock {
        self.control.pe_block(self.index)
    }

    /// Whether this process is the PE: one that it has forked is none.
    pub fn is_of_this_process(&self) -> bool {
        self.block().pid.load(Ordering::Relaxed) == std::process::id()
    }

    /// What this PE is called in messages; safe to print in a signal handler.
    pub fn name_of_pe(&self) -> PeName {
        PeName { job_number: self.control.header().job_number.load(Ordering::Relaxed), pe: self.pe }
    }

    /// Number of PEs of the job.
    pub fn n_pes(&self) -> usize {
        self.placement.n_pes()
    }

    /// By which `oshrun` can be asked for more jobs. If no launcher has started this program, that is one which this
    /// call starts.
    ///
    /// # Errors
    /// If there is none, and none can be started.
    pub fn service(&self) -> Result<BorrowedFd<'_>, NoService> {
        static STARTING: Mutex<()> = Mutex::new(());

        if self.placement.spans_nodes() {
            return Err(NoService::SeveralNodes);
        }
        let _starting = STARTING.lock().unwrap_or_else(|e| e.into_inner());
        if self.service.get().is_none() {
            if self.launched || self.process_group.is_some() {
                return Err(NoService::AnotherLauncher);
            }
            let started = adoption::start(&self.file)?;
            let _ = self.service.set(started);
        }
        let service = self.service.get().map(AsFd::as_fd);
        service.ok_or(NoService::AnotherLauncher)
    }

    /// Whether [`service`](Self::service) may give one.
    pub fn may_have_service(&self) -> bool {
        !self.placement.spans_nodes() && (self.launched || self.process_group.is_none())
    }

    /// The launcher's side of a job that was not started by `oshrun`.
    pub fn bootstrap(&self) -> Option<&dyn Bootstrap> {
        self.process_group.as_ref().map(ProcessGroup::bootstrap)
    }

    /// The name of PE `pe`'s host.
    pub fn host_of(&self, pe: usize) -> &str {
        let known = self.process_group.as_ref().and_then(|g| g.host_of(pe));
        known.unwrap_or("this host")
    }

    /// Has the launcher end the job, where it does not notice by itself; see [`abort`].
    pub fn abort(&self, status: i32, why: &str) {
        if let Some(process_group) = &self.process_group {
            abort(process_group.bootstrap(), status, why);
        }
    }

    /// Notifies the launcher that this PE's exit is regular from now on.
    pub fn finalize(&self) {
        if let Some(process_group) = &self.process_group {
            process_group.finalize();
        }
    }

    /// Votes on the candidates that some PE of any node could not place: bits of all.
    pub fn any_failed(&self, bits: u32) -> Result<u32, JoinError> {
        match &self.process_group {
            Some(process_group) if self.placement.spans_nodes() => process_group::any(process_group.bootstrap(), bits),
            _ => Ok(bits),
        }
    }
}
