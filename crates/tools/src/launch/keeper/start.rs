//! Starting the PEs of a job, one after the other.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::Keeper;
use crate::launch::failure::Failure;
use crate::launch::program::cannot_run;
use crate::launch::spawn::{Common, SpawnError, Spawner, Streams};

impl Keeper {
    /// Starts all PEs, unless something ends the job meanwhile.
    pub(super) fn start(&mut self) -> Result<(), Failure> {
        let n_pes = self.job.n_pes();
        if self.job.options.verbose {
            let (cores, heap) = (self.job.machine.cores, self.job.plan.heap_size >> 20);
            self.output.say(&format!(
                "{n_pes} PEs on {cores} cores, symmetric heap of up to {heap} MiB each"
            ));
        }
        let system = |what: &str, e: std::io::Error| Failure::system(format!("{what}: {e}"));
        let files = getrlimit(Resource::RLIMIT_NOFILE)
            .map_err(|e| system("cannot read the limit on open files", e.into()))?;
        // A few descriptors beside those for output.
        if self.output.descriptors(n_pes) + 32 > files.0 {
            let _ = setrlimit(Resource::RLIMIT_NOFILE, files.1, files.1);
        }
        let null = File::open("/dev/null").map_err(|e| system("cannot open /dev/null", e))?;
        let memory = self.memory.as_raw_fd();
        let mut spawner = Spawner::new(Common {
            memory,
            mask: self.inherited_mask,
            files,
        });
        for pe in 0..n_pes {
            let [out, err] = self
                .output
                .streams(pe)
                .map_err(|e| system(&format!("cannot prepare the output of PE {pe}"), e))?;
            let input = (pe != 0).then(|| null.as_fd());
            let streams = Streams {
                fds: [
                    input,
                    out.as_ref().map(|f| f.as_fd()),
                    err.as_ref().map(|f| f.as_fd()),
                ],
            };
            let program = self.job.program(pe);
            let pid = spawner
                .spawn(pe, program, &streams, self.job.affinity(pe).as_ref())
                .map_err(|e| cannot_start(pe, n_pes, &program.name, e))?;
            self.alive.insert(pid, pe);
            if self.job.options.verbose {
                let core = self
                    .job
                    .cores
                    .get(pe)
                    .map(|c| format!(", core {c}"))
                    .unwrap_or_default();
                self.output.say(&format!(
                    "PE {pe}: \"{}\", process {pid}{core}",
                    self.job.program(pe).name
                ));
            }
            self.take_signals();
            if self.ending.is_some() {
                break;
            }
        }
        Ok(())
    }
}

/// The line for a PE that could not be started.
fn cannot_start(pe: usize, n_pes: usize, program: &str, error: SpawnError) -> Failure {
    match error {
        // The file is there: it was looked at before.
        SpawnError::Exec(Errno::ENOENT) => Failure::not_runnable(format!(
            "cannot run \"{program}\": the interpreter that it names does not exist"
        )),
        SpawnError::Exec(e) => cannot_run(program, e),
        SpawnError::NoProcess(e) => Failure::system(format!(
            "cannot start PE {pe} of {n_pes}: {}",
            if e == Errno::EAGAIN {
                "the limit on processes is reached (ulimit -u)"
            } else {
                e.desc()
            }
        )),
        SpawnError::Setup(e) => Failure::system(format!(
            "cannot prepare the process of PE {pe}: {}",
            e.desc()
        )),
    }
}
