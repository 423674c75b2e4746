//! OpenSHMEM and MPI in one program, with each MPI that is installed or that the package index has, started by its
//! launcher.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Error, Result, anyhow, ensure};
use ferroshmem_cluster::hosts::{AGENT, Launcher, SUBNET};
use ferroshmem_conformance::cluster::{Launch, PLACEMENTS};
use ferroshmem_conformance::compile::has_header;
use ferroshmem_conformance::environment::{Environment, succeed};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool::{self, Missing};
use ferroshmem_conformance::{Job, Outcome, Suite, guide};

/// The number of PEs of each job on one host, and the option for it.
const PES: usize = 4;
const ON_ONE_HOST: [&str; 2] = ["-n", "4"];

/// How the last PE fails, and the status where every launcher has one.
const FAILURES: [(&str, Option<i32>); 4] =
    [("MPI_Abort", Some(3)), ("shmem_global_exit", Some(3)), ("exit", Some(3)), ("killed", None)];

/// An MPI.
#[derive(Debug, Clone, Copy)]
struct Mpi {
    name: &'static str,
    from: From,
    launcher: &'static str,
    options: &'static [&'static str],
}

/// Where it comes from.
#[derive(Debug, Clone, Copy)]
enum From {
    /// A package of the system, with this compiler wrapper.
    System { compiler: &'static str, package: &'static str },
    /// A package of the package index.
    Index(&'static str),
}

const MPIS: [Mpi; 5] = [
    Mpi {
        name: "openmpi4",
        from: From::System { compiler: "mpicc.openmpi", package: "libopenmpi-dev" },
        launcher: "mpirun.openmpi",
        options: &["--oversubscribe"],
    },
    Mpi {
        name: "mpich4",
        from: From::System { compiler: "mpicc.mpich", package: "libmpich-dev" },
        launcher: "mpiexec.hydra",
        options: &[],
    },
    Mpi { name: "openmpi5", from: From::Index("openmpi==5.*"), launcher: "mpirun", options: &["--oversubscribe"] },
    Mpi { name: "mpich5", from: From::Index("mpich==5.*"), launcher: "mpiexec", options: &[] },
    Mpi { name: "intel", from: From::Index("impi-devel"), launcher: "mpiexec", options: &[] },
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for mpi in MPIS {
        let long = mpi.is_large();
        for first in ["mpi", "shmem"] {
            for end in ["mpi", "shmem"] {
                let name = format!("{}::{first}-begins::{end}-ends", mpi.name);
                suite.add_maybe_long(name, long, move |s| both(s, mpi, [first, end]));
            }
        }
        suite.add_maybe_long(format!("{}::by-shmem", mpi.name), long, move |s| by_shmem(s, mpi));
        for (failure, status) in FAILURES {
            for first in ["mpi", "shmem"] {
                let name = format!("{}::{first}-begins::{failure}", mpi.name);
                // The other order differs where a session of Open MPI 5 is open.
                let long = long || (first == "shmem" && mpi.name != "openmpi5");
                suite.add_maybe_long(name, long, move |s| fails(s, mpi, [first, failure], status));
            }
        }
        suite.add_maybe_long(format!("{}::guide", mpi.name), long, move |s| shown(s, mpi));
    }
    // Three PEs on two hosts: between them, each library has connections of its own.
    for mpi in MPIS {
        let launchers: &[Launcher] = match mpi.name {
            "openmpi4" => &[Launcher::OpenMpi, Launcher::SlurmPmix],
            "mpich4" => &[Launcher::Hydra, Launcher::SlurmPmi2],
            "mpich5" => &[Launcher::SlurmPmi2],
            "intel" => &[Launcher::SlurmPmi2, Launcher::SlurmPmix],
            _ => &[],
        };
        for order in [["mpi", "shmem"], ["shmem", "mpi"], ["mpi", "mpi"], ["shmem", "shmem"]] {
            let name = format!("{}::{}-begins::{}-ends", mpi.name, order[0], order[1]);
            // MPI lives within OpenSHMEM.
            let is_within = order == ["shmem", "mpi"];
            for launcher in launchers {
                // Its MPI_Init is an error after a session that shmem_init has opened.
                if mpi.name == "intel" && *launcher == Launcher::SlurmPmi2 && order[0] == "shmem" {
                    continue;
                }
                let launch = Launch { launcher: *launcher, place: PLACEMENTS[1] };
                let short = is_within || (launcher.is_slurm() && order == ["mpi", "shmem"]);
                let short = short && !mpi.is_large();
                suite.add_launch(&name, launch, short, move |s, launch| on_hosts(s, mpi, launch, order));
            }
            if matches!(mpi.from, From::Index(_)) && !suite.launchers().is_empty() {
                let name = format!("{name}::3pe-2hosts-block::{}", mpi.launcher);
                let long = !is_within || mpi.is_large();
                suite.add_maybe_long(name, long, move |s| by_its_own(s, mpi, order));
            }
        }
    }
    suite.run();
}

/// The environment by whose pip MPIs are installed. The first call makes it.
fn environment() -> Result<&'static Environment> {
    static MADE: OnceLock<Result<Environment>> = OnceLock::new();
    let make = || Environment::make(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi"));
    MADE.get_or_init(make).as_ref().map_err(again)
}

/// An error once more.
fn again(error: &Error) -> Error {
    error.downcast_ref::<Missing>().map_or_else(|| anyhow!("{error:#}"), |missing| Error::new(missing.clone()))
}

impl Mpi {
    /// Intel's: 330 MB to fetch, and much like MPICH.
    fn is_large(self) -> bool {
        self.name == "intel"
    }

    /// Its prefix, if it is of the index. The first call installs it.
    fn prefix(self, package: &str) -> Result<&'static Path> {
        static INSTALLED: [OnceLock<Result<PathBuf>>; MPIS.len()] = [const { OnceLock::new() }; MPIS.len()];
        let index = MPIS.iter().position(|mpi| mpi.name == self.name).context("it is one of them")?;
        let install = || {
            let environment = environment()?;
            let prefix = environment.folder().join(self.name);
            let folder = prefix.to_str().context("a path in UTF-8")?;
            environment.fetch(&["install", "--prefix", folder, package])?;
            Ok(prefix)
        };
        INSTALLED[index].get_or_init(install).as_deref().map_err(again)
    }

    /// Its compiler wrapper and its launcher.
    fn commands(self) -> Result<[PathBuf; 2]> {
        match self.from {
            From::Index(package) => {
                let folder = self.prefix(package)?.join("bin");
                Ok(["mpicc", self.launcher].map(|name| folder.join(name)))
            }
            From::System { compiler, package } => {
                tool::command(compiler, package)?;
                tool::command(self.launcher, package)?;
                ensure!(has_header(Path::new(compiler), "mpi.h"), Missing::package("mpi.h", package));
                Ok([compiler, self.launcher].map(PathBuf::from))
            }
        }
    }

    /// What Intel's commands need to know.
    fn root(self) -> Result<(&'static str, PathBuf)> {
        let root = match self.from {
            From::Index(package) => self.prefix(package)?.to_owned(),
            From::System { .. } => PathBuf::new(),
        };
        Ok(("I_MPI_ROOT", root))
    }

    /// A program, compiled by `oshcc` around the MPI's compiler.
    fn compile(self, s: &Setting, source: &Path, name: &str) -> Result<PathBuf> {
        let [compiler, _] = self.commands()?;
        fs::create_dir_all(&s.scratch)?;
        let program = s.scratch.join(format!("{name}-{}-{}", self.name, std::process::id()));
        let mut oshcc = Command::new(s.prefix.bin("oshcc"));
        oshcc.env("OSHMEM_CC", compiler).envs([self.root()?]).args(["-O2", "-Wall", "-pthread", "-o"]);
        succeed(oshcc.arg(&program).arg(source))?;
        Ok(program)
    }

    /// The program of this crate, which the first call compiles.
    fn program(self, s: &Setting) -> Result<&'static Path> {
        static COMPILED: [OnceLock<Result<PathBuf>>; MPIS.len()] = [const { OnceLock::new() }; MPIS.len()];
        let index = MPIS.iter().position(|mpi| mpi.name == self.name).context("it is one of them")?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/mpi.c");
        COMPILED[index].get_or_init(|| self.compile(s, &source, "mpi")).as_deref().map_err(again)
    }

    /// A job of the program by the MPI's launcher with these options.
    fn job(self, options: &[&str], program: &Path, arguments: &[&str]) -> Result<Job> {
        let [_, launcher] = self.commands()?;
        let mut job = Job::new(0, &launcher).args(self.options).args(options);
        job = job.args(&[&program.display().to_string()]).args(arguments);
        for variable in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
            job = job.env(variable, "1").env(&format!("{variable}_CONFIRM"), "1");
        }
        let (variable, root) = self.root()?;
        Ok(job.env(variable, &root.display().to_string()))
    }
}

/// Both libraries work, alone and by threads side by side, and end.
fn both(s: &Setting, mpi: Mpi, order: [&str; 2]) -> Result<()> {
    expect_both(s, mpi.job(&ON_ONE_HOST, mpi.program(s)?, &order)?)
}

/// The same where OpenSHMEM initialises MPI and ends it.
fn by_shmem(s: &Setting, mpi: Mpi) -> Result<()> {
    expect_both(s, mpi.job(&ON_ONE_HOST, mpi.program(s)?, &["shmem", "shmem"])?.env("SHMEM_MPI_INIT", "1"))
}

fn expect_both(s: &Setting, job: Job) -> Result<()> {
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    for pe in 0..PES {
        let line = format!("PE {pe} of {PES} is rank {pe}");
        ensure!(outcome.stdout.contains(&line), "no \"{line}\"\n{outcome}");
    }
    Ok(())
}

/// The same on two hosts.
fn on_hosts(s: &Setting, mpi: Mpi, launch: Launch, order: [&str; 2]) -> Result<()> {
    let job = Job::new(0, mpi.program(s)?).args(&order);
    let outcome = s.stations.run(launch, &job)?;
    expect_end(mpi, launch.launcher == Launcher::Hydra, order, outcome, job.watchdog)
}

/// The same by the launcher that the package index has with the MPI.
fn by_its_own(s: &Setting, mpi: Mpi, order: [&str; 2]) -> Result<()> {
    let is_hydra = mpi.launcher == "mpiexec";
    // Hosts of all clusters have the same names, and processes the same ids, by which PRRTE names its files.
    let files = s.scratch.join(order.concat()).display().to_string();
    fs::create_dir_all(&files)?;
    let prte = ["plm_ssh_agent", AGENT, "prte_if_include", SUBNET, "prte_tmpdir_base", &files];
    let mut options = match is_hydra {
        true => vec!["-launcher", "ssh", "-launcher-exec", AGENT, "-hosts"],
        false => prte.chunks(2).flat_map(|pair| ["--prtemca", pair[0], pair[1]]).chain(["--host"]).collect(),
    };
    options.extend(["a:2,b:1", "-n", "3"]);
    let job = mpi.job(&options, mpi.program(s)?, &order)?;
    let cluster = s.stations.take()?;
    let process = cluster.command_on("a", &[], &job).spawn()?;
    let outcome = cluster.finish(vec![process], job.watchdog)?.pop().context("one job has run")?;
    s.stations.give(cluster);
    expect_end(mpi, is_hydra, order, outcome, job.watchdog)
}

/// Success, but where MPICH 4.0 or Intel MPI begins last and ends first: it closes the connection to Hydra.
fn expect_end(mpi: Mpi, is_hydra: bool, order: [&str; 2], outcome: Outcome, limit: Duration) -> Result<()> {
    if !is_hydra || order != ["shmem", "mpi"] || !matches!(mpi.name, "mpich4" | "intel") {
        return outcome.successful(limit).map(drop);
    }
    let is_said = outcome.stderr.contains("call shmem_finalize before it, or MPI_Init before shmem_init");
    ensure!(is_said && !outcome.hung && !outcome.status.success() && outcome.left == 0, "{outcome}");
    Ok(())
}

/// The job ends where one PE fails, and nothing is left.
fn fails(s: &Setting, mpi: Mpi, arguments: [&str; 2], status: Option<i32>) -> Result<()> {
    let outcome = mpi.job(&ON_ONE_HOST, mpi.program(s)?, &arguments)?.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && !outcome.status.success() && outcome.left == 0, "{}\n{outcome}", outcome.status);
    ensure!(status.is_none() || outcome.status.code() == status, "{}\n{outcome}", outcome.status);
    Ok(())
}

/// The program of the guide prints what the guide says; `oshrun` says what would start it.
fn shown(s: &Setting, mpi: Mpi) -> Result<()> {
    let page = guide::page("mpi.md")?;
    let (_, text) = page.split_once("```c\n").context("a program")?;
    let (text, _) = text.split_once("```").context("an end")?;
    fs::create_dir_all(&s.scratch)?;
    let source = s.scratch.join("both.c");
    fs::write(&source, text)?;
    let program = mpi.compile(s, &source, "both")?;
    let outcome = mpi.job(&ON_ONE_HOST, &program, &[])?.expect_success(&s.prefix, &s.scratch)?;
    for pe in 0..PES {
        let line = format!("PE {pe} is rank {pe} of the world, and {pe} of the communicator");
        ensure!(outcome.stdout.contains(&line), "no \"{line}\"\n{outcome}");
    }
    let outcome = Job::new(PES, &program).run(&s.prefix, &s.scratch)?;
    ensure!(outcome.stderr.contains("in which each PE will be alone"), "{outcome}");
    Ok(())
}
