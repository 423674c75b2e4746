//! How PEs of one node notice each other's end in a resilient job that another launcher than `oshrun` has started, or
//! that has several nodes.
//!
//! A thread of each PE waits for the end of the next PE in a ring, then for that of the one behind it, and so on. So
//! each end is noticed by a PE that lives: if all PEs between that one and the PE that ends have ended, it has passed
//! them all, or is about to. Several may notice an end, where one is killed that has; it is recorded once.
//!
//! The kernel tells of an end by the PE's lifeline, which cannot be mistaken for that of another process, but in the
//! moment in which it begins: other threads of the process may write for some time. So a PE counts as failed once the
//! kernel has no thread of the process any more, as for `oshrun`.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use ferroshmem_core::failure::fatal;
use ferroshmem_core::job::Attachment;
use ferroshmem_core::node;
use ferroshmem_layout::{PeBlock, PeState};
use ferroshmem_platform::{Wait, futex};
use rustix::event::Timespec;
use rustix::io::Errno;

use super::failed_pes;
use super::successor::{has_ended, process_of};

/// How far the thread is that watches.
static STATE: AtomicU32 = AtomicU32::new(NEW);
const NEW: u32 = 0;
const STARTING: u32 = 1;
/// It holds this PE's lifeline.
const HELD: u32 = 2;
const NOT_HELD: u32 = 3;

/// Prepares to watch the other PEs of the node, and to be watched. A word that is the same on all PEs if that can be,
/// and else not: for an agreement, which combines words by bitwise and.
#[cold]
pub fn prepare(job: &'static Attachment) -> u32 {
    if is_first() && ferroshmem_platform::thread::spawn("shmem-watch", 128 << 10, || watch(job)).is_err() {
        STATE.store(NOT_HELD, Ordering::Relaxed);
    }
    while STATE.load(Ordering::Acquire) == STARTING {
        thread::yield_now();
    }
    let is_held = STATE.load(Ordering::Relaxed) == HELD;
    match process_numbers() {
        Some(numbers) if is_held && process_of(job.block()).is_some() => all_or_none(numbers as u16),
        _ => 0,
    }
}

/// Whether no thread holds this PE's lifeline, or is about to: the one that asks must.
pub(super) fn is_first() -> bool {
    STATE.compare_exchange(NEW, STARTING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// Holds this PE's lifeline, as long as this thread runs; whether that worked.
pub(super) fn hold(job: &Attachment) -> bool {
    let is_held = job.block().lifeline.hold();
    STATE.store(if is_held { HELD } else { NOT_HELD }, Ordering::Release);
    is_held
}

/// What stands for the PID namespace: where it is the same, PEs mean the same process by a number.
fn process_numbers() -> Option<u64> {
    let mut about = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path is a string, and `about` is written before it is read.
    unsafe {
        let found = libc::stat(c"/proc/self/ns/pid".as_ptr(), about.as_mut_ptr()) == 0;
        found.then(|| about.assume_init().st_ino)
    }
}

/// All PEs are prepared, and the job is resilient: PEs that watch begin.
pub fn begin(job: &Attachment) {
    futex::wake(&job.control.failures().resilient, futex::ANY);
}

/// Holds the lifeline of this PE, and watches the others once the job is resilient.
fn watch(job: &Attachment) {
    if hold(job) {
        let failures = job.control.failures();
        while !failures.is_resilient() {
            futex::wait(&failures.resilient, 0, futex::ANY, None);
        }
        // When that returns, and the thread lets go of the lifeline, all others have ended.
        watch_others(job, false);
    }
}

/// The number, and its complement: of different numbers, some bit is 0 in both.
fn all_or_none(number: u16) -> u32 {
    u32::from(number) | u32::from(!number) << 16
}

/// Watches the others, the first of which is known to end if this thread `has_seen_next` do so.
pub(super) fn watch_others(job: &Attachment, has_seen_next: bool) {
    let n_pes = job.control.n_pes();
    for distance in 1..n_pes {
        let index = (job.index + distance) % n_pes;
        let block = job.control.pe_block(index);
        let has_ended = wait_for_end(block, has_seen_next && distance == 1);
        let state = PeState::from_word(block.state.load(Ordering::Acquire));
        // Who has found another one to have failed may have been killed before that was recorded.
        if has_ended && !matches!(state, PeState::Finalized | PeState::GlobalExit) {
            note_failure(job, index);
        }
    }
}

/// Waits until no thread of a PE's process is there any more, which `begins` to end; false if nothing says when.
fn wait_for_end(block: &PeBlock, begins: bool) -> bool {
    /// What it takes at most from the end of one thread to that of all. If the number of the process, which was not
    /// watched in time, is already that of another one, it has ended long ago.
    const ENDS_WITHIN: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
    /// The same where the process is gone already, or this one has no descriptor left.
    const UNSEEN: Duration = Duration::from_millis(100);

    let process = process_of(block);
    // Who has seen that holds the lifeline itself now.
    let begins = begins || block.lifeline.wait() == Wait::Ended;
    let within = begins.then_some(&ENDS_WITHIN);
    match &process {
        Some(process) => while has_ended(process, within) == Err(Errno::INTR) {},
        None => thread::sleep(UNSEEN),
    }
    begins || process.is_some()
}

/// Whether the job was ever connected with another one: it ends with the first PE that fails.
pub(super) fn is_connected() -> bool {
    node::current().is_some_and(|node| node.transport.connections.has_been_used())
}

/// The job goes on without a PE of this node, or ends where it cannot.
fn note_failure(job: &Attachment, index: usize) {
    let failures = job.control.failures();
    let pe = job.placement.local_pes()[index] as usize;
    let line = |then| format!("ferroshmem: PE {}: PE {pe} has ended without shmem_finalize; {then}", job.pe);
    if failures.can_go_on() && !is_connected() {
        job.control.note_failure(index, pe);
        if failed_pes::record(job, pe) {
            fatal::print_line(&line("the job goes on without it"));
        }
        return;
    }
    let line = line("ended the job");
    if fatal::claim_report(job) {
        fatal::print_line(&line);
    }
    job.abort(fatal::STATUS, &line);
    fatal::exit()
}

#[cfg(test)]
mod tests {
    use super::all_or_none;

    #[test]
    fn words_of_all_are_those_of_each_if_all_are_the_same() {
        let numbers = [0, 1, 2, 0x7fff, 0xfffc, u16::MAX];
        for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
            let both = all_or_none(a) & all_or_none(b);
            let is_that_of = |number| all_or_none(number) == both;
            assert_eq!(numbers.map(is_that_of), numbers.map(|number| a == number && b == number));
            assert_ne!(all_or_none(a), 0);
        }
    }
}
