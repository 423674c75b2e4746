//! PEs in processes of their own, over loopback. This program is each of them.
//!
//! `SHMEM_LIBFABRIC` names another library, `SHMEM_FABRIC` another provider,
//! `SHMEM_FABRIC_INTERFACE` another interface.

mod active_messages;
mod aggregation;
mod atomics;
mod buffers;
mod endpoints;
mod exposure;
mod exposures;
mod failures;
mod job;
mod losses;
mod order;
mod progress;
mod transfers;

use std::ffi::CStr;
use std::ptr;

use ferroshmem_fabric::discovery::open_library;
use ferroshmem_fabric::{Config, Error};
use libtest_mimic::{Arguments, Trial};

use job::Case;

fn cases() -> Vec<Case> {
    [
        transfers::cases(),
        buffers::cases(),
        atomics::cases(),
        order::cases(),
        endpoints::cases(),
        progress::cases(),
        active_messages::cases(),
        aggregation::cases(),
        failures::cases(),
        losses::cases(),
        exposure::cases(),
        exposures::cases(),
    ]
    .concat()
}

/// Hides the kernel's symbols from the processes to come, as far as this user may: libfabric's verbs provider reads all
/// of them when it is loaded, for graphics cards. That is a quarter of what these tests compute.
fn hide_kernel_symbols() {
    let [root, empty, symbols] = [c"/", c"/dev/null", c"/proc/kallsyms"].map(CStr::as_ptr);
    // SAFETY: the strings end in a null byte, and what is mounted is in a namespace of these processes' own.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(ptr::null(), root, ptr::null(), libc::MS_REC | libc::MS_PRIVATE, ptr::null()) == 0
        {
            libc::mount(empty, symbols, ptr::null(), libc::MS_BIND, ptr::null());
        }
    }
}

fn main() {
    if let Some(name) = std::env::var_os("FABRIC_TEST_CASE") {
        let all = cases();
        let case = all.iter().find(|case| name == case.name);
        job::take_part(case.expect("a case of this program"));
        return;
    }
    hide_kernel_symbols();
    let mut arguments = Arguments::from_args();
    let config = Config { library: std::env::var("SHMEM_LIBFABRIC").ok(), ..Config::default() };
    if let Err(error @ Error::LibraryMissing { .. }) = open_library(&config)
        && !arguments.list
    {
        println!("skipped: {error}");
        return;
    }
    // Each case is several processes already, with a progress thread each.
    arguments.test_threads = Some(1);
    // Dozens of processes on few cores take a while: with --include-ignored.
    let is_long = |case: &Case| case.n > 16;
    let trial = |case: Case| Trial::test(case.name, move || job::run(&case)).with_ignored_flag(is_long(&case));
    let trials = cases().into_iter().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit();
}
