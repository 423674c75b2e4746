//! Who competes: implementations with their settings, built and started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use anyhow::{Context, Result, anyhow};
use ferroshmem_benches::{Implementation, Job, Prefix, Setting};

/// An implementation as it takes part.
#[derive(Debug, Clone)]
pub(crate) struct Entrant {
    /// Name in tables.
    pub label: String,
    /// Whose program runs.
    pub implementation: Implementation,
    /// How it is told to run.
    pub setting: Setting,
    /// Environment variable that it gets.
    pub variable: Option<(&'static str, String)>,
}

impl Entrant {
    /// An implementation in its ordinary setting.
    pub(crate) fn new(label: &str, implementation: Implementation) -> Self {
        Self {
            label: label.to_owned(),
            implementation,
            setting: Setting::Bound,
            variable: None,
        }
    }

    fn set(mut self, setting: Setting) -> Self {
        self.setting = setting;
        self
    }
}

/// Everybody who may take part.
#[derive(Debug)]
pub(crate) struct Field {
    /// The installation of this library.
    pub prefix: Prefix,
    folder: PathBuf,
    programs: BTreeMap<Implementation, PathBuf>,
}

impl Field {
    /// Builds the measuring program with every implementation that is there, and prints which
    /// are.
    ///
    /// # Errors
    /// If this library's, or the bare one, cannot be built.
    pub(crate) fn open(prefix: Prefix, folder: &Path) -> Result<Self> {
        let mut programs = BTreeMap::new();
        for own in [Implementation::FerroShmem, Implementation::Processes] {
            programs.insert(own, own.build(&prefix, folder)?);
        }
        println!("measured beside FerroSHMEM:");
        for peer in Implementation::PEERS {
            let built = peer
                .version(&prefix)
                .and_then(|version| Ok((version, peer.build(&prefix, folder)?)));
            match built {
                Ok((version, program)) => {
                    println!("  {} {version}", peer.name());
                    programs.insert(peer, program);
                }
                Err(error) => println!("  {} is missing: {error:#}", peer.name()),
            }
        }
        Ok(Self {
            prefix,
            folder: folder.to_owned(),
            programs,
        })
    }

    /// Whether there are more PEs than cores.
    pub(crate) fn crowded(pes: usize) -> bool {
        pes > available_parallelism().map_or(1, usize::from)
    }

    /// The peers that are there, as they take part in jobs of `pes` PEs. Where PEs outnumber
    /// cores, Open MPI's take part bound to cores and free, as neither is always faster, and
    /// those in `linear` by linear reductions too.
    pub(crate) fn peers(&self, pes: usize, linear: &[Implementation]) -> Vec<Entrant> {
        let mut entrants = Vec::new();
        for (peer, label) in Implementation::PEERS
            .into_iter()
            .zip(["OSHM", "OMPI", "MPICH"])
        {
            if !self.programs.contains_key(&peer) {
                continue;
            }
            entrants.push(Entrant::new(label, peer));
            if peer == Implementation::Mpich || !Self::crowded(pes) {
                continue;
            }
            entrants.push(Entrant::new(&format!("{label}.free"), peer).set(Setting::Free));
            if linear.contains(&peer) {
                entrants.push(Entrant::new(&format!("{label}.lin"), peer).set(Setting::Linear));
            }
        }
        entrants
    }

    /// Starts jobs of `pes` PEs with arrays of up to `bytes` bytes, one for each entrant.
    pub(crate) fn start(&self, entrants: &[Entrant], pes: usize, bytes: usize) -> Vec<Result<Job>> {
        let start = |entrant: &Entrant| {
            let program = self
                .programs
                .get(&entrant.implementation)
                .ok_or_else(|| anyhow!("{} is missing", entrant.implementation.name()))?;
            let mut launch =
                entrant
                    .implementation
                    .launch(&self.prefix, program, pes, entrant.setting);
            launch.envs(entrant.variable.iter().map(|(k, v)| (k, v)));
            Job::start(launch, bytes, &self.folder).context(entrant.label.clone())
        };
        entrants.iter().map(start).collect()
    }
}
