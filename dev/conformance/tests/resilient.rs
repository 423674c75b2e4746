//! Resilient jobs: PEs fail at any point, and the others go on.

use anyhow::{Result, ensure};
use ferroshmem_conformance::job::shell_status;
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
    suite.add("not-asked-for".into(), |s| ends(s, "none", "was killed by SIGKILL"));
    suite.add("before".into(), |s| ends(s, "before", "was killed by SIGKILL"));
    suite.add("all".into(), |s| ends(s, "all", "was killed by SIGKILL"));
    suite.add("global-exit".into(), global_exit);
    suite.add("without-launcher".into(), without_launcher);
    suite.run();
}

/// Those that are left notice the failure of `victims`, and go on.
fn survive(s: &Setting, pes: usize, kind: &str, victims: &[&str], (variable, value): (&str, &str)) -> Result<()> {
    let mut job = Job::new(pes, &s.compile("resilient/survive.c", &[])?).args(&[kind]).args(victims);
    if !variable.is_empty() {
        job = job.env(variable, value);
    }
    let outcome = job.run(&s.prefix, &s.scratch)?.ended(0)?;
    let left = outcome.stdout.matches("is left").count();
    ensure!(left == pes - victims.len(), "{left} say that they are left\n{outcome}");
    ensure!(!outcome.stderr.contains("not so"), "{outcome}");
    for victim in victims {
        let line = format!("PE {victim} (");
        ensure!(outcome.stderr.contains(&line), "no \"{line}\"\n{outcome}");
    }
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

/// Where no launcher goes on without a PE, the routine says so.
fn without_launcher(s: &Setting) -> Result<()> {
    let job = Job::new(0, &s.compile("resilient/end.c", &[])?).args(&["refused"]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(shell_status(outcome.status) == 0 && outcome.stderr.contains("start it by oshrun"), "{outcome}");
    Ok(())
}
