//! Ending the job over a misuse: one clear line, once, from whichever PE saw it first.

use std::ffi::c_int;
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{OnceLock, RwLock};

use ferroshmem_platform::line::one_line;
use ferroshmem_platform::output;

use super::{caller, debugger, place};
use crate::job::{self, Attachment};
use ferroshmem_layout::PeState;

/// Exit status of a PE that ends the job over a misuse.
pub const STATUS: c_int = 1;

/// Ends the job: prints `ferroshmem: PE 3: <routine>: <message>; called at <place>` unless another PE has
/// reported already, flushes the program's own output, and exits. `oshrun` ends the others.
#[cold]
pub fn fatal(routine: &str, message: impl Display) -> ! {
    end_job(routine, &message, || place::of_caller().or_else(|| Some(caller::find()?.to_string())))
}

/// As [`fatal`], in a thread of the library's, which no call of the program has brought here.
#[cold]
pub(crate) fn fatal_in_background(routine: &str, message: impl Display) -> ! {
    end_job(routine, &message, || None)
}

fn end_job(routine: &str, message: &dyn Display, caller: fn() -> Option<String>) -> ! {
    let job = job::joined();
    let first = job.map_or_else(job::reports_unjoined, claim_report);
    output::flush();
    if first {
        let mut line = line_of(job, routine, message);
        if let Some(caller) = caller() {
            line.push_str(&format!("; called at {caller}"));
        }
        let line = one_line(&line);
        print_line(&line);
        debugger::at_failure();
        if let Some(notify) = OTHER_NODES.get() {
            notify();
        }
        let launcher = match job {
            // One that goes on without this PE does not end for it.
            Some(job) => job.bootstrap().filter(|_| !job.control.failures().can_go_on()),
            None => job::launcher_of_unjoined(),
        };
        if let Some(launcher) = launcher {
            job::abort(launcher, STATUS, &line);
        }
    } else {
        // The launcher ends this PE when it sees the one that reported.
        std::thread::sleep(debugger::wait_for_first());
    }
    exit()
}

/// Ends this process at once, as one that has failed.
pub fn exit() -> ! {
    // SAFETY: ends the process at once; who calls has flushed the program's output, or does not know it.
    unsafe { libc::_exit(STATUS) }
}

/// What notifies the PEs of other nodes.
static OTHER_NODES: OnceLock<fn()> = OnceLock::new();

/// Has `notify` called once a PE has reported: it has the PEs of other nodes report nothing.
pub fn notify_other_nodes(notify: fn()) {
    let _ = OTHER_NODES.set(notify);
}

/// What is said of a call.
fn line_of(job: Option<&Attachment>, routine: &str, message: impl Display) -> String {
    match job {
        Some(job) => format!("ferroshmem: {}: {routine}: {message}", job.name_of_pe()),
        None => format!("ferroshmem: {routine}: {message}"),
    }
}

/// Prints a line on a call that is wrong but does no harm.
pub fn warn(routine: &str, message: &str) {
    print_line(&line_of(job::joined(), routine, message));
}

/// The words by which connected jobs agree on who reports, with the numbers of the connections, ascending.
static CONNECTED: RwLock<Vec<(u32, &AtomicU32)>> = RwLock::new(Vec::new());

/// Has this PE report nothing once a PE of the connection has, by the connection's word for that.
pub fn share_reports(connection: u32, reporter: &'static AtomicU32) {
    let mut all = CONNECTED.write().unwrap_or_else(|e| e.into_inner());
    let at = all.partition_point(|(number, _)| *number < connection);
    all.insert(at, (connection, reporter));
}

/// The connection is over.
pub fn unshare_reports(connection: u32) {
    let mut all = CONNECTED.write().unwrap_or_else(|e| e.into_inner());
    all.retain(|(number, _)| *number != connection);
}

/// Makes this PE the one that reports why its job, and those that are connected with it, end; false if another
/// has reported. The launcher adds no line of its own for a PE that has called this. Safe in a signal handler.
pub fn claim_report(job: &Attachment) -> bool {
    let reported = PeState::Reported as u32;
    let block = job.block();
    block.state.store(reported, Ordering::Release);
    let mine = job.pe as u32 + 1;
    let claim = |word: &AtomicU32| word.compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire).is_ok();
    // All PEs take the words in one order, so one of them gets all of its own. A signal handler that has
    // interrupted a change of the list does without it.
    claim(&job.control.header().reporter)
        && CONNECTED.try_read().map_or(true, |all| all.iter().all(|(_, word)| claim(word)))
}

/// Whether a PE of the job has reported a misuse: this one need not find out what it could say. Safe in a
/// signal handler.
pub fn is_reported(job: &Attachment) -> bool {
    job.control.header().reporter.load(Ordering::Acquire) != 0
}

/// Prints a line on standard error in one write, so that lines of several PEs do not mix.
pub fn print_line(line: &str) {
    let line = format!("{}\n", one_line(line));
    // Nothing can be reported if standard error is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

static DEBUG: AtomicBool = AtomicBool::new(false);

/// Sets whether [`debug`] prints: `SHMEM_DEBUG` is set, and the library is initialised.
pub fn set_debug(on: bool) {
    DEBUG.store(on, Ordering::Relaxed);
}

/// Prints a line if `SHMEM_DEBUG` is set.
pub fn debug(message: impl FnOnce() -> String) {
    if DEBUG.load(Ordering::Relaxed)
        && let Some(job) = job::joined()
    {
        let pe = job.name_of_pe();
        print_line(&format!("ferroshmem: {pe}: debug: {}", message()));
    }
}
