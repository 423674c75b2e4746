//! What is to be started.

use std::ffi::OsStr;
use std::path::Path;

use ferroshmem_api::spawn::{self, Program};

/// PEs of a program that are to be started ([`Team::spawn`](crate::Team::spawn)), described as the standard
/// library's [`Command`](std::process::Command) describes a process; one PE, if no number is given.
///
/// ```
/// use ferroshmem::Command;
///
/// let workers = Command::new("worker").arg("--quiet").env("LEVEL", "2").pes(8).heap_size(16 << 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "it starts nothing by itself: World::spawn does"]
pub struct Command {
    program: Program,
}

impl Command {
    /// One PE of this program, which is found as a shell would find it. It has this PE's directory and environment.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// assert_eq!(Command::new("worker"), Command::new("worker").pes(1)); // not yet started
    /// ```
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self { program: Program { command: program.as_ref().to_owned(), n_pes: 1, ..Program::default() } }
    }

    /// With one more argument.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// assert_eq!(Command::new("worker").arg("-n").arg("2"), Command::new("worker").args(["-n", "2"]));
    /// ```
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.program.arguments.push(arg.as_ref().to_owned());
        self
    }

    /// With more arguments.
    ///
    /// As in the example of [`arg`](Self::arg).
    pub fn args<S: AsRef<OsStr>>(self, args: impl IntoIterator<Item = S>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// With a variable set.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// let command = Command::new("worker").env("LEVEL", "2"); // its PEs have this PE's other variables, too
    /// assert_ne!(command, Command::new("worker"));
    /// ```
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.program.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// In this directory.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// let command = Command::new("worker").current_dir("results"); // what it writes is there
    /// assert_ne!(command, Command::new("worker"));
    /// ```
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.program.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// As so many PEs.
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let workers = world.spawn(&Command::new("worker").pes(8))?; // as `oshrun -n 8 worker`
    /// assert_eq!(workers.n_pes(), 8);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn pes(mut self, n: usize) -> Self {
        self.program.n_pes = n;
        self
    }

    /// With a symmetric heap of so many bytes on each PE, as `SHMEM_SYMMETRIC_SIZE` sets it.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// let command = Command::new("worker").heap_size(64 << 20); // 64 MiB on each PE
    /// assert_eq!(command, Command::new("worker").env("SHMEM_SYMMETRIC_SIZE", "67108864"));
    /// ```
    pub fn heap_size(mut self, bytes: usize) -> Self {
        self.program.environment.push(spawn::heap_variable(bytes));
        self
    }

    /// Each bound to a core, a socket or what else `oshrun --bind-to` names: as the PEs of this job, if it is not
    /// given.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// let workers = Command::new("worker").pes(8).bind_to("core").map_by("spread");
    /// ```
    pub fn bind_to(mut self, what: &str) -> Self {
        self.program.place("bind_to", what);
        self
    }

    /// With cores next to each other (`compact`), or as far from each other as there is room (`spread`): as
    /// `oshrun --map-by`.
    ///
    /// As in the example of [`bind_to`](Self::bind_to).
    pub fn map_by(mut self, order: &str) -> Self {
        self.program.place("map_by", order);
        self
    }

    /// With so many cores each, if there are so many.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// let workers = Command::new("worker").pes(4).cores(2); // for two threads each, on 8 cores
    /// assert_ne!(workers, Command::new("worker").pes(4));
    /// ```
    pub fn cores(mut self, n: usize) -> Self {
        self.program.place("cores", n.to_string());
        self
    }

    /// On these CPUs alone, as the kernel numbers them.
    ///
    /// ```
    /// # use ferroshmem::Command;
    /// let workers = Command::new("worker").pes(4).cpus(4..8); // CPUs 0 to 3 are this job's
    /// assert_eq!(workers, Command::new("worker").pes(4).cpus([4, 5, 6, 7]));
    /// ```
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Self {
        let cpus: Vec<_> = cpus.into_iter().map(|cpu| cpu.to_string()).collect();
        self.program.place("cpus", cpus.join(","));
        self
    }

    /// On this host, which is that of the PEs that start them.
    ///
    /// ```no_run
    /// # use ferroshmem::Command;
    /// # let world = ferroshmem::World::init()?;
    /// let here = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("Linux");
    /// let workers = world.spawn(&Command::new("worker").host(here.trim()))?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn host(mut self, host: &str) -> Self {
        self.program.place("host", host);
        self
    }

    /// As a job whose end is not that of the team that starts it, nor the other way round: see
    /// [`Group::state`](crate::Group::state). With [`spawn_multiple`](crate::Team::spawn_multiple), for all programs.
    /// (Extension: `SHMEMX_SPAWN_INDEPENDENT`)
    ///
    /// As in the example of [`Team::try_barrier`](crate::Team::try_barrier).
    pub fn independent(mut self) -> Self {
        self.program.independent = true;
        self
    }

    pub(super) fn program(&self) -> Program {
        self.program.clone()
    }
}
