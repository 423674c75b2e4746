//! The files of a release, and the workflow that makes them.

use super::support::lacks;
use super::{installation, note, root, succeed, xtask};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn files_of_a_release_are_what_their_checksums_say() {
    if lacks("git", "git") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let mut make = xtask(&["dist", "--output"]);
    make.arg(folder).arg("--installed").arg(installation());
    succeed(&mut make);
    let mut check = Command::new("sha256sum");
    let checked = succeed(check.args(["--check", "SHA256SUMS"]).current_dir(folder));
    assert_eq!(checked.matches(": OK").count(), 3, "{checked}");

    let name = format!("ferroshmem-{}", env!("CARGO_PKG_VERSION"));
    let unpack = |file: &str| {
        succeed(Command::new("tar").args(["-xzf", file]).current_dir(folder));
    };
    unpack(&format!("{name}-x86_64-linux.tar.gz"));
    let binaries = folder.join(format!("{name}-x86_64-linux"));
    serves_a_user(&binaries, folder);
    assert!(binaries.join("share/doc/ferroshmem/LICENSE-MIT").is_file());

    unpack(&format!("{name}.tar.gz"));
    let sources = folder.join(&name);
    let link = sources.join("shmem-sys/include");
    assert!(link.join("shmem.h").is_file(), "links are kept");
    let metadata = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    succeed(Command::new("cargo").args(metadata).current_dir(&sources));

    let bom = fs::read(folder.join(format!("{name}.cdx.json"))).unwrap();
    let bom: Value = serde_json::from_slice(&bom).unwrap();
    assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bom["components"].as_array().unwrap();
    for component in components {
        let of = |key: &str| component[key].as_str().unwrap_or_default();
        let purl = format!("pkg:cargo/{}@{}", of("name"), of("version"));
        assert_eq!(of("purl"), purl);
        assert!(component["licenses"][0]["expression"].is_string(), "{purl}");
        // Ours are not in a registry yet.
        let hashed = component["hashes"][0]["content"].is_string();
        assert_eq!(hashed, !of("name").starts_with("ferroshmem"), "{purl}");
    }
    assert!(components.len() > 30, "{} components", components.len());
    let notes = fs::read_to_string(folder.join("notes.md")).unwrap();
    assert!(notes.starts_with("### "), "{notes}");
}

fn serves_a_user(prefix: &Path, scratch: &Path) {
    let program = scratch.join("hello");
    let mut compile = Command::new(prefix.join("bin/oshcc"));
    compile.arg("-O2").arg(root().join("examples/hello.c"));
    succeed(compile.arg("-o").arg(&program));
    let mut run = Command::new(prefix.join("bin/oshrun"));
    let printed = succeed(run.args(["-n", "2", "--timeout", "60"]).arg(program));
    assert_eq!(printed.lines().count(), 2, "{printed}");
}

/// Each command of the workflow that is ours has the options that it is given.
#[test]
fn the_workflow_calls_what_there_is() {
    let path = root().join(".github/workflows/release.yml");
    let text = fs::read_to_string(path).unwrap();
    assert!(!text.contains('\t'), "YAML has no tabs");
    let mut tasks = 0;
    for line in text.lines() {
        let Some((_, command)) = line.split_once("cargo xtask ") else {
            continue;
        };
        let words: Vec<&str> = command.split_whitespace().collect();
        let help = succeed(&mut xtask(&[words[0], "--help"]));
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "cargo xtask {command}:\n{help}");
        }
        tasks += 1;
    }
    assert!(tasks >= 2, "{text}");
    for word in ["dist", "debian", "SHA256SUMS", "notes.md", "cargo publish"] {
        assert!(text.contains(word), "no {word} in the workflow");
    }
    let mut python = Command::new("python3");
    python.args(["-c", "import sys, yaml; print(sorted(yaml.safe_load(sys.stdin)['jobs']))"]);
    let file = fs::File::open(root().join(".github/workflows/release.yml")).unwrap();
    match python.stdin(file).output() {
        Ok(output) if output.status.success() => {
            let jobs = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(jobs.trim(), "['crates', 'files']");
        }
        _ => note("the release workflow is not read as YAML: python3 with its module yaml is not installed"),
    }
    note("the release workflow's own commands are looked up and the files it makes are tested; GitHub does not run it");
}
