//! Jobs on different hosts that meet: what they do together, and what happens when one of them fails.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{AGENT, Cluster, Distribution, Launcher, Placement, Process};
use ferroshmem_conformance::cluster::{Launch, TestCluster};
use ferroshmem_conformance::job::{Outcome, shell_status};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

/// Jobs that do nothing for so long hang.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(120);
/// Time for a job to start and to connect.
pub(crate) const START: Duration = Duration::from_secs(60);

/// Seconds within which the library shall notice that a host is gone.
const TIMEOUT: &str = "4";

/// What starts a job, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By {
    Oshrun(&'static str),
    /// `oshrun`, which becomes Hydra, over these hosts with so many PEs each.
    Hosts(&'static str),
    /// Without a launcher.
    Itself(&'static str),
    /// Over the first hosts.
    Launcher(Launcher, Placement),
}

impl By {
    /// Starts a job of so many PEs.
    pub(crate) fn start(self, setting: &Setting, cluster: &mut TestCluster, pes: usize, job: &Job) -> Result<Process> {
        let oshrun = setting.prefix.bin("oshrun");
        let oshrun = [&oshrun.to_string_lossy(), "-n", &pes.to_string()].map(str::to_owned);
        match self {
            Self::Launcher(launcher, place) => cluster.command(Launch { launcher, place }, job)?.spawn(),
            Self::Oshrun(host) => cluster.command_on(host, &oshrun, job).spawn(),
            Self::Hosts(hosts) => {
                let over = ["--launcher", "hydra", "--hosts", hosts, "--launch-agent", AGENT];
                let over = over.map(str::to_owned);
                let words = [&oshrun[..1], &over].concat();
                cluster.command_on("a", &words, job).spawn()
            }
            Self::Itself(host) => cluster.command_on(host, &[], job).spawn(),
        }
    }
}

/// What starts a job, its number of PEs, and how it behaves.
pub(crate) type JobSpec = (By, usize, &'static str);

pub(crate) const A: By = By::Oshrun("a");
pub(crate) const B: By = By::Oshrun("b");

pub(crate) const fn over_two(launcher: Launcher) -> By {
    let place = Placement { pes: 4, hosts: 2, distribution: Distribution::Block };
    By::Launcher(launcher, place)
}

pub(crate) const HYDRA: By = over_two(Launcher::Hydra);
pub(crate) const OPENMPI: By = over_two(Launcher::OpenMpi);
const SLURM: By = over_two(Launcher::SlurmPmi2);

/// Jobs that connect.
const PAIRS: [(&str, JobSpec, JobSpec); 10] = [
    ("one", (A, 1, "accept"), (B, 1, "connect")),
    ("several", (A, 3, "accept"), (B, 2, "connect-late")),
    ("many", (A, 9, "accept"), (B, 7, "connect-finalize")),
    ("finalize", (A, 2, "accept-late-finalize"), (B, 3, "connect-finalize")),
    ("join", (A, 2, "accept-join"), (B, 2, "connect-join-late")),
    ("alone", (By::Itself("a"), 1, "accept-first"), (By::Itself("b"), 1, "connect-first")),
    ("hydra", (HYDRA, 4, "accept"), (By::Oshrun("c"), 2, "connect-finalize")),
    ("openmpi", (By::Oshrun("c"), 2, "accept-late"), (OPENMPI, 4, "connect")),
    ("hydra-openmpi", (HYDRA, 4, "accept"), (OPENMPI, 4, "connect")),
    ("slurm", (SLURM, 4, "accept"), (By::Oshrun("b"), 1, "connect")),
];

/// How a job behaves, and the status that it ends with.
type Ending = (&'static str, i32);

/// How jobs fail: the one that accepts, and the other.
const FAILURES: [(&str, Ending, Ending); 6] = [
    ("crash", ("accept-fail-crash", 139), ("connect-fail", 1)),
    ("crash-other", ("accept-fail-sync", 1), ("connect-fail-crash", 139)),
    ("crash-idle", ("accept-fail-idle", 1), ("connect-fail-crash", 139)),
    ("global-exit", ("accept-fail-exit-3", 3), ("connect-fail-sync", 1)),
    ("global-exit-other", ("accept-fail-idle", 1), ("connect-fail-exit-3", 3)),
    ("misuse", ("accept-fail-misuse", 1), ("connect-fail", 1)),
];

/// How one of two independent jobs ends, and what the other one waits in meanwhile; whether the one dies that has
/// accepted.
const OUTLIVED: [(&str, &str, bool); 8] = [
    ("crash", "sync", false),
    ("kill", "reduce-long", false),
    ("fail", "alltoall-long", false),
    ("end-all", "variable", false),
    ("crash", "disconnect", false),
    ("misuse", "broadcast-long", true),
    ("kill", "variable", true),
    ("end-all", "fcollect", true),
];

pub(crate) const LOST: &str = "the connected job has failed, or has ended without shmemx_group_disconnect";

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    let launchers = suite.launchers().to_vec();
    // Without namespaces there are no hosts.
    if launchers.is_empty() {
        return;
    }
    for (name, first, second) in PAIRS {
        let is_there = |(by, ..): JobSpec| match by {
            By::Launcher(launcher, _) => launchers.contains(&launcher),
            By::Hosts(_) => launchers.contains(&Launcher::Hydra),
            By::Oshrun(_) | By::Itself(_) => true,
        };
        if is_there(first) && is_there(second) {
            suite.add(format!("meet::{name}"), move |s| {
                let meeting = Meeting::new(s, [&[], &[]])?;
                meeting.run([first, second], &[]).and_then(|all| all_well(&all))
            });
        }
    }
    suite.add("meet::two-programs".into(), |s| {
        let meeting = Meeting::new(s, [&["-DMIXED"], &["-DMIXED", "-DOTHER"]])?;
        let jobs = [(A, 2, "accept"), (B, 3, "connect")];
        meeting.run(jobs, &[]).and_then(|all| all_well(&all))
    });
    suite.add("meet::checked".into(), |s| {
        let meeting = Meeting::new(s, [&[], &[]])?;
        let jobs = [(A, 2, "accept"), (B, 2, "connect")];
        let check = [("SHMEM_CHECK", "1")];
        meeting.run(jobs, &check).and_then(|all| all_well(&all))
    });
    suite.add("meet::rounds".into(), |s| {
        let meeting = Meeting::new(s, [&[], &[]])?;
        let jobs = [(A, 2, "accept-rounds"), (B, 2, "connect-rounds")];
        meeting.run(jobs, &[]).and_then(|all| all_well(&all))
    });
    suite.add("meet::strangers".into(), strangers);
    suite.add("meet::refused".into(), refused);
    for (name, first, second) in FAILURES {
        suite.add(format!("meet::fails::{name}"), move |s| fails(s, first, second));
    }
    suite.add("meet::fails::left".into(), |s| {
        let meeting = Meeting::new(s, [&[], &[]])?;
        let jobs = [(A, 2, "accept-fail-sync"), (B, 2, "connect-fail-parts")];
        let outcomes = meeting.run(jobs, &[])?;
        for outcome in &outcomes {
            ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
            ensure!(shell_status(outcome.status) != 0, "{outcome}");
        }
        let words = ", which is of the connected job, has left the group without calling it";
        ensure!(outcomes[0].stderr.contains(words), "{}", outcomes[0]);
        Ok(())
    });
    for (death, wait, accepts) in OUTLIVED {
        let suffix = if accepts { "-accepting" } else { "" };
        suite.add(format!("meet::outlived::{death}-{wait}{suffix}"), move |s| {
            let jobs = [(A, 2, "accept"), (B, 2, "connect")];
            outlived(s, jobs, (death, wait), accepts).map(drop)
        });
    }
    if [Launcher::Hydra, Launcher::OpenMpi].iter().all(|l| launchers.contains(l)) {
        for (name, accepts) in [("hydra", false), ("openmpi", true)] {
            suite.add(format!("meet::outlived::by-{name}"), move |s| {
                let jobs = [(HYDRA, 4, "accept"), (OPENMPI, 4, "connect")];
                outlived(s, jobs, ("kill", "sync"), accepts).map(drop)
            });
        }
    }
    // The second one calls the routine of the other kind first.
    suite.add("meet::outlived::mismatch".into(), |s| {
        let jobs = [(A, 1, "accept"), (B, 1, "mismatch")];
        let outcomes = outlived(s, jobs, ("crash", "sync"), false)?;
        let words = "it calls shmemx_port_accept_independent: call shmemx_port_connect_independent";
        ensure!(outcomes[1].stderr.contains(words), "{}", outcomes[1]);
        Ok(())
    });
    suite.add("meet::outlived::host-killed".into(), |s| {
        let meeting = Meeting::of(s, "spawn/independent.c", [&[], &[]])?;
        // Not given back: it has lost a host.
        let mut cluster = s.stations.take()?;
        let timeout = [("SHMEM_FABRIC_TIMEOUT", TIMEOUT)];
        let start = |cluster: &mut _, i, job| meeting.start_with(cluster, i, job, &timeout, &["sync"]);
        let first = start(&mut cluster, 0, (A, 2, "accept"))?;
        let mut second = start(&mut cluster, 1, (B, 2, "connect"))?;
        second.wait_for("connected", START)?;
        cluster.cluster.kill_host("b")?;
        let outcomes = cluster.finish(vec![first, second], WATCHDOG)?;
        ensure!(!outcomes[0].hung, "{}\n{}", outcomes[0], outcomes[1]);
        survives(&outcomes[0])
    });
    suite.add("meet::fails::link-cut".into(), |s| gone(s, |cluster| cluster.link_down("b")));
    suite.add("meet::fails::host-killed".into(), |s| gone(s, |cluster| cluster.kill_host("b")));
}

/// Two jobs with a file for the text of the port.
pub(crate) struct Meeting<'s> {
    setting: &'s Setting,
    programs: [PathBuf; 2],
    file: PathBuf,
}

impl<'s> Meeting<'s> {
    /// Of the program of this file's trials, compiled with these flags for each.
    fn new(setting: &'s Setting, flags: [&[&str]; 2]) -> Result<Self> {
        Self::of(setting, "spawn/remote.c", flags)
    }

    pub(crate) fn of(setting: &'s Setting, program: &str, flags: [&[&str]; 2]) -> Result<Self> {
        let compile = |flags: &[&str]| {
            let build = Build::new(program, Compiler::Gcc).flags(flags);
            build.run(&setting.prefix, &setting.cache)
        };
        let programs = [compile(flags[0])?, compile(flags[1])?];
        fs::create_dir_all(&setting.scratch)?;
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = setting.scratch.join(format!("port-{count}"));
        Ok(Self { setting, programs, file })
    }

    fn start(&self, cluster: &mut TestCluster, index: usize, job: JobSpec, env: &[(&str, &str)]) -> Result<Process> {
        const ROUNDS: &str = "10";

        self.start_with(cluster, index, job, env, &[ROUNDS])
    }

    /// Starts a job with these arguments behind the file.
    fn start_with(
        &self,
        cluster: &mut TestCluster,
        index: usize,
        (by, pes, way): JobSpec,
        env: &[(&str, &str)],
        args: &[&str],
    ) -> Result<Process> {
        let file = self.file.to_string_lossy();
        let job = Job::new(pes, &self.programs[index]).args(&[&[way, &file], args].concat());
        let job = env.iter().fold(job, |job, (name, value)| job.env(name, value));
        by.start(self.setting, cluster, pes, &job)
    }

    /// Runs both jobs to their ends.
    pub(crate) fn run(&self, jobs: [JobSpec; 2], env: &[(&str, &str)]) -> Result<Vec<Outcome>> {
        let mut cluster = self.setting.stations.take()?;
        let jobs = (0..2).map(|i| self.start(&mut cluster, i, jobs[i], env));
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        let outcomes = cluster.finish(jobs, WATCHDOG)?;
        ensure!(!outcomes[0].hung, "hangs\n{}\n{}", outcomes[0], outcomes[1]);
        ensure!(outcomes[0].left == 0, "{}", outcomes[0]);
        self.setting.stations.give(cluster);
        Ok(outcomes)
    }

    /// Waits for the text of the port.
    fn text(&self, job: &mut Process) -> Result<String> {
        while !self.file.exists() {
            let ended = job.wait(Duration::from_millis(5))?;
            ensure!(ended.is_none(), "no port\n{job}");
        }
        Ok(fs::read_to_string(&self.file)?)
    }
}

/// Both jobs end well, and print no line.
pub(crate) fn all_well(outcomes: &[Outcome]) -> Result<()> {
    outcomes.iter().try_for_each(|outcome| {
        ensure!(shell_status(outcome.status) == 0, "{outcome}");
        ensure!(outcome.stderr.is_empty(), "{outcome}");
        Ok(())
    })
}

/// The job ends with this status, and says in one line that it has lost the other one.
pub(crate) fn lost(outcome: &Outcome, status: i32, words: &str) -> Result<()> {
    let got = shell_status(outcome.status);
    ensure!(got == status, "status {got}, not {status}\n{outcome}");
    let lines = outcome.stderr.lines().count();
    ensure!(lines == 1, "{lines} lines\n{outcome}");
    ensure!(outcome.stderr.contains(words), "no \"{words}\"\n{outcome}");
    Ok(())
}

/// One job fails, the other one ends with a line.
fn fails(s: &Setting, first: Ending, second: Ending) -> Result<()> {
    let meeting = Meeting::new(s, [&[], &[]])?;
    let jobs = [(A, 2, first.0), (B, 2, second.0)];
    let outcomes = meeting.run(jobs, &[])?;
    let is_first = ["crash", "exit", "misuse"].iter().any(|w| first.0.contains(w));
    let (failed, other) = if is_first { (0, 1) } else { (1, 0) };
    let statuses = [first.1, second.1];
    lost(&outcomes[other], statuses[other], LOST)?;
    let got = shell_status(outcomes[failed].status);
    ensure!(got == statuses[failed], "status {got}\n{}", outcomes[failed]);
    Ok(())
}

/// One of two independent jobs dies, and the other one goes on.
fn outlived(s: &Setting, jobs: [JobSpec; 2], (death, wait): (&str, &str), accepts: bool) -> Result<Vec<Outcome>> {
    let meeting = Meeting::of(s, "spawn/independent.c", [&[], &[]])?;
    let mut cluster = s.stations.take()?;
    let ends = if accepts { [death, "outlive"] } else { ["outlive", death] };
    let start = |i: usize| meeting.start_with(&mut cluster, i, jobs[i], &[], &[wait, ends[i]]);
    let jobs = (0..2).map(start).collect::<Result<Vec<_>>>()?;
    let outcomes = cluster.finish(jobs, WATCHDOG)?;
    ensure!(!outcomes[0].hung, "hangs\n{}\n{}", outcomes[0], outcomes[1]);
    ensure!(outcomes[0].left == 0, "{}", outcomes[0]);
    s.stations.give(cluster);
    let dead = &outcomes[usize::from(!accepts)];
    ensure!(shell_status(dead.status) != 0, "{dead}");
    let other = &outcomes[usize::from(accepts)];
    match wait {
        "disconnect" => all_well(std::slice::from_ref(other))?,
        _ => survives(other)?,
    }
    Ok(outcomes)
}

/// The job ends well, and has found that the other one has failed.
fn survives(outcome: &Outcome) -> Result<()> {
    all_well(std::slice::from_ref(outcome))?;
    ensure!(outcome.stdout.contains("failed"), "{outcome}");
    Ok(())
}

/// The host of one job is gone, and the other job ends.
fn gone(s: &Setting, change: fn(&Cluster) -> Result<()>) -> Result<()> {
    let meeting = Meeting::new(s, [&[], &[]])?;
    // Not given back: it has lost a host.
    let mut cluster = s.stations.take()?;
    let timeout = [("SHMEM_FABRIC_TIMEOUT", TIMEOUT)];
    let mut first = meeting.start(&mut cluster, 0, (A, 2, "accept-fail-idle"), &timeout)?;
    let mut second = meeting.start(&mut cluster, 1, (B, 2, "connect-fail-idle"), &timeout)?;
    first.wait_for("waiting", START)?;
    second.wait_for("waiting", START)?;
    change(&cluster.cluster)?;
    let outcomes = cluster.finish(vec![first, second], WATCHDOG)?;
    ensure!(!outcomes[0].hung, "{}\n{}", outcomes[0], outcomes[1]);
    lost(&outcomes[0], 1, "the connected job does not answer")
}

/// What the text of a port says: the secret, and where it listens.
fn fields(text: &str) -> Result<(String, String)> {
    let fields: Vec<&str> = text.trim().splitn(5, ':').collect();
    ensure!(fields.len() == 5, "{text} has no address");
    Ok((fields[3].to_owned(), fields[4].to_owned()))
}

/// Silence, garbage and wrong secrets at a port delay no job, and print nothing on its side.
fn strangers(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s, [&[], &[]])?;
    let mut cluster = s.stations.take()?;
    let mut first = meeting.start(&mut cluster, 0, (A, 2, "accept"), &[])?;
    let text = meeting.text(&mut first)?;
    let (_, address) = fields(&text)?;
    let (host, port) = address.rsplit_once(':').context("no number")?;
    // By a shell: one that is silent until the port is closed, one that says something else, one that ends, and one
    // that begins as a job does.
    let to = format!("/dev/tcp/{host}/{port}");
    let zeros = "0".repeat(200);
    let script = format!(
        "exec 5<>{to} 6<>{to} 7<>{to} 8<>{to}; head -c 5000 /dev/zero >&6; printf 1 >&7; exec 7>&-; \
         printf '1mhs%s' {zeros} >&8; echo ready; cat <&5"
    );
    let words = ["bash".to_owned(), "-c".to_owned(), script];
    let mut stranger = cluster.cluster.command("b", words).spawn()?;
    stranger.wait_for("ready", START)?;
    let second = meeting.start(&mut cluster, 1, (B, 1, "connect"), &[])?;
    let outcomes = cluster.finish(vec![first, second, stranger], WATCHDOG)?;
    all_well(&outcomes[..2])
}

/// Texts with another secret, of ports that are closed, and of hosts that are not there.
fn refused(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s, [&[], &[]])?;
    let mut cluster = s.stations.take()?;
    let mut first = meeting.start(&mut cluster, 0, (A, 1, "accept"), &[])?;
    let text = meeting.text(&mut first)?;
    let (secret, address) = fields(&text)?;
    let wrong = text.replace(&secret, &"f".repeat(32));
    let nowhere = text.replace(&address, "10.99.0.77:9");
    let other = text.replace(&address, "no address");
    for (way, text, words) in [
        ("refused", wrong, "the port is closed"),
        ("refused", nowhere, "cannot be reached"),
        ("refused", other, "is not the text of a port"),
        ("independent", text, "it calls shmemx_port_accept: call shmemx_port_connect"),
    ] {
        let job = Job::new(2, &meeting.programs[1]).args(&[way, &text]);
        let oshrun = s.prefix.bin("oshrun").to_string_lossy().into_owned();
        let words_of = [oshrun, "-n".to_owned(), "2".to_owned()];
        let mut job = cluster.command_on("b", &words_of, &job).spawn()?;
        let status = job.wait(START)?.map(shell_status);
        let line = job.stderr();
        ensure!(line.lines().count() == 1 && line.contains(words), "no \"{words}\"\n{job}");
        ensure!(status == Some(0), "{status:?}\n{job}");
    }
    let second = meeting.start(&mut cluster, 1, (B, 1, "connect"), &[])?;
    all_well(&cluster.finish(vec![first, second], WATCHDOG)?)
}
