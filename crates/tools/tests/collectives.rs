//! `oshmem_info --collectives`: what it says about choices, and where they come from.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use ferroshmem_config as config;

fn info(arguments: &[&str], set: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oshmem_info"));
    command.args(arguments);
    config::isolate(&mut command, &[]);
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command.envs(set.iter().copied()).output().unwrap()
}

fn text(arguments: &[&str], set: &[(&str, &str)]) -> String {
    let output = info(arguments, set);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The line about `pes` PEs in the part about `collective`.
fn line(text: &str, collective: &str, pes: usize) -> String {
    let mut lines = text.lines().map(str::trim);
    lines.find(|l| l.starts_with(&format!("{collective}: "))).unwrap();
    let start = format!("{pes} PEs: ");
    let line = lines.find_map(|l| l.strip_prefix(&start));
    line.unwrap().to_owned()
}

#[test]
fn choices_of_the_model() {
    let text = text(&["--collectives", "--pes", "3,4096"], &[]);
    for collective in ["barrier", "reduce", "broadcast", "collect", "fcollect", "alltoall", "alltoalls", "scan"] {
        for pes in [3, 4096] {
            let line = line(&text, collective, pes);
            assert!(line.ends_with(" (cost model)"), "{line}");
        }
    }
    assert!(text.contains("tuning file: none; oshtune measures this machine"));
    assert!(text.contains("cost model (defaults): alpha "));
    assert!(line(&text, "fcollect", 3).starts_with("eager up to "));
}

#[test]
fn forced_choices() {
    let set = [
        ("SHMEM_REDUCE_ALGORITHM", "rsag:putget"),
        ("SHMEM_FCOLLECT_ALGORITHM", "eager"),
        ("SHMEM_SCAN_ALGORITHM", "auto"),
    ];
    let text = text(&["-c", "--pes", "16"], &set);
    let reduce = line(&text, "reduce", 16);
    assert_eq!(reduce, "rsag:putget (forced by SHMEM_REDUCE_ALGORITHM)");
    // Eager exists for small sources only.
    let fcollect = line(&text, "fcollect", 16);
    assert!(fcollect.starts_with("eager up to 2048, pu"), "{fcollect}");
    assert!(line(&text, "scan", 16).ends_with("(cost model)"));
}

#[test]
fn unknown_names() {
    let output = info(&["-c"], &[("SHMEM_BARRIER_ALGORITHM", "butterfly")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "oshmem_info: SHMEM_BARRIER_ALGORITHM: \"butterfly\" is no algorithm of barrier: \
         give auto, central, dissemination, tree, sockets\n"
    );
}

#[test]
fn useless_tuning_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.toml");
    let shown = |path: &Path| text(&["-c"], &[("SHMEM_TUNING_FILE", path.to_str().unwrap())]);
    let missing = shown(&path);
    assert!(missing.contains("t.toml, ignored: cannot read it: No such file"));
    fs::write(&path, "version = 2\n[machine").unwrap();
    let damaged = shown(&path);
    assert!(damaged.contains("t.toml, ignored: it is damaged: line 2: "), "{damaged}");
    assert!(damaged.contains("cost model (defaults)"));
}

#[test]
fn wrong_options() {
    for arguments in [&["--pes", "4"][..], &["-c", "--pes", "0"], &["-c", "--pes", "x"], &["-c", "-e"]] {
        let output = info(arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
