//! Jobs on different hosts that meet by the name of a port, in a folder that the hosts share.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{Launcher, Process};
use ferroshmem_conformance::cluster::TestCluster;
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};
use nix::sys::signal::Signal;

use super::meet::{A, B, By, HYDRA, JobSpec, OPENMPI, START, WATCHDOG, all_well};

/// Jobs that connect: one publishes, the other looks the name up.
const PAIRS: [(&str, JobSpec, JobSpec); 4] = [
    ("late", (A, 1, "publish-late"), (B, 1, "look-up-far")),
    ("several", (A, 3, "publish"), (B, 2, "look-up-far")),
    ("alone", (By::Itself("a"), 1, "publish"), (By::Itself("b"), 1, "look-up-far")),
    // Loads and stores, as without the folder.
    ("on-one-host", (A, 2, "publish"), (A, 2, "look-up-near")),
];

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    let launchers = suite.launchers().to_vec();
    // Without namespaces there are no hosts.
    if launchers.is_empty() {
        return;
    }
    for (name, first, second) in PAIRS {
        let run = move |s: &Setting| Named::new(s)?.meet(&[(first, second)]);
        let long = !matches!(name, "late" | "on-one-host");
        suite.add_maybe_long(format!("meet::names::{name}"), long, run);
    }
    if [Launcher::Hydra, Launcher::OpenMpi].iter().all(|l| launchers.contains(l)) {
        let pair = ((HYDRA, 4, "publish"), (OPENMPI, 4, "look-up"));
        suite.add_long("meet::names::hydra-openmpi".into(), move |s| Named::new(s)?.meet(&[pair]));
    }
    suite.add("meet::names::two-at-once".into(), |s| {
        let first = ((A, 1, "publish"), (B, 1, "look-up-far"));
        let second = ((B, 1, "publish"), (A, 1, "look-up-far"));
        Named::new(s)?.meet(&[first, second])
    });
    suite.add("meet::names::taken".into(), taken);
    suite.add("meet::names::of-a-killed-job".into(), of_a_killed_job);
    suite.add("meet::names::of-a-stopped-job".into(), of_a_stopped_job);
    suite.add_long("meet::names::of-a-host-that-is-gone".into(), of_a_host);
}

/// A folder for names, and the program.
struct Named<'s> {
    setting: &'s Setting,
    program: PathBuf,
    folder: PathBuf,
}

impl<'s> Named<'s> {
    fn new(setting: &'s Setting) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);

        let build = Build::new("spawn/names.c", Compiler::Gcc);
        let program = build.run(&setting.prefix, &setting.cache)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = setting.scratch.join(format!("names-{count}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        Ok(Self { setting, program, folder })
    }

    fn start(&self, cluster: &mut TestCluster, (by, pes, way): JobSpec, name: &str) -> Result<Process> {
        let job = Job::new(pes, &self.program).args(&[way, name]);
        let job = job.env("SHMEM_NAME_DIRECTORY", &self.folder.to_string_lossy());
        by.start(self.setting, cluster, pes, &job)
    }

    /// Runs pairs of jobs at once, each with a name of its own.
    fn meet(&self, pairs: &[(JobSpec, JobSpec)]) -> Result<()> {
        let mut cluster = self.setting.stations.take()?;
        let mut jobs = Vec::new();
        for (i, (first, second)) in pairs.iter().enumerate() {
            let name = format!("the {i}");
            jobs.push(self.start(&mut cluster, *first, &name)?);
            jobs.push(self.start(&mut cluster, *second, &name)?);
        }
        let outcomes = cluster.finish(jobs, WATCHDOG)?;
        for outcome in &outcomes {
            ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
        }
        self.setting.stations.give(cluster);
        all_well(&outcomes)?;
        self.has_files(0)
    }

    fn has_files(&self, n: usize) -> Result<()> {
        let files = fs::read_dir(&self.folder)?.count();
        ensure!(files == n, "{files} files of names are left, not {n}");
        Ok(())
    }

    /// Runs a job to its end; it prints one line of these words, or none.
    fn run(&self, cluster: &mut TestCluster, spec: JobSpec, words: &str) -> Result<()> {
        let job = self.start(cluster, spec, "name")?;
        ends(job, words)
    }
}

/// The job ends well, and prints one line of these words, or none.
fn ends(mut job: Process, words: &str) -> Result<()> {
    let status = job.wait(WATCHDOG)?.map(shell_status);
    ensure!(status == Some(0), "{status:?}\n{job}");
    let lines = job.stderr();
    ensure!(
        lines.lines().count() == usize::from(!words.is_empty()) && lines.contains(words),
        "no \"{words}\" alone\n{job}"
    );
    Ok(())
}

/// Sends a signal to the PE of a job that holds a name.
fn signal(cluster: &TestCluster, job: &Process, signal: Signal) -> Result<()> {
    let printed = job.stdout();
    let pid = printed.strip_prefix("process ");
    let pid = pid.and_then(|words| words.split(' ').next());
    let pid = pid.context("the PE has printed its process id")?.parse()?;
    cluster.cluster.kill("a", pid, signal)
}

/// Kills that PE.
fn kill(cluster: &TestCluster, job: &mut Process) -> Result<()> {
    signal(cluster, job, Signal::SIGKILL)?;
    let ended = job.wait(WATCHDOG)?;
    ensure!(ended.is_some(), "hangs\n{job}");
    Ok(())
}

/// One PE has a name at a time, on whichever host.
fn taken(s: &Setting) -> Result<()> {
    let named = Named::new(s)?;
    let mut cluster = s.stations.take()?;
    let mut holding = named.start(&mut cluster, (A, 1, "hold"), "name")?;
    holding.wait_for("published", START)?;
    let words = "the name is taken: a PE at 10.";
    named.run(&mut cluster, (B, 1, "taken"), words)?;
    named.run(&mut cluster, (A, 1, "taken"), "the name is taken: process")?;
    named.has_files(1)?;
    kill(&cluster, &mut holding)?;
    s.stations.give(cluster);
    Ok(())
}

/// A job that waits at the port of one that is killed learns it; the name is free then.
fn of_a_killed_job(s: &Setting) -> Result<()> {
    let named = Named::new(s)?;
    let mut cluster = s.stations.take()?;
    let mut holding = named.start(&mut cluster, (A, 1, "hold"), "name")?;
    let mut waiting = named.start(&mut cluster, (B, 1, "look-up-refused"), "name")?;
    holding.wait_for("published", START)?;
    waiting.wait_for("connecting", START)?;
    kill(&cluster, &mut holding)?;
    ends(waiting, "the port is closed")?;
    // Its file is still there.
    named.has_files(1)?;
    let publishing = named.start(&mut cluster, (B, 1, "publish"), "name")?;
    let looking = named.start(&mut cluster, (A, 1, "look-up-far"), "name")?;
    all_well(&cluster.finish(vec![publishing, looking], WATCHDOG)?)?;
    s.stations.give(cluster);
    named.has_files(0)
}

/// A job that holds a name and is stopped does not answer: who looks the name up learns that within the time that he
/// gives.
fn of_a_stopped_job(s: &Setting) -> Result<()> {
    let named = Named::new(s)?;
    let mut cluster = s.stations.take()?;
    let mut holding = named.start(&mut cluster, (A, 1, "hold"), "name")?;
    holding.wait_for("published", START)?;
    signal(&cluster, &holding, Signal::SIGSTOP)?;
    let words = "which has published the name, does not answer";
    named.run(&mut cluster, (B, 1, "look-up-stopped"), words)?;
    kill(&cluster, &mut holding)?;
    s.stations.give(cluster);
    Ok(())
}

/// Whether the job on a host that is gone has a name, only a user knows.
fn of_a_host(s: &Setting) -> Result<()> {
    let named = Named::new(s)?;
    // Not given back: it has lost a host.
    let mut cluster = s.stations.take()?;
    let mut holding = named.start(&mut cluster, (A, 1, "hold"), "name")?;
    holding.wait_for("published", START)?;
    cluster.cluster.kill_host("a")?;
    let words = "which has published the name, does not answer";
    named.run(&mut cluster, (B, 1, "look-up-taken"), words)?;
    named.run(&mut cluster, (B, 1, "taken"), words)?;
    for file in fs::read_dir(&named.folder)? {
        fs::remove_file(file?.path())?;
    }
    named.run(&mut cluster, (B, 1, "absent"), "")
}
