//! Many jobs in a row leave the machine as it was.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_conformance::Job;
use ferroshmem_conformance::leftovers::Machine;
use ferroshmem_conformance::suite::Setting;
use nix::sys::signal::{Signal, kill};

use crate::ending::{Status, ended_rightly};
use crate::launcher::start_busy;
use crate::tables::DEATHS;
use crate::{death_program, misuse_job};

/// Jobs of all kinds, one after the other; each PE touches megabytes of shared memory, so
/// what a job left would add up to far more than other programs' changes.
pub(crate) fn two_hundred_jobs(s: &Setting) -> Result<()> {
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
                ensure!(outcome.left == 0, "job {i}: {} processes are left", outcome.left);
            }
            11 => drop(Job::new(pes, &program).args(&["well"]).expect_success(&s.prefix, &s.scratch)?),
            9 => {
                let job = misuse_job(s, 2, "put_pe", &[])?;
                ended_rightly(&job.run(&s.prefix, &s.scratch)?, Status::NonZero, &["PE 1"])?;
            }
            k => {
                let death = &DEATHS[k];
                let outcome = Job::new(pes, &program).args(&[death.way]).run(&s.prefix, &s.scratch)?;
                ended_rightly(&outcome, death.status, death.words)
                    .with_context(|| format!("job {i}, {}", death.way))?;
            }
        }
    }
    // Other programs of the machine come and go: give theirs a while to do so.
    let start = Instant::now();
    loop {
        let now = Machine::now();
        let (new, more) = (now.new_files(&before), now.shared_kib.saturating_sub(before.shared_kib));
        if new.is_empty() && more < TOLERANCE_KIB {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(20) {
            bail!("left after {JOBS} jobs: {more} KiB of shared memory; in /dev/shm: {new:?}");
        }
        thread::sleep(Duration::from_millis(200));
    }
}
