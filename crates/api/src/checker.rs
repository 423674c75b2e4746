//! Calls of a program that contains the runtime, for `oshrun --check=race`: the library that it preloads is told of
//! each, before and after it. Those of the Rust API come from `record`, those of its parts in C from `check::record`,
//! which does not know as much: contexts are not told apart, strided arrays not looked at, collectives of other PEs
//! than a team's, and those that are no barriers, take what all PEs have done before for ordered.

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::sync::OnceLock;

use ferroshmem_config as config;
use ferroshmem_core::constants::{CTX_DEFAULT, TEAM_INVALID, TEAM_WORLD};
use ferroshmem_layout::{CheckedCall, CheckedLibrary, Operation};
use ferroshmem_profiling::{self as profiling, CallSites, DEPTH, Scope};
use ferroshmem_runtime::{self as runtime, Runtime};

use super::check::{self, Concerns, Kind, Recorded};
use super::{context, setup, team};

/// What is called in messages.
const NAME: &str = "oshrun --check=race";

type Start = unsafe extern "C" fn(unsafe extern "C" fn(*mut CheckedLibrary)) -> c_int;
type Tell = unsafe extern "C" fn(*mut CheckedCall, c_int);

static TELL: OnceLock<Tell> = OnceLock::new();

/// Has calls be looked at if `oshrun` asks for it: called before the library is initialised. Whether it does; not where
/// C has initialised it, whose calls may go without.
pub fn prepare() -> bool {
    let is_asked = config::inherited(config::CHECK_FILE.name.as_ref()).is_some() && runtime::current().is_none();
    if is_asked {
        profiling::look();
    }
    is_asked
}

/// Has them be checked: called once the library is initialised.
pub fn start() {
    // SAFETY: names end with a zero.
    let function = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let (start, tell) = (function(c"shmemi_check_start_rust"), function(c"shmemi_check_rust"));
    if start.is_null() || tell.is_null() {
        return;
    }
    // SAFETY: the functions of the preloaded library, which is of the same sources, have these types.
    let (start, tell) =
        unsafe { (mem::transmute::<*mut c_void, Start>(start), mem::transmute::<*mut c_void, Tell>(tell)) };
    // SAFETY: the library is initialised.
    if unsafe { start(describe) } != 0 {
        TELL.get_or_init(|| tell);
        check::watch(begin);
        profiling::set_at_end(end);
    }
}

/// Tells of a call, if calls are checked.
pub(crate) fn tell(call: &mut CheckedCall, leaves: bool) {
    if let Some(tell) = TELL.get() {
        // SAFETY: a call under way.
        unsafe { tell(call, leaves.into()) };
    }
}

/// Whether calls are checked.
pub(crate) fn is_on() -> bool {
    TELL.get().is_some() && profiling::is_on()
}

/// Bytes at symmetric addresses: `count` times `len`, whose starts are `stride` apart.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "see above")]
pub struct Memory {
    pub at: usize,
    pub stride: usize,
    pub len: usize,
    pub count: usize,
}

impl Memory {
    /// Bytes side by side.
    pub fn row(at: usize, len: usize) -> Self {
        Self { at, stride: len, len, count: 1 }
    }
}

/// A call at a place; without a file, it is an address that the call returns to.
pub(crate) fn of(
    (routine, file, line): (&'static str, &'static str, usize),
    operation: Operation,
    memory: Memory,
) -> CheckedCall {
    CheckedCall {
        routine: routine.into(),
        file: file.into(),
        line,
        operation,
        context: CTX_DEFAULT,
        pe: 0,
        team: TEAM_WORLD,
        at: memory.at,
        stride: memory.stride,
        len: memory.len,
        count: memory.count,
        result: 0,
        scratch: [0; 4],
    }
}

/// What a call does, as `oshrun --check` sees it.
pub(crate) fn operation(kind: Kind, routine: &str, concerns: Concerns) -> Operation {
    match kind {
        Kind::Put => Operation::Put,
        Kind::Get => Operation::Get,
        Kind::Atomic => match routine.rsplit("::").next() {
            Some("fetch") => Operation::AtomicFetch,
            Some("set" | "add" | "and" | "or" | "xor") => Operation::AtomicUpdate,
            _ => Operation::AtomicFetchUpdate,
        },
        Kind::Signal => Operation::Signal,
        Kind::Quiet => Operation::Quiet,
        Kind::Fence => Operation::Fence,
        Kind::Lock => Operation::SetLock,
        // Where the lock is not free, nothing follows that needs it.
        Kind::Test => Operation::TestLock,
        Kind::Unlock => Operation::ClearLock,
        Kind::Send => Operation::Send,
        Kind::Receive => Operation::Receive,
        // One that goes on after the call is complete once a request is.
        _ if routine.starts_with("Collectives::") => Operation::Send,
        _ if kind.is_collective() => match concerns {
            Concerns::Team(..) => Operation::Barrier,
            _ => Operation::Receive,
        },
        _ => Operation::Other,
    }
}

thread_local! {
    /// Calls of the C API that this thread is in: the outermost first.
    static UNDER_WAY: RefCell<Vec<CheckedCall>> = const { RefCell::new(Vec::new()) };
}

/// A call of the C API begins.
fn begin(call: &Recorded, rt: &'static Runtime, frame: usize) {
    static SITES: OnceLock<CallSites> = OnceLock::new();
    let entry = check::record as fn(&Recorded) as usize;
    let sites = SITES.get_or_init(|| CallSites::new((entry, DEPTH)));
    let Recorded { routine, kind, concerns, bytes, address, signal } = *call;
    let (pe, team) = match (concerns, concerns.scope(rt, routine)) {
        (_, Scope::Pe(pe)) => (pe, TEAM_WORLD),
        (Concerns::Team(team, _), _) => (0, team),
        (Concerns::Set(..), _) => (0, TEAM_INVALID),
        _ => (0, TEAM_WORLD),
    };
    let operation = operation_of_c(kind, routine);
    let memory = match operation {
        Operation::Wait => Memory { at: address, stride: 8, len: 8, count: bytes.div_ceil(8).max(1) },
        _ if routine.contains("_iput") || routine.contains("_iget") || routine.contains("_ib") => {
            Memory::row(address, 0)
        }
        Operation::Signal if kind == Kind::Signal => Memory::row(address, 8),
        _ => Memory::row(address, bytes),
    };
    let place = sites.caller(routine, frame);
    let mut told = CheckedCall { pe, team, ..of((routine, "", place), operation, memory) };
    tell(&mut told, false);
    if signal != 0 {
        tell(&mut CheckedCall { operation: Operation::Signal, at: signal, len: 8, ..told }, false);
    }
    UNDER_WAY.with_borrow_mut(|calls| calls.push(told));
}

/// It ends.
fn end() {
    if let Some(mut call) = UNDER_WAY.with_borrow_mut(Vec::pop) {
        tell(&mut call, true);
    }
}

/// What a routine of the C API does.
fn operation_of_c(kind: Kind, routine: &str) -> Operation {
    match kind {
        Kind::PutSignal => Operation::Put,
        Kind::Atomic if routine.contains("_atomic_fetch") && !routine.contains("fetch_") => Operation::AtomicFetch,
        Kind::Atomic if routine.contains("fetch") || routine.contains("swap") => Operation::AtomicFetchUpdate,
        Kind::Atomic => Operation::AtomicUpdate,
        Kind::Test if routine.contains("lock") => Operation::TestLock,
        Kind::Wait | Kind::Test => Operation::Wait,
        Kind::Barrier | Kind::Allocate | Kind::Free => Operation::Barrier,
        _ => operation(kind, routine, Concerns::None),
    }
}

unsafe extern "C" fn describe(library: *mut CheckedLibrary) {
    unsafe extern "C" fn my_pe() -> c_int {
        setup::my_pe(NAME)
    }
    unsafe extern "C" fn n_pes() -> c_int {
        setup::n_pes(NAME)
    }
    unsafe extern "C" fn ptr(at: *const c_void, pe: c_int) -> *mut c_void {
        setup::ptr(NAME, at, pe)
    }
    unsafe extern "C" fn addr_accessible(at: *const c_void, pe: c_int) -> c_int {
        setup::addr_accessible(NAME, at, pe)
    }
    unsafe extern "C" fn team_n_pes(of: usize) -> c_int {
        team::n_pes(NAME, of)
    }
    unsafe extern "C" fn team_translate_pe(from: usize, pe: c_int, to: usize) -> c_int {
        team::translate_pe(NAME, from, pe, to)
    }
    unsafe extern "C" fn ctx_get_team(of: usize, team: *mut usize) -> c_int {
        // SAFETY: the caller promises that the result can be written.
        unsafe { context::get_team(NAME, of, team) }
    }
    let functions = CheckedLibrary {
        my_pe: Some(my_pe),
        n_pes: Some(n_pes),
        ptr: Some(ptr),
        addr_accessible: Some(addr_accessible),
        team_n_pes: Some(team_n_pes),
        team_translate_pe: Some(team_translate_pe),
        ctx_get_team: Some(ctx_get_team),
        barrier_all: None,
        malloc: None,
        align: None,
        malloc_with_hints: None,
        realloc: None,
        free: None,
        world: TEAM_WORLD,
        default_context: CTX_DEFAULT,
    };
    // SAFETY: the caller promises that the result can be written.
    unsafe { library.write(functions) };
}
