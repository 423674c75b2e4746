//! From `shmem_init` to `shmem_finalize`.

mod exit;
mod fast_path;
mod rendezvous;
mod windows;

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use self::rendezvous::rendezvous;
use self::windows::map_space;
use crate::choice::{ForcedDiffers, Selection};
use crate::config::{self, Settings};
use crate::context::Contexts;
use crate::fatal::{debug, fatal};
use crate::group::Group;
use crate::group::active_set::ActiveSets;
use crate::job::region::PeState;
use crate::lock::Held;
use crate::memory::Space;
use crate::memory::heap::Heap;
use crate::nodes::Link;
use crate::runtime::{self, Runtime};
use crate::team::Teams;
use crate::wait::{POLICY, record};
use crate::{fault, fork, hooks, info, team};

/// The windows. They stay when the library is finalised, for the next initialisation.
static SPACE: OnceLock<Space> = OnceLock::new();

/// Initialises the library, or notes one more nested initialisation. Collective.
pub(crate) fn initialise(name: &str, level: i32) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(rt) = runtime::current() {
        rt.nesting.fetch_add(1, Ordering::Relaxed);
        rt.thread_level.fetch_max(level, Ordering::Relaxed);
        return;
    }
    let job = runtime::join().unwrap_or_else(|message| fatal(name, message));
    let settings = Settings::read().unwrap_or_else(|e| fatal(name, e));
    let header = job.control.header();
    let selection =
        Selection::of_job(header, settings.forced).unwrap_or_else(|e| fatal(name, differs(e)));
    POLICY.set(job.control.n_pes(), header.cores as usize, settings.spin);
    let block = job.control.pe_block(job.index);
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
    exit::tell_launcher_at_exit(job);
    let link = job.placement.spans_nodes().then(|| {
        // A second initialisation is as collective as the first.
        Link::open(job, space, &settings).unwrap_or_else(|e| fatal(name, e))
    });
    let n_pes = job.n_pes();
    let teams = Teams::new(job, link, &selection).unwrap_or_else(|e| fatal(name, e));
    let rt = runtime::begin(Runtime {
        me: job.pe,
        n_pes,
        job,
        heap: Mutex::new(Heap::new(space.heap_size())),
        space,
        link,
        teams,
        selection,
        active_sets: ActiveSets::default(),
        contexts: Contexts::default(),
        held: Held::default(),
        settings,
        nesting: AtomicU32::new(1),
        thread_level: AtomicI32::new(level),
    });
    fault::explain_faults();
    if let Some(globals) = rt.space.globals() {
        fork::keep_children_apart(globals, job.control.offsets().globals(job.index));
    }
    if let Some(hooks) = hooks::get() {
        if job.launched {
            (hooks.line_buffer_stdout)();
        }
        (hooks.native_changed)(rt.native(hooks));
        if (hooks.native_required)() {
            rt.require_native(name);
        }
    }
    announce(rt);
}

/// The line for PEs that force different algorithms of a collective.
fn differs(ForcedDiffers(collective): ForcedDiffers) -> String {
    let variable = config::algorithm(collective).name;
    format!(
        "{variable} is not the same here as on the PE that was first: all PEs must force the same algorithm"
    )
}

/// Prints what the environment asks for.
fn announce(rt: &Runtime) {
    if rt.me == 0 {
        if rt.settings.info {
            println!("{}", info::describe());
        } else if rt.settings.version {
            println!("{}", info::version_line());
        }
    }
    debug(|| {
        let globals = rt.space.globals().map_or_else(
            || "not symmetric (the executable is not linked against libshmem)".to_owned(),
            |g| format!("{} bytes at {:#x}", g.len, g.start),
        );
        format!(
            "{} PEs, heap of {} bytes at {:#x}, stride 2^{}, globals {globals}",
            rt.n_pes,
            rt.space.heap_size(),
            rt.space.heap_base(),
            rt.space.log2_stride(),
        )
    });
    if let Some(link) = rt.link {
        debug(|| {
            let (nodes, fabric) = (rt.job.placement.nodes(), link.fabric().name());
            let launcher = rt.job.bootstrap("shmem_init").launcher();
            format!("{nodes} nodes, started by {launcher}, joined by {fabric}")
        });
    }
}

/// Ends the library's part of the program, or one nested initialisation. Collective.
pub(crate) fn finalise(name: &'static str) {
    let rt = runtime::get(name);
    let world = rt.teams.world();
    rt.quiet_all();
    Group::of_team(rt, name, world).sync();
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
    if let Some(link) = rt.link {
        // What is under way must arrive while its target is still there.
        link.fabric().quiet(&link.stream);
        link.rest();
        let bootstrap = rt.job.bootstrap(name);
        bootstrap.barrier().unwrap_or_else(|e| fatal(name, e));
    }
    rt.job
        .control
        .pe_block(rt.job.index)
        .state
        .store(PeState::Finalized as u32, Ordering::Release);
    runtime::end();
    // All PEs have entered shmem_finalize, after which heap memory is not used; one that
    // initialises the library again waits for this PE in `rendezvous`. What a device may have
    // registered must stay the same memory.
    if rt.link.is_none() && rt.heap.lock().unwrap_or_else(|e| e.into_inner()).was_used() {
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
