//! How this process learns which PE of which job it is.

use std::env;
use std::fs::File;
use std::os::fd::{FromRawFd, RawFd};

use super::control::Control;
use super::plan::Plan;
use crate::choice::Tuning;
use crate::env as variables;
use crate::platform::Machine;

/// Set by `oshrun` for each PE: `<descriptor of the job's memory>:<PE number>`.
pub const JOB_VARIABLE: &str = "FERROSHMEM_JOB";

/// This process's place in its job.
#[derive(Debug)]
pub struct Attachment {
    /// The job's memory.
    pub file: File,
    /// Its control part, mapped.
    pub control: Control,
    /// This PE's number.
    pub pe: usize,
    /// Whether a launcher started the job (and watches it).
    pub launched: bool,
}

/// Variables by which a launcher that this library cannot talk to gives itself away:
/// (variable with the number of processes, launcher).
const FOREIGN: &[(&str, &str)] = &[
    (
        "PMI_SIZE",
        "a PMI launcher (mpiexec.hydra, srun --mpi=pmi2)",
    ),
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
    ("SLURM_STEP_NUM_TASKS", "Slurm's srun"),
];

impl Attachment {
    /// Tries `oshrun`, then a job of one PE. The error is one line for the user.
    pub fn new() -> Result<Self, String> {
        match env::var(JOB_VARIABLE) {
            Ok(value) => Self::launched(&value),
            Err(_) => Self::alone(),
        }
    }

    fn launched(value: &str) -> Result<Self, String> {
        let bad = || format!("{JOB_VARIABLE}=\"{value}\" was not set by oshrun for this process");
        let (fd, pe) = value.split_once(':').ok_or_else(bad)?;
        let fd: RawFd = fd.parse().map_err(|_| bad())?;
        let pe: usize = pe.parse().map_err(|_| bad())?;
        // SAFETY: fcntl on any number is harmless; it fails if no such descriptor is open.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(format!(
                "{JOB_VARIABLE} is set, but its descriptor {fd} is closed: start the program by oshrun itself, not by a program that closes descriptors"
            ));
        }
        // SAFETY: oshrun opened the descriptor for this library; removing the variable
        // below keeps a second attachment from taking it.
        let file = unsafe { File::from_raw_fd(fd) };
        let control = Control::open(&file).map_err(|e| format!("cannot join the job: {e}"))?;
        if pe >= control.n_pes() {
            return Err(bad());
        }
        // A program that this PE starts is not this PE.
        // SAFETY: shmem_init is called before other threads use the environment.
        unsafe { env::remove_var(JOB_VARIABLE) };
        Ok(Self {
            file,
            control,
            pe,
            launched: true,
        })
    }

    fn alone() -> Result<Self, String> {
        for (variable, launcher) in FOREIGN {
            let count = env::var(variable)
                .ok()
                .and_then(|v| v.parse::<usize>().ok());
            if let Some(n) = count.filter(|n| *n > 1) {
                return Err(format!(
                    "started as one of {n} processes by {launcher}, which this version cannot join: start the program with oshrun -n {n}"
                ));
            }
        }
        let machine = Machine::here();
        let size = variables::SYMMETRIC_SIZE.get();
        let plan = Plan::new(1, &machine, size.as_deref()).map_err(|e| e.to_string())?;
        let (file, control) = Control::create(
            &plan,
            1,
            machine.cores,
            Tuning::default_for(machine.cores),
            0,
        )
        .map_err(|e| format!("cannot create the job's memory: {e}"))?;
        Ok(Self {
            file,
            control,
            pe: 0,
            launched: false,
        })
    }
}
