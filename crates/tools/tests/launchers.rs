//! `oshrun` on several hosts by the launchers that are installed: they start processes on hosts
//! that are all this one, by an agent in place of ssh.

mod support;

use std::env;

use support::{Ended, Job, executable, oshrun};

/// In place of ssh: sets the host on which a process would run in a variable. Each has a directory of its own for
/// temporary files: Open MPI's daemons name theirs alike on all hosts, and the second one fails that makes it on this
/// one.
const AGENT: &str = r#"#!/bin/sh
while :; do case "$1" in -*) shift ;; *) break ;; esac; done
ON_HOST=$1; shift
TMPDIR=$(dirname "$0")/$ON_HOST; mkdir -p "$TMPDIR"
export ON_HOST TMPDIR
exec sh -c "$*"
"#;

/// Starts real processes on two hosts that are both this one; none if it is not installed.
fn real(launcher: &str, program: &str, script: &str, options: &str) -> Option<Ended> {
    let path = env::var_os("PATH")?;
    if !env::split_paths(&path).any(|dir| dir.join(program).exists()) {
        println!("skipped: no {program}");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("agent");
    executable(&agent, AGENT);
    let line = format!("--launcher {launcher} --hosts a:2,b:2 {options} --launch-agent");
    let mut command = oshrun(&line.split_whitespace().collect::<Vec<_>>());
    command.arg(&agent).args(["sh", "-c", script]);
    command
        .env("SHMEM_GREETING", "hello")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // A launcher's daemons on other hosts end some time after the launcher.
    Some(Job::start(&mut command, "").wait_for_all())
}

/// The directory in which the processes are to run, as they see it.
fn real_launchers(launcher: &str, program: &str, rank: &str) {
    let script = format!("echo {rank} $ON_HOST $SHMEM_GREETING $V; test {rank} != 3 || exit 9");
    let Some(ended) = real(launcher, program, &script, "-x V=1,2") else {
        return;
    };
    assert_eq!(ended.code, Some(9), "{}{}", ended.stdout, ended.stderr);
    let mut lines: Vec<&str> = ended.stdout.lines().filter(|l| l.contains("hello")).collect();
    lines.sort_unstable();
    // The last one has said so before it ended the job; others may be ended by that.
    assert!(lines.contains(&"3 b hello 1,2"), "{}", ended.stdout);
    let expected = ["0 a hello 1,2", "1 a hello 1,2", "2 b hello 1,2", "3 b hello 1,2"];
    assert!(lines.iter().all(|l| expected.contains(l)), "{lines:?}");
    let slow = real(launcher, program, "sleep 100", "--timeout 2").unwrap();
    assert_eq!(slow.code, Some(124), "{}", slow.stderr);
}

#[test]
fn hydra_starts_processes() {
    real_launchers("hydra", "mpiexec.hydra", "$PMI_RANK");
}

#[test]
fn open_mpi_starts_processes() {
    real_launchers("openmpi", "mpirun.openmpi", "$OMPI_COMM_WORLD_RANK");
}
