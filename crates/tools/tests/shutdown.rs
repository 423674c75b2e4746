//! How jobs are ended from outside, and that nothing of them is left behind.

mod support;

use std::ffi::CString;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;

use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use support::{Job, kill, run, script};

/// A script whose PEs make `dir/<PE>` once they have started.
fn ready(dir: &Path, then: &str) -> String {
    format!(": >{}/$PE; {then}", dir.display())
}

fn start(options: &str, then: &str, n: usize) -> Job {
    let dir = tempfile::tempdir().unwrap();
    let mut job = Job::start(&mut script(options, &ready(dir.path(), then)), "");
    for pe in 0..n {
        job.wait_for(&dir.path().join(pe.to_string()));
    }
    job
}

#[test]
fn signals_that_end_the_job() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let job = start("-n 2", "sleep 100; sleep 100", 2);
        job.signal(signal);
        let ended = job.wait();
        assert_eq!(ended.code, Some(128 + signal), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

/// The kernel's SIGHUP goes to the leader of the session alone.
#[test]
fn a_terminal_that_closes_ends_the_job() {
    if !Path::new("/dev/pts/ptmx").exists() {
        println!("skipped: /dev/pts has no terminals (mount devpts)");
        return;
    }
    let terminal = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let line = CString::new(ptsname_r(&terminal).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut command = script("-n 2", &ready(dir.path(), "sleep 1000; sleep 1000"));
    // SAFETY: system calls only. The first terminal that the leader of a session opens becomes its own.
    unsafe {
        command.pre_exec(move || {
            nix::unistd::setsid()?;
            match libc::open(line.as_ptr(), libc::O_RDWR) {
                -1 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            }
        })
    };
    let mut job = Job::start(&mut command, "");
    for pe in 0..2 {
        job.wait_for(&dir.path().join(pe.to_string()));
    }
    drop(terminal);
    let ended = job.wait();
    assert_eq!(ended.code, Some(128 + libc::SIGHUP), "{}", ended.stderr);
    assert_eq!(ended.stderr, "oshrun: got SIGHUP; ended the job\n");
}

/// Rust's own handlers would swallow it.
#[test]
fn signals_of_faults_end_who_gets_them() {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        let job = start("-n 2", "sleep 1000; sleep 1000", 2);
        job.signal(signal);
        let ended = job.wait_for_all();
        assert_eq!(ended.status.signal(), Some(signal));
        assert_eq!(ended.stderr, "oshrun: oshrun was killed; ended the job\n");
        let job = start("-n 2", "sleep 1000; sleep 1000", 2);
        kill(child_of(job.pid()), signal);
        let ended = job.wait();
        assert_eq!(ended.code, Some(128 + signal), "{}", ended.stderr);
    }
}

#[test]
fn output_that_waits_for_a_reader_does_not_outlive_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let unread = dir.path().join("unread");
    nix::unistd::mkfifo(&unread, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _nobody = fs::File::options().read(true).write(true).open(&unread).unwrap();
    let (oshrun, errors) = (env!("CARGO_BIN_EXE_oshrun"), dir.path().join("errors"));
    let streams = format!(">{} 2>{}", unread.display(), errors.display());
    let text = format!("exec {oshrun} -n 1 --label sh -c 'seq 50000; exit 3' {streams}");
    let mut job = Job::start(std::process::Command::new("sh").args(["-c", &text]), "");
    job.wait_until(|| fs::read_to_string(&errors).is_ok_and(|text| text.contains("status 3")));
    assert_eq!(job.end_by(libc::SIGTERM).code, Some(3));
}

#[test]
fn a_signal_reaches_every_pe_once() {
    let wait = "trap 'echo got it' USR1; trap 'exit 0' TERM; : >$0.$PE; while :; do sleep 0.01; done";
    let dir = tempfile::tempdir().unwrap();
    let mut command = script("-n 3 --label", wait);
    command.arg(dir.path().join("pe"));
    let mut job = Job::start(&mut command, "");
    for pe in 0..3 {
        job.wait_for(&dir.path().join(format!("pe.{pe}")));
    }
    job.signal(libc::SIGUSR1);
    job.signal(libc::SIGTERM);
    let ended = job.wait();
    assert_eq!(ended.code, Some(128 + libc::SIGTERM), "{}", ended.stderr);
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] got it", "[1] got it", "[2] got it"]);
}

#[test]
fn pes_that_ignore_signals_end_too() {
    let job = start("-n 2", "trap '' TERM INT; while :; do sleep 1; done", 2);
    job.signal(libc::SIGTERM);
    assert_eq!(job.wait().code, Some(128 + libc::SIGTERM));
    let ended = run(&mut script("-n 2", "[ $PE = 0 ] && exit 9; trap '' TERM; while :; do sleep 1; done"));
    assert_eq!(ended.code, Some(9));
}

#[test]
fn ignored_hangups_stay_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    let started = dir.path().join("started");
    let program = env!("CARGO_BIN_EXE_oshrun");
    let pe = format!(": >{}; while ! [ -e {} ]; do sleep 0.01; done", started.display(), go.display());
    let mut command = std::process::Command::new("nohup");
    command.args([program, "-n", "1", "sh", "-c", &pe]);
    let mut job = Job::start(&mut command, "");
    job.wait_for(&started);
    job.signal(libc::SIGHUP);
    fs::write(&go, "").unwrap();
    assert_eq!(job.wait().code, Some(0));
}

#[test]
fn the_job_ends_with_the_process_that_is_killed() {
    // Grandchildren too, even those that leave the session and ignore what they can.
    let family = "setsid sh -c \"trap '' TERM HUP; sleep 100; sleep 100\" & sleep 100; sleep 100";
    let job = start("-n 3", family, 3);
    job.signal(libc::SIGKILL);
    let ended = job.wait();
    assert_eq!(ended.stderr, "oshrun: oshrun was killed; ended the job\n");
    let job = start("-n 3", family, 3);
    let supervisor = child_of(job.pid());
    kill(supervisor, libc::SIGKILL);
    let ended = job.wait();
    assert_eq!(ended.code, Some(128 + libc::SIGKILL));
    assert!(ended.stderr.contains("SIGKILL"), "{}", ended.stderr);
}

/// At any moment of a start: the supervisor may be there, and may not watch yet.
#[test]
fn the_job_ends_with_one_that_is_killed_as_it_starts() {
    for moment in 0..100 {
        let job = Job::start(&mut script("-n 1", "sleep 100; sleep 100"), "");
        std::thread::sleep(std::time::Duration::from_micros(150 * moment));
        job.signal(libc::SIGKILL);
        job.wait();
    }
}

/// The one child of `oshrun`.
fn child_of(parent: i32) -> i32 {
    let parent = format!("PPid:\t{parent}\n");
    let pids = fs::read_dir("/proc").unwrap().filter_map(|e| {
        let pid: i32 = e.ok()?.file_name().to_str()?.parse().ok()?;
        fs::read_to_string(format!("/proc/{pid}/status")).ok()?.contains(&parent).then_some(pid)
    });
    pids.into_iter().next().expect("the supervisor")
}

#[test]
fn the_end_of_the_job_ends_what_pes_left_running() {
    let ended = run(&mut script("-n 2", "setsid sleep 100 & (trap '' TERM; sleep 100; sleep 100) & exit 0"));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let ended = run(&mut script("-n 2", "setsid sleep 100 & exit 5"));
    assert_eq!(ended.code, Some(5));
}

#[test]
fn time_limit() {
    let ended = run(&mut script("-n 2 --timeout 0.3", "sleep 100; sleep 100"));
    assert_eq!(ended.code, Some(124));
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert!(lines[0].contains("not done after 0.3 s"), "{}", ended.stderr);
    // Then where they are, if they may be looked at.
    let waits = lines[1].starts_with("oshrun: PEs 0-1 are not in shmem_init yet");
    assert!(waits, "{}", ended.stderr);
    assert_eq!(run(&mut script("-n 2 --timeout 50", "exit 0")).code, Some(0));
}

#[test]
fn a_stopped_job_goes_on() {
    let wait = "while ! [ -e $0 ]; do sleep 0.01; done; echo on";
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    let mut command = script("-n 2", &ready(dir.path(), wait));
    command.arg(&go);
    let mut job = Job::start(&mut command, "");
    job.wait_for(&dir.path().join("1"));
    job.signal(libc::SIGTSTP);
    for pid in [job.pid(), child_of(job.pid())] {
        job.wait_until(|| is_stopped(pid));
    }
    job.signal(libc::SIGCONT);
    fs::write(&go, "").unwrap();
    let ended = job.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "on\non\n"));
}

fn is_stopped(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status")).unwrap().contains("State:\tT")
}

#[test]
fn many_jobs_leave_nothing() {
    // `run` looks for processes that are left after each.
    for i in 0..50 {
        let (text, status) = match i % 5 {
            0 => ("exit 0", 0),
            1 => ("[ $PE = 1 ] && exit 4; sleep 100; sleep 100", 4),
            2 => ("[ $PE = 2 ] && kill -9 $$; sleep 100", 128 + 9),
            3 => ("sleep 100 & [ $PE = 0 ] && exit 6; wait", 6),
            _ => ("setsid sleep 100 & exit 0", 0),
        };
        assert_eq!(run(&mut script("-n 4", text)).code, Some(status), "{text}");
    }
}
