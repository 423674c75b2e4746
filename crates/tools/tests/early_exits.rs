//! PEs that exit in the middle of a job, and what `oshrun` reads from the job's memory.
//!
//! The PEs are this test program itself, run by `oshrun` on the ignored test `pe`: they
//! write what the library would write.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, exit};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::sleep;
use std::time::Duration;

use ferroshmem_core::job::Attachment;
use ferroshmem_layout::{PeBlock, PeState, WaitKind};
use nix::sys::resource::{Resource, setrlimit};
use support::{Ended, Job, oshrun};

const SCENARIO: &str = "FERROSHMEM_TEST_SCENARIO";
/// Directory in which a PE makes a file named as the routine that it waits in.
const READY: &str = "FERROSHMEM_TEST_READY";

fn job(options: &str, scenario: &str) -> Command {
    let mut command = oshrun(&options.split_whitespace().collect::<Vec<_>>());
    let this = std::env::current_exe().unwrap();
    command.arg(this).args(["--exact", "pe", "--ignored", "--nocapture"]).env(SCENARIO, scenario);
    command
}

fn run(options: &str, scenario: &str) -> Ended {
    support::run(&mut job(options, scenario))
}

#[test]
#[ignore = "a PE of the other tests"]
fn pe() {
    let Ok(scenario) = std::env::var(SCENARIO) else {
        return;
    };
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let job = Attachment::new().unwrap();
    let (pe, block) = (job.pe, job.control.pe_block(job.pe));
    let enter = |state: PeState| block.state.store(state as u32, Release);
    match (scenario.as_str(), pe) {
        ("never in the job", 1) => exit(0),
        _ => enter(PeState::Initialized),
    }
    match (scenario.as_str(), pe) {
        ("implicit", _) | ("missed", 2) | ("silent", 1) => exit(0),
        ("missed" | "hang", 0) => wait(block, WaitKind::Team, "shmem_barrier_all"),
        ("silent" | "hang", 2) => wait(block, WaitKind::Lock, "shmem_set_lock"),
        ("silent" | "never in the job", _) => wait(block, WaitKind::Point, "shmem_int_wait_until"),
        ("status after finalize", 0) => {
            enter(PeState::Finalized);
            let finalized = |pe| job.control.pe_block(pe).state.load(Acquire) == PeState::Finalized as u32;
            while !(1..3).all(finalized) {
                sleep(Duration::from_millis(1));
            }
            exit(3);
        }
        ("status after finalize", _) => {
            enter(PeState::Finalized);
            sleep(Duration::from_millis(100));
            println!("PE {pe} left by itself");
            exit(0);
        }
        ("reported", 1) => {
            enter(PeState::Reported);
            exit(2);
        }
        ("global exit", 1) => {
            let status: i32 = std::env::var("STATUS").unwrap().parse().unwrap();
            block.status.store(status, Release);
            enter(PeState::GlobalExit);
            exit(status);
        }
        _ => sleep(Duration::from_secs(100)),
    }
}

/// Records a wait, and waits for ever.
fn wait(block: &PeBlock, kind: WaitKind, routine: &str) {
    let record = &block.wait;
    record.set_routine(routine);
    record.stride.store(1, Release);
    record.size.store(3, Release);
    record.sequence.store(1, Release);
    record.address.store(0x1000, Release);
    record.serial.fetch_add(1, Release);
    record.kind.store(kind as u32, Release);
    if let Some(dir) = std::env::var_os(READY) {
        fs::write(Path::new(&dir).join(routine), "").unwrap();
    }
    sleep(Duration::from_secs(100));
}

#[test]
fn a_collective_without_a_pe_that_exited() {
    let ended = run("-n 3", "missed");
    assert_eq!(ended.code, Some(1));
    let line =
        "oshrun: PE 2 exited with status 0 without shmem_finalize while PE 0 waits in shmem_barrier_all, called at ";
    assert!(ended.stderr.starts_with(line), "{}", ended.stderr);
    assert!(ended.stderr.ends_with("; ended the job\n"));
    assert_eq!(ended.stderr.lines().count(), 1);
}

#[test]
fn all_pes_wait_and_one_exited() {
    let ended = run("-n 3", "silent");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .stderr
            .contains("PE 1 exited with status 0 without shmem_finalize while PE 0 waits in shmem_int_wait_until"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 1);
    let ended = run("-n 2", "never in the job");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("PE 1 exited with status 0 without shmem_init"), "{}", ended.stderr);
}

#[test]
fn old_programs_need_not_finalize() {
    let ended = run("-n 3", "implicit");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_status_after_finalize_lets_the_others_leave() {
    let ended = run("-n 3", "status after finalize");
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("PE 0") && ended.stderr.contains("status 3"), "{}", ended.stderr);
    for pe in 1..3 {
        assert!(ended.stdout.contains(&format!("PE {pe} left by itself")), "{}", ended.stdout);
    }
}

#[test]
fn a_pe_that_explained_itself_needs_no_second_line() {
    let ended = run("-n 3", "reported");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), ""));
}

#[test]
fn global_exit() {
    for status in [0, 7] {
        let ended = support::run(job("-n 3", "global exit").env("STATUS", status.to_string()));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(status), ""));
    }
}

/// Whether these are the lines about the PEs of scenario "hang".
fn is_hang_report(lines: &[&str]) -> bool {
    lines[0].starts_with("oshrun: PE 0 waits in shmem_barrier_all on the world team since ")
        && lines[1].starts_with("oshrun: PE 2 waits in shmem_set_lock for the lock at 0x1000 since ")
        && lines[2].starts_with("oshrun: PE 1 sleeps in the program")
}

#[test]
fn hang_report() {
    let ended = run("-n 3 --timeout 3", "hang");
    assert_eq!(ended.code, Some(124));
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert!(is_hang_report(&lines[1..]), "{}", ended.stderr);

    let dir = tempfile::tempdir().unwrap();
    let mut running = Job::start(job("-n 3", "hang").env(READY, dir.path()), "");
    for routine in ["shmem_barrier_all", "shmem_set_lock"] {
        running.wait_for(&dir.path().join(routine));
    }
    running.signal(libc::SIGQUIT);
    let ended = running.wait();
    assert_eq!(ended.code, Some(128 + libc::SIGQUIT));
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert!(is_hang_report(&lines), "{}", ended.stderr);
}
