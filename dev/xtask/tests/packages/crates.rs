//! Crates: what crates.io and docs.rs show of them, and the files in them.

use super::{note, root, succeed};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Characters of a keyword, and keywords or categories of a crate, that crates.io accepts.
const KEYWORD: usize = 20;
const WORDS: usize = 5;

/// Minor version of the first cargo 1.x that packs crates which depend on each other before they are published.
const PACKS_TOGETHER: u32 = 90;

/// The largest crate in bytes of its archive; crates.io accepts 10 MiB.
const LARGEST: u64 = 1 << 20;

fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).current_dir(root());
    command
}

/// The packages of the workspace that are published, in the order of cargo's list.
fn published() -> Vec<Value> {
    let text = succeed(cargo("metadata").args(["--no-deps", "--offline", "--format-version=1"]));
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    // `publish = false` is an empty list of registries.
    packages.filter(|package| package["publish"].is_null()).cloned().collect()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

#[test]
fn registries_show_what_each_is() {
    for package in published() {
        let of = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let name = name(&package);
        for key in ["description", "license", "repository", "rust_version"] {
            assert!(!of(key).is_empty(), "{name} has no {key}");
        }
        assert_eq!(of("license"), "MIT OR Apache-2.0", "{name}");
        for (key, limit) in [("keywords", KEYWORD), ("categories", usize::MAX)] {
            let words = package[key].as_array().unwrap();
            assert!((1..=WORDS).contains(&words.len()), "{name}: {key}");
            for word in words.iter().filter_map(Value::as_str) {
                let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_+:".contains(c));
                assert!(plain && word.len() <= limit, "{name}: {key} {word}");
            }
        }
        let targets = &package["metadata"]["docs"]["rs"]["targets"];
        assert_eq!(targets, &serde_json::json!(["x86_64-unknown-linux-gnu"]), "{name}");
    }
}

#[test]
fn each_names_versions_of_what_it_needs() {
    for package in published() {
        let needs = package["dependencies"].as_array().unwrap().iter();
        // What only its tests need is left out of its manifest, if it has no version.
        let mut needs = needs.filter(|need| need["kind"] != "dev" && !need["path"].is_null());
        assert!(needs.all(|need| need["req"] != "*"), "{} needs a crate by path", name(&package));
    }
}

/// The files of a crate's archive, as cargo lists them.
fn files(package: &str) -> Vec<String> {
    let mut list = cargo("package");
    list.args(["--list", "--allow-dirty", "--offline", "-p", package]);
    succeed(&mut list).lines().map(str::to_owned).collect()
}

/// Whether a file is part of what users build or read: a source, a licence, or what crates.io and cargo read.
fn is_needed(file: &str) -> bool {
    const NAMED: [&str; 9] = [
        "Cargo.toml", "Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json", "CHANGELOG.md", "README.md", "build.rs",
        // The guide is a documentation test of the crate.
        "docs/rust.md", "LICENSE-MIT",
    ];
    let source = ["src/", "c/", "include/"];
    NAMED.contains(&file) || file == "LICENSE-APACHE" || source.iter().any(|folder| file.starts_with(folder))
}

#[test]
fn each_has_its_files_and_no_others() {
    for package in published() {
        let name = name(&package);
        let files = files(name);
        let superfluous: Vec<_> = files.iter().filter(|file| !is_needed(file)).collect();
        assert!(superfluous.is_empty(), "{name} has {superfluous:?}");
        let has = |file: &str| files.iter().any(|other| other == file);
        for file in ["Cargo.toml", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"] {
            assert!(has(file), "{name} lacks {file}: {files:?}");
        }
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap();
        for program in package["targets"].as_array().unwrap() {
            let path = Path::new(program["src_path"].as_str().unwrap());
            let path = path.strip_prefix(folder).unwrap().display().to_string();
            let built = ["lib", "proc-macro", "bin", "custom-build"];
            let is_built = built.iter().any(|kind| program["kind"][0] == *kind);
            assert!(!is_built || has(&path), "{name} lacks {path}");
        }
        if name == "ferroshmem-sys" {
            for header in headers(&root().join("include"), "include") {
                assert!(has(&header), "{name} lacks {header}");
            }
        }
    }
}

/// The files below a folder, by the names that they have in a crate.
fn headers(folder: &Path, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{name}/{}", path.file_name().unwrap().display());
        if path.is_dir() {
            found.extend(headers(&path, &name));
        } else {
            found.push(name);
        }
    }
    found
}

/// Whether this cargo packs crates together; says so if it does not.
fn packs_together() -> bool {
    let version = succeed(&mut cargo("--version"));
    let minor = version.split('.').nth(1).and_then(|m| m.parse().ok());
    let new = minor.is_none_or(|minor: u32| minor >= PACKS_TOGETHER);
    if !new {
        println!("skipped: cargo 1.{PACKS_TOGETHER} packs crates together, and this is {}", version.trim());
    }
    new
}

/// Archives as they would be published, of which none is built.
#[test]
fn all_are_packed() {
    if !packs_together() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut pack = cargo("package");
    pack.args(["--offline", "--allow-dirty", "--no-verify", "--quiet", "--target-dir"]);
    pack.arg(scratch.path());
    let packages = published();
    for package in &packages {
        pack.args(["-p", name(package)]);
    }
    succeed(&mut pack);
    let version = env!("CARGO_PKG_VERSION");
    for package in &packages {
        let stem = format!("{}-{version}", name(package));
        let archive = scratch.path().join(format!("package/{stem}.crate"));
        let bytes = fs::metadata(&archive).unwrap().len();
        assert!(bytes < LARGEST, "{stem}: {bytes} bytes");
        let show = ["-xzO", "-f"];
        let mut tar = Command::new("tar");
        tar.args(show).arg(&archive).arg(format!("{stem}/Cargo.toml"));
        let manifest = succeed(&mut tar);
        assert!(!manifest.contains("path = \"."), "{stem} depends on a path:\n{manifest}");
        // Licences are links in the workspace, and files in the archive.
        let mut tar = Command::new("tar");
        tar.args(show).arg(&archive).arg(format!("{stem}/LICENSE-MIT"));
        assert!(succeed(&mut tar).contains("Permission is hereby granted"), "{stem}");
    }
    note("crates are packed; that each builds from its archive is an ignored test");
}

/// `cargo publish` up to the upload: each crate is built from its archive and those before it.
#[test]
#[ignore = "builds all crates and what they depend on"]
fn all_could_be_published() {
    if !packs_together() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut publish = cargo("publish");
    publish.args(["--workspace", "--dry-run", "--allow-dirty", "--target-dir"]);
    publish.arg(scratch.path());
    succeed(&mut publish);
}
