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
use nix::sys::signal::{Signal, raise};
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
    if let Some(how) = scenario.strip_prefix("resilient: ") {
        lose(&job, how);
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

/// Fails in a resilient job, or goes on without the others.
fn lose(job: &Attachment, how: &str) -> ! {
    let (pe, n_pes, failures) = (job.pe, job.control.n_pes(), job.control.failures());
    let enter = |state: PeState| job.control.pe_block(pe).state.store(state as u32, Release);
    let is_lost = |pe: usize| job.control.pe_block(pe).state.load(Acquire) == PeState::Failed as u32;
    let wait_for = |count: usize| {
        while failures.count() < count {
            sleep(Duration::from_millis(1));
        }
    };
    failures.resilient.store(1, Release);
    let words: Vec<usize> = how.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match (how.split(' ').next().unwrap(), pe) {
        ("kill" | "exit", 0) => {
            wait_for(n_pes - 1);
            let all: Vec<_> = failures.between(0, n_pes - 1).collect();
            assert!((1..n_pes).all(|pe| is_lost(pe) && all.contains(&pe)), "{all:?}");
            println!("PE 0 has gone on");
            enter(PeState::Finalized);
            exit(words.get(1).map_or(0, |status| *status as i32));
        }
        ("all", 0) => {
            wait_for(n_pes - 1);
            exit(6);
        }
        ("global", 0) => {
            wait_for(n_pes - 1);
            job.control.pe_block(pe).status.store(8, Release);
            enter(PeState::GlobalExit);
            exit(8);
        }
        _ => {}
    }
    match words[0] {
        // The first SIGSEGV ends in a handler of Rust's, which restores the default.
        signal @ (9 | 11) => loop {
            let _ = raise(Signal::try_from(signal as i32).unwrap());
        },
        status => exit(status as i32),
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

/// The lines on PEs that are lost, by PE.
fn lost(ended: &Ended) -> Vec<&str> {
    let mut lines: Vec<_> = ended.stderr.lines().filter(|line| line.ends_with("the job goes on without it")).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_resilient_job_goes_on_without_a_pe() {
    for (how, what) in [
        ("kill 9", "was killed by SIGKILL (by a user, or for lack of memory)"),
        ("kill 11", "was killed by SIGSEGV (segmentation fault)"),
        ("exit 3", "exited with status 3"),
        ("exit 0", "exited with status 0 without shmem_finalize"),
    ] {
        let ended = run("-n 3", &format!("resilient: {how}"));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let lines = lost(&ended);
        assert_eq!((lines.len(), ended.stderr.lines().count()), (2, 2), "{}", ended.stderr);
        for (pe, line) in (1..).zip(lines) {
            assert!(line.starts_with(&format!("oshrun: PE {pe} (\"")) && line.contains(what), "{line}");
        }
        assert!(ended.stdout.contains("PE 0 has gone on"), "{}", ended.stdout);
    }
}

#[test]
fn a_resilient_job_ends_with_the_status_of_the_survivors() {
    let ended = run("-n 2", "resilient: kill 9 5");
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(lost(&ended).len(), 1, "{}", ended.stderr);
    let ended = run("-n 3", "resilient: global 11");
    assert_eq!((ended.code, lost(&ended).len(), ended.stderr.lines().count()), (Some(8), 2, 2), "{}", ended.stderr);
}

#[test]
fn a_resilient_job_ends_with_its_last_pe() {
    let ended = run("-n 3", "resilient: all 9");
    assert_eq!((ended.code, lost(&ended).len()), (Some(6), 2), "{}", ended.stderr);
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.ends_with("exited with status 6; ended the job"), "{last}");
}

#[test]
fn resilient_jobs_do_not_meet() {
    let jobs: Vec<_> = (0..2).map(|_| Job::start(&mut job("-n 3", "resilient: kill 9"), "")).collect();
    for ended in jobs.into_iter().map(Job::wait) {
        assert_eq!((ended.code, lost(&ended).len()), (Some(0), 2), "{}", ended.stderr);
    }
}
