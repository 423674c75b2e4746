//! Who takes part, and their jobs on the hosts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_benches::{Implementation, Prefix, Quiet, sheet};
use ferroshmem_cluster::hosts::{Cluster, Launcher, Placement};
use ferroshmem_conformance::make;

/// A job that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(600);
/// After a job has ended, its processes may take this long to go.
const FAREWELL: Duration = Duration::from_secs(10);
/// Whoever else uses the machine is waited for so long before a job.
const PAUSE: Duration = Duration::from_secs(2);

/// A program that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// One of `pgas-microbench/`.
    Micro(&'static str),
    /// `c/overlap.c`.
    Overlap,
    /// IS of `nas/`, the variant that calls the library.
    Keys,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Micro(name) => name,
            Self::Overlap => "overlap",
            Self::Keys => "is-putget",
        })
    }
}

/// An implementation, and its programs.
#[derive(Debug)]
pub(crate) struct Contender {
    /// Name in tables.
    pub label: &'static str,
    implementation: Implementation,
    oshcc: PathBuf,
    folder: PathBuf,
    /// Why it takes no part any more.
    failure: Option<anyhow::Error>,
}

/// All contenders, this library first.
#[derive(Debug)]
pub(crate) struct Field<'r> {
    cluster: &'r Cluster,
    /// Who takes part.
    pub contenders: Vec<Contender>,
}

impl<'r> Field<'r> {
    /// The implementations that are there, on the hosts of `cluster`; prints which are. Programs are
    /// built in `folder`.
    ///
    /// # Errors
    /// If Open MPI's launcher, which starts all jobs, is missing.
    pub(crate) fn open(cluster: &'r Cluster, prefix: &Prefix, folder: &Path) -> Result<Self> {
        Launcher::OpenMpi.check()?;
        let new = |label, implementation: Implementation| Contender {
            label,
            implementation,
            oshcc: implementation.compiler(prefix).into(),
            folder: folder.join(format!("fabric-{label}")),
            failure: None,
        };
        let mut contenders = vec![new("ours", Implementation::FerroShmem)];
        let peer = Implementation::OpenShmem;
        match peer.version(prefix) {
            Ok(version) => {
                println!("measured beside FerroSHMEM: {} {version}", peer.name());
                contenders.push(new("OSHM", peer));
            }
            Err(error) => println!("{} is missing: {error:#}", peer.name()),
        }
        Ok(Self {
            cluster,
            contenders,
        })
    }

    /// Runs a program of a contender; returns what it printed. None if it takes no part, or has
    /// just failed and will take no more.
    pub(crate) fn run(
        &mut self,
        contender: usize,
        program: Program,
        arguments: &str,
        place: &Placement,
    ) -> Option<String> {
        let one = &self.contenders[contender];
        if one.failure.is_some() {
            return None;
        }
        sheet::progress(&format!("{}: {program} {arguments} {place}", one.label));
        let result = one
            .build(program)
            .and_then(|path| one.job(self.cluster, &path, arguments, place));
        result
            .map_err(|error| {
                let what = format!("{program} {arguments}, {place}");
                self.contenders[contender].failure = Some(error.context(what));
            })
            .ok()
    }

    /// Says who failed and why; whether this library did not.
    pub(crate) fn report(&self) -> bool {
        sheet::clear();
        for contender in &self.contenders {
            if let Some(failure) = &contender.failure {
                println!("{} failed: {failure:#}", contender.label);
            }
        }
        self.contenders[0].failure.is_none()
    }
}

impl Contender {
    /// Builds a program, once; returns its path.
    fn build(&self, program: Program) -> Result<PathBuf> {
        let make = |folder, goals: &[&str], flags| {
            let wrapper = ("OSHCC", self.oshcc.as_path());
            make::make_with(folder, goals, wrapper, flags, &self.folder)
        };
        match program {
            Program::Micro(name) => Ok(make("pgas-microbench", &[], "")?.join(name)),
            Program::Keys => Ok(make("nas", &["is"], "-march=native")?.join("is-putget")),
            Program::Overlap => {
                std::fs::create_dir_all(&self.folder)?;
                let path = self.folder.join("overlap");
                let mut command = Command::new(&self.oshcc);
                command
                    .args(["-std=gnu11", "-O2", "-Wall", "-Wextra"])
                    .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("c/overlap.c"))
                    .arg("-o")
                    .arg(&path);
                let output = command
                    .output()
                    .with_context(|| format!("cannot run {command:?}"))?;
                let complaint = String::from_utf8_lossy(&output.stderr);
                ensure!(output.status.success(), "{command:?}\n{complaint}");
                Ok(path)
            }
        }
    }

    /// The words that start a job, on the first host. Both implementations take the same launcher.
    fn words(&self, place: &Placement, program: Vec<String>) -> Vec<String> {
        // What is set for this library reaches its PEs.
        let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
        let set = names.iter().map(String::as_str);
        let mut variables: Vec<_> = set.filter(|name| name.starts_with("SHMEM_")).collect();
        if self.implementation == Implementation::OpenShmem {
            variables = vec!["UCX_TLS", "SHMEM_SYMMETRIC_HEAP_SIZE"];
        }
        let mut words = Launcher::OpenMpi.words(place, &variables, &program);
        // With it, programs of Open MPI's OpenSHMEM end by a segmentation fault.
        words.splice(1..1, ["--mca", "osc", "^rdma"].map(str::to_owned));
        words
    }

    fn job(
        &self,
        cluster: &Cluster,
        program: &Path,
        arguments: &str,
        place: &Placement,
    ) -> Result<String> {
        let mut command = vec![program.display().to_string()];
        command.extend(arguments.split_whitespace().map(str::to_owned));
        let host = cluster.hosts().next().context("a cluster has hosts")?;
        let mut launch = cluster.command(host, self.words(place, command));
        for (name, value) in Launcher::OpenMpi.variables() {
            launch = launch.env(name, value);
        }
        if self.implementation == Implementation::OpenShmem {
            launch = launch
                .env("UCX_TLS", "tcp,self")
                .env("SHMEM_SYMMETRIC_HEAP_SIZE", "512M");
        }
        Quiet::new(PAUSE).now();
        let mut process = launch.spawn()?;
        let ended = process.wait(PATIENCE)?;
        let left = match ended {
            Some(_) => cluster.remaining_after(FAREWELL)?,
            None => Vec::new(),
        };
        cluster.sweep()?;
        let said = process.stderr();
        let complaint = || {
            let wordy = |line: &&str| line.contains(char::is_alphanumeric);
            said.lines()
                .filter(wordy)
                .take(3)
                .collect::<Vec<_>>()
                .join(" / ")
        };
        match ended {
            None => bail!("no end within {} s: {}", PATIENCE.as_secs(), complaint()),
            Some(status) if !status.success() => bail!("{status}: {}", complaint()),
            Some(_) => {
                ensure!(left.is_empty(), "left behind: {}", left.join(", "));
                Ok(process.stdout())
            }
        }
    }
}
