//! Misuse and faults: one clear line, the right status, the job gone at once, nothing left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_conformance::job::{Running, now_ms, shell_status};
use ferroshmem_conformance::leftovers::Machine;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Outcome, Suite};
use nix::sys::signal::{Signal, kill};

/// From the fault to the end of the job.
const GONE_WITHIN_MS: u64 = 1000;
/// A loaded machine may take longer than [`GONE_WITHIN_MS`] once, not this often.
const ATTEMPTS: usize = 4;
/// `SHMEM_CHECK=1`.
const CHECKED: &[(&str, &str)] = &[("SHMEM_CHECK", "1")];

/// The status a job must end with.
#[derive(Debug, Clone, Copy)]
enum Status {
    Is(i32),
    NonZero,
}

/// A misuse by PE 1 of 2, and the words that its one line must have.
struct Misuse {
    case: &'static str,
    env: &'static [(&'static str, &'static str)],
    words: &'static [&'static str],
}

const fn always(case: &'static str, words: &'static [&'static str]) -> Misuse {
    Misuse {
        case,
        env: &[],
        words,
    }
}

const fn checked(case: &'static str, words: &'static [&'static str]) -> Misuse {
    Misuse {
        case,
        env: CHECKED,
        words,
    }
}

const MISUSES: &[Misuse] = &[
    always("put_pe", &["PE 1", "shmem_int_put", "PE 2"]),
    always("put_negative_pe", &["PE 1", "shmem_int_put", "-1"]),
    always("put_far_pe", &["PE 1", "shmem_putmem", "1073741824"]),
    always("get_pe", &["PE 1", "shmem_getmem", "7"]),
    always("p_pe", &["PE 1", "shmem_int_p", "2"]),
    always("g_pe", &["PE 1", "shmem_int_g", "-7"]),
    always("iput_pe", &["PE 1", "shmem_int_iput", "2"]),
    always("nbi_pe", &["PE 1", "shmem_int_put_nbi", "2"]),
    always("amo_pe", &["PE 1", "shmem_int_atomic_fetch_add", "2"]),
    always("inc_pe", &["PE 1", "shmem_int_atomic_inc", "-2"]),
    always("signal_pe", &["PE 1", "shmem_signal_set", "2"]),
    always("put_signal_pe", &["PE 1", "shmem_int_put_signal", "2"]),
    always("ctx_pe", &["PE 1", "shmem_ctx_int_p", "2"]),
    always("signal_op", &["PE 1", "shmem_int_put_signal", "12345"]),
    always("wait_cmp", &["PE 1", "shmem_int_wait_until", "77"]),
    always("test_cmp", &["PE 1", "shmem_int_test", "-3"]),
    always("wait_any_cmp", &["PE 1", "shmem_int_wait_until_any", "99"]),
    always("signal_cmp", &["PE 1", "shmem_signal_wait_until", "1000"]),
    checked("put_pe", &["PE 1", "shmem_int_put", "2"]),
    checked("put_private", &["PE 1", "shmem_int_put", "0x", "symmetric"]),
    checked("p_stack", &["PE 1", "shmem_int_p", "0x", "symmetric"]),
    checked("get_private", &["PE 1", "shmem_int_get", "0x", "symmetric"]),
    checked(
        "amo_private",
        &["PE 1", "shmem_int_atomic_inc", "0x", "symmetric"],
    ),
    checked("put_null", &["PE 1", "shmem_int_put", "null"]),
    checked(
        "put_wild",
        &["PE 1", "shmem_int_put", "0x10000", "symmetric"],
    ),
    checked(
        "put_beyond_globals",
        &["PE 1", "shmem_putmem", "1099511627776"],
    ),
    checked("put_beyond_heap", &["PE 1", "shmem_putmem", "0x"]),
    checked(
        "wait_private",
        &["PE 1", "shmem_int_wait_until", "0x", "symmetric"],
    ),
    checked(
        "lock_private",
        &["PE 1", "shmem_set_lock", "0x", "symmetric"],
    ),
    // Without checks: faults on an address of some PE's window are explained, others told.
    always(
        "put_private",
        &["PE 1", "segmentation fault", "0x", "not symmetric"],
    ),
    always(
        "p_stack",
        &["PE 1", "segmentation fault", "0x", "not symmetric"],
    ),
    Misuse {
        case: "put_past_heap",
        env: &[("SHMEM_SYMMETRIC_SIZE", "64m")],
        words: &["PE 1", "segmentation fault", "0x", "past the end"],
    },
    always("put_wild", &["PE 1", "segmentation fault"]),
    always("put_beyond_heap", &["PE 1", "segmentation fault"]),
    always("double_free", &["shmem_free", "0x"]),
    always("free_foreign", &["shmem_free", "0x"]),
    always("free_middle", &["shmem_free", "0x"]),
    always("realloc_freed", &["shmem_realloc", "0x"]),
    checked("clear_free_lock", &["PE 1", "shmem_clear_lock", "0x"]),
    always("before_init", &["shmem_barrier_all", "shmem_init"]),
    always("malloc_before_init", &["shmem_malloc", "shmem_init"]),
    always("put_before_init", &["shmem_int_put", "shmem_init"]),
    always("after_finalize", &["shmem_malloc", "shmem_finalize"]),
    always("put_after_finalize", &["shmem_int_put", "shmem_finalize"]),
    always("finalize_twice", &["shmem_finalize"]),
    checked(
        "mismatch_routine",
        &[
            "PE 0",
            "PE 1",
            "shmem_int_broadcast",
            "shmem_int_sum_reduce",
        ],
    ),
    checked(
        "mismatch_count",
        &["PE 0", "PE 1", "shmem_int_broadcast", "8", "12"],
    ),
    checked("mismatch_root", &["PE 0", "PE 1", "shmem_int_broadcast"]),
    checked(
        "mismatch_malloc",
        &["PE 0", "PE 1", "shmem_malloc", "100", "200"],
    ),
    checked("mismatch_free", &["PE 0", "PE 1", "shmem_free", "0x"]),
    always("root_out_of_range", &["shmem_int_broadcast", "2"]),
    always("active_set_out_of_range", &["shmem_barrier", "3"]),
];

/// A way for PE 1 of 3 to end while others wait: status of the job, words of its line.
/// No words: nothing is to be said.
struct Death {
    way: &'static str,
    status: Status,
    words: &'static [&'static str],
}

const DEATHS: &[Death] = &[
    Death {
        way: "segfault",
        status: Status::Is(139),
        words: &["PE 1", "segmentation fault"],
    },
    Death {
        way: "abort",
        status: Status::Is(134),
        words: &["PE 1", "SIGABRT"],
    },
    Death {
        way: "exit3",
        status: Status::Is(3),
        words: &["PE 1", "status 3"],
    },
    Death {
        way: "exit0",
        status: Status::Is(1),
        words: &["PE 1", "shmem_finalize", "shmem_barrier_all"],
    },
    Death {
        way: "killed",
        status: Status::Is(137),
        words: &["PE 1", "SIGKILL"],
    },
    Death {
        way: "killed_in_barrier",
        status: Status::Is(137),
        words: &["PE 1", "SIGKILL"],
    },
    Death {
        way: "leaves_a_child",
        status: Status::Is(5),
        words: &["PE 1", "status 5"],
    },
    Death {
        way: "global_exit7",
        status: Status::Is(7),
        words: &[],
    },
    Death {
        way: "global_exit0",
        status: Status::Is(0),
        words: &[],
    },
];

/// A value of `SHMEM_SYMMETRIC_SIZE` that is refused.
const BAD_SIZES: &[&str] = &[
    "",
    "ten",
    "10x",
    "-5",
    "1.2.3",
    "0x100",
    "999999999t",
    "500t",
    "99999999999999999999",
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for misuse in MISUSES {
        let how = if misuse.env == CHECKED {
            "::checked"
        } else {
            ""
        };
        suite.add(format!("misuse::{}{how}", misuse.case), |s| {
            let job = misuse_job(s, misuse.case, misuse.env)?;
            expect(s, &job, Status::NonZero, misuse.words)
        });
    }
    for death in DEATHS {
        suite.add(format!("death::{}", death.way), |s| {
            let job = Job::new(3, &death_program(s)?).args(&[death.way]);
            expect(s, &job, death.status, death.words)
        });
    }
    for (status, caller) in [
        ("0", "0"),
        ("0", "2"),
        ("7", "0"),
        ("42", "1"),
        ("255", "3"),
    ] {
        suite.add(format!("global_exit::{status}-by-{caller}"), move |s| {
            global_exit(s, status, caller)
        });
    }
    for size in BAD_SIZES {
        suite.add(format!("symmetric-size::{size:?}"), |s| bad_size(s, size));
    }
    suite.add("heap-exhausted".into(), heap_exhausted);
    for program in ["missing", "folder", "not-executable", "not-a-program"] {
        suite.add(format!("program::{program}"), |s| bad_program(s, program));
    }
    for (name, options) in BAD_OPTIONS {
        suite.add(format!("options::{name}"), |s| bad_options(s, options));
    }
    suite.add("launcher-killed".into(), |s| {
        launcher_ends(s, Signal::SIGKILL)
    });
    suite.add("launcher-terminated".into(), |s| {
        launcher_ends(s, Signal::SIGTERM)
    });
    suite.add("launcher-interrupted".into(), |s| {
        launcher_ends(s, Signal::SIGINT)
    });
    suite.add("hang-report".into(), hang_report);
    suite.add(
        "two-hundred-jobs-leave-the-machine-as-it-was".into(),
        two_hundred_jobs,
    );
    suite.run();
}

fn misuse_job(s: &Setting, case: &str, env: &[(&str, &str)]) -> Result<Job> {
    let program = Build::new("faults/misuse.c", Compiler::Gcc).run(&s.prefix, &s.cache)?;
    let mut job = Job::new(2, &program).args(&[case]);
    for (name, value) in env {
        job = job.env(name, value);
    }
    Ok(job)
}

fn death_program(s: &Setting) -> Result<std::path::PathBuf> {
    Build::new("faults/death.c", Compiler::Gcc).run(&s.prefix, &s.cache)
}

/// Runs the job until it has ended fast enough once; it must end rightly every time.
fn expect(s: &Setting, job: &Job, status: Status, words: &[&str]) -> Result<()> {
    let before = Machine::now();
    let mut took = 0;
    for _ in 0..ATTEMPTS {
        let outcome = job.run(&s.prefix, &s.scratch)?;
        ended_rightly(&outcome, status, words)?;
        let new = Machine::now().new_files(&before);
        ensure!(new.is_empty(), "left in /dev/shm: {new:?}");
        let fault = fault_time(&outcome).context("the program did not come to its fault")?;
        took = outcome.ended_ms.saturating_sub(fault);
        if took <= GONE_WITHIN_MS {
            return Ok(());
        }
    }
    bail!("gone only {took} ms after the fault, {ATTEMPTS} times over {GONE_WITHIN_MS} ms")
}

/// Status, one line with the words (or none), no process left.
fn ended_rightly(outcome: &Outcome, status: Status, words: &[&str]) -> Result<()> {
    ensure!(!outcome.hung, "hangs\n{outcome}");
    let got = shell_status(outcome.status);
    match status {
        Status::Is(want) => ensure!(got == want, "status {got}, not {want}\n{outcome}"),
        Status::NonZero => ensure!(got != 0, "status 0\n{outcome}"),
    }
    ensure!(
        outcome.left == 0,
        "{} processes outlived the job\n{outcome}",
        outcome.left
    );
    one_line(outcome, words)
}

fn one_line(outcome: &Outcome, words: &[&str]) -> Result<()> {
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let want = usize::from(!words.is_empty());
    ensure!(
        lines.len() == want,
        "{} lines on stderr, not {want}\n{outcome}",
        lines.len()
    );
    for word in words {
        ensure!(
            lines[0].contains(word),
            "the line does not say \"{word}\"\n{outcome}"
        );
    }
    Ok(())
}

/// When the PE at fault came to its fault (the last to say so).
fn fault_time(outcome: &Outcome) -> Option<u64> {
    let times = outcome
        .stdout
        .lines()
        .filter_map(|l| l.split("FAULT_AT ").nth(1)?.trim().parse().ok());
    times.max()
}

fn global_exit(s: &Setting, status: &str, caller: &str) -> Result<()> {
    let program = Build::new("global_exit.c", Compiler::Gcc).run(&s.prefix, &s.cache)?;
    for pes in [1, 2, 4, 7] {
        let job = Job::new(pes, &program).args(&[status, caller]);
        let outcome = job.run(&s.prefix, &s.scratch)?;
        ended_rightly(&outcome, Status::Is(status.parse()?), &[])?;
        ensure!(
            outcome.stdout.contains("buffered text"),
            "output was lost\n{outcome}"
        );
        ensure!(
            outcome.stdout.matches("atexit ran").count() == 1,
            "atexit handler\n{outcome}"
        );
    }
    Ok(())
}

fn bad_size(s: &Setting, size: &str) -> Result<()> {
    for pes in [0, 2] {
        let job = Job::new(pes, &death_program(s)?)
            .args(&["well"])
            .env("SHMEM_SYMMETRIC_SIZE", size);
        let outcome = job.run(&s.prefix, &s.scratch)?;
        // A size that could be read is given back in bytes.
        let said = if size == "500t" {
            "549755813888000"
        } else {
            size
        };
        ended_rightly(&outcome, Status::NonZero, &["SHMEM_SYMMETRIC_SIZE", said])?;
    }
    Ok(())
}

/// NULL for all, the job ends well; with debugging on, a line says what was asked and free.
fn heap_exhausted(s: &Setting) -> Result<()> {
    misuse_job(s, "exhausted", &[])?
        .expect_success(&s.prefix, &s.scratch)
        .and_then(|outcome| {
            ensure!(
                outcome.stderr.is_empty(),
                "says something without SHMEM_DEBUG\n{outcome}"
            );
            Ok(())
        })?;
    let job = misuse_job(s, "exhausted", &[("SHMEM_DEBUG", "1")])?;
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let line = outcome
        .stderr
        .lines()
        .find(|l| l.contains("1125899906842624") && l.contains("free"));
    ensure!(
        line.is_some_and(|l| l.contains("shmem_malloc")),
        "no line on the allocation\n{outcome}"
    );
    Ok(())
}

fn bad_program(s: &Setting, kind: &str) -> Result<()> {
    let path = s.scratch.join(format!("bad-{kind}"));
    fs::create_dir_all(&s.scratch)?;
    match kind {
        "folder" => fs::create_dir_all(&path)?,
        "missing" => {}
        _ => fs::write(&path, "neither script nor program\n")?,
    }
    if kind == "not-a-program" {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let outcome = Job::new(2, &path).run(&s.prefix, &s.scratch)?;
    let status = if kind == "missing" { 127 } else { 126 };
    let name = path.display().to_string();
    let result = ended_rightly(&outcome, Status::Is(status), &["oshrun", &name]);
    if kind == "folder" {
        fs::remove_dir(&path)?;
    } else if kind != "missing" {
        fs::remove_file(&path)?;
    }
    result
}

/// Name, and the options given to the launcher.
const BAD_OPTIONS: &[(&str, &[&str])] = &[
    ("no-pes", &["-n", "0"]),
    ("too-many-pes", &["-n", "100000"]),
    ("far-too-many-pes", &["-n", "99999999999999999999"]),
    ("pes-not-a-number", &["-n", "abc"]),
    ("negative-pes", &["-n", "-3"]),
];

fn bad_options(s: &Setting, options: &[&str]) -> Result<()> {
    let job = Job::new(1, &death_program(s)?)
        .args(&["well"])
        .options(options);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ended_rightly(&outcome, Status::Is(2), &["oshrun", options[1]])
}

/// Starts PEs that never end and waits until they run.
fn start_busy(s: &Setting, pes: usize) -> Result<Running> {
    let job = Job::new(pes, &death_program(s)?).args(&["busy"]);
    let running = Running::start(&job, &s.prefix, &s.scratch)?;
    let start = Instant::now();
    while running.stdout_so_far().matches("running").count() < pes {
        ensure!(
            start.elapsed() < Duration::from_secs(30),
            "the job does not start"
        );
        thread::sleep(Duration::from_millis(5));
    }
    Ok(running)
}

/// The launcher gets a signal: all its PEs end with it.
fn launcher_ends(s: &Setting, signal: Signal) -> Result<()> {
    let mut took = 0;
    for _ in 0..ATTEMPTS {
        let running = start_busy(s, 4)?;
        ensure!(
            running.processes() >= 5,
            "{} processes",
            running.processes()
        );
        let start = now_ms();
        kill(running.pid(), signal)?;
        let outcome = running.finish(Duration::from_secs(20))?;
        took = outcome.ended_ms - start;
        ensure!(
            !outcome.hung && outcome.left == 0,
            "{} processes are left\n{outcome}",
            outcome.left
        );
        let status = shell_status(outcome.status);
        ensure!(status == 128 + signal as i32, "status {status}\n{outcome}");
        if took <= GONE_WITHIN_MS {
            return Ok(());
        }
    }
    bail!("the launcher took {took} ms to end")
}

/// The watchdog of these tests relies on it: SIGQUIT makes the launcher say who waits.
fn hang_report(s: &Setting) -> Result<()> {
    let running = start_busy(s, 3)?;
    // A wait is recorded once it has lasted a moment.
    thread::sleep(Duration::from_millis(500));
    let outcome = running.finish(Duration::ZERO)?;
    ensure!(outcome.left == 0, "{} processes are left", outcome.left);
    for pe in 0..3 {
        let line = outcome
            .stderr
            .lines()
            .find(|l| l.contains(&format!("PE {pe} ")));
        let said = line.is_some_and(|l| l.contains("shmem_long_wait_until"));
        ensure!(said, "no word on PE {pe}\n{outcome}");
    }
    Ok(())
}

/// Jobs of all kinds, one after the other; each PE touches megabytes of shared memory, so
/// what a job left would add up to far more than other programs' changes.
fn two_hundred_jobs(s: &Setting) -> Result<()> {
    const JOBS: usize = 200;
    const TOLERANCE_KIB: u64 = 256 << 10;
    let program = death_program(s)?;
    let before = Machine::now();
    for i in 0..JOBS {
        let pes = 2 + i % 3;
        match i % 12 {
            10 => {
                let running = start_busy(s, pes)?;
                kill(running.pid(), Signal::SIGKILL)?;
                let outcome = running.finish(Duration::from_secs(20))?;
                ensure!(
                    outcome.left == 0,
                    "job {i}: {} processes are left",
                    outcome.left
                );
            }
            11 => drop(
                Job::new(pes, &program)
                    .args(&["well"])
                    .expect_success(&s.prefix, &s.scratch)?,
            ),
            9 => {
                let job = misuse_job(s, "put_pe", &[])?;
                ended_rightly(&job.run(&s.prefix, &s.scratch)?, Status::NonZero, &["PE 1"])?;
            }
            k => {
                let death = &DEATHS[k];
                let outcome = Job::new(pes, &program)
                    .args(&[death.way])
                    .run(&s.prefix, &s.scratch)?;
                ended_rightly(&outcome, death.status, death.words)
                    .with_context(|| format!("job {i}, {}", death.way))?;
            }
        }
    }
    // Other programs of the machine come and go: give theirs a while to do so.
    let start = Instant::now();
    loop {
        let now = Machine::now();
        let (new, more) = (
            now.new_files(&before),
            now.shared_kib.saturating_sub(before.shared_kib),
        );
        if new.is_empty() && more < TOLERANCE_KIB {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(20) {
            bail!("left after {JOBS} jobs: {more} KiB of shared memory; in /dev/shm: {new:?}");
        }
        thread::sleep(Duration::from_millis(200));
    }
}
