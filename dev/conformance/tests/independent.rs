//! Independent groups: jobs that go on when the job at the other end of a group ends.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_conformance::job::{Outcome, Running, shell_status};
use ferroshmem_conformance::leftovers::Machine;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};
use nix::sys::signal::{Signal, kill};

/// How a child ends its job, and words of the line that is printed about it, of which there are some if they are not
/// empty.
const DEATHS: [(&str, &str); 6] = [
    ("crash", "job 1: PE 2"),
    ("kill", "was killed by SIGKILL"),
    ("fail", "exited with status 5"),
    ("leave", ""),
    ("end-all", ""),
    ("misuse", "PE 1234 is out of range"),
];

/// What the others wait in meanwhile.
const WAITS: [&str; 23] = [
    "sync", "barrier", "broadcast", "broadcast-long", "fcollect", "fcollect-long", "alltoall", "alltoall-long",
    "reduce", "reduce-long", "team-sync", "team-broadcast", "team-reduce", "team-reduce-long", "team-collect",
    "team-alltoall", "team-scan", "kernels", "kernel-tests", "queue", "variable", "disconnect", "finalize",
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
    for wait in WAITS {
        suite.add(format!("wait::{wait}"), move |s| {
            let deaths = ["kill", "fail"];
            let outlived = |death| outlive(s, 2, death, wait, ("", ""));
            deaths.into_iter().try_for_each(outlived)
        });
    }
    for (death, _) in DEATHS {
        suite.add(format!("death::{death}"), move |s| {
            outlive(s, 3, death, "barrier", ("", ""))?;
            outlive(s, 1, death, "disconnect", ("", ""))
        });
    }
    for (variable, value) in VARIANTS {
        suite.add(format!("variant::{variable}={value}"), move |s| {
            let waits = ["sync", "alltoall-long", "reduce-long", "team-collect"];
            let outlived = |wait| outlive(s, 2, "kill", wait, (variable, value));
            waits.into_iter().try_for_each(outlived)
        });
    }
    suite.add("death::16+3".into(), |s| outlive(s, 16, "crash", "sync", ("", "")));
    for death in ["early", "never"] {
        suite.add(format!("before::{death}"), move |s| outlive(s, 2, death, "sync", ("", "")));
    }
    for wait in ["sync", "alltoall-long", "team-reduce", "kernels", "variable"] {
        suite.add(format!("parents-die::{wait}"), move |s| parents_die(s, wait));
    }
    for wait in ["sync", "reduce-long", "variable"] {
        suite.add(format!("ports::{wait}"), move |s| ports(s, wait));
    }
    suite.add("ports::mismatch".into(), mismatch);
    suite.add("many::200".into(), many);
    suite.add("without-launcher".into(), |s| outlive(s, 0, "crash", "reduce", ("", "")));
    suite.run();
}

fn program(s: &Setting) -> Result<PathBuf> {
    s.compile("spawn/independent.c", &[])
}

/// Parents go on when a child ends its job: they say so, start others, and end well.
fn outlive(s: &Setting, pes: usize, death: &str, wait: &str, (variable, value): (&str, &str)) -> Result<()> {
    let outcome = Job::new(pes, &program(s)?).args(&[death, wait]).env(variable, value).run(&s.prefix, &s.scratch)?;
    let in_disconnect = ["disconnect", "finalize"].contains(&wait);
    let says = usize::from(!in_disconnect);
    let failed = outcome.stdout.matches("failed").count();
    ensure!(failed == says, "{death} {wait}: says so {failed} times\n{outcome}");
    went_well(&outcome)?;
    let line = DEATHS.iter().find(|(name, _)| *name == death);
    if let Some((_, words)) = line {
        ensure!(outcome.stderr.contains(words), "no \"{words}\"\n{outcome}");
    }
    Ok(())
}

fn went_well(outcome: &Outcome) -> Result<()> {
    ensure!(!outcome.hung && outcome.left == 0, "is left\n{outcome}");
    ensure!(shell_status(outcome.status) == 0, "{outcome}");
    ensure!(!outcome.stderr.contains("not so"), "{outcome}");
    Ok(())
}

/// Children go on when their parents are killed; the status is that of the parents.
fn parents_die(s: &Setting, wait: &str) -> Result<()> {
    let job = Job::new(2, &program(s)?).args(&["survive", wait]);
    let outcome = job.run(&s.prefix, &s.scratch)?.ended(137)?;
    ensure!(outcome.stdout.trim() == "failed", "{outcome}");
    ensure!(outcome.stderr.lines().count() == 1, "{outcome}");
    Ok(())
}

fn start(s: &Setting, pes: usize, args: &[&str]) -> Result<Running> {
    Running::start(&Job::new(pes, &program(s)?).args(args), &s.prefix, &s.scratch)
}

fn end(job: Running) -> Result<Outcome> {
    let outcome = job.finish(Duration::from_secs(60))?;
    ensure!(!outcome.hung && outcome.left == 0, "hangs\n{outcome}");
    Ok(outcome)
}

/// A file for the text of a port.
fn file(s: &Setting, name: &str) -> Result<String> {
    fs::create_dir_all(&s.scratch)?;
    let file = s.scratch.join(format!("port-independent-{name}"));
    let _ = fs::remove_file(&file);
    Ok(file.to_string_lossy().into_owned())
}

/// The `oshrun` of the other job is killed, with all of its processes.
fn ports(s: &Setting, wait: &str) -> Result<()> {
    let file = file(s, wait)?;
    let accepting = start(s, 2, &["accept", &file, wait])?;
    let connecting = start(s, 2, &["connect", &file, wait])?;
    connecting.wait_for_output("connected");
    connecting.kill_supervisor()?;
    end(connecting)?;
    let outcome = end(accepting)?;
    went_well(&outcome)?;
    ensure!(outcome.stdout.trim() == "failed" && outcome.stderr.is_empty(), "{outcome}");
    Ok(())
}

/// Both groups must call the routine of one kind: who does not gets a line, and the other waits on.
fn mismatch(s: &Setting) -> Result<()> {
    let file = file(s, "mismatch")?;
    let accepting = start(s, 1, &["accept", &file, "sync"])?;
    let connecting = start(s, 2, &["mismatch", &file, "sync"])?;
    connecting.wait_for_output("connected");
    kill(connecting.pid(), Signal::SIGTERM)?;
    let outcome = end(connecting)?;
    let words = "it calls shmemx_port_accept_independent: call shmemx_port_connect_independent";
    ensure!(outcome.stderr.contains(words), "{outcome}");
    went_well(&end(accepting)?)
}

/// Of 200 groups nothing is left, on the machine or in the processes that go on.
fn many(s: &Setting) -> Result<()> {
    let before = Machine::now();
    let outcome = Job::new(2, &program(s)?).args(&["many", "200"]).run(&s.prefix, &s.scratch)?;
    went_well(&outcome)?;
    let left = before.left_files();
    ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
    Ok(())
}
