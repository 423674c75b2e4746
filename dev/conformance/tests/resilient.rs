//! Resilient jobs: PEs fail at any point, and the others go on.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement, Process};
use ferroshmem_conformance::cluster::{Launch, TestCluster};
use ferroshmem_conformance::job::{Outcome, shell_status};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};
use nix::sys::signal::Signal;

/// What all PEs do meanwhile.
const KINDS: [&str; 32] = [
    "barrier", "sync-all", "team-sync", "broadcast", "broadcast-long", "collect", "fcollect", "fcollect-long",
    "alltoall", "alltoalls", "reduce", "reduce-long", "scan", "gather", "agree", "malloc", "shrink", "split",
    "nonblocking", "test", "persistent", "messages", "messages-long", "messages-full", "streams", "stream-end",
    "neighbors", "active", "active-broadcast", "variable", "locks", "revoked",
];

/// Variables that lead collectives over other ways.
const VARIANTS: [(&str, &str); 6] = [
    ("SHMEM_TEAM_TABLE", "0"),
    ("SHMEM_CHECK", "1"),
    ("SHMEM_BARRIER_ALGORITHM", "tree"),
    ("SHMEM_BARRIER_ALGORITHM", "dissemination"),
    ("SHMEM_REDUCE_ALGORITHM", "rsag"),
    ("SHMEM_SPIN", "100000"),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for kind in KINDS {
        suite.add(format!("one-of-two::{kind}"), move |s| survive(s, 2, kind, &["0"], ("", "")));
        suite.add(format!("two-of-five::{kind}"), move |s| survive(s, 5, kind, &["4", "1"], ("", "")));
        suite.add(format!("first-of-five::{kind}"), move |s| survive(s, 5, kind, &["0"], ("", "")));
    }
    for kind in ["barrier", "fcollect-long", "reduce", "split", "agree", "shrink", "messages", "locks"] {
        suite.add(format!("of-sixteen::{kind}"), move |s| survive(s, 16, kind, &["3", "0", "15"], ("", "")));
    }
    for kind in ["barrier", "alltoall", "shrink"] {
        suite.add(format!("of-64::{kind}"), move |s| survive(s, 64, kind, &["63", "32", "1", "0"], ("", "")));
    }
    for (variable, value) in VARIANTS {
        suite.add(format!("variant::{variable}={value}"), move |s| {
            let kinds = ["barrier", "reduce-long", "collect", "split", "shrink", "malloc", "variable"];
            kinds.into_iter().try_for_each(|kind| survive(s, 3, kind, &["1"], (variable, value)))
        });
    }
    for (pes, victims) in [(2, "1"), (2, "01"), (5, "104")] {
        for order in ["new-first", "old-first"] {
            suite.add(format!("renew::{order}::{victims}-of-{pes}"), move |s| renew(s, pes, victims, order));
        }
    }
    suite.add("not-asked-for".into(), |s| ends(s, "none", "was killed by SIGKILL"));
    suite.add("before".into(), |s| ends(s, "before", "was killed by SIGKILL"));
    suite.add("all".into(), |s| ends(s, "all", "was killed by SIGKILL"));
    suite.add("leaves-early".into(), |s| {
        let outcome =
            Job::new(3, &s.compile("resilient/end.c", &[])?).args(&["leaves-early"]).run(&s.prefix, &s.scratch)?;
        is_survived(&outcome.ended(0)?, 3, &[], "")
    });
    suite.add("global-exit".into(), global_exit);
    suite.add("again".into(), |s| ends(s, "again", "was killed by SIGKILL"));
    for when in ["again-resilient", "teams"] {
        suite.add(when.into(), move |s| ends_well(s, when));
    }
    for when in ["again-lost", "again-late"] {
        suite.add(when.into(), move |s| not_again(s, when));
    }
    suite.add("without-launcher".into(), without_launcher);
    for kind in KINDS {
        let turn = SHORT.iter().position(|short| *short == kind);
        for (launcher, is_first) in [(Launcher::SlurmPmi2, false), (Launcher::OpenMpi, true)] {
            for (number, (pes, victims)) in [(2, &["0"][..]), (5, &["4", "0", "2"])].into_iter().enumerate() {
                let launch = on_one_host(launcher, pes);
                let short = turn.is_some_and(|turn| if is_first { turn == 0 } else { turn % 2 == number });
                suite.add_launch(&format!("launcher::{kind}"), launch, short, move |s, launch| {
                    survive_by(s, launch, "survive", &[&[kind], victims].concat(), victims)
                });
            }
        }
    }
    for (kind, short) in KINDS.into_iter().map(|kind| (kind, SHORT.contains(&kind))) {
        // A lock is in the memory of PE 0, which other nodes do not reach then.
        let first = if kind == "locks" { &["3"] } else { &["0"] };
        for victims in [&first[..], &["4", "1"]] {
            let launch = on_two_hosts(Launcher::SlurmPmi2, 5);
            suite.add_launch(&format!("nodes::{kind}::{}", victims.len()), launch, short, move |s, launch| {
                survive_by(s, launch, "survive", &[&[kind], victims].concat(), victims)
            });
        }
    }
    for way in ["exits", "misuses", "crashes"] {
        suite.add_launch(&format!("launcher::{way}"), on_one_host(Launcher::SlurmPmi2, 3), true, move |s, launch| {
            survive_by(s, launch, "end", &[way], &["1"])
        });
    }
    for place in [on_one_host, on_two_hosts] {
        suite.add_launch("launcher::global-exit", place(Launcher::SlurmPmi2, 3), true, |s, launch| {
            let job = Job::new(3, &s.compile("resilient/end.c", &[])?).args(&["global-exit"]);
            let outcome = s.stations.run(launch, &job)?;
            ensure!(!outcome.hung && outcome.left == 0 && !outcome.status.success(), "{outcome}");
            Ok(())
        });
    }
    for way in ["exits", "misuses", "crashes"] {
        suite.add_launch(&format!("nodes::{way}"), on_two_hosts(Launcher::SlurmPmi2, 4), true, move |s, launch| {
            survive_by(s, launch, "end", &[way], &["1"])
        });
    }
    suite.add_launch("nodes::teams", on_two_hosts(Launcher::SlurmPmi2, 4), true, |s, launch| {
        let job = Job::new(4, &s.compile("resilient/end.c", &[])?).args(&["teams"]);
        s.stations.expect_success(launch, &job)?;
        Ok(())
    });
    for kind in KINDS {
        for (hosts, host) in [(2, "b"), (3, "a"), (3, "c")] {
            let short = CUT.contains(&(kind, host));
            suite.add_launch(&format!("cut::{kind}::{host}"), on_hosts(hosts, 2 * hosts), short, move |s, launch| {
                lose_host(s, launch, kind, host, Fault::Cut)
            });
        }
    }
    for (name, fault) in [("last", Fault::Kill), ("stop", Fault::Stop)] {
        for (hosts, host) in [(2, "b"), (3, "a"), (3, "b")] {
            // The first host with both faults, each other one with one.
            let short = host == "a" || (fault == Fault::Kill) == (hosts == 2);
            suite.add_launch(&format!("{name}::{host}"), on_hosts(hosts, 5), short, move |s, launch| {
                lose_host(s, launch, "barrier", host, fault)
            });
        }
    }
    suite.add_launch("last::first-of-two", on_hosts(2, 4), true, first_of_two);
    suite.add_launch("cut::heals", on_hosts(3, 6), true, heals);
    suite.run();
}

/// What a short run has by another launcher than `oshrun`: on one host with two PEs and with five in turn.
const SHORT: [&str; 9] = ["barrier", "reduce", "split", "agree", "shrink", "messages", "streams", "variable", "locks"];

fn on_one_host(launcher: Launcher, pes: usize) -> Launch {
    Launch { launcher, place: Placement { pes, hosts: 1, distribution: Distribution::Block } }
}

fn on_hosts(hosts: usize, pes: usize) -> Launch {
    Launch { launcher: Launcher::SlurmPmi2, place: Placement { pes, hosts, distribution: Distribution::Block } }
}

fn on_two_hosts(launcher: Launcher, pes: usize) -> Launch {
    Launch { launcher, place: Placement { pes, hosts: 2, distribution: Distribution::Block } }
}

/// What the others do in a short run while a host is cut off, which takes ten seconds of all PEs' waiting.
const CUT: [(&str, &str); 4] = [("barrier", "b"), ("messages", "c"), ("shrink", "a"), ("shrink", "c")];

/// Seconds within which a host is lost, and how long a job may take to start, and to end then.
const TIMEOUT: &str = "10";
const START: Duration = Duration::from_secs(60);
const OVER_WITHIN: Duration = Duration::from_secs(30);

/// What happens to a host, or to all PEs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Cut,
    Kill,
    Stop,
}

/// A job of so many PEs, and its process, once all are at what is lost.
fn at_it(s: &Setting, cluster: &mut TestCluster, launch: Launch, words: &[&str]) -> Result<(Job, Process)> {
    let job = Job::new(launch.place.pes, &s.compile("resilient/survive.c", &[])?).args(words);
    let job = job.env("SHMEM_FABRIC_TIMEOUT", TIMEOUT);
    let mut process = cluster.command(launch, &job)?.spawn()?;
    process.wait_for("all are at it", START)?;
    sleep(Duration::from_millis(fastrand::u64(0..500)));
    Ok((job, process))
}

/// The others go on without the PEs of a host, which end.
fn lose_host(s: &Setting, launch: Launch, kind: &str, host: &str, fault: Fault) -> Result<()> {
    let place = launch.place;
    let hosts = &["a", "b", "c"][..place.hosts];
    let of_host = |pe: &usize| hosts[place.hosts_of_pes()[*pe]] == host;
    let victims: Vec<String> = (0..place.pes).filter(of_host).map(|pe| pe.to_string()).collect();
    let victims: Vec<&str> = victims.iter().map(String::as_str).collect();
    let mut cluster = s.stations.take()?;
    let (job, process) = at_it(s, &mut cluster, launch, &[&[kind, "cut"], &victims[..]].concat())?;
    match fault {
        Fault::Cut => cluster.cluster.link_down(host)?,
        Fault::Kill => cluster.signal_pes(host, &job, Signal::SIGKILL)?,
        Fault::Stop => cluster.signal_pes(host, &job, Signal::SIGSTOP)?,
    }
    let others: Vec<&str> = hosts.iter().copied().filter(|other| *other != host).collect();
    cluster.wait_until_over(&others, &job, &process, OVER_WITHIN)?;
    cluster.signal_pes(host, &job, Signal::SIGCONT)?;
    cluster.wait_until_over(&[host], &job, &process, OVER_WITHIN)?;
    let (outcome, has_ended) = cluster.finish_cut(host, process, OVER_WITHIN)?;
    ensure!(!outcome.stderr.contains("not so"), "{outcome}");
    let left = outcome.stdout.matches("is left").count();
    ensure!(left == place.pes - victims.len(), "{left} say that they are left\n{outcome}");
    let names: Vec<String> = victims.iter().map(|pe| format!("PE {pe}")).collect();
    let lost = format!("node {host} is not heard of any more");
    let goes_on = format!("; the job goes on without {}\n", names.join(", "));
    let ends = format!("this node, {host}, of {} PEs, is cut off", victims.len());
    let has = [&lost, &goes_on, &ends].map(|words| outcome.stderr.matches(words).count());
    // One may see the end of another one before it ends.
    let is_said = if fault == Fault::Kill { has[0] == 1 && has[2] == 0 } else { has == [1, 1, 1] };
    ensure!(is_said, "{has:?}\n{outcome}");
    if has_ended {
        s.stations.give(cluster);
    }
    Ok(())
}

/// Of two nodes, the second one does not go on without the first.
fn first_of_two(s: &Setting, launch: Launch) -> Result<()> {
    let mut cluster = s.stations.take()?;
    let (job, process) = at_it(s, &mut cluster, launch, &["barrier", "cut", "0", "1"])?;
    cluster.signal_pes("a", &job, Signal::SIGKILL)?;
    let outcome = cluster.finish(vec![process], OVER_WITHIN)?.remove(0);
    ensure!(!outcome.hung && outcome.left == 0 && !outcome.status.success(), "{outcome}");
    ensure!(outcome.stderr.contains("this node, b, of 2 PEs, is cut off"), "{outcome}");
    s.stations.give(cluster);
    Ok(())
}

/// A host that comes back soon is not lost.
fn heals(s: &Setting, launch: Launch) -> Result<()> {
    let mut cluster = s.stations.take()?;
    // PE 5 fails later.
    let (job, process) = at_it(s, &mut cluster, launch, &["reduce", "cut", "5"])?;
    for host in ["c", "a"] {
        cluster.cluster.link_down(host)?;
        sleep(Duration::from_millis(700));
        cluster.cluster.link_up(host)?;
        sleep(Duration::from_secs(3));
    }
    let last = cluster.pes_on("c", &job)?.into_iter().max().context("there are PEs")?;
    cluster.cluster.kill("c", last, Signal::SIGKILL)?;
    let outcome = cluster.finish(vec![process], OVER_WITHIN)?.remove(0);
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    is_survived(&outcome, 6, &["5"], " has ended without shmem_finalize; the job goes on without it")?;
    s.stations.give(cluster);
    Ok(())
}

/// The same by a launcher that goes on when a process ends: the other PEs notice it.
fn survive_by(s: &Setting, launch: Launch, program: &str, arguments: &[&str], victims: &[&str]) -> Result<()> {
    let pes = launch.place.pes;
    let job = Job::new(pes, &s.compile(&format!("resilient/{program}.c"), &[])?).args(arguments);
    let outcome = s.stations.run(launch, &job.env("OMPI_MCA_orte_enable_recovery", "1"))?;
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    is_survived(&outcome, pes, victims, " has ended without shmem_finalize; the job goes on without it")
}

/// Those that are left notice the failure of `victims`, and go on.
fn survive(s: &Setting, pes: usize, kind: &str, victims: &[&str], (variable, value): (&str, &str)) -> Result<()> {
    let mut job = Job::new(pes, &s.compile("resilient/survive.c", &[])?).args(&[kind]).args(victims);
    if !variable.is_empty() {
        job = job.env(variable, value);
    }
    let outcome = job.run(&s.prefix, &s.scratch)?.ended(0)?;
    is_survived(&outcome, pes, victims, " (")
}

/// All others say that they are left, and for each victim there is one line that goes on so.
fn is_survived(outcome: &Outcome, pes: usize, victims: &[&str], words: &str) -> Result<()> {
    let left = outcome.stdout.matches("is left").count();
    ensure!(left == pes - victims.len(), "{left} say that they are left\n{outcome}");
    ensure!(!outcome.stderr.contains("not so"), "{outcome}");
    for victim in victims {
        let line = format!("PE {victim}{words}");
        ensure!(outcome.stderr.matches(&line).count() == 1, "not one \"{line}\"\n{outcome}");
    }
    Ok(())
}

/// PEs are replaced one after the other, and all make anew what they had.
fn renew(s: &Setting, pes: usize, victims: &str, order: &str) -> Result<()> {
    let job = Job::new(pes, &s.compile("resilient/renew.c", &[])?).args(&[victims, order]);
    let outcome = job.run(&s.prefix, &s.scratch)?.ended(0)?;
    ensure!(outcome.stdout.matches("has ended").count() == pes, "{outcome}");
    ensure!(outcome.stderr.matches(" is started again").count() == victims.len(), "{outcome}");
    ensure!(!outcome.stderr.contains("not so"), "{outcome}");
    Ok(())
}

/// A failure that ends the job, as in any other.
fn ends(s: &Setting, when: &str, words: &str) -> Result<()> {
    let job = Job::new(3, &s.compile("resilient/end.c", &[])?).args(&[when]);
    let outcome = job.run(&s.prefix, &s.scratch)?.ended(137)?;
    ensure!(outcome.stderr.contains(words), "no \"{words}\"\n{outcome}");
    Ok(())
}

/// One of those that are left ends the job.
fn global_exit(s: &Setting) -> Result<()> {
    let job = Job::new(3, &s.compile("resilient/end.c", &[])?).args(&["global-exit"]);
    job.run(&s.prefix, &s.scratch)?.ended(7)?;
    Ok(())
}

/// A library that was initialised again goes on without a PE if it is asked to; agreements of teams with one number.
fn ends_well(s: &Setting, when: &str) -> Result<()> {
    let job = Job::new(3, &s.compile("resilient/end.c", &[])?).args(&[when]);
    job.run(&s.prefix, &s.scratch)?.ended(0)?;
    Ok(())
}

/// One that has lost a PE cannot be initialised again, and says so at once.
fn not_again(s: &Setting, when: &str) -> Result<()> {
    let job = Job::new(3, &s.compile("resilient/end.c", &[])?).args(&[when]);
    let outcome = job.run(&s.prefix, &s.scratch)?.ended(1)?;
    ensure!(outcome.stderr.contains("cannot be initialised again"), "{outcome}");
    Ok(())
}

/// Where no launcher goes on without a PE, the routine says so.
fn without_launcher(s: &Setting) -> Result<()> {
    let job = Job::new(0, &s.compile("resilient/end.c", &[])?).args(&["refused"]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(shell_status(outcome.status) == 0 && outcome.stderr.contains("start it by oshrun"), "{outcome}");
    Ok(())
}
