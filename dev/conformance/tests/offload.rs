//! Threads that take part in large copies: those of OpenMP, where clang and its run-time are there, and what may happen
//! meanwhile.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

fn build(setting: &Setting, compiler: Compiler, flags: &[&str]) -> Result<PathBuf> {
    let build = Build::new("offload/openmp.c", compiler).flags(&["-fopenmp"]).flags(flags);
    build.run(&setting.prefix, &setting.cache)
}

fn job(pes: usize, program: &std::path::Path, arguments: &[&str]) -> Job {
    unset(pes, program, arguments).env("SHMEM_OPENMP", "1")
}

/// With nothing that asks for OpenMP's threads. Where PEs are bound, the cores of other jobs are not theirs.
fn unset(pes: usize, program: &std::path::Path, arguments: &[&str]) -> Job {
    Job::new(pes, program)
        .args(arguments)
        .options(&["-n", &pes.to_string(), "--bind-to", "none"])
        .env("SHMEM_DEBUG", "1")
        .env("SHMEM_SHARE_THRESHOLD", "64k")
        .env("SHMEM_OFFLOAD_THRESHOLD", "64k")
        .env("OMP_CANCELLATION", "true")
}

/// Whether a compiler links programs with OpenMP: clang's run-time is a package by itself.
fn has_openmp(compiler: Compiler) -> bool {
    let mut command = Command::new(compiler.name());
    command.args(["-fopenmp", "-x", "c", "-", "-o", "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let Ok(mut child) = command.stderr(Stdio::null()).spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        use std::io::Write;
        // A compiler that ends before it has read all fails.
        let _ = input.write_all(b"#include <omp.h>\nint main(void) { return omp_get_num_threads() != 1; }\n");
    }
    child.wait().is_ok_and(|status| status.success())
}

/// Threads of this run-time help, and none are started.
fn helps(suite: &mut Suite) {
    for pes in [1, 2, 5] {
        suite.add(format!("clang/helps/{pes}"), move |s| {
            let program = build(s, Compiler::Clang, &[])?;
            // Where PEs fill the cores, threads that wait may never get one in time.
            let arguments: &[&str] = if pes == 1 { &["helped"] } else { &[] };
            let outcome = job(pes, &program, arguments).expect_success(&s.prefix, &s.scratch)?;
            let line = "0 workers (threads of OpenMP help when they wait)";
            ensure!(outcome.stderr.contains(line), "{}", outcome.stderr);
            Ok(())
        });
    }
    for (name, variable, value) in [
        ("passive", "OMP_WAIT_POLICY", "passive"),
        ("checked", "SHMEM_CHECK", "1"),
        ("slow-path", "SHMEM_FAST_PATH", "0"),
        ("not-asked", "SHMEM_OPENMP", "0"),
    ] {
        suite.add(format!("clang/{name}"), move |s| {
            let program = build(s, Compiler::Clang, &[])?;
            let job = job(2, &program, &["any", "exit"]).env(variable, value);
            job.expect_success(&s.prefix, &s.scratch).map(drop)
        });
    }
}

/// With nothing set, threads of this run-time help beside workers, where a core of the job may idle; but not in place
/// of another tool. OpenMP may begin before the job.
fn helps_by_default(suite: &mut Suite) {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let mut add =
        |name: &str, pes: usize, arguments: &'static [&'static str], variable: (&'static str, &'static str), helps| {
            suite.add(format!("clang/default/{name}"), move |s| {
                let program = build(s, Compiler::Clang, &[])?;
                let job = unset(pes, &program, arguments).env(variable.0, variable.1);
                let outcome = job.expect_success(&s.prefix, &s.scratch)?;
                let line = "threads lent, threads of OpenMP when they wait";
                ensure!(outcome.stderr.matches(line).count() == if helps { pes } else { 0 }, "{outcome}");
                Ok(())
            });
        };
    let nothing = ("OMP_TOOL_LIBRARIES", "");
    for pes in (1..=2).filter(|_| cores > 1) {
        // Where PEs fill the cores, threads that wait may never get one in time.
        add(&pes.to_string(), pes, if pes == 1 { &["helped"] } else { &[] }, nothing, true);
    }
    add("outnumbered", cores + 1, &[], nothing, false);
    add("early", 2, &["early"], nothing, cores > 1);
    add("tool", 2, &[], ("OMP_TOOL_LIBRARIES", "none.so"), false);
    add("workers", 2, &[], ("SHMEM_WORKERS", "1"), false);
}

/// A run-time that has another tool, or no interface for tools: workers do it.
fn refused(suite: &mut Suite, compiler: Compiler, flags: &'static [&'static str]) {
    suite.add(format!("{}/refused", compiler.name()), move |s| {
        let program = build(s, compiler, flags)?;
        let outcome = job(2, &program, &[]).expect_success(&s.prefix, &s.scratch)?;
        let line = "SHMEM_OPENMP has no effect: OpenMP's run-time has another tool";
        let n = outcome.stderr.matches(line).count();
        ensure!(n == 2, "{n} lines of 2 PEs: {}", outcome.stderr);
        Ok(())
    });
}

/// A job of two PEs with a worker each, in which something happens while they copy.
fn with_workers(setting: &Setting, what: &str) -> Result<Job> {
    let program = Build::new("offload/ends.c", Compiler::Gcc).run(&setting.prefix, &setting.cache)?;
    Ok(Job::new(2, &program)
        .args(&[what])
        .env("SHMEM_WORKERS", "1")
        .env("SHMEM_SHARE_THRESHOLD", "64k")
        .env("SHMEM_OFFLOAD_THRESHOLD", "64k"))
}

/// A thread of the library copies while its PE computes: with nothing set, where there is a second core.
fn by_default(suite: &mut Suite) {
    let has_idle_core = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    for pes in (1..=2).filter(|_| has_idle_core) {
        suite.add(format!("default/{pes}"), move |s| {
            let program = s.compile("offload/idle.c", &[])?;
            // Where PEs are bound, the cores of other jobs are not theirs.
            let n = pes.to_string();
            let job = Job::new(pes, &program).options(&["-n", &n, "--bind-to", "none"]).env("SHMEM_DEBUG", "1");
            let outcome = job.expect_success(&s.prefix, &s.scratch)?;
            ensure!(outcome.stderr.contains("workers (they run while one of the job's cores idles)"), "{outcome}");
            Ok(())
        });
    }
}

/// Ends of threads and processes, and changes of cores.
fn ends(suite: &mut Suite) {
    for what in ["none", "lent", "exec", "cores"] {
        for check in ["0", "1"] {
            suite.add(format!("ends/{what}/check-{check}"), move |s| {
                let job = with_workers(s, what)?.env("SHMEM_CHECK", check);
                // Each PE has all cores, of which it may leave some.
                let job = job.options(&["-n", "2", "--bind-to", "none"]);
                job.expect_success(&s.prefix, &s.scratch).map(drop)
            });
        }
    }
    suite.add("ends/killed".to_owned(), |s| {
        let outcome = with_workers(s, "killed")?.run(&s.prefix, &s.scratch)?;
        ensure!(!outcome.hung && !outcome.status.success(), "{outcome}");
        ensure!(outcome.left == 0, "{outcome}");
        let line = "was killed by SIGKILL";
        ensure!(outcome.stderr.contains(line), "{outcome}");
        Ok(())
    });
    for (what, line) in [("freed", "was freed before"), ("changed", "was changed before")] {
        suite.add(format!("ends/{what}"), move |s| {
            let job = with_workers(s, what)?.env("SHMEM_CHECK", "1");
            let outcome = job.run(&s.prefix, &s.scratch)?;
            ensure!(!outcome.hung && !outcome.status.success(), "{outcome}");
            ensure!(outcome.stderr.contains("shmem_putmem_nbi"), "{outcome}");
            ensure!(outcome.stderr.contains(line), "{outcome}");
            Ok(())
        });
    }
}

/// Strided copies that `shmem.h` expands in the program are shared if they are large.
fn strided(suite: &mut Suite) {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        for (pes, flags) in [
            (1, &[][..]),
            (2, &[]),
            (5, &[]),
            (2, &["-DSHMEM_NATIVE_ONLY"]),
            (2, &["-DSHMEM_COUNT"]),
            (2, &["-DSHMEM_NO_INLINE"]),
        ] {
            let name = flags.concat();
            suite.add(format!("strided/{}/{pes}{name}", compiler.name()), move |s| {
                let build = Build::new("offload/strided.c", compiler).flags(flags);
                let program = build.run(&s.prefix, &s.cache)?;
                // Where PEs fill the cores, a thread that lends itself may never get one in time.
                let arguments: &[&str] = if pes == 1 { &["helped"] } else { &[] };
                let job = Job::new(pes, &program).args(arguments).env("SHMEM_SHARE_THRESHOLD", "64k");
                job.expect_success(&s.prefix, &s.scratch).map(drop)
            });
        }
    }
}

/// The program of pgas-microbench that measures overlap prints all its lines.
fn overlap(suite: &mut Suite) {
    for workers in ["0", "1"] {
        suite.add(format!("overlap/{workers}-workers"), move |s| {
            let source = "../../../pgas-microbench/overlap/overlap.c";
            let program = s.compile(source, &[])?;
            let job = Job::new(2, &program).args(&["32768"]);
            let job = job
                .env("SHMEM_WORKERS", workers)
                .env("SHMEM_SHARE_THRESHOLD", "4k")
                .env("SHMEM_OFFLOAD_THRESHOLD", "4k");
            let outcome = job.expect_success(&s.prefix, &s.scratch)?;
            let lines = outcome.stdout.lines();
            let names = Vec::from_iter(lines.filter_map(|line| line.split(',').next()));
            let size = ["put", "put_added", "get", "get_added", "target"];
            let want = [&["quantity"][..], &size, &size, &["caches"]].concat();
            ensure!(names == want, "{outcome}");
            Ok(())
        });
    }
}

/// The model, where copies of some chunks are too short to be shared by themselves.
fn in_pieces(suite: &mut Suite) {
    suite.add("in-pieces".to_owned(), |s| {
        let program = s.compile("offload.c", &[])?;
        let job = Job::new(2, &program).env("SHMEM_WORKERS", "1").env("SHMEM_SHARE_THRESHOLD", "1m");
        job.expect_success(&s.prefix, &s.scratch).map(drop)
    });
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    by_default(&mut suite);
    ends(&mut suite);
    strided(&mut suite);
    overlap(&mut suite);
    in_pieces(&mut suite);
    if has_openmp(Compiler::Clang) {
        helps(&mut suite);
        helps_by_default(&mut suite);
        refused(&mut suite, Compiler::Clang, &["-DOWN_TOOL"]);
    } else {
        println!("note: clang has no run-time of OpenMP (libomp-dev)");
    }
    if has_openmp(Compiler::Gcc) {
        refused(&mut suite, Compiler::Gcc, &[]);
    }
    suite.run();
}
