//! Programs whose PEs are in virtual machines and reach each other by verbs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_cluster::machines::{Job, OnDemand, run_trials};
use ferroshmem_conformance::{Build, Compiler, Prefix};
use libtest_mimic::{Failed, Trial};

/// The provider to be tried here.
const PROVIDER: &str = "verbs;ofi_rxm";

/// The machines that there are; PEs are on all of them.
const MACHINES: usize = 2;

/// Processors are emulated there.
const WATCHDOG: Duration = Duration::from_secs(240);

/// Few repetitions, few types of atomics, and of others the smallest and the largest one.
const BRIEF: &[&str] = &["-DBRIEF", "-DFEW_TYPES", "-DRMA_TYPES(X)=X(signed char, schar) X(long double, longdouble)"];

/// Programs of `c/`, compiled with [`BRIEF`], and the numbers of PEs with which they run without
/// being asked for: few, since all is slow there. With `--include-ignored`, all numbers.
const PROGRAMS: &[(&str, &[usize])] = &[
    ("rma_sizes.c", &[2]),
    ("rma_types.c", &[2]),
    // Two PEs on each machine do to each other what one on each does.
    ("amo.c", &[4]),
    ("signal.c", &[]),
    ("ordering.c", &[2]),
    ("messages/reads.c", &[2]),
    ("reduce.c", &[]),
    ("memory.c", &[]),
    ("globals.c", &[]),
    ("collectives.c", &[]),
    ("lock.c", &[]),
    ("wait.c", &[]),
    ("contexts.c", &[]),
    ("threads.c", &[]),
    ("teams.c", &[]),
    ("messages/nodes.c", &[]),
    ("generated/every_prototype.c", &[]),
];

/// A program that takes all of the heap: what it takes is pinned for the device, and the machines
/// have little memory.
const EXHAUSTS: &str = "memory.c";

/// Numbers of PEs: one on each machine, more on one of them, several on both.
const PE_COUNTS: [usize; 3] = [2, 3, 4];

fn main() -> ExitCode {
    run_trials(|| {
        let setting = Arc::new(Setting {
            prefix: Prefix::find()?,
            cache: Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs"),
            machines: Mutex::default(),
        });
        let trials = PROGRAMS.iter().flat_map(|(source, short)| {
            PE_COUNTS.map(|pes| {
                let name = Path::new(source).file_stem().unwrap_or_default();
                let setting = setting.clone();
                Trial::test(format!("{}::{pes}pe-verbs", name.display()), move || {
                    setting.run(source, pes).map_err(|error| Failed::from(format!("{error:#}")))
                })
                .with_ignored_flag(!short.contains(&pes))
            })
        });
        Ok(trials.collect())
    })
}

/// What all trials use.
struct Setting {
    prefix: Prefix,
    /// Folder of the compiled programs.
    cache: PathBuf,
    machines: Mutex<OnDemand>,
}

impl Setting {
    fn run(&self, source: &str, pes: usize) -> Result<()> {
        let build = Build::new(source, Compiler::Gcc).flags(BRIEF);
        let program = build.run(&self.prefix, &self.cache)?;
        let mut job = Job::same(pes, MACHINES, &[program.into()]);
        job.timeout = WATCHDOG;
        job.env("SHMEM_FABRIC", PROVIDER);
        // A PE that polls takes the time of the device, which is in software.
        job.env("SHMEM_SPIN", "0");
        // Emulated processors on a busy machine miss heartbeats; failures are tested on other hosts.
        job.env("SHMEM_FABRIC_TIMEOUT", "60");
        if source == EXHAUSTS {
            job.env("SHMEM_SYMMETRIC_SIZE", "128m");
        }
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = machines.run(&job)?;
        ensure!(outcome.success(), "{outcome}");
        Ok(())
    }
}
