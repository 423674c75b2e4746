//! Misuse and faults: one clear line, the right status, the job gone at once, nothing left.

mod agreement;
mod collectives;
mod ending;
mod launcher;
mod places;
mod series;
mod tables;

use std::fs;

use anyhow::{Result, ensure};
use ending::{Status, ended_rightly, expect};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};
use launcher::{bad_options, bad_program, hang_report, interrupt_report, launcher_ends, what_pes_do};
use nix::sys::signal::Signal;
use series::two_hundred_jobs;
use tables::{BAD_OPTIONS, BAD_SIZES, CHECKED, DEATHS, MISUSES, STRAYS};

/// Trials among which the routines of the generated misuse test are divided.
const MISUSE_PARTS: usize = 4;

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for misuse in MISUSES {
        let how = if misuse.env == CHECKED { "::checked" } else { "" };
        suite.add(format!("misuse::{}{how}", misuse.case), |s| {
            let job = misuse_job(s, 2, misuse.case, misuse.env)?;
            expect(s, &job, Status::NonZero, misuse.words)
        });
    }
    for stray in STRAYS {
        suite.add(format!("stray::{}", stray.case), |s| {
            let job = misuse_job(s, 20, stray.case, stray.env)?;
            let outcome = job.run(&s.prefix, &s.scratch)?;
            ended_rightly(&outcome, Status::NonZero, stray.words)
        });
    }
    suite.add("crash-of-all-pes".into(), crash_of_all);
    for death in DEATHS {
        suite.add(format!("death::{}", death.way), |s| {
            let job = Job::new(3, &death_program(s)?).args(&[death.way]);
            expect(s, &job, death.status, death.words)
        });
    }
    for (status, caller) in [("0", "0"), ("0", "2"), ("7", "0"), ("42", "1"), ("255", "3")] {
        suite.add(format!("global_exit::{status}-by-{caller}"), move |s| global_exit(s, status, caller));
    }
    for size in BAD_SIZES {
        suite.add(format!("symmetric-size::{size:?}"), |s| bad_size(s, size));
    }
    suite.add("heap-exhausted".into(), heap_exhausted);
    suite.add("finalize-of-pe-0".into(), finalize_of_pe_0);
    suite.add("finalize-twice".into(), finalize_twice);
    suite.add("align-refused".into(), align_refused);
    suite.add("native-only-refused".into(), native_only_refused);
    for program in ["missing", "folder", "not-executable", "not-a-program"] {
        suite.add(format!("program::{program}"), |s| bad_program(s, program));
    }
    for (name, options) in BAD_OPTIONS {
        suite.add(format!("options::{name}"), |s| bad_options(s, options));
    }
    suite.add("launcher-killed".into(), |s| launcher_ends(s, Signal::SIGKILL));
    suite.add("launcher-terminated".into(), |s| launcher_ends(s, Signal::SIGTERM));
    suite.add("launcher-interrupted".into(), |s| launcher_ends(s, Signal::SIGINT));
    for part in 0..MISUSE_PARTS {
        suite.add(format!("every-misuse::{part}"), move |s| every_misuse(s, part));
    }
    places::add(&mut suite);
    collectives::add(&mut suite);
    agreement::add(&mut suite);
    suite.add("hang-report".into(), hang_report);
    suite.add("interrupt-report".into(), interrupt_report);
    suite.add("what-pes-do".into(), what_pes_do);
    suite.add("descriptor-of-the-program".into(), descriptor_of_the_program);
    suite.add("two-hundred-jobs-leave-the-machine-as-it-was".into(), two_hundred_jobs);
    suite.run();
}

fn misuse_job(s: &Setting, pes: usize, case: &str, env: &[(&str, &str)]) -> Result<Job> {
    let program = s.compile("faults/misuse.c", &[])?;
    let mut job = Job::new(pes, &program).args(&[case]);
    for (name, value) in env {
        job = job.env(name, value);
    }
    Ok(job)
}

/// Where all PEs fault at once, one explains it.
fn crash_of_all(s: &Setting) -> Result<()> {
    let job = misuse_job(s, 64, "p_stack_of_all", &[])?;
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ended_rightly(
        &outcome,
        Status::NonZero,
        // A segmentation fault, or past the end of the address space a bus error.
        &["at 0x", "on the stack", "not symmetric"],
    )?;
    let lines = outcome.stderr.lines().count();
    ensure!(lines == 1, "{lines} lines\n{outcome}");
    Ok(())
}

/// Every argument of every routine, passed wrongly; the program judges the lines itself. The library is where no
/// `oshrun` is: thousands of calls would each wait for it to read the symbols.
fn every_misuse(s: &Setting, part: usize) -> Result<()> {
    let build = Build::new("faults/every_misuse.c", Compiler::Gcc);
    let build = build.flags(&["-O0", "-DSHMEM_NO_INLINE"]);
    let program = build.run(&s.prefix, &s.cache)?;
    let alone = s.scratch.join(format!("alone-{part}"));
    fs::create_dir_all(&alone)?;
    fs::copy(s.prefix.library("libshmem.so.1"), alone.join("libshmem.so.1"))?;
    let outcome = Job::new(0, &program)
        .args(&[&part.to_string(), &MISUSE_PARTS.to_string()])
        .env("LD_LIBRARY_PATH", &alone.display().to_string())
        .env("PATH", &alone.display().to_string())
        .env("SHMEM_CHECK", "1")
        .env("SHMEM_SYMMETRIC_SIZE", "1m")
        .expect_success(&s.prefix, &s.scratch)?;
    ensure!(
        outcome.stdout.contains("every misuse: ") && outcome.stdout.contains(": 0 failed"),
        "no summary\n{outcome}"
    );
    Ok(())
}

fn death_program(s: &Setting) -> Result<std::path::PathBuf> {
    s.compile("faults/death.c", &[])
}

fn global_exit(s: &Setting, status: &str, caller: &str) -> Result<()> {
    let program = s.compile("global_exit.c", &[])?;
    for pes in [1, 2, 4, 7] {
        let job = Job::new(pes, &program).args(&[status, caller]);
        let outcome = job.run(&s.prefix, &s.scratch)?;
        ended_rightly(&outcome, Status::Is(status.parse()?), &[])?;
        ensure!(outcome.stdout.contains("buffered text"), "output was lost\n{outcome}");
        ensure!(outcome.stdout.matches("atexit ran").count() == 1, "atexit handler\n{outcome}");
    }
    Ok(())
}

fn bad_size(s: &Setting, size: &str) -> Result<()> {
    for pes in [0, 2] {
        let job = Job::new(pes, &death_program(s)?).args(&["well"]).env("SHMEM_SYMMETRIC_SIZE", size);
        let outcome = job.run(&s.prefix, &s.scratch)?;
        // A size that could be read is given back in bytes.
        let bytes = if size == "500t" { "549755813888000" } else { size };
        ended_rightly(&outcome, Status::NonZero, &["SHMEM_SYMMETRIC_SIZE", bytes])?;
    }
    Ok(())
}

/// A variable that was set by hand closes no descriptor of the program, and a value cannot break the line.
fn descriptor_of_the_program(s: &Setting) -> Result<()> {
    let run = |name, value| {
        let job = Job::new(0, &death_program(s)?).args(&["well"]).env(name, value);
        job.run(&s.prefix, &s.scratch)
    };
    let outcome = run("FERROSHMEM_JOB", "2:5")?;
    ended_rightly(&outcome, Status::NonZero, &["shmem_init", "not the memory of"])?;
    let outcome = run("SHMEM_SYMMETRIC_SIZE", "1\n\u{1b}[31mferroshmem: x")?;
    let words = ["1\\n\\u{1b}[31mferroshmem: x", "SHMEM_SYMMETRIC_SIZE"];
    ended_rightly(&outcome, Status::NonZero, &words)
}

/// NULL for all, the job ends well; with debugging on, a line says what was asked and free.
fn heap_exhausted(s: &Setting) -> Result<()> {
    misuse_job(s, 2, "exhausted", &[])?.expect_success(&s.prefix, &s.scratch).and_then(|outcome| {
        ensure!(outcome.stderr.is_empty(), "says something without SHMEM_DEBUG\n{outcome}");
        Ok(())
    })?;
    let job = misuse_job(s, 2, "exhausted", &[("SHMEM_DEBUG", "1")])?;
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let line = outcome.stderr.lines().find(|l| l.contains("1125899906842624") && l.contains("free"));
    ensure!(line.is_some_and(|l| l.contains("shmem_malloc")), "no line on the allocation\n{outcome}");
    Ok(())
}

/// Where PEs share cores, PE 0 is done before any other one leaves.
fn finalize_of_pe_0(s: &Setting) -> Result<()> {
    let env = [("SHMEM_SYMMETRIC_SIZE", "64m"), ("SHMEM_BARRIER_ALGORITHM", "central")];
    let outcome = misuse_job(s, 20, "finalize_after_stray", &env)?.run(&s.prefix, &s.scratch)?;
    ended_rightly(&outcome, Status::NonZero, &["PE 0", "shmem_finalize", "past the end", "67108864"])?;
    ensure!(!outcome.stdout.contains("has left"), "left before PE 0\n{outcome}");
    Ok(())
}

/// Calls of `shmem_finalize` beyond those of `shmem_init` pass; with checks on, each PE says so.
fn finalize_twice(s: &Setting) -> Result<()> {
    let outcome = misuse_job(s, 2, "finalize_twice", &[])?.expect_success(&s.prefix, &s.scratch)?;
    ensure!(outcome.stderr.is_empty(), "says something\n{outcome}");
    let job = misuse_job(s, 2, "finalize_twice", CHECKED)?;
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    for pe in ["PE 0: shmem_finalize", "PE 1: shmem_finalize"] {
        let lines = outcome.stderr.lines().filter(|l| l.contains(pe));
        ensure!(
            lines.clone().count() == 2 && lines.clone().all(|l| l.contains("remove this call")),
            "not a line for each call\n{outcome}"
        );
    }
    Ok(())
}

/// NULL for an alignment that is no power of two; with debugging on, a line says why.
fn align_refused(s: &Setting) -> Result<()> {
    let outcome = misuse_job(s, 2, "align_3", &[])?.expect_success(&s.prefix, &s.scratch)?;
    ensure!(outcome.stderr.is_empty(), "says something\n{outcome}");
    let job = misuse_job(s, 2, "align_3", &[("SHMEM_DEBUG", "1")])?;
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let names_argument = |l: &str| l.contains("shmem_align: alignment = 3");
    ensure!(outcome.stderr.lines().any(names_argument), "no line\n{outcome}");
    Ok(())
}

/// A program compiled without the slow path must not start where it would be needed.
fn native_only_refused(s: &Setting) -> Result<()> {
    let refused = |flags: &[&str], env: &[(&str, &str)], word: &str| {
        let build = Build::new("info.c", Compiler::Gcc).flags(&["-DSHMEM_NATIVE_ONLY"]);
        let mut job = Job::new(2, &build.flags(flags).run(&s.prefix, &s.cache)?);
        for (name, value) in env {
            job = job.env(name, value);
        }
        let outcome = job.run(&s.prefix, &s.scratch)?;
        ended_rightly(&outcome, Status::NonZero, &["SHMEM_NATIVE_ONLY", word])
    };
    refused(&[], &[("SHMEM_CHECK", "1")], "SHMEM_CHECK=1")?;
    refused(&[], &[("SHMEM_FAST_PATH", "0")], "SHMEM_FAST_PATH=0")?;
    refused(&["-no-pie", "-fno-pie"], &[], "position-independent")
}
