//! Configuration: the environment variables of FerroSHMEM.
//!
//! ```text
//! table         every variable: name, type, default, text
//! variable      what an entry of the table is
//! value         the types: how a value is read, what it accepts, its default
//! given         what a PE is given for the variables that hold for the whole job
//! environment   the environment of this process, which no other module reads
//! text          the table for oshmem_info and the manual pages
//! ```
//!
//! A variable is read once: by the library into [`Settings`] at start-up (and into
//! [`HeapSettings`] when it joins its job), by `oshrun` into [`JobSettings`], by a compiler wrapper
//! into [`compiler`].
//!
//! Variables of launchers (`PMI_RANK` and the like) have a table of their own in the crate
//! `ferroshmem-bootstrap`, next to what they mean.
//!
//! It knows the names of algorithms (`tuning`) and the fabric's terms (`fabric`), because variables have them as
//! values. It does not know what the library does with a setting.

/// A digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

mod environment;
mod given;
mod table;
mod text;
mod value;
mod variable;

use std::ffi::OsString;
use std::time::Duration;

use ferroshmem_fabric::Aggregate;
use ferroshmem_tuning::{Collective, Forced};

pub use self::environment::{Environment, Lookup, Values, cache_home, inherited, inherited_all, isolate, search_path};
pub use self::given::{GivenDiffers, GivenSettings};
pub use self::table::*;
pub use self::text::{describe, page_list};
pub use self::value::{Command, ConfigError, Problem, SocketMap, TuningFilePath, ValueType};
pub use self::variable::{Entry, Program, Scope, Variable};

/// What the library reads at start-up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `SHMEM_VERSION`.
    pub version: bool,
    /// `SHMEM_INFO`.
    pub info: bool,
    /// `SHMEM_DEBUG`.
    pub debug: bool,
    /// `SHMEM_CHECK`.
    pub check: bool,
    /// `SHMEM_FAST_PATH`.
    pub fast_path: bool,
    /// `SHMEM_SPIN`; None: the default.
    pub spin: Option<u32>,
    /// `SHMEM_HUGE_PAGES`.
    pub huge_pages: Option<bool>,
    /// `SHMEM_NON_TEMPORAL_THRESHOLD` in bytes; None: by the caches.
    pub non_temporal_threshold: Option<u64>,
    /// `SHMEM_WORKERS`; None: `auto`.
    pub workers: Option<u32>,
    /// `SHMEM_SHARE_THRESHOLD` in bytes.
    pub share_threshold: Option<u64>,
    /// `SHMEM_OFFLOAD_THRESHOLD` in bytes.
    pub offload_threshold: Option<u64>,
    /// `SHMEM_OPENMP`.
    pub openmp: Option<bool>,
    /// `SHMEM_REPRODUCIBLE`.
    pub reproducible: bool,
    /// `SHMEM_TEAM_TABLE` in bytes.
    pub team_table: Option<u64>,
    /// `SHMEM_SOCKETS`.
    pub sockets: SocketMap,
    /// `SHMEM_*_ALGORITHM`.
    pub forced: Forced,
    /// `SHMEM_FABRIC_TIMEOUT`; None: never.
    pub fabric_timeout: Option<Duration>,
    /// `SHMEM_SPAWN_TIMEOUT`; None: never.
    pub spawn_timeout: Option<Duration>,
    /// `SHMEM_NAME_DIRECTORY`.
    pub name_directory: Option<String>,
    /// `SHMEM_FABRIC`, `SHMEM_FABRIC_INTERFACE`, `SHMEM_LIBFABRIC`, `SHMEM_AGGREGATE` and `SHMEM_ENDPOINTS`.
    pub fabric: FabricSettings,
    /// `SHMEM_PROFILE_DIR`, `SHMEM_TRACE_SIZE`, `SHMEM_COUNTERS` and `SHMEM_STATUS`.
    pub profiling: ProfilingSettings,
    /// `SHMEM_WAIT_FOR_DEBUGGER` and `SHMEM_GDB`.
    pub debugger: DebuggerSettings,
    /// `SHMEM_HANG_HINT` and `SHMEM_HANG_TIMEOUT`.
    pub hang: HangSettings,
}

/// What is to be done where no PE makes progress.
#[derive(Debug, Clone, Copy)]
pub struct HangSettings {
    /// After this time what the PEs do is shown; None: never.
    pub hint_after: Option<Duration>,
    /// After this time the job is ended; None: never.
    pub end_after: Option<Duration>,
}

/// What a PE does for debuggers.
#[derive(Debug, Clone)]
pub struct DebuggerSettings {
    /// The PEs that wait for one: a list of numbers, or `all`.
    pub wait_for: Option<String>,
    /// Whether a PE that is about to end badly starts gdb, and how it talks.
    pub gdb: Option<String>,
}

/// What a PE records of its calls.
#[derive(Debug, Clone)]
pub struct ProfilingSettings {
    /// Where; None: nothing is recorded.
    pub directory: Option<String>,
    /// Bytes of its trace; None: no trace.
    pub trace: Option<u64>,
    /// Whether calls are counted.
    pub counters: bool,
    /// Time between two lines that show what the PEs of a node count; None: none is shown.
    pub status: Option<Duration>,
}

impl Settings {
    /// Reads the environment of this process, but what holds for the whole job from what PE 0 is
    /// `given`.
    ///
    /// # Errors
    /// A value cannot be read: one line that names variable and value.
    pub fn read(given: &GivenSettings) -> Result<Self, ConfigError> {
        let environment = Environment::process_but(given);
        Ok(Self {
            version: VERSION.read(&environment)?,
            info: INFO.read(&environment)?,
            debug: DEBUG.read(&environment)?,
            check: CHECK.read(&environment)?,
            fast_path: FAST_PATH.read(&environment)?,
            spin: SPIN.read(&environment)?,
            huge_pages: HUGE_PAGES.read(&environment)?,
            non_temporal_threshold: NON_TEMPORAL_THRESHOLD.read(&environment)?,
            workers: WORKERS.read(&environment)?,
            share_threshold: SHARE_THRESHOLD.read(&environment)?,
            offload_threshold: OFFLOAD_THRESHOLD.read(&environment)?,
            openmp: OPENMP.read(&environment)?,
            reproducible: REPRODUCIBLE.read(&environment)?,
            team_table: TEAM_TABLE.read(&environment)?,
            sockets: SOCKETS.read(&environment)?,
            forced: forced(&environment)?,
            fabric_timeout: FABRIC_TIMEOUT.read(&environment)?,
            spawn_timeout: SPAWN_TIMEOUT.read(&environment)?,
            name_directory: NAME_DIRECTORY.read(&environment)?,
            fabric: FabricSettings::of(&environment)?,
            profiling: ProfilingSettings {
                directory: PROFILE_DIR.read(&environment)?,
                trace: TRACE_SIZE.read(&environment)?.filter(|size| *size > 0),
                counters: COUNTERS.read(&environment)?,
                status: STATUS.read(&environment)?,
            },
            hang: HangSettings {
                hint_after: HANG_HINT.read(&environment)?,
                end_after: HANG_TIMEOUT.read(&environment)?,
            },
            debugger: DebuggerSettings {
                wait_for: WAIT_FOR_DEBUGGER.read(&environment)?,
                gdb: GDB.read(&environment)?,
            },
        })
    }
}

/// The algorithms that `environment` forces.
///
/// # Errors
/// A value names no algorithm of its collective.
pub fn forced(environment: &Environment<'_>) -> Result<Forced, ConfigError> {
    let mut forced = Forced::default();
    for collective in Collective::ALL {
        if let Some(choice) = algorithm(collective).read(environment)? {
            forced = forced.with(collective, choice);
        }
    }
    Ok(forced)
}

/// How other nodes are to be reached.
#[derive(Debug, Clone)]
pub struct FabricSettings {
    /// Provider; None: the best.
    pub provider: Option<String>,
    /// Name or address of the network interface; None: the first that is usable.
    pub interface: Option<String>,
    /// File of libfabric.
    pub library: Option<String>,
    /// What goes together.
    pub aggregate: Aggregate,
    /// Endpoints for contexts of threads, beside the first.
    pub endpoints: usize,
}

impl FabricSettings {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// A value cannot be read.
    pub fn read() -> Result<Self, ConfigError> {
        Self::of(&Environment::process())
    }

    fn of(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            provider: FABRIC.read(environment)?.filter(|p| p != "auto"),
            interface: FABRIC_INTERFACE.read(environment)?,
            library: LIBFABRIC.read(environment)?,
            aggregate: AGGREGATE.read(environment)?,
            endpoints: ENDPOINTS.read(environment)?.unwrap_or(4) as usize,
        })
    }
}

/// What decides the size of the symmetric heaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeapSettings {
    /// `SHMEM_SYMMETRIC_SIZE` in bytes; None: the node's memory.
    pub size: Option<u64>,
}

impl HeapSettings {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// The size cannot be read.
    pub fn read() -> Result<Self, ConfigError> {
        Self::of(&Environment::process())
    }

    /// From what PE 0 is `given`.
    ///
    /// # Errors
    /// The size cannot be read.
    pub fn of_job(given: &GivenSettings) -> Result<Self, ConfigError> {
        Self::of(&Environment::process_but(given))
    }

    fn of(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        Ok(Self { size: SYMMETRIC_SIZE.read(environment)? })
    }
}

/// What `oshrun` reads to start a job.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// Size of the heaps.
    pub heap: HeapSettings,
    /// `SHMEM_TUNING_FILE`, or the user's own file; None: no file.
    pub tuning_file: Option<TuningFilePath>,
}

impl JobSettings {
    /// Reads `environment`.
    ///
    /// # Errors
    /// A value cannot be read.
    pub fn read(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        Ok(Self { heap: HeapSettings::of(environment)?, tuning_file: TUNING_FILE.read(environment)? })
    }
}

/// Where the tuning file of this user is; None: there is no place for it.
pub fn tuning_file() -> Option<TuningFilePath> {
    // A path is never malformed.
    TUNING_FILE.read(&Environment::process()).ok().flatten()
}

/// Whether `SHMEM_DEBUG` is set.
pub fn debug() -> bool {
    DEBUG.read(&Environment::process()) == Ok(true)
}

/// The command that `OSHMEM_CC`, `OSHMEM_CXX` or `OSHMEM_FC` names; None: the first candidate that is installed.
pub fn compiler(variable: &Variable<Command>) -> Option<OsString> {
    // A command is never malformed here: the wrapper splits it into words.
    variable.read(&Environment::process()).ok().flatten()
}

/// What `oshrun` passes to this process if it is one of its PEs.
pub fn handover() -> Option<String> {
    environment::value(JOB.name)
}

/// Removes what [`handover`] returns, so that a program that this PE starts is not taken for this
/// PE.
///
/// # Safety
/// No other thread uses the environment meanwhile.
pub unsafe fn forget_handover() {
    // SAFETY: the caller promises that no other thread uses the environment meanwhile.
    unsafe { environment::remove(JOB.name) };
}
