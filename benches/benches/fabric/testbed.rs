//! The implementations that are compared, and their jobs on the hosts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_benches::{Prefix, table};
use ferroshmem_cluster::hosts::{Cluster, Launcher, Placement};
use ferroshmem_conformance::make;
use pgas_microbench::implementation::{Family, Implementation, Search, find};
use pgas_microbench::machine::IdleWait;
use pgas_microbench::{build, job};

use crate::updates;

/// The longest time of a job.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Time after the end of a job in which its processes must end.
const SHUTDOWN: Duration = Duration::from_secs(10);
/// The longest wait for an idle machine before a job.
const IDLE: Duration = Duration::from_secs(2);

/// The numbers in a program's output: as many in each line that is no comment.
///
/// # Errors
/// If a line has others, or there is none.
pub(crate) fn numbers<const N: usize>(output: &str) -> Result<Vec<[f64; N]>> {
    let lines = output.lines().filter(|line| !line.starts_with('#'));
    let line = |line: &str| {
        let words = line.split_whitespace().map(str::parse);
        let numbers = words.collect::<Result<Vec<f64>, _>>().ok();
        let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
        numbers.with_context(|| format!("not {N} numbers: {line:?}"))
    };
    let numbers = lines.map(line).collect::<Result<Vec<_>>>()?;
    ensure!(!numbers.is_empty(), "no numbers: {output:?}");
    Ok(numbers)
}

/// A program that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// One of `pgas-microbench/`.
    Micro(&'static str),
    /// `c/tagged.c`.
    Tagged,
    /// `c/conveyors.c`.
    Conveyors,
    /// `c/threads.c`.
    Threads,
    /// IS of `nas/`, the variant that calls the library.
    Keys,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Micro(name) => name,
            Self::Tagged => "tagged",
            Self::Conveyors => "conveyors",
            Self::Threads => "threads",
            Self::Keys => "is-putget",
        })
    }
}

/// An implementation, and its programs.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Name in tables.
    pub label: &'static str,
    implementation: Implementation,
    folder: PathBuf,
    /// Why it is not measured any more.
    failure: Option<anyhow::Error>,
}

/// The implementations on the hosts.
#[derive(Debug)]
pub(crate) struct Testbed<'r> {
    cluster: &'r Cluster,
    /// All implementations, this library first.
    pub variants: Vec<Variant>,
}

impl<'r> Testbed<'r> {
    /// Finds the installed implementations, and prints their versions. Programs are built in
    /// `folder`, jobs run on the hosts of `cluster`.
    ///
    /// # Errors
    /// If Open MPI's launcher, which starts all jobs, is missing.
    pub(crate) fn open(cluster: &'r Cluster, prefix: &Prefix, folder: &Path) -> Result<Self> {
        Launcher::OpenMpi.check()?;
        let search = Search { prefix: Some(prefix.root().to_owned()), ..Search::from_environment() };
        let found = find(&search)?;
        let variant = |(label, family)| {
            let one = found.iter().find(|one| one.family == family)?;
            Some(Variant {
                label,
                implementation: one.clone(),
                folder: folder.join(format!("fabric-{label}")),
                failure: None,
            })
        };
        let compared = [("ours", Family::FerroShmem), ("OSHM", Family::OpenShmem)];
        let variants: Vec<_> = compared.into_iter().filter_map(variant).collect();
        match variants.get(1).map(|variant| &variant.implementation) {
            Some(Implementation { name, version, .. }) => {
                println!("measured beside FerroSHMEM: {name} {version}");
            }
            None => println!("{} is missing", Family::OpenShmem),
        }
        Ok(Self { cluster, variants })
    }

    /// Runs a program of a variant; returns its output. None if this run or an earlier one failed.
    pub(crate) fn run(
        &mut self,
        variant: usize,
        program: Program,
        arguments: &str,
        place: &Placement,
    ) -> Option<String> {
        let one = &self.variants[variant];
        if one.failure.is_some() {
            return None;
        }
        table::progress(&format!("{}: {program} {arguments} {place}", one.label));
        let result = one.build(program).and_then(|path| one.job(self.cluster, &path, arguments, place));
        result
            .map_err(|error| {
                let what = format!("{program} {arguments}, {place}");
                self.variants[variant].failure = Some(error.context(what));
            })
            .ok()
    }

    /// Prints which variants failed, and why; returns whether this library succeeded.
    pub(crate) fn report(&self) -> bool {
        table::clear();
        for variant in &self.variants {
            if let Some(failure) = &variant.failure {
                println!("{} failed: {failure:#}", variant.label);
            }
        }
        self.variants[0].failure.is_none()
    }
}

impl Variant {
    /// Builds a program, once; returns its path.
    fn build(&self, program: Program) -> Result<PathBuf> {
        let make = |folder, goals: &[&str], flags| {
            let wrapper = ("OSHCC", self.implementation.compiler.as_path());
            make::make_with(folder, goals, wrapper, flags, &self.folder)
        };
        match program {
            Program::Micro(name) => Ok(make("pgas-microbench", &[], "")?.join(name)),
            Program::Keys => Ok(make("nas", &["is"], "-march=native")?.join("is-putget")),
            Program::Threads => self.compile("threads", &["-pthread".to_owned()]),
            // The name of what is installed without headers, too.
            Program::Tagged => self
                .compile("tagged", &["-l:libfabric.so.1".to_owned()])
                .context("this takes the headers of libfabric (libfabric-dev)"),
            Program::Conveyors => {
                let prefix = std::env::var(updates::CONVEYORS)?;
                let flags =
                    [format!("-I{prefix}/include"), format!("-L{prefix}/lib"), "-lconvey".to_owned(), "-lm".to_owned()];
                self.compile("conveyors", &flags)
            }
        }
    }

    /// Compiles a program of `c/`.
    fn compile(&self, name: &str, libraries: &[String]) -> Result<PathBuf> {
        std::fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("c/{name}.c"));
        build::run(
            Command::new(&self.implementation.compiler)
                .args(["-std=gnu11", "-O2", "-Wall", "-Wextra"])
                .arg(source)
                .arg("-o")
                .arg(&path)
                .args(libraries),
        )?;
        Ok(path)
    }

    /// The command line that starts a job, on the first host. Both implementations use the same
    /// launcher.
    fn words(&self, place: &Placement, program: Vec<String>) -> Vec<String> {
        // This library's variables are forwarded to its PEs.
        let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
        let set = names.iter().map(String::as_str);
        let mut variables: Vec<_> = set.filter(|name| name.starts_with("SHMEM_")).collect();
        if self.implementation.family == Family::OpenShmem {
            variables = vec!["UCX_TLS", "SHMEM_SYMMETRIC_HEAP_SIZE"];
        }
        let mut words = Launcher::OpenMpi.words(place, &variables, &program);
        // With this component, programs of Open MPI's OpenSHMEM end with a segmentation fault.
        words.splice(1..1, ["--mca", "osc", "^rdma"].map(str::to_owned));
        words
    }

    fn job(&self, cluster: &Cluster, program: &Path, arguments: &str, place: &Placement) -> Result<String> {
        let mut command = vec![program.display().to_string()];
        command.extend(arguments.split_whitespace().map(str::to_owned));
        let host = cluster.hosts().next().context("a cluster has hosts")?;
        let mut launch = cluster.command(host, self.words(place, command));
        for (name, value) in Launcher::OpenMpi.variables() {
            launch = launch.env(name, value);
        }
        if self.implementation.family == Family::OpenShmem {
            launch = launch.env("UCX_TLS", "tcp,self").env("SHMEM_SYMMETRIC_HEAP_SIZE", "512M");
        }
        IdleWait::new(IDLE).wait();
        let mut process = launch.spawn()?;
        let ended = process.wait(TIMEOUT)?;
        let left = match ended {
            Some(_) => cluster.remaining_after(SHUTDOWN)?,
            None => Vec::new(),
        };
        cluster.sweep()?;
        let errors = job::summary(&process.stderr());
        match ended {
            None => bail!("no end within {} s: {errors}", TIMEOUT.as_secs()),
            Some(status) if !status.success() => bail!("{status}: {errors}"),
            Some(_) => {
                ensure!(left.is_empty(), "left behind: {}", left.join(", "));
                Ok(process.stdout())
            }
        }
    }
}
