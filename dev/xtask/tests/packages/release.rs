//! The files of a release, and the workflow that makes them.

use super::support::lacks;
use super::{installation, note, root, serves_a_user, succeed, xtask};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[test]
fn files_of_a_release_are_what_their_checksums_say() {
    if lacks("git", "git") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let mut make = xtask(&["dist", "--output"]);
    make.arg(folder).arg("--installed").arg(installation());
    let files = if has_cyclonedx() { 4 } else { 2 };
    if !has_cyclonedx() {
        let refused = make.output().unwrap();
        let says = String::from_utf8_lossy(&refused.stderr).contains("cargo install --locked cargo-cyclonedx@");
        assert!(!refused.status.success() && says, "{refused:?}");
        note("a release without its lists of crates: cargo-cyclonedx is not installed");
        make.arg("--without-sbom");
    }
    succeed(&mut make);
    let mut check = Command::new("sha256sum");
    let checked = succeed(check.args(["--check", "SHA256SUMS"]).current_dir(folder));
    assert_eq!(checked.matches(": OK").count(), files, "{checked}");

    let name = format!("ferroshmem-{}", env!("CARGO_PKG_VERSION"));
    let unpack = |file: &str| {
        succeed(Command::new("tar").args(["-xzf", file]).current_dir(folder));
    };
    unpack(&format!("{name}-x86_64-linux.tar.gz"));
    let binaries = folder.join(format!("{name}-x86_64-linux"));
    serves_a_user(&binaries.join("bin"), folder);
    assert!(binaries.join("share/doc/ferroshmem/LICENSE-MIT").is_file());

    unpack(&format!("{name}.tar.gz"));
    let sources = folder.join(&name);
    let link = sources.join("shmem-sys/include");
    assert!(link.join("shmem.h").is_file(), "links are kept");
    let metadata = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    succeed(Command::new("cargo").args(metadata).current_dir(&sources));

    for root in ["ferroshmem-libshmem", "ferroshmem-tools"].into_iter().filter(|_| has_cyclonedx()) {
        let version = env!("CARGO_PKG_VERSION");
        lists_what_is_linked(&fs::read(folder.join(format!("{root}-{version}.cdx.json"))).unwrap());
    }
    let notes = fs::read_to_string(folder.join("notes.md")).unwrap();
    assert!(notes.starts_with("### "), "{notes}");
}

fn has_cyclonedx() -> bool {
    Command::new("cargo-cyclonedx").args(["cyclonedx", "--version"]).output().is_ok()
}

/// Each crate has a licence, and those of a registry a checksum; what only builds or tests is not there.
fn lists_what_is_linked(list: &[u8]) {
    let list: Value = serde_json::from_slice(list).unwrap();
    assert_eq!((&list["bomFormat"], &list["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = list["components"].as_array().unwrap();
    let named = |name: &str| components.iter().any(|component| component["name"] == name);
    assert!(named("ferroshmem-core") && named("libc") && !named("cc") && !named("tempfile"));
    for component in components {
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        let is_ours = component["name"].as_str().unwrap().starts_with("ferroshmem");
        assert_eq!(component["hashes"][0]["content"].is_string(), !is_ours, "{component}");
    }
}

/// A clone of what is committed, in which `cargo xtask release` runs.
fn clone(folder: &Path) -> impl Fn(&[&str]) -> Output {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=A", "-c", "user.email=a@b"]).args(arguments);
        succeed(&mut git)
    };
    let place = folder.to_str().unwrap().to_owned();
    git(&["clone", "--quiet", "--no-tags", root().to_str().unwrap(), &place]);
    for pair in [["user.name", "A"], ["user.email", "a@b"]] {
        git(&["-C", &place, "config", pair[0], pair[1]]);
    }
    move |arguments| {
        let mut release = xtask(&["release"]);
        let package = format!("{place}/dev/xtask");
        release.args(arguments).env("CARGO_MANIFEST_DIR", package).output().unwrap()
    }
}

const NEXT: &str = "99.0.0";

#[test]
fn a_release_is_refused_with_its_reason() {
    if lacks("git", "git") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("clone");
    let release = clone(&folder);
    let git = |arguments: &[&str]| succeed(Command::new("git").arg("-C").arg(&folder).args(arguments));
    let refused = |arguments: &[&str], why: &str| {
        let output = release(arguments);
        let line = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && line.contains(why), "{arguments:?}: {line}");
    };
    for version in ["0.0.1", "1.0", "v1.0.0"] {
        refused(&[version], "give three numbers");
    }
    git(&["tag", "v98.0.0"]);
    refused(&["98.0.0"], "is released already");
    refused(&[NEXT, "--push", "/no/such/remote"], "/no/such/remote");
    let dry = |version: &str, expected: [&str; 5]| {
        let dry = release(&[version, "--dry-run"]);
        let steps = String::from_utf8_lossy(&dry.stdout);
        assert!(dry.status.success(), "{dry:?}");
        for step in expected {
            assert!(steps.contains(step), "no {step}: {steps}");
        }
    };
    let easybuild = concat!("write packaging/easybuild/FerroSHMEM-", env!("CARGO_PKG_VERSION"));
    dry(NEXT, ["write CHANGELOG.md", "write Cargo.toml", "xtask -- dist", "tag --annotate", "push --atomic origin"]);
    dry(env!("CARGO_PKG_VERSION"), ["write CHANGELOG.md", easybuild, "xtask -- dist", "tag --annotate", "push"]);
    assert!(git(&["status", "--porcelain"]).is_empty() && git(&["tag"]).trim() == "v98.0.0");

    let change = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(from), "{file}");
        fs::write(folder.join(file), text.replacen(from, to, 1)).unwrap();
        refused(&[NEXT], "the clone has changes");
        git(&["commit", "--quiet", "--all", "-m", "A change"]);
    };
    // A routine of the last release is gone; with another soname, it may be.
    change("include/shmem/api.h", " shmem_my_pe(", " shmem_our_pe(");
    refused(&[NEXT], "has shmem_my_pe, which this lacks");
    change("include/shmem/api.h", " shmem_our_pe(", " shmem_my_pe(");
    assert!(release(&[NEXT, "--dry-run"]).status.success());
    let log = fs::read_to_string(folder.join("CHANGELOG.md")).unwrap();
    let (_, entries) = log.split_once("## [Unreleased]").unwrap();
    let (entries, _) = entries.split_once("\n[Unreleased]: ").unwrap();
    change("CHANGELOG.md", entries, "\n");
    refused(&[NEXT], "says nothing of 99.0.0");
}

#[test]
#[ignore = "compiles the tools of the release anew, which takes a minute"]
fn a_release_is_one_command() {
    let scratch = tempfile::tempdir().unwrap();
    let (folder, remote) = (scratch.path().join("clone"), scratch.path().join("remote"));
    succeed(Command::new("git").args(["init", "--quiet", "--bare"]).arg(&remote));
    let release = clone(&folder);
    let files = scratch.path().join("files");
    let (files, place) = (files.to_str().unwrap(), remote.to_str().unwrap());
    let installed = installation().to_str().unwrap();
    let mut arguments = vec![NEXT, "--push", place, "--output", files, "--installed", installed];
    arguments.extend((!has_cyclonedx()).then_some("--without-sbom"));
    let output = release(&arguments);
    assert!(output.status.success(), "{output:?}");
    let of_remote = |arguments: &[&str]| succeed(Command::new("git").arg("-C").arg(&remote).args(arguments));
    assert_eq!(of_remote(&["tag"]).trim(), "v99.0.0");
    let shown = |file: &str| of_remote(&["show", &format!("v99.0.0:{file}")]);
    for (file, text) in [
        ("Cargo.toml", "version = \"99.0.0\""),
        ("Cargo.lock", "name = \"ferroshmem-core\"\nversion = \"99.0.0\""),
        ("CHANGELOG.md", "\n## [Unreleased]\n\n## [99.0.0] - 2"),
        ("include/shmem/constants.h", "\"1, 99, 0, 0\""),
        ("packaging/spack/package.py", "version(\"99.0.0\", tag=\"v99.0.0\")"),
        ("packaging/debian/changelog", "ferroshmem (99.0.0-1local1)"),
        ("packaging/easybuild/FerroSHMEM-99.0.0-GCCcore-14.3.0.eb", "version = '99.0.0'"),
        ("packaging/easybuild/FerroSHMEM-99.0.0-GCCcore-14.3.0.eb", "'tag': 'v%(version)s'"),
    ] {
        assert!(shown(file).contains(text), "{file} has no {text}");
    }
    let mut check = Command::new("sha256sum");
    let checked = succeed(check.args(["--check", "SHA256SUMS"]).current_dir(files));
    assert!(checked.contains("ferroshmem-99.0.0.tar.gz: OK"), "{checked}");
    let again = release(&[NEXT]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("released already"), "{again:?}");
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
    for word in ["cargo-cyclonedx@", "dist", "debian", "SHA256SUMS", "notes.md", "cargo publish"] {
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
