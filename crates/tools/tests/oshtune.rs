//! `oshtune` from the command line to the file that `oshrun` reads.

mod support;

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use support::{Ended, Job, run, script};

fn oshtune(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oshtune"));
    // No user's file is read or written.
    command.args(arguments).env("SHMEM_TUNING_FILE", "").env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

fn text(ended: Ended) -> String {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr, "");
    ended.stdout
}

#[test]
fn measures_and_writes_what_oshrun_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/tuning.toml");
    let file = path.to_str().unwrap();
    let start = Instant::now();
    let arguments = ["--quick", "--force", "--time", "2", "--pes", "3,2", "--output", file];
    // What is set for programs must not reach the jobs that measure.
    let printed = text(run(oshtune(&arguments).env("SHMEM_REDUCE_ALGORITHM", "no such thing").env("SHMEM_CHECK", "1")));
    // Not how long it takes on a busy machine, but that time is boxed.
    assert!(start.elapsed() < Duration::from_secs(40));
    for part in ["Measuring ", " with 2, 3 PEs", "\n2 PEs\n", "\n3 PEs\n", "sigma ", "alpha ", "  non_temporal "] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(printed.contains("2 PEs: measured / model = "), "{printed}");
    assert!(printed.ends_with(&format!("wrote {file}: oshrun uses it from now on\n")));

    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains("\npes = [2, 3]\n"), "{written}");
    assert!(written.contains("\nnon_temporal = "), "{written}");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);

    let info = Command::new(env!("CARGO_BIN_EXE_oshmem_info"))
        .args(["--collectives", "--pes", "2"])
        .env("SHMEM_TUNING_FILE", &path)
        .output()
        .unwrap();
    let info = String::from_utf8(info.stdout).unwrap();
    assert!(info.contains(&format!("tuning file: {file}\n")), "{info}");
    assert_eq!(info.matches("(measured with 2 PEs)").count(), 8, "{info}");

    let mut job = script("-n 2", "true");
    assert_eq!(text(run(job.env("SHMEM_TUNING_FILE", &path))), "");
}

/// Processes that keep every core busy, until it is dropped.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Self {
        let cores = std::thread::available_parallelism().unwrap().get();
        let spin = |_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..cores).map(spin).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_disturbed_measurement_is_written_only_by_force() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tuning.toml");
    let arguments = ["--quick", "--time", "0", "--pes", "2", "--output"];
    let load = Load::start();
    let refused = run(oshtune(&arguments).arg(&path));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let line = &refused.stderr;
    for part in ["oshtune: ", " jobs were disturbed (with 2 PEs ", "wrote no ", "--force"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert_eq!(line.lines().count(), 1, "{line}");
    // What was measured is shown all the same, and says what it is worth.
    assert!(refused.stdout.contains("\nHow quiet the machine was\n"), "{refused:?}");
    assert!(refused.stdout.contains(": disturbed\n"), "{refused:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);

    let forced = text(run(oshtune(&arguments).arg(&path).arg("--force")));
    drop(load);
    assert!(forced.contains("\nDo not rely on this: "), "{forced}");
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains("# 2 PEs  other processes "), "{written}");
    assert!(written.contains(": disturbed\n"), "{written}");
    let mut job = script("-n 2", "true");
    assert_eq!(text(run(job.env("SHMEM_TUNING_FILE", &path))), "");
}

#[test]
fn dry_runs_write_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--quick", "--time", "0", "--pes", "2", "--dry-run", "--all"];
    let mut command = oshtune(&arguments);
    command.env("SHMEM_TUNING_FILE", directory.path().join("t.toml"));
    let printed = text(run(&mut command));
    assert!(printed.ends_with("wrote no file\n"), "{printed}");
    for choice in ["flat:ptr", "flat:putget", "rd:ptr", "rsag:putget", "slices", "dissemination"] {
        assert!(printed.contains(choice), "{choice}: {printed}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn reports_are_a_page_and_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let (page, file) = (directory.path().join("new/report.html"), directory.path().join("new/tuning.toml"));
    let mut command = oshtune(&["--quick", "--force", "--time", "0", "--pes", "2", "--report"]);
    let printed = text(run(command.arg(page.parent().unwrap())));
    assert!(printed.contains(&format!("\nWrote the page {}\n", page.display())), "{printed}");
    assert!(printed.ends_with(&format!("SHMEM_TUNING_FILE={} makes oshrun use it\n", file.display())), "{printed}");
    let page = fs::read_to_string(page).unwrap();
    for part in ["Collectives of 2 PEs", "<caption>reduce</caption>", "dissemination", "socket_alpha"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // The page has the file, too, so that it can be sent alone.
    let text = fs::read_to_string(&file).unwrap();
    let (_, rules) = text.split_once("[[rules]]").unwrap();
    let (rules, _) = rules.split_once("\n# ").unwrap();
    assert!(page.contains(&rules.replace('"', "&quot;")), "{rules}");
    let mut job = script("-n 2", "true");
    assert_eq!(self::text(run(job.env("SHMEM_TUNING_FILE", &file))), "");
}

#[test]
fn predicts_without_measuring() {
    let arguments = ["--predict", "--pes", "64,65536", "--sizes", "8,1m", "--collective", "reduce", "--alpha", "1500"];
    let printed = text(run(&mut oshtune(&arguments)));
    assert!(printed.contains("a core for each PE, alpha 1500 ns,"), "{printed}");
    let rows: Vec<&str> = printed.lines().skip(5).collect();
    assert_eq!(rows.len(), 4, "{printed}");
    assert!(rows[0].trim_start().starts_with("64      8 B "), "{printed}");
    assert!(rows[3].trim_start().starts_with("65536    1 MiB "), "{printed}");
}

#[test]
fn refusals() {
    for (arguments, code, line) in [
        (&["--pes", "1"][..], 2, "give numbers of PEs from 2 to 4096"),
        (&["--pes", "2,3,4,5,6,7,8,9,10"], 1, "oshtune: --pes: give 8 numbers at most"),
        (&["--pes", "5000", "--dry-run"], 1, "oshtune: --pes 5000: a job has 4096 PEs at most"),
        (&["--time", "1e19"], 2, "give a number of seconds up to 1e6"),
        (&["--predict", "--quick"], 2, "cannot be used with"),
        (&["--report", "x", "--output", "y"], 2, "cannot be used with"),
        (&["--alpha", "5"], 2, "--predict"),
        (&["--predict", "--alpha", "0"], 2, "give a number greater than 0"),
        (&["--predict", "--collective", "gather"], 2, "give one of barrier, reduce"),
        (&["--output", "/proc/nowhere/x"], 1, "oshtune: cannot write /proc/nowhere/x: "),
        (&["--output", "/"], 1, "oshtune: cannot write /: is a directory"),
        (&[], 1, "oshtune: no place for the tuning file: give --output FILE"),
    ] {
        let start = Instant::now();
        let ended = run(&mut oshtune(arguments));
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(line), "{arguments:?}: {}", ended.stderr);
        assert!(start.elapsed() < Duration::from_secs(20), "reported before measuring");
    }
}

/// Number of processes below `pid`.
fn descendants(pid: i32) -> usize {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let pids = children.split_whitespace().filter_map(|p| p.parse().ok());
    pids.map(|child| 1 + descendants(child)).sum()
}

#[test]
fn leaves_nothing_behind_when_it_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let text = |name: &str| directory.path().join(name);
    let mut command = oshtune(&["--time", "50", "--pes", "2", "--output"]);
    command.arg(text("tuning.toml"));
    let mut job = Job::start(&mut command, "");
    // The launcher, its supervisor and a PE at least.
    let pid = job.pid();
    job.wait_until(|| descendants(pid) >= 3);
    job.signal(libc::SIGKILL);
    let ended = job.wait();
    assert_eq!(ended.code, None);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn needs_its_launcher() {
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("oshtune");
    fs::copy(env!("CARGO_BIN_EXE_oshtune"), &alone).unwrap();
    let ended = run(Command::new(&alone).args(["--quick", "--dry-run"]));
    assert_eq!(ended.code, Some(1));
    let line = format!(
        "oshtune: {} is missing: oshtune needs the oshrun that it was installed with\n",
        directory.path().join("oshrun").display()
    );
    assert_eq!(ended.stderr, line);
}
