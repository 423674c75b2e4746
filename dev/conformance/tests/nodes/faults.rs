//! What happens to hosts and links while PEs are on several: nothing hangs, nothing is left, and
//! an error message names the PE that failed.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{Cluster, Distribution, Impairment, Launcher, Placement, Process};
use ferroshmem_conformance::cluster::{Launch, TestCluster};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};
use nix::sys::signal::Signal;

/// What the PEs do meanwhile, and how many rounds of it are some seconds on a bad link.
const ACTIVITIES: [(&str, u32); 7] =
    [("put", 50), ("request", 50), ("amo", 100), ("barrier", 100), ("wait", 50), ("idle", 100), ("message", 50)];

const PLACE: Placement = Placement { pes: 4, hosts: 2, distribution: Distribution::Block };

/// What happens happens to this host, and to these PEs, which are there: one, and the first of the host.
const VICTIM_HOST: &str = "b";
const VICTIM: usize = 3;
const LEADER: usize = 2;

/// Seconds within which the library shall notice, and within which all must be over.
const TIMEOUT: &str = "4";
const OVER_WITHIN: Duration = Duration::from_secs(10);

/// How long a job may take to start, and a launcher to see that its processes have ended.
const START: Duration = Duration::from_secs(30);
const LAUNCHER_SEES: Duration = Duration::from_secs(5);

/// Loses about one packet in a hundred and carries 20 MB/s.
const BAD_LINK: Impairment = Impairment { delay: Duration::from_millis(2), loss: 0.01, rate: 20_000_000 };

/// Loses so much that TCP often waits for its timer, 200 ms and more.
const LOSSY_LINK: Impairment = Impairment { loss: 0.05, ..BAD_LINK };

/// A notice takes longer than a process to end.
const SLOW_LINK: Impairment = Impairment { delay: Duration::from_millis(800), loss: 0.0, rate: 1_000_000_000 };

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    PeKilled,
    PeStopped,
    LeaderStopped,
    HostKilled,
    LinkCut,
}

impl Fault {
    const ALL: [Self; 5] = [Self::PeKilled, Self::PeStopped, Self::LeaderStopped, Self::HostKilled, Self::LinkCut];

    fn is_stop(self) -> bool {
        matches!(self, Self::PeStopped | Self::LeaderStopped)
    }

    /// Whether a short run has this fault with an activity.
    fn is_short(self, activity: &str) -> bool {
        match self {
            Self::PeKilled => true,
            // They are noticed by the same thread whatever the program does.
            Self::PeStopped | Self::LeaderStopped => matches!(activity, "barrier" | "idle"),
            // So is silence; what differs is who waits for an answer: the program, its thread of progress, or neither.
            Self::HostKilled => matches!(activity, "put" | "barrier" | "message"),
            Self::LinkCut => matches!(activity, "amo" | "wait" | "idle"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::PeKilled => "pe-killed",
            Self::PeStopped => "pe-stopped",
            Self::LeaderStopped => "leader-stopped",
            Self::HostKilled => "host-killed",
            Self::LinkCut => "link-cut",
        }
    }
}

/// Adds the trials: each activity with each fault by one launcher, and by the others where all
/// is asked for.
pub(crate) fn add(suite: &mut Suite) {
    add_early(suite);
    for (a, (activity, rounds)) in ACTIVITIES.into_iter().enumerate() {
        for (f, fault) in Fault::ALL.into_iter().enumerate() {
            for (l, launcher) in Launcher::ALL.into_iter().enumerate() {
                let short = (a + f) % Launcher::ALL.len() == l && fault.is_short(activity);
                let name = format!("fault::{activity}::{}", fault.name());
                let launch = Launch { launcher, place: PLACE };
                suite.add_launch(&name, launch, short, move |s, launch| ends(s, launch, activity, fault));
            }
        }
        let launch = Launch { launcher: Launcher::ALL[a % Launcher::ALL.len()], place: PLACE };
        for (kind, link, short) in [("bad", BAD_LINK, true), ("lossy", LOSSY_LINK, activity == "barrier")] {
            let name = format!("fault::{activity}::link-{kind}");
            suite
                .add_launch(&name, launch, short, move |s, launch| goes_on(s, launch, link, job(s, activity, rounds)?));
        }
    }
    let hydra = Launch { launcher: Launcher::Hydra, place: PLACE };
    suite.add_launch("fault::misuse", hydra, true, ends_with_one_line);
    // Slurm's own daemons outlive a job by seconds on such a link.
    for launcher in [Launcher::Hydra, Launcher::OpenMpi] {
        let launch = Launch { launcher, place: PLACE };
        let short = launcher == Launcher::Hydra;
        // PEs that call shmem_global_exit when those of the other host have ended do not wait for these.
        suite.add_launch("global_exit::by-all", launch, short, |s, launch| {
            let job = Job::new(PLACE.pes, &s.compile("faults/global_exits.c", &[])?);
            goes_on(s, launch, SLOW_LINK, job)
        });
    }
}

/// A PE ends the job with a line while the launcher cannot: the PEs of the other host end without one of theirs.
fn ends_with_one_line(s: &Setting, launch: Launch) -> Result<()> {
    let mut cluster = s.stations.take()?;
    let job = job(s, "misuse", 0)?;
    let mut process = start(&mut cluster, launch, &job)?;
    cluster.cluster.kill("a", process.pid(), Signal::SIGSTOP)?;
    let over = wait_until_over(&cluster, &process, &job);
    cluster.cluster.kill("a", process.pid(), Signal::SIGCONT)?;
    over?;
    let status = process.wait(LAUNCHER_SEES)?;
    ensure!(status.is_some_and(|status| !status.success()), "{status:?}\n{process}");
    let errors = process.stderr();
    let lines: Vec<&str> = errors.lines().filter(|line| line.contains("ferroshmem:")).collect();
    ensure!(lines.len() == 1 && lines[0].contains("PE 0: shmem_long_p: "), "{process}");
    s.stations.give(cluster);
    Ok(())
}

/// Adds the trials of a PE that fails before `shmem_init`.
fn add_early(suite: &mut Suite) {
    for (w, way) in ["exits", "misuses", "crashes"].into_iter().enumerate() {
        for (l, launcher) in Launcher::ALL.into_iter().enumerate() {
            // srun waits for the others unless it is given --kill-on-bad-exit, as oshrun does.
            if way == "crashes" && launcher.is_slurm() {
                continue;
            }
            let name = format!("fault::early::{way}");
            let launch = Launch { launcher, place: PLACE };
            // Hydra does not look at the exit status of a process that has not spoken to it.
            let short = launcher == Launcher::Hydra || w % Launcher::ALL.len() == l;
            suite.add_launch(&name, launch, short, move |s, launch| ends_early(s, launch, way));
        }
    }
}

/// The others wait in `shmem_init`, for a minute if the job is not ended.
fn ends_early(s: &Setting, launch: Launch, way: &str) -> Result<()> {
    let mut cluster = s.stations.take()?;
    let job = job(s, way, 0)?;
    let process = {
        let mut process = cluster.command(launch, &job)?.spawn()?;
        let status = process.wait(START)?;
        ensure!(status.is_some_and(|status| !status.success()), "status {status:?} after {START:?}\n{process}");
        process
    };
    let left = cluster.cluster.remaining_after(LAUNCHER_SEES)?;
    ensure!(left.is_empty(), "left: {left:?}\n{process}");
    let errors = process.stderr();
    let lines: Vec<&str> = errors.lines().filter(|l| l.contains("ferroshmem:")).collect();
    let words: &[&str] = match way {
        "exits" => &["PE 3: exited with status 3 before shmem_init"],
        "misuses" => &["shmem_barrier_all"],
        _ => &[],
    };
    ensure!(lines.len() == words.len(), "{} lines\n{process}", lines.len());
    for (line, word) in lines.iter().zip(words) {
        ensure!(line.contains(word), "no \"{word}\"\n{process}");
    }
    Ok(())
}

fn job(s: &Setting, activity: &str, rounds: u32) -> Result<Job> {
    let program = s.compile("faults/nodes.c", &[])?;
    let job = Job::new(PLACE.pes, &program).args(&[activity, &rounds.to_string()]);
    Ok(job.env("SHMEM_FABRIC_TIMEOUT", TIMEOUT))
}

/// On a bad link, the job ends well.
fn goes_on(s: &Setting, launch: Launch, link: Impairment, job: Job) -> Result<()> {
    // TCP asks for a connection again after 1, 3 and 7 s: on such a link, the third packet may be the first to arrive.
    let job = &job.env("SHMEM_FABRIC_TIMEOUT", "20");
    let mut cluster = s.stations.take()?;
    cluster.cluster.impair(VICTIM_HOST, link)?;
    let outcome = cluster.run(launch, job)?;
    cluster.cluster.clear(VICTIM_HOST)?;
    if !outcome.hung {
        s.stations.give(cluster);
    }
    outcome.successful(job.watchdog).map(drop)
}

/// Starts a job, and waits until its PEs have.
fn start(cluster: &mut TestCluster, launch: Launch, job: &Job) -> Result<Process> {
    let mut process = cluster.command(launch, job)?.spawn()?;
    for pe in 0..PLACE.pes {
        process.wait_for(&format!("PE {pe} is "), START)?;
    }
    Ok(process)
}

/// Waits until a job has no PE any more.
fn wait_until_over(cluster: &TestCluster, process: &Process, job: &Job) -> Result<()> {
    let hosts: Vec<&str> = cluster.cluster.hosts().collect();
    cluster.wait_until_over(&hosts, job, process, OVER_WITHIN)
}

/// A fault ends the job, and a line names it.
fn ends(s: &Setting, launch: Launch, activity: &str, fault: Fault) -> Result<()> {
    let mut cluster = s.stations.take()?;
    let job = job(s, activity, 0)?;
    let mut process = start(&mut cluster, launch, &job)?;
    // They are at it.
    sleep(Duration::from_millis(300));
    inject(&cluster, &process, fault)?;
    wait_until_over(&cluster, &process, &job)?;
    let status = process.wait(LAUNCHER_SEES)?;
    let left = match fault {
        // Launchers may wait for ever for what they cannot reach.
        Fault::HostKilled | Fault::LinkCut => Vec::new(),
        Fault::PeKilled | Fault::PeStopped | Fault::LeaderStopped => cluster.cluster.remaining_after(LAUNCHER_SEES)?,
    };
    ensure!(left.is_empty(), "left: {left:?}\n{process}");
    match status {
        Some(status) => ensure!(!status.success(), "the launcher ends well\n{process}"),
        None => ensure!(matches!(fault, Fault::HostKilled | Fault::LinkCut), "the launcher hangs\n{process}"),
    }
    // Hydra ends the other PEs when it has noticed the end of one, and often loses what they have written in this
    // moment.
    let is_race = fault == Fault::PeKilled && launch.launcher == Launcher::Hydra;
    ensure!(
        says_who_is_missed(&process, fault)? || is_race && hydra_names(&process, VICTIM)?,
        "no line says what happened\n{process}"
    );
    Ok(())
}

/// Whether Hydra says that this PE has ended.
fn hydra_names(process: &Process, pe: usize) -> Result<bool> {
    let line = format!("PID {} RUNNING AT", process_id(process, pe)?);
    Ok(process.stdout().contains(&line))
}

fn inject(cluster: &TestCluster, process: &Process, fault: Fault) -> Result<()> {
    let cluster = &cluster.cluster;
    match fault {
        Fault::HostKilled => cluster.kill_host(VICTIM_HOST),
        Fault::LinkCut => cluster.link_down(VICTIM_HOST),
        Fault::PeKilled => signal(cluster, process, VICTIM, Signal::SIGKILL),
        Fault::PeStopped => signal(cluster, process, VICTIM, Signal::SIGSTOP),
        Fault::LeaderStopped => signal(cluster, process, LEADER, Signal::SIGSTOP),
    }
}

fn signal(cluster: &Cluster, process: &Process, pe: usize, signal: Signal) -> Result<()> {
    cluster.kill(VICTIM_HOST, process_id(process, pe)?, signal)
}

/// What the PE has printed.
fn process_id(process: &Process, pe: usize) -> Result<i32> {
    let printed = process.stdout();
    let start = format!("PE {pe} is ");
    let pid = printed.lines().find_map(|line| line.split_once(&start));
    let (_, pid) = pid.context("the PE has printed its process id")?;
    Ok(pid.trim().parse()?)
}

/// The library's lines, one of a node at most, name a PE that is gone and what another did. Whether there is
/// one.
fn says_who_is_missed(process: &Process, fault: Fault) -> Result<bool> {
    let errors = process.stderr();
    let lines: Vec<&str> = errors.lines().filter(|l| l.contains("ferroshmem:")).collect();
    ensure!(lines.len() <= PLACE.hosts, "too many lines\n{process}");
    let hosts = PLACE.hosts_of_pes();
    let missed = (0..PLACE.pes).filter(|pe| match fault {
        Fault::PeKilled | Fault::PeStopped => *pe == VICTIM,
        Fault::LeaderStopped => *pe == LEADER,
        _ => hosts[*pe] == hosts[VICTIM],
    });
    let missed: Vec<String> = missed.map(|pe| format!(": PE {pe} on {VICTIM_HOST} ")).collect();
    for line in &lines {
        ensure!(line.contains("is stopped") == fault.is_stop(), "this line has another cause: {line}\n{process}");
        ensure!(missed.iter().any(|pe| line.contains(pe)), "this line names another one: {line}\n{process}");
        ensure!(
            line.contains(" waited ") || line.contains("this PE did not wait"),
            "this line does not say what a PE did: {line}\n{process}"
        );
    }
    Ok(!lines.is_empty())
}
