//! The command line: errors, and a small report from start to end.
//!
//! `FERROSHMEM_PREFIX` names the installation to measure. Without it, the tests that need one are skipped,
//! with a line of output.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longest time for a run of a few programs, on a machine so busy that all are repeated.
const TIMEOUT: Duration = Duration::from_secs(900);

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgas-microbench"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for the end; kills the command at the timeout.
fn watch(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > TIMEOUT {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("no end; it printed {}", String::from_utf8_lossy(&output.stderr));
        }
        sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn installed() -> bool {
    env::var_os("FERROSHMEM_PREFIX").is_some()
}

/// Whether programs cannot be measured; says why.
fn cannot_measure() -> bool {
    let lacks_make = Command::new("make").arg("--version").output().is_err();
    match (installed(), lacks_make) {
        (false, _) => println!("skipped: FERROSHMEM_PREFIX is not set"),
        (_, true) => println!("skipped: make is not installed (package make)"),
        _ => return false,
    }
    true
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn refusals_are_one_line_and_leave_nothing() {
    let root = tempfile::tempdir().unwrap();
    let here = |name: &str| root.path().join(name).display().to_string();
    fs::create_dir(here("full")).unwrap();
    fs::write(here("full/letter"), "dear").unwrap();
    let mut cases = vec![
        (vec!["--classes".to_owned(), "X".to_owned()], "'X'"),
        (vec!["--fast".to_owned()], "--fast"),
        (vec!["--full".to_owned(), "--quick".to_owned()], "--quick"),
        (vec!["-o".to_owned(), here("full")], "is no report"),
        (vec!["-o".to_owned(), here("full/letter")], "is no report"),
        (vec!["-o".to_owned(), here("full/letter/below")], "cannot write"),
        (vec!["-o".to_owned(), "/proc/report".to_owned()], "cannot write"),
        (vec!["--again".to_owned(), here("full")], "results.csv"),
    ];
    if installed() {
        let report = ["-o".to_owned(), here("report")];
        cases.push(([&report[..], &["--only".to_owned(), "pong".to_owned()]].concat(), "pong"));
    }
    for (arguments, word) in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = watch(command(&arguments).current_dir(root.path()).spawn().unwrap());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{arguments:?}: {errors}");
        assert!(errors.starts_with("pgas-microbench: "), "{arguments:?}: {errors}");
        assert!(errors.contains(word), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(names(root.path()), ["full"]);
    assert_eq!(names(&root.path().join("full")), ["letter"]);
}

#[test]
fn a_prefix_without_installation_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut command = command(&["-o", "report"]);
    command.env("FERROSHMEM_PREFIX", root.path()).current_dir(root.path());
    let output = watch(command.spawn().unwrap());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("no installation of FerroSHMEM"), "{errors}");
    assert!(names(root.path()).is_empty());
}

#[test]
fn a_small_report_from_start_to_end() {
    if cannot_measure() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let only = ["--only", "atomics/2-PEs", "is-ptr/S/2-PEs"];
    let arguments = [&["--alone", "-o", "report"], &only[..]].concat();
    let output = watch(command(&arguments).current_dir(root.path()).spawn().unwrap());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("[2/2] is-ptr/S/2-PEs, FerroSHMEM"), "{errors}");

    let report = root.path().join("report");
    assert_eq!(names(&report), ["context.json", "figures", "index.html", "results.csv"]);
    let rows = pgas_microbench::measurement::read(&report.join("results.csv")).unwrap();
    let is: Vec<_> = rows.iter().filter(|row| row.program == "is").collect();
    assert_eq!(is.len(), 1, "{errors}");
    assert_eq!((is[0].class.as_str(), is[0].pes, is[0].form.as_str()), ("S", 2, "ptr"));
    assert!(is[0].median > 0.0);
    let fetch_add = |row: &&pgas_microbench::Measurement| {
        row.program == "atomics" && row.operation == "fetch_add" && row.form == "call"
    };
    assert_eq!(rows.iter().filter(fetch_add).count(), 1, "{errors}");
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    for part in ["is-ptr S", "Only a part was run", "<svg"] {
        assert!(page.contains(part), "{part}");
    }

    // The page can be made again, and is the same.
    let output = watch(command(&["--again", "report"]).current_dir(root.path()).spawn().unwrap());
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(report.join("index.html")).unwrap(), page);
    assert_eq!(names(root.path()), ["report"]);
}

#[test]
fn an_interrupted_run_leaves_a_report_of_what_it_had() {
    if cannot_measure() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    // A short run, and then a long one.
    let only = ["--only", "atomics/2-PEs", "latency/128-PEs"];
    let arguments = [&["--full", "--alone", "-o", "report"], &only[..]].concat();
    let mut command = command(&arguments);
    let log = root.path().join("log");
    command.stderr(fs::File::create(&log).unwrap());
    let child = command.current_dir(root.path()).spawn().unwrap();
    let start = Instant::now();
    while !fs::read_to_string(&log).unwrap().contains("[2/2]") {
        assert!(start.elapsed() < TIMEOUT, "the second run does not begin");
        sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = watch(child);
    let errors = fs::read_to_string(&log).unwrap();
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("FerroSHMEM: interrupted"), "{errors}");
    let report = root.path().join("report");
    let rows = pgas_microbench::measurement::read(&report.join("results.csv")).unwrap();
    assert!(rows.iter().any(|row| row.program == "atomics"));
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    assert!(page.contains("Interrupted: not all was measured."));
}
