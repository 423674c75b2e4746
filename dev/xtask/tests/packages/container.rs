//! The container file, whose steps are run in a namespace of this user's own: without root's rights, a container
//! engine, or images. The namespace sees this system's folders, and those that the steps write are its own.

use super::{installation, note, root, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

/// An instruction, by its first word.
type Instruction = (String, String);

/// The stages of the file: what follows each `FROM`.
fn stages() -> Vec<Vec<Instruction>> {
    let text = fs::read_to_string(root().join("packaging/Containerfile")).unwrap();
    let text = text.replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter(|line| !line.trim().is_empty());
    let mut stages: Vec<Vec<Instruction>> = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap();
        if word == "FROM" {
            stages.push(Vec::new());
        }
        let stage = stages.last_mut().expect("FROM is first");
        stage.push((word.to_owned(), rest.trim().to_owned()));
    }
    stages
}

/// What a stage does in a namespace, as a script: `new` is its folder, which becomes `/opt` and `/usr/local/bin`, and
/// `built` is the `/opt` of the first stage. With `packed`, an installation is copied instead of built.
fn script(stage: &[Instruction], new: &Path, built: &Path, packed: Option<&Path>) -> String {
    let (new, built) = (new.display(), built.display());
    let root = root().display().to_string();
    let mut lines = vec![
        "set -eu".to_owned(),
        format!("new='{new}'"),
        "mkdir -p \"$new/root\" \"$new/opt\" \"$new/bin\"".to_owned(),
        "mount -t tmpfs tmpfs \"$new/root\"".to_owned(),
        "cd /".to_owned(),
        // This system's folders; its links are made anew.
        "for entry in * .[!.]*; do".to_owned(),
        "  if [ -L \"$entry\" ]; then ln -s \"$(readlink \"$entry\")\" \"$new/root/$entry\"".to_owned(),
        "  elif [ -d \"$entry\" ] && [ \"$entry\" != opt ] && [ \"$entry\" != src ]; then".to_owned(),
        "    mkdir \"$new/root/$entry\"; mount --rbind \"/$entry\" \"$new/root/$entry\"; fi".to_owned(),
        "done".to_owned(),
        "mkdir \"$new/root/opt\" \"$new/root/src\"".to_owned(),
        "mount --bind \"$new/opt\" \"$new/root/opt\"".to_owned(),
        "mount --bind \"$new/bin\" \"$new/root/usr/local/bin\"".to_owned(),
        format!("mount --bind '{root}' \"$new/root/src\""),
        // No step may change what is this system's.
        "for folder in etc usr; do".to_owned(),
        "  mount -o remount,bind,ro \"$new/root/$folder\" ||".to_owned(),
        "    mount -o remount,bind,ro,nosuid,nodev \"$new/root/$folder\"; done".to_owned(),
    ];
    let mut inside = vec![
        "set -eu".to_owned(),
        // Builds leave nothing in the repository.
        "export CARGO_TARGET_DIR=/opt/target".to_owned(),
    ];
    for (word, rest) in stage {
        match word.as_str() {
            "FROM" => {}
            "ENV" => inside.push(format!("export {rest}")),
            "WORKDIR" => inside.push(format!("mkdir -p {rest}; cd {rest}")),
            "COPY" => lines.extend(copy(rest, &root, &built.to_string())),
            "USER" => note(&format!("container: USER {rest} is not tried: there is one user")),
            "RUN" => inside.extend(step(rest, packed)),
            "CMD" => {
                let words: Vec<String> = serde_json::from_str(rest).unwrap();
                inside.push(words.join(" "));
            }
            other => panic!("the test knows no {other}"),
        }
    }
    lines.push("exec chroot \"$new/root\" /bin/sh -s <<'INSIDE'".to_owned());
    lines.extend(inside);
    lines.push("INSIDE\n".to_owned());
    lines.join("\n")
}

/// A step as it is, if it can be run here; else what takes its place.
fn step(command: &str, packed: Option<&Path>) -> Vec<String> {
    if command.starts_with("apt-get ") {
        note(&format!("container: not run, as it needs root: {command}"));
        return Vec::new();
    }
    if let Some(installed) = packed
        && command.starts_with("cargo xtask install ")
    {
        let (_, prefix) = command.split_once("--prefix ").expect("it has a prefix");
        return vec![format!("cp -a '{}' {prefix}", installed.display())];
    }
    vec![command.to_owned()]
}

/// Copies files of the repository, or of the first stage, to below `/opt`; `/src` is the repository already.
fn copy(rest: &str, root: &str, built: &str) -> Vec<String> {
    if let Some(rest) = rest.strip_prefix("--from=build /opt/") {
        let (from, to) = rest.split_once(' ').unwrap();
        return vec![format!("cp -a '{built}/{from}' \"$new{to}\"")];
    }
    let words: Vec<&str> = rest.split(' ').collect();
    let (to, from) = words.split_last().unwrap();
    if *to == "/src" {
        assert_eq!(from, ["."]);
        return Vec::new();
    }
    assert!(to.starts_with("/opt/"), "COPY to {to}");
    let copies = from.iter().map(|file| format!("cp '{root}/{file}' \"$new{to}\""));
    [format!("mkdir -p \"$new{to}\"")].into_iter().chain(copies).collect()
}

/// Whether a user may have namespaces here; says so if not.
fn has_namespaces() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "true"]);
    let has = unshare.output().is_ok_and(|output| output.status.success());
    if !has {
        println!("skipped: this user has no namespaces (unshare of util-linux)");
    }
    has
}

/// Runs all stages; what the last one's command prints.
fn run(packed: Option<&Path>) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let built = scratch.path().join("0/opt");
    let mut printed = String::new();
    for (index, stage) in stages().iter().enumerate() {
        let new = scratch.path().join(index.to_string());
        let script = script(stage, &new, &built, packed);
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        printed = succeed(unshare.arg(script));
    }
    printed
}

#[test]
fn steps_make_an_image_that_runs_a_program() {
    if !has_namespaces() {
        return;
    }
    let printed = run(Some(installation()));
    assert!(printed.lines().count() >= 4, "{printed}");
    note("container: its installation is copied; that it is built by the container's step is an ignored test");
}

#[test]
#[ignore = "builds the library as it is released, which takes minutes"]
fn steps_build_an_image_from_nothing() {
    let printed = run(None);
    assert!(printed.lines().count() >= 4, "{printed}");
}

/// The image has the Rust that the workspace needs.
#[test]
fn the_first_image_has_the_oldest_rust() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, rust) = manifest.split_once("rust-version = \"").unwrap();
    let rust = rust.split('"').next().unwrap();
    let stages = stages();
    assert!(stages[0][0].1.starts_with(&format!("docker.io/library/rust:{rust}-")), "{}", stages[0][0].1);
}
