//! From `shmem_init` to `shmem_finalize`.

pub mod connections;
mod exit;
pub mod fast_path;
mod rendezvous;
pub mod replacement;
mod windows;

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use self::connections::Left;
pub use self::exit::watch_until_initialised;
use self::rendezvous::rendezvous_again;
use self::windows::map_space;
use crate::context::Contexts;
use crate::failure::detector::FailureDetector;
use crate::failure::failed_pes;
use crate::failure::fault;
use crate::failure::hang::{self, NodeHangWatch};
use crate::fork;
use crate::lock::Locks;
use crate::runtime::{self, Runtime};
use ferroshmem_bootstrap::mpi;
use ferroshmem_collective::active_set::ActiveSets;
use ferroshmem_collective::nonblocking::Queues;
use ferroshmem_collective::team_id;
use ferroshmem_config::{self as config, Settings, SocketMap, Values};
use ferroshmem_core::constants::{GROUP_INVALID, PREDEFINED_TEAMS};
use ferroshmem_core::failure::fatal::{debug, fatal, notify_other_nodes, set_debug, warn};
use ferroshmem_core::failure::{checks, debugger, place};
use ferroshmem_core::group::Group;
use ferroshmem_core::internode::{Internode, InternodeError};
use ferroshmem_core::job::{Attachment, Localities};
use ferroshmem_core::memory::{AddressSpace, SymmetricMemory};
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{Team, Teams, health};
use ferroshmem_core::transport::Transport;
use ferroshmem_core::wait::progress::{self, Progressed};
use ferroshmem_core::wait::{POLICY, record};
use ferroshmem_core::{hooks, info, job, offload};
use ferroshmem_layout::PeState;
use ferroshmem_message::{ARRIVALS, Messages};
use ferroshmem_platform::socket::Locality;
use ferroshmem_platform::{Features, huge_pages};
use ferroshmem_port::names::Names;
use ferroshmem_port::port::Ports;
use ferroshmem_port::started;
use ferroshmem_profiling as profiling;
use ferroshmem_simd as simd;
use ferroshmem_stream::Streams;
use ferroshmem_tuning::{Collective, CopySizes};

/// The windows. They stay when the library is finalised, for the next initialisation.
static SPACE: OnceLock<AddressSpace> = OnceLock::new();

/// Initialises the library, or notes one more nested initialisation. Collective.
pub fn initialise(name: &str, level: i32) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(rt) = runtime::current() {
        rt.nesting.fetch_add(1, Ordering::Relaxed);
        rt.node.job.block().thread_level.fetch_max(level, Ordering::Relaxed);
        return;
    }
    let has_mpi = initialise_mpi(name);
    let job = job::join().unwrap_or_else(|message| fatal(name, message));
    if let Some(why) = hooks::get().and_then(|hooks| (hooks.mismatch)()) {
        fatal(name, why);
    }
    let header = job.control.header();
    Features::learn(header.features);
    let block = job.block();
    record::set_block(block);
    block.pid.store(std::process::id(), Ordering::Relaxed);
    block.thread_level.store(level, Ordering::Relaxed);
    if job.launched {
        die_with_launcher(header.launcher_pid);
    }

    if header.has_localities != 0 {
        let place = Locality::of_this_process().to_word();
        job.control.place(job.index).store(place, Ordering::Relaxed);
    }
    let space = match SPACE.get() {
        Some(space) => {
            rendezvous_again(name, job);
            space.take_heap_again(job);
            space
        }
        None => SPACE.get_or_init(|| map_space(name, job)),
    };
    let settings = settings(name, job);
    debugger::prepare(job, &settings.debugger);
    place::prepare(job);
    let localities = localities(job, &settings.sockets);
    let selection = header.selection(settings.forced);
    let cores = header.node_cores();
    POLICY.set(job.control.n_pes(), cores, settings.spin);
    let non_temporal_threshold = settings.non_temporal_threshold.unwrap_or(header.non_temporal_threshold);
    simd::set_non_temporal_threshold(usize::try_from(non_temporal_threshold).unwrap_or(usize::MAX));
    if settings.non_temporal_threshold.is_none() {
        simd::try_methods();
    }
    let copies = header.tuning.copies;
    offload::configure(offload::Config {
        workers: settings.workers,
        share: settings.share_threshold.or(CopySizes::known(copies.share)),
        offload: settings.offload_threshold.or(CopySizes::known(copies.offload)),
        openmp: settings.openmp,
        cores,
        pes: job.control.n_pes(),
        check: settings.check,
        may_queue: !hooks::get().is_some_and(|hooks| (hooks.native_required)()),
    });
    if settings.huge_pages.is_none() {
        huge_pages::follow(space.heap_windows_range());
    }
    block.state.store(PeState::Initialized as u32, Ordering::Release);
    exit::notify_launcher_at_exit(job);
    // A second initialisation is as collective as the first.
    let connected = job.placement.spans_nodes().then(|| {
        let (internode, detector) = connect(job, space, &settings).unwrap_or_else(|e| fatal(name, e));
        detector.begin(internode);
        notify_other_nodes(|| {
            if let Some(detector) = runtime::current().and_then(|rt| rt.failure_detector) {
                detector.notify_of_report();
            }
        });
        (internode, &**detector)
    });
    static ALONE: Once = Once::new();
    // A thread of its own is for users who ask for it.
    if connected.is_none()
        && settings.hang.end_after.is_some()
        && let Some(watch) = NodeHangWatch::new(job, settings.hang)
    {
        ALONE.call_once(|| hang::watch_alone(watch));
    }
    if let Some(period) = settings.profiling.status {
        profiling::status::show(job, period);
    }
    let internode = connected.map(|(internode, _)| internode);
    let teams = Teams::new(job, internode, &localities, &selection);
    let check = settings.check;
    let memory = SymmetricMemory::new(space);
    let blocks = job.take_blocks();
    if let Some(blocks) = &blocks {
        replacement::take_blocks(name, blocks, &memory);
    }
    set_debug(settings.debug);
    let rt = runtime::begin(Runtime {
        node: Node {
            me: job.pe,
            n_pes: job.n_pes(),
            job,
            transport: Transport::new(job, memory, internode),
            localities,
            selection,
            settings,
        },
        teams,
        active_sets: ActiveSets::default(),
        collectives: Queues::default(),
        contexts: Contexts::default(),
        locks: Locks::new(check, &block.held),
        failure_detector: connected.map(|(_, detector)| detector),
        parents: AtomicUsize::new(GROUP_INVALID),
        messages: Messages::new(job.control.inbox(job.index), job.block()),
        streams: Streams::default(),
        ports: Ports::default(),
        names: Names::default(),
        nesting: AtomicU32::new(1),
        has_mpi,
    });
    record::set_find_block(|address| {
        let rt = runtime::current()?;
        rt.node.transport.memory.find_block(address)
    });
    progress::set(Progressed {
        messages: || {
            if let Some(rt) = runtime::current() {
                rt.messages.make_progress(&rt.node);
            }
        },
        streams: || {
            if let Some(rt) = runtime::current() {
                rt.streams.make_progress(&rt.node);
            }
        },
        collectives: || runtime::current().map(|rt| rt.collectives.make_progress(&rt.node)).unwrap_or_default(),
    });
    let native_required = hooks::get().is_some_and(|hooks| (hooks.native_required)());
    let recorded = profiling::start(&rt.node, &rt.node.settings.profiling, native_required);
    checks::set(check, recorded);
    fault::explain_faults();
    if let Some(globals) = space.globals() {
        fork::isolate_children(globals, job.control.offsets().globals(job.index));
    }
    if let Some(hooks) = hooks::get() {
        if job.launched {
            (hooks.line_buffer_stdout)();
        }
        (hooks.native_changed)(fast_path::native(&rt.node, hooks));
        if (hooks.native_required)() {
            fast_path::require_native(&rt.node, name);
        }
    }
    if block.restarts.load(Ordering::Relaxed) != 0 {
        rt.become_resilient(job.control.failures().replaced());
    }
    announce(&rt.node, rt.teams.world());
    connections::connect_with_parents(name, rt);
    if blocks.is_some() {
        replacement::meet(name, rt).unwrap_or_else(|why| fatal(name, why));
    }
}

/// Where the node's PEs run: as the user says, else as each of them has said before they synchronised.
fn localities(job: &Attachment, sockets: &SocketMap) -> Localities {
    let pes = 0..job.control.n_pes();
    match sockets {
        SocketMap::Off => Localities::default(),
        SocketMap::Given(sockets) => Localities::new(pes.map(|pe| Locality::new(sockets[pe % sockets.len()], 0))),
        SocketMap::Auto if job.control.header().has_localities == 0 => Localities::default(),
        SocketMap::Auto => {
            Localities::new(pes.map(|pe| Locality::from_word(job.control.place(pe).load(Ordering::Relaxed))))
        }
    }
}

/// Connects this PE with those of other nodes, once in the life of the process.
fn connect(
    job: &'static Attachment,
    space: &'static AddressSpace,
    settings: &Settings,
) -> Result<&'static (Internode, Arc<FailureDetector>), InternodeError> {
    static CONNECTED: OnceLock<(Internode, Arc<FailureDetector>)> = OnceLock::new();
    if let Some(connected) = CONNECTED.get() {
        return Ok(connected);
    }
    let hangs = NodeHangWatch::new(job, settings.hang);
    let detector = Arc::new(FailureDetector::new(job, settings.fabric_timeout, hangs));
    let internode = Internode::open(job, space, detector.monitor(), &settings.fabric)?;
    Ok(CONNECTED.get_or_init(|| (internode, detector)))
}

/// The settings of this PE, which are those of all PEs where they hold for the whole job. The node's
/// PEs have synchronised since they joined.
fn settings(name: &str, job: &Attachment) -> Settings {
    let given = match job.agree() {
        Ok(given) => given,
        Err((pe, why)) => end_job(name, pe == job.pe, why),
    };
    match Settings::read(&given) {
        Ok(settings) => settings,
        // All PEs read what PE 0 is given.
        Err(e) => end_job(name, job.pe == 0 || !given.has(e.variable), e),
    }
}

/// Ends the job over something that several PEs have found, by the line of the one that `reports` it.
fn end_job(name: &str, reports: bool, why: impl Display) -> ! {
    /// Time in which it does, and the launcher ends the others.
    const REPORT: Duration = Duration::from_secs(5);

    if !reports {
        thread::sleep(REPORT);
    }
    fatal(name, why)
}

/// Prints what the environment asks for.
fn announce(node: &Node, world: &Team) {
    let space = node.transport.memory.space;
    if node.me == 0 {
        if node.settings.info {
            println!("{}", info::describe());
        } else if node.settings.version {
            println!("{}", info::version_line());
        }
    }
    debug(|| {
        let globals = space.globals().map_or_else(
            || "not symmetric (the executable is not linked against libshmem)".to_owned(),
            |g| format!("{} bytes at {:#x}", g.len, g.start),
        );
        format!(
            "{} PEs, heap of {} bytes at {:#x}, stride 2^{}, globals {globals}",
            node.n_pes,
            space.heap_size(),
            space.heap_base(),
            space.log2_stride(),
        )
    });
    debug(|| {
        let shape = world.local.shape();
        let barrier = world.decisions.choose(Collective::Barrier, 0);
        match shape.sockets {
            1 => format!("PEs on one socket, barriers by {barrier}"),
            sockets => format!("PEs on {sockets} sockets, barriers by {barrier}"),
        }
    });
    if let (Some(internode), Some(bootstrap)) = (node.transport.internode(), node.job.bootstrap()) {
        debug(|| {
            let (nodes, fabric) = (node.job.placement.nodes(), internode.fabric().name());
            let launcher = bootstrap.launcher();
            format!("{nodes} nodes, started by {launcher}, joined by {fabric}")
        });
    }
}

/// Initialises MPI if the program wants that. Before the job is joined: MPI introduces itself to the launcher first.
fn initialise_mpi(name: &str) -> bool {
    let is_wanted = config::MPI_INIT.read(&config::Environment::process());
    is_wanted.unwrap_or_else(|why| fatal(name, why)) && mpi::initialise()
}

/// Ends the library's part of the program, or one nested initialisation. Collective.
///
/// Once the library is finalised, a further call passes (as in SOS and OSSS; the standard leaves it
/// open): programs do so on the way out, and nothing is lost by it.
pub fn finalise(name: &'static str) {
    if runtime::was_finalised() {
        if checks::are_on() {
            warn(name, "the library is finalised already: remove this call, or match it with a shmem_init");
        }
        return;
    }
    let rt = runtime::get(name);
    let node = &rt.node;
    let world = Group::of_team(node, name, rt.teams.world());
    rt.quiet_all();
    rt.messages.flush(node, name);
    rt.collectives.drain_all(node);
    // Before the PEs wait for each other: some may wait for this one in shmemx_group_disconnect.
    let is_last = rt.nesting.load(Ordering::Acquire) == 1;
    let left = is_last.then(|| connections::leave_all(name, rt));
    let entered = record::now_ns();
    let Some(left) = left else {
        world.sync();
        rt.nesting.fetch_sub(1, Ordering::AcqRel);
        rt.messages.leave(node, false);
        return;
    };
    let end = || {
        profiling::stop(entered);
        end(name, rt, &left);
    };
    // PEs that exit take the cores that they share for longer than all synchronise: before that, PE 0 is done, which
    // prints and writes for all in most programs.
    if rt.teams.world().health().is_some() {
        // Those that are left, whatever became of the world's barriers.
        world.agree(0);
        failed_pes::leave(node, name);
    } else if world.has_central_barrier() {
        world.epoch().synchronise_behind_first(end);
        if world.me == 0 {
            return;
        }
    } else {
        world.sync();
    }
    end();
}

/// Ends the library's part of the program, once all PEs have come here.
fn end(name: &str, rt: &Runtime, left: &Left) {
    let node = &rt.node;
    rt.nesting.fetch_sub(1, Ordering::AcqRel);
    rt.messages.leave(node, true);
    rt.streams.leave();
    rt.names.forget_all();
    rt.ports.close_all();
    connections::end_all(name, rt, left);
    // Memory that other jobs could import is given back below, by the last PE. The others would touch a page for this.
    if node.job.index == 0 {
        node.job.control.exports().clear();
    }
    if let Some(bootstrap) = node.job.bootstrap()
        && bootstrap.loses_starts()
    {
        // The job that has started this one takes the end of this process for the end of all that.
        started::wait_for_end();
    }
    if let Some(stray) = node.transport.memory.space.stray(node.job) {
        fatal(name, stray);
    }
    if let Some(hooks) = hooks::get() {
        (hooks.native_changed)(None);
    }
    for id in rt.teams.ids() {
        rt.collectives.leave(node, id);
        if let Some(t) = rt.teams.by_id(id) {
            t.leave(node);
        }
        if id >= PREDEFINED_TEAMS {
            // Without asking its other members: all are in shmem_finalize.
            rt.teams.remove(id);
            team_id::release_id(node, id);
        }
    }
    if let Some(internode) = node.transport.internode() {
        // What is under way must arrive while its target is still there.
        internode.fabric().quiet(&internode.context);
        rt.messages.drain(node, name);
        if let Some(detector) = rt.failure_detector {
            detector.end();
        }
        // Those of a resilient job have told each other that they leave.
        if let Some(bootstrap) = node.job.bootstrap().filter(|_| !health::is_on()) {
            bootstrap.barrier().unwrap_or_else(|e| fatal(name, e));
        }
        // Of messages that were not received. No PE sends any now.
        ARRIVALS.clear();
    }
    node.job.block().state.store(PeState::Finalized as u32, Ordering::Release);
    checks::end();
    runtime::end();
    set_debug(false);
    // All PEs have entered shmem_finalize, after which heap memory is not used; one that
    // initialises the library again waits for this PE in `rendezvous`. What a device may have
    // registered must stay the same memory.
    let memory = &node.transport.memory;
    node.end_spaces(None);
    let mark = memory.heap().mark();
    if memory.heap().has_placed() {
        memory.space.replace_heap(&(0..mark));
    }
    if node.transport.internode().is_some() {
        memory.space.keep_heap(mark);
    } else {
        memory.space.give_back_heap(node.job, mark);
    }
    if rt.has_mpi {
        mpi::finalise();
    }
}

/// Has the kernel end this process when its parent dies, however that may be.
fn die_with_launcher(launcher: u32) {
    // It fails for no signal that there is.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let launcher = Pid::from_raw(launcher as i32);
    let is_gone = launcher.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH));
    if is_gone {
        // SAFETY: ends this process, whose job has no launcher any more.
        unsafe { libc::_exit(1) };
    }
}
