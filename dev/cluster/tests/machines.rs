//! Virtual machines, and jobs in them.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ferroshmem_cluster::machines::{End, Job, OnDemand, run_trials};
use libtest_mimic::{Failed, Trial};

/// Machines that the tests use one after the other.
type Shared = Arc<Mutex<OnDemand>>;

fn main() -> ExitCode {
    let machines = Shared::default();
    let trials = vec![
        trial("machines-end-with-the-cluster", &machines, |_| machines_end()),
        trial("outputs-and-statuses-are-reported", &machines, outputs),
        trial("files-are-their-own", &machines, files),
        trial("a-bad-end-ends-the-others", &machines, bad_end),
        trial("an-endless-job-is-ended", &machines, endless),
    ];
    run_trials(|| Ok(trials))
}

fn trial(name: &str, machines: &Shared, run: fn(&mut OnDemand) -> Result<()>) -> Trial {
    let machines = machines.clone();
    Trial::test(name, move || {
        let mut machines = machines.lock().unwrap_or_else(PoisonError::into_inner);
        run(&mut machines).map_err(|error| Failed::from(format!("{error:#}")))
    })
}

fn shell(n: usize, script: &str) -> Job {
    let command: Vec<OsString> = ["sh", "-c", script].map(Into::into).into();
    Job::same(n, 2, &command)
}

fn outputs(machines: &mut OnDemand) -> Result<()> {
    let mut job = shell(3, "echo $WORD $PMI_RANK of $PMI_SIZE on $(hostname); echo err >&2");
    let outcome = machines.run(job.env("WORD", "two words"))?;
    ensure!(outcome.success(), "{outcome}");
    let lines: Vec<_> = outcome.pes.iter().map(|pe| pe.stdout.trim()).collect();
    let expected = ["two words 0 of 3 on machine0", "two words 1 of 3 on machine0", "two words 2 of 3 on machine1"];
    ensure!(lines == expected, "{lines:?}");
    ensure!(outcome.pes[2].stderr == "err\n", "{outcome}");

    let outcome = machines.run(&Job::same(1, 2, &["no-such-program".into()]))?;
    ensure!(outcome.pes[0].end == End::Exited(127), "{outcome}");
    ensure!(outcome.pes[0].stderr.contains("no-such-program"), "{outcome}");
    Ok(())
}

/// They see this machine's files, and what they change is theirs.
fn files(machines: &mut OnDemand) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("file");
    fs::write(&file, "from outside\n")?;
    let path = file.display();
    let outcome = machines.run(&shell(1, &format!("cat {path}; echo inside >{path}; cat {path}")))?;
    ensure!(outcome.success(), "{outcome}");
    ensure!(outcome.pes[0].stdout == "from outside\ninside\n", "{outcome}");
    ensure!(fs::read_to_string(&file)? == "from outside\n", "it was changed");
    Ok(())
}

fn bad_end(machines: &mut OnDemand) -> Result<()> {
    let outcome = machines.run(&shell(2, "[ $PMI_RANK = 0 ] && exit 3; sleep 1000"))?;
    let ends: Vec<_> = outcome.pes.iter().map(|pe| pe.end).collect();
    ensure!(ends == [End::Exited(3), End::Killed(9)], "{outcome}");
    let reason = outcome.stopped.as_deref();
    ensure!(reason == Some("PE 0 exited with status 3"), "{reason:?}");
    Ok(())
}

fn endless(machines: &mut OnDemand) -> Result<()> {
    let mut job = shell(2, "sleep 1000");
    job.timeout = Duration::from_secs(1);
    let outcome = machines.run(&job)?;
    let reason = outcome.stopped.as_deref();
    ensure!(reason == Some("it took too long"), "{reason:?}");
    Ok(())
}

/// However it ends.
fn machines_end() -> Result<()> {
    // Its files would stay.
    let folder = tempfile::tempdir()?;
    let mut cluster = Command::new(env!("CARGO_BIN_EXE_machines"))
        .args(["run", "sleep", "1000"])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .spawn()?;
    let parent = cluster.id();
    let begun = wait_for("two machines", || emulators(parent).len() == 2);
    let machines = emulators(parent);
    cluster.kill()?;
    cluster.wait()?;
    begun?;
    wait_for("their end", || machines.iter().all(|pid| !is_there(*pid)))
}

fn wait_for(what: &str, happened: impl Fn() -> bool) -> Result<()> {
    // The kernel may have to be fetched.
    let deadline = Instant::now() + Duration::from_secs(90);
    while !happened() {
        ensure!(Instant::now() < deadline, "waited for {what}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether a process runs; a zombie does not.
fn is_there(pid: u32) -> bool {
    fields(pid).is_some_and(|(_, state, _)| state != "Z")
}

fn emulators(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| fields(*pid).is_some_and(|(name, _, of)| name.starts_with("qemu") && of == parent))
        .collect()
}

/// Name, state and parent of a process.
fn fields(pid: u32) -> Option<(String, String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let mut rest = rest.split_whitespace();
    let state = rest.next()?.to_owned();
    Some((name.to_owned(), state, rest.next()?.parse().ok()?))
}
