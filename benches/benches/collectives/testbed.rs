//! The implementations that are compared: found, built, and started in different settings.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use ferroshmem_benches::comparison::{Comparison, Effort};
use ferroshmem_benches::{Job, Options, Outcome, Prefix, table};
use pgas_microbench::implementation::{Family, Implementation, Launch, Search, find};
use pgas_microbench::machine::cores;

/// The other implementations, with their names in tables.
const PEERS: [(Family, &str); 4] =
    [(Family::OpenShmem, "OSHM"), (Family::OpenMpi, "OMPI"), (Family::Mpich, "MPICH"), (Family::IntelMpi, "Intel")];
/// Size of the symmetric heap of a PE, where the default is too small.
const HEAP: u64 = 256 << 20;

/// How jobs of an implementation run. Only Open MPI's differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// PEs are bound to cores, round robin.
    Bound,
    /// PEs are not bound, the default where they outnumber cores.
    Free,
    /// Bound, and reductions to all are a linear reduction and a broadcast, in which each process
    /// is scheduled fewer times than in the default algorithms.
    Linear,
}

impl Setting {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Bound | Self::Free => &[],
            #[rustfmt::skip]
            Self::Linear => &[
                "--mca", "coll_tuned_use_dynamic_rules", "1",
                "--mca", "coll_tuned_allreduce_algorithm", "1",
            ],
        }
    }
}

/// An implementation in a setting.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    /// Name in tables.
    pub label: String,
    /// The implementation.
    pub family: Family,
    /// Its version, where several of the family are installed.
    pub version: Option<String>,
    /// How its jobs run.
    pub setting: Setting,
    /// Environment variable of its jobs.
    pub variable: Option<(&'static str, String)>,
}

impl Variant {
    /// An implementation in its ordinary setting.
    pub(crate) fn new(label: &str, family: Family) -> Self {
        Self { label: label.to_owned(), family, version: None, setting: Setting::Bound, variable: None }
    }

    fn with(&self, suffix: &str, setting: Setting) -> Self {
        Self { label: format!("{}.{suffix}", self.label), setting, ..self.clone() }
    }
}

/// An implementation, and the measuring program that was built with it.
#[derive(Debug)]
struct Installed {
    implementation: Implementation,
    program: PathBuf,
}

/// The installed implementations, with the measuring program of each.
#[derive(Debug)]
pub(crate) struct Testbed {
    /// The installation of this library.
    pub prefix: Prefix,
    folder: PathBuf,
    /// This library, bare processes, and the peers.
    installed: Vec<Installed>,
}

impl Testbed {
    /// Builds the measuring program with every implementation that is installed, and prints
    /// their versions.
    ///
    /// # Errors
    /// If this library's program, or that of bare processes, cannot be built.
    pub(crate) fn open(prefix: Prefix, folder: &Path) -> Result<Self> {
        let search = Search { prefix: Some(prefix.root().to_owned()), ..Search::from_environment() };
        let mut found = find(&search)?;
        found.push(Implementation::without_library(Family::Processes, "", "gcc"));
        let mut installed = Vec::new();
        let mut build = |implementation: &Implementation| -> Result<()> {
            installed.push(Installed {
                implementation: implementation.clone(),
                program: Job::compile(implementation, folder)?,
            });
            Ok(())
        };
        for family in [Family::FerroShmem, Family::Processes] {
            let own = found.iter().find(|one| one.family == family);
            build(own.context("it is always found")?)?;
        }
        println!("measured beside FerroSHMEM:");
        for (family, _) in PEERS {
            let mut missing = true;
            for peer in found.iter().filter(|one| one.family == family) {
                missing = false;
                match build(peer) {
                    Ok(()) => println!("  {family} {}", peer.version),
                    Err(error) => {
                        // The compiler's messages are many lines.
                        let text = format!("{error:#}");
                        let line = text.lines().find(|line| line.contains("error:"));
                        let line = line.or(text.lines().next()).unwrap_or_default();
                        println!("  {family} {} is missing: {line}", peer.version);
                    }
                }
            }
            if missing {
                println!("  {family} is missing: its compiler wrapper was not found");
            }
        }
        Ok(Self { prefix, folder: folder.to_owned(), installed })
    }

    /// How much is measured at a point of jobs of `pes` PEs.
    pub(crate) fn effort(options: &Options, pes: usize) -> Effort {
        options.effort(is_oversubscribed(pes))
    }

    /// The installed peers, as they run in jobs of `pes` PEs. Where PEs outnumber cores, Open MPI's
    /// run bound to cores and free, as neither is always faster, and those in `linear` with
    /// linear reductions too.
    pub(crate) fn peers(&self, pes: usize, linear: &[Family]) -> Vec<Variant> {
        let mut variants = Vec::new();
        for (family, label) in PEERS {
            let of_family = |one: &&Installed| one.implementation.family == family;
            let number = self.installed.iter().filter(of_family).count();
            for one in self.installed.iter().filter(of_family) {
                let mut peer = Variant::new(label, family);
                if number > 1 {
                    let version = &one.implementation.version;
                    let major = version.split('.').next().unwrap_or_default();
                    peer.label += major;
                    peer.version = Some(version.clone());
                }
                let settles = matches!(family, Family::OpenShmem | Family::OpenMpi);
                let oversubscribed = settles && is_oversubscribed(pes);
                if oversubscribed {
                    variants.push(peer.with("free", Setting::Free));
                }
                if oversubscribed && linear.contains(&family) {
                    variants.push(peer.with("lin", Setting::Linear));
                }
                variants.push(peer);
            }
        }
        variants
    }

    /// Starts jobs of `pes` PEs with arrays of up to `bytes` bytes, one for each variant.
    pub(crate) fn start(&self, variants: &[Variant], pes: usize, bytes: usize) -> Vec<Result<Job>> {
        let start = |variant: &Variant| {
            let is_it = |one: &&Installed| {
                let Implementation { family, version, .. } = &one.implementation;
                *family == variant.family && variant.version.as_ref().is_none_or(|v| v == version)
            };
            let found = self.installed.iter().find(is_it);
            let Installed { implementation, program } =
                found.ok_or_else(|| anyhow!("{} is missing", variant.family))?;
            let launch = Launch {
                pes: u32::try_from(pes)?,
                heap: HEAP,
                bound: variant.setting != Setting::Free,
                options: variant.setting.options(),
            };
            let mut command = implementation.launch(program, launch);
            command.envs(variant.variable.iter().map(|(k, v)| (k, v)));
            Job::start(command, bytes, &self.folder).context(variant.label.clone())
        };
        variants.iter().map(start).collect()
    }
}

/// Measures a point, with progress on the terminal.
pub(crate) fn measure(comparison: &mut Comparison, name: &str, bytes: usize, effort: Effort) -> Outcome {
    comparison.run(bytes, effort, |block| {
        table::progress(&format!("{name} block {}", block + 1));
    })
}

/// Prints which peers failed, and why.
///
/// # Errors
/// If the first job, which is this library's, failed.
pub(crate) fn report_failures(jobs: &[Result<Job>], variants: &[Variant]) -> Result<()> {
    for (number, (job, variant)) in jobs.iter().zip(variants).enumerate() {
        match job {
            Err(error) if number == 0 => bail!("{error:#}"),
            Err(error) => println!("{} failed: {error:#}", variant.label),
            Ok(_) => {}
        }
    }
    Ok(())
}

fn is_oversubscribed(pes: usize) -> bool {
    pes > cores() as usize
}
