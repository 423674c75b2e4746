//! Processes whose launcher left no way to talk to it.

use crate::Error;

/// A launcher's variable with the number of processes, its name, and what to do when it is the
/// only thing that the launcher left.
const LAUNCHERS: &[(&str, &str, &str)] = &[
    (
        "PMI_SIZE",
        "a PMI launcher",
        "its descriptor PMI_FD is missing: start the program by mpiexec.hydra or srun --mpi=pmi2 itself, not by a program that closes descriptors",
    ),
    (
        "OMPI_COMM_WORLD_SIZE",
        "Open MPI's mpirun",
        "its PMIx variables are missing: use mpirun of Open MPI 4 or later, prterun, or mpiexec.hydra",
    ),
    (
        "SLURM_STEP_NUM_TASKS",
        "Slurm's srun",
        "without a way to talk to it: use srun --mpi=pmix or srun --mpi=pmi2",
    ),
    (
        "MPIRUN_NPROCS",
        "MVAPICH's mpirun_rsh",
        "without a way to talk to it: use mpiexec.hydra",
    ),
];

/// N processes must not become N jobs of one.
pub(super) fn refuse() -> Result<(), Error> {
    refuse_by(|name| std::env::var(name).ok())
}

fn refuse_by(variable: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    for (name, launcher, remedy) in LAUNCHERS {
        let count = variable(name).and_then(|v| v.parse::<usize>().ok());
        if let Some(n) = count.filter(|n| *n > 1) {
            return Err(Error::new(format!(
                "started as one of {n} processes by {launcher}, but {remedy}; or use oshrun -n {n}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<(), String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        refuse_by(variable).map_err(|e| e.to_string())
    }

    #[test]
    fn several_processes_are_never_several_jobs() {
        let one = ("SLURM_STEP_NUM_TASKS", "1");
        assert_eq!(of(&[]), Ok(()));
        assert_eq!(of(&[one, ("PMI_SIZE", "many")]), Ok(()));
        let line = of(&[one, ("OMPI_COMM_WORLD_SIZE", "4")]).unwrap_err();
        assert!(line.starts_with("started as one of 4 processes by Open MPI's mpirun"));
        assert!(line.ends_with("or use oshrun -n 4"), "{line}");
        let line = of(&[("SLURM_STEP_NUM_TASKS", "8")]).unwrap_err();
        assert!(line.contains("srun --mpi=pmix"), "{line}");
    }
}
