//! The launchers, and how each is called.

use std::env;
use std::process::{Command, Stdio};

/// One way to start a job.
#[derive(Debug, Clone)]
pub(crate) struct Launcher {
    pub name: &'static str,
    program: &'static str,
    options: &'static [&'static str],
    pub environment: &'static [(&'static str, &'static str)],
    /// The protocol to use, if not that which is found.
    pub protocol: &'static str,
    /// What the client calls it.
    pub full_name: &'static str,
    /// Whether it ends with the status with which a process aborts.
    pub returns_abort_status: bool,
}

const AS_ROOT: &[(&str, &str)] = &[
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
    ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
];

/// One by this name, which the client finds by itself under the full name.
const fn launcher(
    (name, program): (&'static str, &'static str),
    options: &'static [&'static str],
    full_name: &'static str,
    returns_abort_status: bool,
) -> Launcher {
    Launcher { name, program, options, environment: &[], protocol: "any", full_name, returns_abort_status }
}

pub(crate) fn all() -> Vec<Launcher> {
    const HYDRA: &str = "mpiexec.hydra";
    const PMI2: &[&str] = &["--mpi=pmi2", "--overcommit"];

    let as_root = |launcher| Launcher { environment: AS_ROOT, ..launcher };
    let by = |protocol, launcher| Launcher { protocol, ..launcher };
    let open_mpi = ("mpirun_of_open_mpi", "mpirun.openmpi");
    vec![
        as_root(launcher(open_mpi, &["--oversubscribe"], "Open MPI's mpirun, by PMIx", true)),
        as_root(launcher(("prterun", "prterun"), &["--map-by", ":OVERSUBSCRIBE"], "PRRTE's prterun, by PMIx", true)),
        launcher(("hydra_pmi1", HYDRA), &[], "Hydra's mpiexec, by PMI-1", true),
        by("pmi2", launcher(("hydra_pmi2", HYDRA), &[], "Hydra's mpiexec, by PMI-2", false)),
        launcher(("hydra_pmi_port", HYDRA), &["-pmi-port"], "by PMI-1", true),
        launcher(("srun_pmix", "srun"), &["--mpi=pmix", "--overcommit"], "Slurm's srun, by PMIx", false),
        by("pmi2", launcher(("srun_pmi2", "srun"), PMI2, "Slurm's srun, by PMI-2", false)),
        by("pmi1", launcher(("srun_pmi1", "srun"), PMI2, "Slurm's srun, by PMI-1", false)),
    ]
}

impl Launcher {
    /// The command before the program to start.
    pub(crate) fn command(&self, n: usize) -> Vec<String> {
        let mut command = vec![self.program.to_owned()];
        command.extend(self.options.iter().map(|o| (*o).to_owned()));
        command.extend(["-n".to_owned(), n.to_string()]);
        command
    }

    /// Why it cannot be used here, if so.
    pub(crate) fn missing(&self) -> Option<String> {
        let path = env::var_os("PATH").unwrap_or_default();
        if !env::split_paths(&path).any(|dir| dir.join(self.program).is_file()) {
            return Some(format!("no {}", self.program));
        }
        let ready = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|s| s.success())
        };
        if self.program == "srun" && !ready("timeout", &["10", "scontrol", "ping"]) {
            return Some("no Slurm is running".to_owned());
        }
        if self.name == "hydra_pmi_port" {
            // Versions before 4.2 have the option and set no variable by it.
            let arguments = ["10", self.program, "-pmi-port", "-n", "1", "sh", "-c", "test -n \"$PMI_PORT\""];
            if !ready("timeout", &arguments) {
                return Some("this version does not offer a port".to_owned());
            }
        }
        None
    }
}
