//! The cache against real memory, with registrars that are no devices.

mod armed;
mod fake;
mod keeping;
mod losing;
mod mapping;
mod pipes;
mod pool;
mod stress;
mod unwatched;

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::{Kind, Limits, Monitor};
use mapping::Mapping;

const PAGE: usize = 4096;
const PLENTY: Limits = Limits { bytes: usize::MAX, regions: 64 };

/// The monitor of this process, for one test at a time: while much is being unmapped, what is
/// kept may be registered once more. None, with a note, where the kernel does not offer it.
fn monitor() -> Option<(Monitor, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let monitor = Monitor::of_process();
    match monitor.kind() {
        Kind::Userfaultfd => {
            let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            Some((monitor, alone))
        }
        kind => {
            eprintln!("skipped: no memory is watched here: {kind}");
            None
        }
    }
}

/// Runs a test that hangs if something is wrong.
fn watched_over(body: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let test = thread::spawn(move || {
        body();
        let _ = done.send(());
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::from_secs(120)) {
        panic!("hangs");
    }
    if let Err(cause) = test.join() {
        std::panic::resume_unwind(cause);
    }
}

/// Waits for what the monitor's thread, or the allocator, does in its own time.
fn eventually(mut done: impl FnMut() -> bool) {
    while !done() {
        thread::yield_now();
    }
}
