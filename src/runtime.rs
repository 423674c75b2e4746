//! The library's state between `shmem_init` and `shmem_finalize`.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::context::Contexts;
use crate::env::{self, Settings};
use crate::fatal::{debug, fatal};
use crate::hooks::{self, Native};
use crate::job::Attachment;
use crate::job::region::{PeState, WaitKind};
use crate::memory::globals::Globals;
use crate::memory::heap::Heap;
use crate::memory::{Space, SpaceError};
use crate::platform::futex;
use crate::team::Teams;
use crate::wait::{POLICY, What, record};
use crate::{barrier, fault, fork, info, team};

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
    /// The symmetric heap's books.
    pub heap: Mutex<Heap>,
    /// Teams.
    pub teams: Teams,
    /// Contexts.
    pub contexts: Contexts,
    /// What the environment says.
    pub settings: Settings,
    /// Calls of `shmem_init` not yet matched by `shmem_finalize`.
    pub nesting: AtomicU32,
    /// `SHMEM_THREAD_*` level provided.
    pub thread_level: AtomicI32,
}

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(ptr::null_mut());
static WAS_FINALIZED: AtomicBool = AtomicBool::new(false);
static ATTACHMENT: OnceLock<Result<Attachment, String>> = OnceLock::new();
/// The windows. They stay when the library is finalised, for the next initialisation.
static SPACE: OnceLock<Space> = OnceLock::new();

/// The runtime, if the library is initialised.
#[inline]
pub fn current() -> Option<&'static Runtime> {
    // SAFETY: null, or a leaked box.
    unsafe { RUNTIME.load(Ordering::Acquire).as_ref() }
}

/// The runtime; a call of routine `name` outside init … finalize ends the program.
#[inline]
pub fn get(name: &str) -> &'static Runtime {
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
    let _ = ATTACHMENT.get_or_init(Attachment::new);
    fatal(name, when)
}

/// This process's place in its job, if it has joined one.
pub fn attachment() -> Option<&'static Attachment> {
    ATTACHMENT.get()?.as_ref().ok()
}

/// Initialises the library, or notes one more nested initialisation. Collective.
pub fn initialise(name: &str, level: i32) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(rt) = current() {
        rt.nesting.fetch_add(1, Ordering::Relaxed);
        rt.thread_level.fetch_max(level, Ordering::Relaxed);
        return;
    }
    let job = match ATTACHMENT.get_or_init(Attachment::new) {
        Ok(job) => job,
        Err(message) => fatal(name, message),
    };
    let settings = Settings::from_environment().unwrap_or_else(|e| fatal(name, e));
    let header = job.control.header();
    POLICY.set(header.oversubscribed != 0, settings.spin);
    let block = job.control.pe_block(job.pe);
    record::set_record(&block.wait);
    block.pid.store(std::process::id(), Ordering::Relaxed);
    if job.launched {
        die_with_launcher(header.launcher_pid);
    }

    let space = match SPACE.get() {
        Some(space) => {
            rendezvous(name, job);
            space
        }
        None => SPACE.get_or_init(|| map_space(name, job)),
    };
    block
        .state
        .store(PeState::Initialized as u32, Ordering::Release);
    let n_pes = job.control.n_pes();
    let rt = Box::leak(Box::new(Runtime {
        me: job.pe,
        n_pes,
        job,
        heap: Mutex::new(Heap::new(space.heap_size())),
        space,
        teams: Teams::new(job.pe, n_pes, |id| job.control.team_slot(id, job.pe)),
        contexts: Contexts::default(),
        settings,
        nesting: AtomicU32::new(1),
        thread_level: AtomicI32::new(level),
    }));
    RUNTIME.store(rt, Ordering::Release);
    fault::explain_faults();
    if let Some(globals) = rt.space.globals() {
        fork::keep_children_apart(globals, job.control.offsets().globals(job.pe));
    }
    if let Some(hooks) = hooks::get() {
        if job.launched {
            (hooks.line_buffer_stdout)();
        }
        (hooks.native_changed)(rt.native(hooks));
    }
    rt.announce();
}

impl Runtime {
    /// The facts for the inlined fast path, None if every call is to go through the library.
    fn native(&self, hooks: &hooks::Hooks) -> Option<Native> {
        let reason = if self.settings.check {
            "SHMEM_CHECK is set"
        } else if !self.settings.fast_path {
            "SHMEM_FAST_PATH is 0"
        } else if !self.space.at_stride() {
            "the executable's globals could not be placed (link it with -pie)"
        } else if (hooks.interposed)() {
            "a tool interposes library functions"
        } else {
            return Some(Native {
                first: 0,
                n: self.n_pes as u32,
                me: self.me as u32,
                log2_stride: self.space.log2_stride(),
            });
        };
        debug(|| format!("fast path off: {reason}"));
        None
    }

    /// Why a program compiled with `-DSHMEM_NATIVE_ONLY` cannot run here, if so.
    pub fn native_refusal(&self) -> Option<&'static str> {
        if self.settings.check {
            Some(
                "SHMEM_CHECK=1 needs calls that this program, compiled with -DSHMEM_NATIVE_ONLY, does not make",
            )
        } else if !self.space.at_stride() {
            Some(
                "a program compiled with -DSHMEM_NATIVE_ONLY must be linked as a position-independent executable (-pie)",
            )
        } else if !self.settings.fast_path {
            Some(
                "SHMEM_FAST_PATH=0 needs calls that this program, compiled with -DSHMEM_NATIVE_ONLY, does not make",
            )
        } else {
            None
        }
    }

    fn announce(&self) {
        if self.me == 0 {
            if env::INFO.is_set() {
                println!("{}", info::describe());
            } else if env::VERSION.is_set() {
                println!("{}", info::version_line());
            }
        }
        debug(|| {
            let globals = self.space.globals().map_or_else(
                || "not symmetric (the executable is not linked against libshmem)".to_owned(),
                |g| format!("{} bytes at {:#x}", g.len, g.start),
            );
            format!(
                "{} PEs, heap of {} bytes at {:#x}, stride 2^{}, globals {globals}",
                self.n_pes,
                self.space.heap_size(),
                self.space.heap_base(),
                self.space.log2_stride(),
            )
        });
    }
}

/// Shares the globals, and maps all heaps and globals at the first layout that all PEs can
/// place.
fn map_space(name: &str, job: &'static Attachment) -> Space {
    let header = job.control.header();
    let globals = Globals::find();
    if let Some(globals) = &globals {
        publish_image(job, globals.image);
        // SAFETY: other threads that write globals are the program's to keep still during
        // shmem_init (README, "Limits").
        unsafe { globals.share(job) }.unwrap_or_else(|e| fatal(name, e));
    }
    for k in 0..crate::memory::LAYOUTS {
        let mapped = Space::map(job, k, globals.clone());
        match &mapped {
            Err(SpaceError::Taken) => {
                header.layout_failed.fetch_or(1 << k, Ordering::AcqRel);
            }
            Err(e) => fatal(name, e),
            Ok(_) => {}
        }
        rendezvous(name, job);
        let all_could = header.layout_failed.load(Ordering::Acquire) & 1 << k == 0;
        match mapped {
            Ok(mut space) if all_could => {
                if header.images_differ.load(Ordering::Relaxed) != 0 {
                    let image = |pe: usize| job.control.pe_block(pe).image.load(Ordering::Relaxed);
                    space.drop_strangers(|pe| image(pe) != image(job.pe));
                }
                return space;
            }
            // SAFETY: initialisation is not over: no program uses these windows yet.
            Ok(space) => unsafe { space.unmap() },
            Err(_) => {}
        }
    }
    fatal(name, SpaceError::Taken)
}

/// Tells the others which executable this PE runs.
fn publish_image(job: &Attachment, image: u64) {
    let header = job.control.header();
    job.control
        .pe_block(job.pe)
        .image
        .store(image, Ordering::Relaxed);
    let first = header
        .image
        .compare_exchange(0, image, Ordering::AcqRel, Ordering::Acquire);
    if first.is_err_and(|first| first != image) {
        header.images_differ.store(1, Ordering::Relaxed);
    }
}

/// Waits until all PEs are here. Used before there are teams.
fn rendezvous(name: &str, job: &Attachment) {
    let header = job.control.header();
    let n = job.control.n_pes() as u32;
    let own = &job.control.team_slot(team::WORLD, job.pe).own;
    let sequence = own.entered.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
    let arrival = header.start_arrived.fetch_add(1, Ordering::AcqRel);
    let round = arrival / n + 1;
    if arrival % n == n - 1 {
        header.start_epoch.store(round, Ordering::Release);
        futex::wake(&header.start_epoch, futex::ANY);
        return;
    }
    // Counts as a collective of the world team, so that the launcher notices a PE that ended
    // without ever coming here.
    let what = What {
        kind: WaitKind::Team,
        routine: name,
        address: 0,
        team: team::WORLD as u32,
        members: (0, 1, n),
        sequence,
    };
    let _shown = record::Recorder::start(&what);
    loop {
        let epoch = header.start_epoch.load(Ordering::Acquire);
        if epoch >= round {
            return;
        }
        futex::wait(
            &header.start_epoch,
            epoch,
            futex::ANY,
            Some(Duration::from_secs(1)),
        );
    }
}

/// Ends the library's part of the program, or one nested initialisation. Collective.
pub fn finalise(name: &str) {
    let rt = get(name);
    let world = rt.teams.world();
    world.enter(rt);
    barrier::sync(rt, name, world);
    if rt.nesting.fetch_sub(1, Ordering::AcqRel) > 1 {
        return;
    }
    if let Some(hooks) = hooks::get() {
        (hooks.native_changed)(None);
    }
    for id in rt.teams.ids() {
        if let Some(t) = rt.teams.by_id(id) {
            t.leave(rt);
        }
        if id >= team::PREDEFINED {
            rt.teams.forget(rt, id);
        }
    }
    rt.job
        .control
        .pe_block(rt.me)
        .state
        .store(PeState::Finalized as u32, Ordering::Release);
    RUNTIME.store(ptr::null_mut(), Ordering::Release);
    WAS_FINALIZED.store(true, Ordering::Relaxed);
    // All PEs have entered shmem_finalize, after which heap memory is not used; one that
    // initialises the library again waits for this PE in `rendezvous`.
    if rt.heap.lock().unwrap_or_else(|e| e.into_inner()).was_used() {
        rt.space.give_back_heap(rt.job);
    }
}

/// Has the kernel end this process when its parent dies, however that may be.
fn die_with_launcher(launcher: u32) {
    // SAFETY: prctl with plain integers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: signal 0 only asks whether the process exists.
    let gone = launcher != 0 && unsafe { libc::kill(launcher as i32, 0) } != 0;
    if gone && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
        // SAFETY: ends this process, whose job has no launcher any more.
        unsafe { libc::_exit(1) };
    }
}
