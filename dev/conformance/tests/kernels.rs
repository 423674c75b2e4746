//! Kernels: functions of a program that PEs of another job call by name.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use ferroshmem_conformance::compile::on_path;
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::suite::{Fault, Setting};
use ferroshmem_conformance::{Job, Suite};

/// PEs that call, and PEs that are called.
const SIZES: [(usize, &str); 5] = [(1, "1"), (1, "3"), (2, "2"), (3, "1"), (4, "8")];

/// The list of kernels in a message.
const HAS: &str = "it has fail(), scale(double, int, const float *)";

/// What goes wrong, the status that the job ends with, and words of the one line that says so.
const FAULTS: &[Fault] = &[
    ("no-kernel", 1, &["PE 0 of the group has no kernel \"scal\"", HAS]),
    ("count", 1, &["takes 3 argument(s), not 2", HAS]),
    ("size", 1, &["argument 2", "an integer of 8 bytes", "an integer of 4", HAS]),
    ("kind", 1, &["argument 1", "an integer of 8", "a floating-point number of 8"]),
    ("elements", 1, &["argument 3", "elements of 1 bytes", "elements of 4 bytes"]),
    ("no-array", 1, &["argument 3", "elements of 4 bytes"]),
    ("pointer", 1, &["argument 3", "SHMEMX_ARRAY(pointer, n)"]),
    ("no-name", 1, &["name is a null pointer"]),
    ("no-calls", 1, &["calls is a null pointer"]),
    ("throws", 1, &["job 1, PE 1", "kernel fail() has thrown", "no more rays"]),
    ("throws-a-number", 1, &["job 1, PE", "no std::exception"]),
    ("exits", 1, &["job 1, PE 1", "fail() has called exit"]),
    ("ends-all", 7, &[]),
    ("crashes", 139, &["job 1: PE 0", "SIGSEGV"]),
    ("serves-again", 1, &["shmemx_kernel_serve", "kernel fail() runs on this PE"]),
    ("disconnects", 1, &["shmemx_group_disconnect", "kernel fail() runs for the group"]),
    ("finalizes", 1, &["shmem_finalize", "kernel fail() runs for the group"]),
    ("calls-back", 1, &["job 1, PE", "has started this job"]),
    ("never-serves", 1, &["shmemx_kernel_serve", "kernel"]),
    ("leaves-early", 1, &["a PE of the group has left it", "shmemx_kernel_serve"]),
    ("late-kernel", 1, &["no kernel \"late\"", HAS, "opened before shmem_init"]),
    (
        // The caller knows the one that was there in shmem_init.
        "late-twin",
        1,
        &["job 1, PE", "kernel \"scale\" is called, with 3 arguments", "scale()"],
    ),
    ("twins", 1, &["job 1, PE", "two kernels \"scale\""]),
];

/// What goes wrong with kernels of a job that another launcher has started, and words of the line that says so.
const FAULTS_BY_LAUNCHER: [(&str, &[&str]); 5] = [
    ("no-kernel", &["PE 0 of the group has no kernel \"scal\"", HAS]),
    ("throws", &["kernel fail() has thrown", "no more rays"]),
    ("disconnects", &["shmemx_group_disconnect", "kernel fail() runs for the group"]),
    ("never-serves", &["shmemx_kernel_serve"]),
    ("leaves-early", &["a PE of the group has left it", "shmemx_kernel_serve"]),
];

/// The launcher of such jobs.
const LAUNCHER: &str = "mpiexec.hydra";

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (callers, called) in SIZES {
        suite.add_job(format!("calls::{callers}+{called}"), move |s| {
            Ok(Job::new(callers, &program(s, "calls.c", &[])?).args(&[called]))
        });
    }
    for (name, value) in [("SHMEM_CHECK", "1"), ("SHMEM_FAST_PATH", "0")] {
        suite.add_job(format!("calls::{}", name.to_lowercase()), move |s| {
            Ok(Job::new(2, &program(s, "calls.c", &[])?).args(&["2"]).env(name, value))
        });
    }
    for source in ["only.c", "only.cpp"] {
        // The main is the library's, and the callers are of another program.
        suite.add_job(source.to_owned(), move |s| {
            let only = program(s, source, &["--kernels"])?;
            Ok(Job::new(2, &program(s, "calls.c", &[])?).args(&["3", &only.to_string_lossy()]))
        });
    }
    suite.add("only.c::without-callers".into(), |s| {
        let job = Job::new(1, &program(s, "only.c", &["--kernels"])?);
        let outcome = job.run(&s.prefix, &s.scratch)?;
        ensure!(shell_status(outcome.status) == 1 && outcome.stderr.contains("by shmemx_spawn"), "{outcome}");
        Ok(())
    });
    suite.add_faults(FAULTS, |s, way| Ok(Job::new(2, &program(s, "faults.cpp", &[])?).args(&[way])));
    if on_path(LAUNCHER) {
        for (callers, called) in [("1", "2"), ("2", "1")] {
            suite.add_job(format!("by-hydra::calls::{callers}+{called}"), move |s| {
                // Between processes that a launcher has started, as between nodes, more take long.
                launched(s, ("calls.c", &["-DHELD=2000"]), [callers, called])
            });
        }
        for (way, words) in FAULTS_BY_LAUNCHER {
            suite.add(format!("by-hydra::fault::{way}"), move |s| {
                let job = launched(s, ("faults.cpp", &[]), ["2", way])?;
                let outcome = job.run(&s.prefix, &s.scratch)?;
                ensure!(!outcome.hung && outcome.left == 0, "is left\n{outcome}");
                ensure!(shell_status(outcome.status) != 0, "{outcome}");
                let mut lines = outcome.stderr.lines();
                ensure!(
                    lines.any(|line| words.iter().all(|word| line.contains(word))),
                    "no line with {words:?}\n{outcome}"
                );
                Ok(())
            });
        }
    }
    suite.run();
}

/// A job of a program with flags, which the launcher starts: with so many PEs, and an argument.
fn launched(s: &Setting, (name, flags): (&str, &[&str]), [pes, argument]: [&str; 2]) -> Result<Job> {
    let program = program(s, name, flags)?;
    let words = ["-n", pes, &program.to_string_lossy(), argument];
    Ok(Job::new(0, Path::new(LAUNCHER)).args(&words))
}

fn program(s: &Setting, name: &str, flags: &[&str]) -> Result<PathBuf> {
    s.compile(&format!("kernels/{name}"), flags)
}
