//! The library's state between `shmem_init` and `shmem_finalize`.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::choice::Selection;
use crate::config::Settings;
use crate::context::Contexts;
use crate::fatal::fatal;
use crate::group::active_set::ActiveSets;
use crate::job::Attachment;
use crate::lock::Held;
use crate::memory::Space;
use crate::memory::heap::Heap;
use crate::nodes::Link;
use crate::team::Teams;

/// All of the library's state while it is initialised.
#[derive(Debug)]
pub struct Runtime {
    /// This PE's number.
    pub me: usize,
    /// Number of PEs.
    pub n_pes: usize,
    /// The job's memory and this PE's place in it.
    pub job: &'static Attachment,
    /// The windows.
    pub space: &'static Space,
    /// What joins this node with the others, if there are any.
    pub link: Option<&'static Link>,
    /// The symmetric heap's books.
    pub heap: Mutex<Heap>,
    /// Teams.
    pub teams: Teams,
    /// Which algorithms collectives use.
    pub selection: Selection,
    /// Active sets met so far.
    pub active_sets: ActiveSets,
    /// Contexts.
    pub contexts: Contexts,
    /// Locks held.
    pub held: Held,
    /// The environment variables.
    pub settings: Settings,
    /// Calls of `shmem_init` not yet matched by `shmem_finalize`.
    pub nesting: AtomicU32,
    /// `SHMEM_THREAD_*` level provided.
    pub thread_level: AtomicI32,
}

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(ptr::null_mut());
static WAS_FINALIZED: AtomicBool = AtomicBool::new(false);
static ATTACHMENT: OnceLock<Result<Attachment, String>> = OnceLock::new();

/// The runtime, if the library is initialised.
#[inline]
pub(crate) fn current() -> Option<&'static Runtime> {
    // SAFETY: null, or a leaked box.
    unsafe { RUNTIME.load(Ordering::Acquire).as_ref() }
}

/// The runtime; a call of routine `name` outside init … finalize ends the program.
#[inline]
pub(crate) fn get(name: &str) -> &'static Runtime {
    current().unwrap_or_else(|| not_initialised(name))
}

#[cold]
fn not_initialised(name: &str) -> ! {
    let when = if WAS_FINALIZED.load(Ordering::Relaxed) {
        "called after shmem_finalize"
    } else {
        "called before shmem_init"
    };
    // Joined only to say which PE this is and to have the launcher end the others.
    let _ = join();
    fatal(name, when)
}

/// Joins this process's job, once. The error is one line for the user.
pub(crate) fn join() -> Result<&'static Attachment, &'static str> {
    match ATTACHMENT.get_or_init(Attachment::new) {
        Ok(job) => Ok(job),
        Err(message) => Err(message),
    }
}

/// Makes `runtime` the state that all routines use from now on.
pub(crate) fn begin(runtime: Runtime) -> &'static Runtime {
    // Never freed: another thread may be about to leave a routine that uses it.
    let runtime = Box::leak(Box::new(runtime));
    RUNTIME.store(runtime, Ordering::Release);
    runtime
}

/// Ends the use of the state.
pub(crate) fn end() {
    RUNTIME.store(ptr::null_mut(), Ordering::Release);
    WAS_FINALIZED.store(true, Ordering::Relaxed);
}

/// This process's place in its job, if it has joined one.
pub(crate) fn attachment() -> Option<&'static Attachment> {
    ATTACHMENT.get()?.as_ref().ok()
}
