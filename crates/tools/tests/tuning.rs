//! Tuning: the file as `oshrun` takes it, and what the environment forces.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Ended, oshrun, run, script};

/// A job of two PEs that greet, with this tuning file.
fn greet(file: &Path) -> Ended {
    let mut command = script("-n 2", "echo hello");
    run(command.env("SHMEM_TUNING_FILE", file))
}

#[test]
fn useless_files_are_reported_and_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.toml");
    let reports = |why: &str| {
        let ended = greet(&path);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stdout, "hello\nhello\n");
        let line = format!("oshrun: ignoring the tuning file {}: {why}", path.display());
        assert!(ended.stderr.starts_with(&line), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    };
    reports("cannot read it: No such file");
    fs::write(&path, "version = 7\n").unwrap();
    reports("it has version 7 of the format");
    fs::write(&path, [0, 1, 2, 255]).unwrap();
    reports("it is damaged: ");
    let other = "version = 2\nmade_by = \"me\"\npes = []\n\
                 [machine]\nprocessor = \"Z80\"\ncores = 1\n\
                 [parameters]\nalpha = 1.0\nbeta = 1.0\ngamma = 1.0\nsigma = 1.0\nstreams = 1.0\nmemory = 1.0\ncache = \
                 1.0\nsocket_alpha = 1.0\nsocket_flag = 1.0\nsocket_line = 1.0\n";
    fs::write(&path, other).unwrap();
    reports("it is for 1 core of Z80, this is ");
    fs::write(&path, &other[..other.len() - 15]).unwrap();
    reports("it is damaged: ");
}

#[test]
fn no_file_is_no_complaint() {
    for (name, value) in [("SHMEM_TUNING_FILE", ""), ("XDG_CONFIG_HOME", "/nonexistent")] {
        let mut command = script("-n 1", "echo hello");
        let ended = run(command.env_remove("SHMEM_TUNING_FILE").env(name, value));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_section_may_name_the_file() {
    let mut command = oshrun(&["-n", "1", "-x", "SHMEM_TUNING_FILE=/nonexistent/t", "true"]);
    let ended = run(command.env("SHMEM_TUNING_FILE", ""));
    assert_eq!(ended.code, Some(0));
    let line = "oshrun: ignoring the tuning file /nonexistent/t: cannot read it: ";
    assert!(ended.stderr.starts_with(line), "{}", ended.stderr);
}

/// A job of two PEs of `oshtune`, each with these settings.
fn job(first: &[&str], second: &[&str]) -> Ended {
    let program = env!("CARGO_BIN_EXE_oshtune");
    let section = |settings: &[&str]| {
        let mut arguments = vec!["-n".to_owned(), "1".to_owned()];
        for setting in settings {
            arguments.extend(["-x".to_owned(), (*setting).to_owned()]);
        }
        let task = ["--measure=parameters", "--quick"].map(str::to_owned);
        arguments.extend([program.to_owned()].into_iter().chain(task));
        arguments
    };
    let mut arguments = section(first);
    arguments.push(":".to_owned());
    arguments.extend(section(second));
    let mut command: Command = oshrun(&arguments);
    run(command.env("SHMEM_TUNING_FILE", ""))
}

#[test]
fn all_pes_force_the_same() {
    let ended = job(&["SHMEM_REDUCE_ALGORITHM=rd"], &["SHMEM_REDUCE_ALGORITHM=rd:ptr"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // PE 0's value is that of the job.
    let ended = job(&["SHMEM_REDUCE_ALGORITHM=rd"], &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = job(&["SHMEM_REDUCE_ALGORITHM=rd"], &["SHMEM_REDUCE_ALGORITHM=bruck"]);
    assert_ne!(ended.code, Some(0));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("SHMEM_REDUCE_ALGORITHM"), "{}", ended.stderr);
}

#[test]
fn unknown_names_end_the_job_with_one_line() {
    let wrong = &["SHMEM_BROADCAST_ALGORITHM=ring"];
    let ended = job(wrong, wrong);
    assert_ne!(ended.code, Some(0));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains(
            "SHMEM_BROADCAST_ALGORITHM: \"ring\" is no algorithm of broadcast: give auto, \
             eager, pull, push, tree, slices, sockets"
        ),
        "{}",
        ended.stderr
    );
}
