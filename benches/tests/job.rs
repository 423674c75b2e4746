//! The measuring program and the jobs that run it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use ferroshmem_benches::{Job, Prefix};
use pgas_microbench::implementation::{Family, Implementation, Launch, Search, find};

const BLOCK: Duration = Duration::from_millis(1);

static PREFIX: LazyLock<Prefix> = LazyLock::new(|| Prefix::find().unwrap());

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("job");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn start(implementation: &Implementation, pes: u32, bytes: usize) -> Job {
    let program = Job::compile(implementation, &folder()).unwrap();
    let launch = Launch { pes, heap: 0, bound: true, options: &[] };
    Job::start(implementation.launch(&program, launch), bytes, &folder()).unwrap()
}

/// Every operation is timed, and its first results are checked.
#[test]
fn the_library_is_measured() {
    let search = Search { prefix: Some(PREFIX.root().to_owned()), ..Search::default() };
    let mut job = start(&find(&search).unwrap()[0], 3, 3 * 4096);
    let operations = [
        "barrier", "sum", "sum_to_all", "sum_in_place", "broadcast", "fcollect", "collect", "alltoall", "scan",
        "nb/sum", "nb/broadcast", "nb/fcollect", "nb/alltoall",
    ];
    for operation in operations {
        for bytes in [8, 4096, 4096] {
            let time = job.time(operation, bytes, BLOCK);
            assert!(time.unwrap_or_else(|e| panic!("{operation}: {e:#}")) > 0.0);
        }
    }
}

/// The same for transfers, which take two PEs.
#[test]
fn transfers_are_measured() {
    let search = Search { prefix: Some(PREFIX.root().to_owned()), ..Search::default() };
    let mut job = start(&find(&search).unwrap()[0], 2, 1 << 20);
    for operation in ["put", "put_signal", "isx"] {
        for bytes in [8192, 1 << 20] {
            let time = job.time(operation, bytes, BLOCK);
            assert!(time.unwrap_or_else(|e| panic!("{operation}: {e:#}")) > 0.0);
        }
    }
}

#[test]
fn bare_processes_are_measured() {
    let processes = Implementation::without_library(Family::Processes, "", "gcc");
    let mut job = start(&processes, 3, 8);
    for operation in ["yields", "barrier", "ring"] {
        assert!(job.time(operation, 8, BLOCK).unwrap() > 0.0);
    }
    // Counted from the arrival of the last of two PEs.
    let mut job = start(&processes, 2, 8);
    for distribution in ["uniform", "exponential", "pareto", "slow-pe", "bursts"] {
        let name = format!("uneven/{distribution}/barrier");
        assert!(job.time(&name, 100, BLOCK).unwrap() > 0.0, "{name}");
    }
    let error = job.time("uneven/even/barrier", 100, BLOCK).unwrap_err();
    assert!(error.to_string().contains("no distribution \"even\""), "{error}");
    let mut job = start(&processes, 3, 8);
    let error = job.time("dance", 8, BLOCK).unwrap_err().to_string();
    assert!(error.contains("no operation \"dance\""), "{error}");
}

#[test]
fn a_wrong_result_ends_the_job() {
    let folder = folder();
    let program = folder.join("wrong");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = here.join("tests/c/wrong.h");
    let status = Command::new("gcc")
        .args(["-std=gnu11", "-I"])
        .arg(here.join("c/collectives"))
        .arg(format!("-DIMPLEMENTATION=\"{}\"", header.display()))
        .arg(here.join("c/collectives/measure.c"))
        .arg("-o")
        .arg(&program)
        .arg("-lm")
        .status();
    assert!(status.unwrap().success());
    let mut job = Job::start(Command::new(&program), 64, &folder).unwrap();
    let error = job.time("sum", 64, BLOCK).unwrap_err().to_string();
    assert!(error.contains("sum of 8 elements: PE 0 has 9 at 0, not 1"), "{error}");
}
