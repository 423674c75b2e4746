//! Threads of OpenMP that take part in large copies, where clang and its run-time are there.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

const SOURCE: &str = "offload/openmp.c";

fn build(setting: &Setting, compiler: Compiler, flags: &[&str]) -> Result<PathBuf> {
    let build = Build::new(SOURCE, compiler)
        .flags(&["-fopenmp"])
        .flags(flags);
    build.run(&setting.prefix, &setting.cache)
}

fn job(pes: usize, program: &std::path::Path, arguments: &[&str]) -> Job {
    Job::new(pes, program)
        .args(arguments)
        .env("SHMEM_OPENMP", "1")
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
        let _ = input.write_all(
            b"#include <omp.h>\nint main(void) { return omp_get_num_threads() != 1; }\n",
        );
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

/// A run-time that has another tool, or no interface for tools: workers do it.
fn refused(suite: &mut Suite, compiler: Compiler, flags: &'static [&'static str]) {
    suite.add(format!("{}/refused", compiler.name()), move |s| {
        let program = build(s, compiler, flags)?;
        let outcome = job(2, &program, &[]).expect_success(&s.prefix, &s.scratch)?;
        let line = "SHMEM_OPENMP has no effect: OpenMP's run-time has another tool";
        let said = outcome.stderr.matches(line).count();
        ensure!(said == 2, "{said} lines of 2 PEs: {}", outcome.stderr);
        Ok(())
    });
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    if has_openmp(Compiler::Clang) {
        helps(&mut suite);
        refused(&mut suite, Compiler::Clang, &["-DOWN_TOOL"]);
    } else {
        println!("skipped: clang has no run-time of OpenMP (libomp-dev)");
    }
    if has_openmp(Compiler::Gcc) {
        refused(&mut suite, Compiler::Gcc, &[]);
    }
    suite.run();
}
