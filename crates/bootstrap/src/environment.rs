//! The variables that launchers set for the processes they start: the one module of this crate that
//! reads the environment.

use std::env;
use std::ffi::{CStr, c_char};
use std::process::Command;

/// A variable of a launcher's.
#[derive(Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What sets it.
    pub set_by: &'static str,
    /// What it holds.
    pub holds: &'static str,
}

impl Variable {
    const fn new(name: &'static str, set_by: &'static str, holds: &'static str) -> Self {
        Self { name, set_by, holds }
    }
}

/// The value of a variable in this process; none if it is not text.
pub fn value(variable: &Variable) -> Option<String> {
    env::var(variable.name).ok()
}

/// Takes the step of this process out of the environment of a command, but not the job: variables of a step are options
/// to `srun`, and say to the processes of another what they are not.
pub(crate) fn leave_step(command: &mut Command) {
    let stays = [SLURM_CONF.name, SLURM_JOB_ID.name];
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let is_of_step = ["SLURM_", "SLURMD_", "PMI_", "PMI2_", "PMIX_"].iter().any(|prefix| text.starts_with(prefix));
        if is_of_step && !stays.contains(&&*text) {
            command.env_remove(name);
        }
    }
}

/// The value of [`PARENTS`], at the first call alone: the variable is empty then, for it is a secret, and the programs
/// that this one starts are not those that it is meant for.
pub(crate) fn take_parents() -> Option<String> {
    unsafe extern "C" {
        fn getenv(name: *const c_char) -> *mut c_char;
    }
    let parents = value(&PARENTS).filter(|parents| !parents.is_empty())?;
    let name = std::ffi::CString::new(PARENTS.name).ok()?;
    // SAFETY: a C string; by POSIX the result is null, or that of the variable in the environment of this process.
    let text = unsafe { getenv(name.as_ptr()) };
    if !text.is_null() {
        // SAFETY: by POSIX the variable is a C string, which stays in place as long as it is not set; this library
        // alone knows its name.
        let length = unsafe { CStr::from_ptr(text) }.count_bytes();
        // SAFETY: the same; a string of zeros alone is an empty one at each moment.
        unsafe { text.write_bytes(0, length) };
    }
    Some(parents)
}

/// Launchers with a server of PMI.
const PMI: &str = "PMI launchers (Hydra, srun --mpi=pmi2)";
/// Launchers with a server of PMIx.
const PMIX: &str = "PMIx launchers (Open MPI, PRRTE, srun --mpi=pmix)";
const SLURM: &str = "Slurm";

/// The descriptor of the connection to a PMI server.
pub static PMI_FD: Variable = Variable::new("PMI_FD", PMI, "descriptor of the connection");
/// The address of a PMI server.
pub static PMI_PORT: Variable = Variable::new("PMI_PORT", PMI, "host:port of the server");
/// The name by which a process introduces itself at [`PMI_PORT`].
pub static PMI_ID: Variable = Variable::new("PMI_ID", PMI, "number of the process at PMI_PORT");
/// The process's number.
pub static PMI_RANK: Variable = Variable::new("PMI_RANK", PMI, "number of the process");
/// The number of processes.
pub static PMI_SIZE: Variable = Variable::new("PMI_SIZE", PMI, "number of processes");
/// The job's name in PMI-2.
pub static PMI_JOBID: Variable = Variable::new("PMI_JOBID", PMI, "name of the job");
/// Whether processes of another job have had this one started.
pub static PMI_SPAWNED: Variable = Variable::new("PMI_SPAWNED", PMI, "1 in a job that another has started");
/// Hydra's own descriptor, set by no other launcher.
pub static HYDI_CONTROL_FD: Variable = Variable::new("HYDI_CONTROL_FD", "Hydra", "descriptor of its proxy");
/// The job's name in PMIx.
pub static PMIX_NAMESPACE: Variable = Variable::new("PMIX_NAMESPACE", PMIX, "name of the job");
/// The process's number in PMIx.
pub static PMIX_RANK: Variable = Variable::new("PMIX_RANK", PMIX, "number of the process");
/// The number of processes of Open MPI's `mpirun`.
pub static OMPI_COMM_WORLD_SIZE: Variable = Variable::new("OMPI_COMM_WORLD_SIZE", "Open MPI", "number of processes");
/// The number of processes of MVAPICH's `mpirun_rsh`.
pub static MPIRUN_NPROCS: Variable = Variable::new("MPIRUN_NPROCS", "MVAPICH", "number of processes");
/// The number of a step of a job of Slurm's.
pub static SLURM_STEP_ID: Variable = Variable::new("SLURM_STEP_ID", SLURM, "number of the step");
/// The number of nodes of a step.
pub static SLURM_STEP_NUM_NODES: Variable = Variable::new("SLURM_STEP_NUM_NODES", SLURM, "number of nodes");
/// The nodes of a step.
pub static SLURM_STEP_NODELIST: Variable = Variable::new("SLURM_STEP_NODELIST", SLURM, "nodes of the step");
/// The file of Slurm's configuration.
pub static SLURM_CONF: Variable = Variable::new("SLURM_CONF", "a user of Slurm", "file of its configuration");
/// What [`Bootstrap::parents`](crate::Bootstrap::parents) returns, where the launcher hands on variables alone.
pub static PARENTS: Variable =
    Variable::new("FERROSHMEM_PARENTS", "the PEs that have a job started", "text of the port at which they wait");
/// The number of processes of a step.
pub static SLURM_STEP_NUM_TASKS: Variable = Variable::new("SLURM_STEP_NUM_TASKS", SLURM, "number of processes");
/// The number of a job of Slurm's.
pub static SLURM_JOB_ID: Variable = Variable::new("SLURM_JOB_ID", SLURM, "number of the job");
/// The number of nodes of a job.
pub static SLURM_JOB_NUM_NODES: Variable = Variable::new("SLURM_JOB_NUM_NODES", SLURM, "number of nodes");
/// The same, by its older name.
pub static SLURM_NNODES: Variable = Variable::new("SLURM_NNODES", SLURM, "number of nodes");
/// The number of processes that the user asked for.
pub static SLURM_NTASKS: Variable = Variable::new("SLURM_NTASKS", SLURM, "number of processes");
/// The cores of each node of a job.
pub static SLURM_JOB_CPUS_PER_NODE: Variable =
    Variable::new("SLURM_JOB_CPUS_PER_NODE", SLURM, "cores of each node: 4(x2),3");

/// What makes Hydra reach hosts in another way than by `ssh`: its own settings, and the allocations whose
/// launchers it uses.
pub static HYDRA_REACHES_HOSTS_BY: &[&Variable] = &[
    &Variable::new("HYDRA_LAUNCHER", "a user of Hydra", "way to reach a host"),
    &Variable::new("HYDRA_LAUNCHER_EXEC", "a user of Hydra", "program that reaches a host"),
    &Variable::new("HYDRA_LAUNCHER_EXTRA_ARGS", "a user of Hydra", "arguments of that program"),
    &Variable::new("HYDRA_BOOTSTRAP", "a user of Hydra", "way to reach a host"),
    &Variable::new("HYDRA_BOOTSTRAP_EXEC", "a user of Hydra", "program that reaches a host"),
    &SLURM_JOB_ID,
    &Variable::new("PBS_JOBID", "PBS", "number of the job"),
    &Variable::new("LSB_JOBID", "LSF", "number of the job"),
    &Variable::new("LOADL_STEP_ID", "LoadLeveler", "number of the step"),
    &Variable::new("PE_HOSTFILE", "Grid Engine", "file with the hosts"),
    &Variable::new("COBALT_JOBID", "Cobalt", "number of the job"),
];

/// All that this crate or the launcher reads the value of.
pub static TABLE: &[&Variable] = &[
    &PMI_FD, &PMI_PORT, &PMI_ID, &PMI_RANK, &PMI_SIZE, &PMI_JOBID, &PMI_SPAWNED, &HYDI_CONTROL_FD, &PMIX_NAMESPACE,
    &PMIX_RANK, &OMPI_COMM_WORLD_SIZE, &MPIRUN_NPROCS, &SLURM_STEP_ID, &SLURM_STEP_NUM_TASKS, &SLURM_STEP_NUM_NODES,
    &SLURM_STEP_NODELIST, &SLURM_CONF, &PARENTS, &SLURM_JOB_ID, &SLURM_JOB_NUM_NODES, &SLURM_NNODES, &SLURM_NTASKS,
    &SLURM_JOB_CPUS_PER_NODE,
];
