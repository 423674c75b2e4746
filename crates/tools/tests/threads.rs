//! `oshmem_info --threads`: which threads take part in large copies, and from which sizes on.

use std::process::{Command, Output};

use ferroshmem_config as config;

fn info(set: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oshmem_info"));
    command.arg("--threads");
    config::isolate(&mut command, &[]);
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command.envs(set.iter().copied()).output().unwrap()
}

fn text(set: &[(&str, &str)]) -> String {
    let output = info(set);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn workers_run_on_idle_cores_by_default() {
    let text = text(&[]);
    let reasons = ["they run while one of the job's cores idles", "or one core", "a quota limits"];
    assert!(reasons.iter().any(|reason| text.contains(reason)), "{text}");
    assert!(text.contains("caches until the program's own show from 2 MiB on what is faster"), "{text}");
}

#[test]
fn variables_decide_and_are_named() {
    let text = text(&[
        ("SHMEM_WORKERS", "3"),
        ("SHMEM_SHARE_THRESHOLD", "12k"),
        ("SHMEM_OFFLOAD_THRESHOLD", "7"),
        ("SHMEM_NON_TEMPORAL_THRESHOLD", "1m"),
    ]);
    assert!(text.contains("workers: 3 (SHMEM_WORKERS says so)"), "{text}");
    for line in [
        "     12288 bytes: blocking copies are shared (SHMEM_SHARE_THRESHOLD)",
        "         7 bytes: non-blocking copies go on after their calls (SHMEM_OFFLOAD_THRESHOLD)",
        "   1048576 bytes: copies go past the caches (SHMEM_NON_TEMPORAL_THRESHOLD)",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_value_that_cannot_be_read_is_an_error_of_one_line() {
    let output = info(&[("SHMEM_WORKERS", "many")]);
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("oshmem_info: ") && error.lines().count() == 1);
    assert!(error.contains("SHMEM_WORKERS"), "{error}");
}
