//! What a PE does, recorded for `oshrun --profile` and `--trace` (`docs/profiling.md`).
//!
//! An exported function tests one byte (`ferroshmem_core::failure::checks`) and then takes its cold copy, which begins
//! a call here, runs the routine and ends the call. Sums are kept in a file that is mapped into memory
//! (`ferroshmem_layout::profile`), so what a PE recorded is there however it ends. Which part of a call was waiting is
//! not measured here: `oshrun` compares when the members of a collective entered it. Counters are kept by the same
//! calls, with or without a record.
//!
//! The crate knows `ferroshmem-core`, and no routine: who calls says of what kind a call is.

mod call_site;
mod clock;
mod core_time;
mod counters;
mod inlined;
mod recorded_call;
mod recorder;
pub mod status;
pub mod totals;

use std::cell::Cell;
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::{mem, ptr};

pub use self::call_site::{CallSites, DEPTH};
pub use self::recorded_call::{RecordedCall, Scope};
use self::recorder::{CallPlace, Recorder};
use ferroshmem_config::ProfilingSettings;
use ferroshmem_core::failure::fatal::warn;
use ferroshmem_core::node::Node;
use ferroshmem_layout::Count;
pub use ferroshmem_layout::profile::Kind;
use ferroshmem_layout::profile::header;

/// The digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

static ON: AtomicBool = AtomicBool::new(false);
/// The recorder; it stays for a second initialisation.
static RECORDER: OnceLock<Option<Recorder>> = OnceLock::new();

/// A call under way.
#[derive(Debug, Clone, Copy)]
pub struct UnderWay {
    call: RecordedCall,
    site: u32,
    begin: u64,
    /// Nanoseconds before it in which this thread was ready to run without a core.
    without_core: u64,
}

thread_local! {
    static UNDER_WAY: Cell<Option<UnderWay>> = const { Cell::new(None) };
}

/// Whether calls are recorded.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

fn recorder() -> Option<&'static Recorder> {
    RECORDER.get()?.as_ref().filter(|_| is_on())
}

/// Starts to record and to count, if the settings say so: called once all PEs are connected. Whether calls are recorded
/// or counted.
pub fn start(node: &Node, settings: &ProfilingSettings, is_inlined: bool) -> bool {
    let has_record = settings.directory.is_some();
    if settings.counters || has_record {
        let has_trace = has_record && settings.trace.is_some();
        if !has_trace || is_inlined {
            inlined::start(node);
        }
        clock::start();
    }
    if settings.counters {
        counters::start(&node.job.block().counters);
        ON.store(true, Ordering::Release);
    }
    start_record(node, settings, is_inlined) || is_on()
}

fn start_record(node: &Node, settings: &ProfilingSettings, is_inlined: bool) -> bool {
    let Some(folder) = &settings.directory else {
        return false;
    };
    let entry = begin as fn(&RecordedCall) as usize;
    let recorder = RECORDER.get_or_init(|| match Recorder::new(node, folder, settings.trace, entry) {
        Ok(recorder) => Some(recorder),
        Err(e) => {
            warn(
                "shmem_init",
                &format!(
                    "this PE cannot record what it does in {folder}: {e}: give oshrun --profile-dir a directory with \
                        room"
                ),
            );
            None
        }
    });
    if let Some(recorder) = recorder {
        recorder.begin(match (inlined::are_counted(), is_inlined) {
            (true, _) => header::COUNTED_INLINE,
            (false, true) => header::ALWAYS_INLINED,
            (false, false) => 0,
        });
        ON.store(true, Ordering::Release);
    }
    recorder.is_some()
}

/// Has calls be looked at that are not recorded.
pub fn look() {
    ON.store(true, Ordering::Release);
}

/// A function that is told when a call of the C API ends; null if there is none.
static AT_END: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Has `told` be called when a call of the C API ends that is looked at.
pub fn set_at_end(told: fn()) {
    AT_END.store(told as *mut (), Ordering::Release);
}

/// Whether the program counts its inlined operations, so that they need not be calls.
pub fn are_inlined_counted() -> bool {
    inlined::are_counted()
}

/// Adds what the program has counted of its inlined operations.
#[cold]
fn collect_inlined(now: u64) {
    inlined::collect(now, |added| {
        counters::add(added.kind, added.operations, added.bytes, 0);
        if let Some(recorder) = recorder() {
            recorder.add_inlined(&added);
        }
    });
}

/// What was counted of `kind`, inlined operations included.
pub fn count(kind: Kind) -> Count {
    collect_inlined(clock::now());
    counters::count(kind)
}

/// The counters begin again at zero.
pub fn reset_counters() {
    collect_inlined(clock::now());
    counters::reset();
}

/// All PEs have entered `shmem_finalize` at `entered`, and left its synchronisation now.
pub fn stop(entered: u64) {
    collect_inlined(clock::now());
    if let Some(recorder) = recorder() {
        recorder.end(entered);
    }
    ON.store(false, Ordering::Release);
}

/// Begins a call of an exported function, which is about to run. That function's caller is found on the stack, at a
/// distance from this function's frame that is the same in each call of the routine.
#[cold]
#[inline(never)]
pub fn begin(call: &RecordedCall) {
    let mark = 0_u8;
    let frame = (&raw const mark).addr();
    match recorder() {
        Some(recorder) => {
            let caller = recorder.call_sites.caller(call.routine, frame);
            begin_at(recorder, call, CallPlace::Address(caller));
        }
        None => begin_counted(call),
    }
}

/// The same for a method of the Rust API: what [`end_in_source`] takes. What the program calls meanwhile, as the
/// condition of a wait may, is a call of its own.
#[cold]
#[inline(never)]
pub fn begin_in_source(call: &RecordedCall, caller: &'static Location<'static>) -> Option<UnderWay> {
    let outer = UNDER_WAY.take();
    match recorder() {
        Some(recorder) => begin_at(recorder, call, CallPlace::Source(caller)),
        None => begin_counted(call),
    }
    UNDER_WAY.replace(outer)
}

/// Ends a method of the Rust API.
#[cold]
#[inline(never)]
pub fn end_in_source(under_way: Option<UnderWay>) {
    let outer = UNDER_WAY.replace(under_way);
    end();
    UNDER_WAY.set(outer);
}

/// Begins a call that is counted alone.
fn begin_counted(call: &RecordedCall) {
    UNDER_WAY.set(Some(UnderWay { call: *call, site: 0, begin: clock::now(), without_core: 0 }));
}

fn begin_at(recorder: &Recorder, call: &RecordedCall, place: CallPlace) {
    let site = recorder.site(call, place);
    if recorder.add_untimed(call, site) {
        return;
    }
    let now = clock::now();
    // The time of a look is not the call's.
    let (begin, without_core) = core_time::between(now).map_or((now, 0), |without| (clock::now(), without));
    UNDER_WAY.set(Some(UnderWay { call: *call, site, begin, without_core }));
}

/// Ends the call that this thread has begun.
#[cold]
#[inline(never)]
pub fn end() {
    let Some(UnderWay { call, site, begin, without_core }) = UNDER_WAY.take() else {
        return;
    };
    let end = clock::now();
    let ns = end.saturating_sub(begin);
    counters::add(call.kind, 1, call.bytes as u64, ns);
    if let Some(recorder) = recorder() {
        recorder.add(&call, site, (begin, end), [without_core, core_time::during(begin, end)]);
        // Counters have the time of each call.
        if recorder.is_costly(end) && !counters::are_on() {
            recorder.count_alone(end);
        }
    }
    if inlined::are_due(end) {
        collect_inlined(end);
    }
}

/// The same, and returns the call's result: a jump at its end.
#[cold]
#[inline(never)]
pub fn ended<T>(result: T) -> T {
    end_of_c();
    result
}

#[cold]
#[inline(never)]
fn end_of_c() {
    end();
    let told = AT_END.load(Ordering::Acquire);
    if !told.is_null() {
        // SAFETY: a function that `set_at_end` was given.
        (unsafe { mem::transmute::<*mut (), fn()>(told) })();
    }
}

thread_local! {
    /// Regions that this thread is in: the outermost first.
    static REGIONS: Cell<Vec<(u32, u64)>> = const { Cell::new(Vec::new()) };
}

/// Enters a region that the program names.
pub fn enter_region(name: &str, place: Option<&'static Location<'static>>) {
    let Some(recorder) = recorder() else {
        return;
    };
    let site = recorder.region(name, place);
    let mut regions = REGIONS.take();
    regions.push((site, clock::now()));
    REGIONS.set(regions);
}

/// Leaves the region entered last.
pub fn leave_region() {
    let Some(recorder) = recorder() else {
        return;
    };
    let mut regions = REGIONS.take();
    if let Some((site, begin)) = regions.pop() {
        recorder.add_region(site, begin, clock::now());
    }
    REGIONS.set(regions);
}
