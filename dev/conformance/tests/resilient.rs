//! Resilient jobs: PEs fail at any point, and the others go on.

use anyhow::{Result, ensure};
use ferroshmem_cluster::hosts::{Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::job::{Outcome, shell_status};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

/// What all PEs do meanwhile.
const KINDS: [&str; 32] = [
    "barrier", "sync-all", "team-sync", "broadcast", "broadcast-long", "collect", "fcollect", "fcollect-long",
    "alltoall", "alltoalls", "reduce", "reduce-long", "scan", "gather", "agree", "malloc", "shrink", "split",
    "nonblocking", "test", "persistent", "messages", "messages-long", "messages-full", "streams", "stream-end",
    "neighbors", "active", "active-broadcast", "variable", "locks", "revoked",
];

/// Variables that lead collectives over other ways.
const VARIANTS: [(&str, &str); 5] = [
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
            let kinds = ["barrier", "reduce-long", "collect", "split", "malloc", "variable"];
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
    for (kind, short) in KINDS.into_iter().map(|kind| (kind, SHORT.contains(&kind))) {
        for (launcher, short) in [(Launcher::SlurmPmi2, short), (Launcher::OpenMpi, kind == "barrier")] {
            for (pes, victims) in [(2, &["0"][..]), (5, &["4", "0", "2"])] {
                let launch = on_one_host(launcher, pes);
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
    suite.add_launch("nodes::last", on_two_hosts(Launcher::SlurmPmi2, 2), true, |s, launch| {
        let job = Job::new(2, &s.compile("resilient/end.c", &[])?).args(&["crashes"]).env("SHMEM_FABRIC_TIMEOUT", "4");
        let outcome = s.stations.run(launch, &job)?;
        ensure!(!outcome.hung && outcome.left == 0 && !outcome.status.success(), "{outcome}");
        let says = |line: &&str| line.contains("PE 0: PE 1 on b ") && line.contains("shmem_uint64_wait_until");
        ensure!(outcome.stderr.lines().any(|line| says(&line)), "{outcome}");
        Ok(())
    });
    suite.run();
}

/// What a short run has by another launcher than `oshrun`.
const SHORT: [&str; 9] = ["barrier", "reduce", "split", "agree", "shrink", "messages", "streams", "variable", "locks"];

fn on_one_host(launcher: Launcher, pes: usize) -> Launch {
    Launch { launcher, place: Placement { pes, hosts: 1, distribution: Distribution::Block } }
}

fn on_two_hosts(launcher: Launcher, pes: usize) -> Launch {
    Launch { launcher, place: Placement { pes, hosts: 2, distribution: Distribution::Block } }
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
