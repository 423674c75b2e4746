//! The test programs that cargo builds, as steps.

use super::scheduler::Plan;
use super::step::{Step, Work};
use crate::workspace;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The step that installs the library.
pub(super) const INSTALLATION: &str = "installation";

/// The step that builds the test programs.
pub(super) const BUILD: &str = "test-programs";

/// The step that clippy's warnings and the compiler's fail.
pub(super) const LINTS: &str = "lints";

/// Has cargo compile the workspace by clippy's driver, which is the compiler with more lints: linting and
/// compiling separately would type-check the workspace and read all that it depends on twice.
pub(super) fn linting() -> [(&'static str, PathBuf); 1] {
    [(WRAPPER, workspace::root().join("dev/conformance/scripts/lint.sh"))]
}

/// What cargo compiles members of the workspace by.
pub(super) const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// What is known of a test program before it runs.
struct Hint {
    name: &'static str,
    /// Trials at the same time; 0 for the program's own number.
    trials: usize,
    /// Threads that compute at the same time. Those of jobs of 16 PEs are more than their processor time says: beside
    /// each other they switch most of the time.
    threads: usize,
    /// What no other test program may use at the same time.
    resource: Option<&'static str>,
}

/// Cargo locks the folder of a profile while it builds: such steps would wait for each other.
pub(super) const DEBUG_FOLDER: &str = "target/debug";

const fn hint(name: &'static str, trials: usize, threads: usize) -> Hint {
    Hint { name, trials, threads, resource: None }
}

/// Emulated processors: several pairs of machines on two cores would fail to boot, or seem dead to each other.
const fn emulating(name: &'static str, threads: usize) -> Hint {
    Hint { resource: Some("virtual machines"), ..hint(name, 0, threads) }
}

/// The test programs that take long, longest first: they start first, before the scripts. Programs that mostly wait
/// (for daemons of launchers, for links that are slow by intent, for the end of a time limit)
/// count as one thread, or none, however many trials they run at the same time.
const HINTS: &[Hint] = &[
    emulating("conformance/machines", 1),
    hint("conformance/nodes", 4, 0),
    // It waits for an idle machine before it measures again.
    hint("pgas-microbench/command", 0, 0),
    hint("conformance/spawn", 2, 1),
    hint("benches/pages", 0, 1),
    emulating("cluster/machines", 1),
    emulating("conformance/numa", 2),
    hint("conformance/programs", 2, 2),
    // Two thirds of its time are time limits.
    hint("conformance/resilient", 0, 1),
    hint("collective/unit", 0, 1),
    hint("conformance/linkage", 2, 2),
    hint("ferroshmem/pes", 2, 2),
    hint("fabric/processes", 0, 1),
    hint("conformance/faults", 4, 1),
    hint("conformance/messages", 0, 1),
    hint("conformance/kills", 0, 1),
    // It has cargo build the library for another processor.
    Hint { resource: Some(DEBUG_FOLDER), ..hint("conformance/emulated", 2, 2) },
    hint("interop/python", 2, 1),
    hint("interop/mpi", 2, 2),
    hint("conformance/algorithms", 2, 2),
    hint("conformance/sp", 2, 2),
    hint("conformance/microbench", 2, 1),
    // It has cargo build a user's program.
    Hint { resource: Some(DEBUG_FOLDER), ..hint("interop/user", 2, 1) },
    hint("xtask/install", 0, 1),
    hint("xtask/packages", 0, 1),
    hint("abi/headers", 0, 1),
    hint("core/model", 0, 1),
    hint("tools/unit", 0, 1),
    hint("conformance/fuzz", 0, 1),
    hint("conformance/checks", 0, 1),
    hint("conformance/diagnosis", 0, 1),
    hint("conformance/fortran", 0, 1),
    hint("conformance/offload", 0, 1),
    hint("tools/oshtune", 0, 1),
    hint("cluster/hosts", 0, 1),
    // It has cargo find what the crate is built of.
    Hint { resource: Some(DEBUG_FOLDER), ..hint("ferroshmem/surface", 0, 1) },
    // It has cargo build the examples.
    Hint { resource: Some(DEBUG_FOLDER), ..hint("ferroshmem/examples", 2, 1) },
];

/// A test program with as much as needed of what cargo says about it.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// As `core/unit`, `conformance/linkage`.
    name: String,
    unit: bool,
    /// Folder of its package.
    folder: PathBuf,
    executable: PathBuf,
}

/// The program of a line of `cargo test --message-format=json`, if that is about one.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let executable = message["executable"].as_str()?.into();
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let package = package_name(message["package_id"].as_str()?);
    let package = package.strip_prefix("ferroshmem-").unwrap_or(package);
    let target = &message["target"];
    let name = target["name"].as_str()?;
    let kind = target["kind"][0].as_str()?;
    // Built to be linted: examples have a test that runs them, and benchmarks measure.
    if matches!(kind, "bench" | "example") {
        return None;
    }
    let unit = kind != "test";
    let name = match kind {
        "test" => format!("{package}/{name}"),
        "bin" => format!("{package}/unit-{name}"),
        _ => format!("{package}/unit"),
    };
    Some(Program { name, unit, folder: manifest.parent()?.to_owned(), executable })
}

/// What the compiler says in cargo's messages: its texts, and the number of warnings and errors.
pub(super) fn diagnostics(messages: &str) -> (String, usize) {
    let mut texts = String::new();
    let mut number = 0;
    for line in messages.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let message = &line["message"];
        if line["reason"] == "compiler-message" {
            texts += message["rendered"].as_str().unwrap_or_default();
            number += usize::from(message["level"] == "warning" || message["level"] == "error");
        }
    }
    (texts, number)
}

/// The name in a package id: `path+file:///a/b#name@0.1.0`, or `path+file:///a/name#0.1.0`.
fn package_name(id: &str) -> &str {
    let (path, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

/// The steps that run the programs of cargo's `messages` whose names the plan wants, in the
/// order in which they are to start.
///
/// # Errors
/// If the path of cargo's target folder is unknown.
pub(super) fn steps(messages: &str, plan: &Plan<'_>, linting: bool) -> Result<Vec<Step>> {
    let mut programs: Vec<Program> = messages.lines().filter_map(program).collect();
    programs.retain(|program| (plan.wanted)(&program.name));
    let rank = |program: &Program| HINTS.iter().position(|hint| hint.name == program.name);
    programs.sort_by_key(|program| rank(program).unwrap_or(HINTS.len()));
    let libraries = library_path()?;
    Ok(programs.into_iter().map(|program| step(program, plan, &libraries, linting)).collect())
}

/// Whether a step is among those that start first.
pub(super) fn takes_long(name: &str) -> bool {
    HINTS.iter().any(|hint| hint.name == name)
}

fn step(program: Program, plan: &Plan<'_>, libraries: &str, linting: bool) -> Step {
    let hint = HINTS.iter().find(|hint| hint.name == program.name);
    let mut command = Command::new(&program.executable);
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("LD_LIBRARY_PATH", libraries)
        .env(crate::PREFIX_VARIABLE, &plan.prefix);
    if plan.fast && program.name == "conformance/programs" {
        command.arg("::2pe");
    }
    // Tests that are left out say so.
    command.arg("--show-output");
    if let Some(hint) = hint
        && hint.trials != 0
    {
        command.arg(format!("--test-threads={}", hint.trials));
    }
    let mut step = Step::new(&program.name, hint.map_or(1, |hint| hint.threads), Work::Run(command));
    step.resource = hint.and_then(|hint| hint.resource);
    if linting && step.resource == Some(DEBUG_FOLDER) {
        // Cargo would build all again for another compiler.
        if let Work::Run(command) = &mut step.work {
            command.envs(self::linting());
        }
    }
    // Unit tests and those of the product's crates know nothing of an installation: they run while it is made, which
    // takes one thread.
    match program.unit || program.folder.parent().is_some_and(|folder| folder.ends_with("crates")) {
        true => step.needs(&[BUILD]),
        false => step.needs(&[BUILD, INSTALLATION]),
    }
}

/// Where test programs find shared libraries, as `cargo test` sets it.
fn library_path() -> Result<String> {
    let folder = workspace::target()?.join("debug/deps");
    let before = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let folder = folder.to_str().context("the target folder is not UTF-8")?;
    Ok(match before.is_empty() {
        true => folder.to_owned(),
        false => format!("{folder}:{before}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::printed;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const MESSAGE: &str = concat!(
        r#"{"reason":"compiler-artifact","package_id":"path+file:///w/dev/conformance#ferroshmem-conformance@0.1.0","#,
        r#""manifest_path":"/w/dev/conformance/Cargo.toml","target":{"kind":["test"],"name":"linkage"},"#,
        r#""profile":{"test":true},"executable":"/t/linkage-1"}"#
    );

    #[test]
    fn programs_are_read_from_messages() {
        let found = program(MESSAGE).unwrap();
        assert_eq!(found.name, "conformance/linkage");
        assert!(!found.unit);
        assert_eq!(found.folder, Path::new("/w/dev/conformance"));
        assert_eq!(program(&MESSAGE.replace("true", "false")), None);
        for kind in ["bench", "example"] {
            let other = MESSAGE.replace(r#"["test"]"#, &format!("[\"{kind}\"]"));
            assert_eq!(program(&other), None);
        }
        let unit = MESSAGE.replace(r#"["test"]"#, r#"["lib"]"#).replace("linkage\"", "ferroshmem_conformance\"");
        assert_eq!(program(&unit).unwrap().name, "conformance/unit");
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(program("warning: not JSON"), None);
    }

    #[test]
    fn warnings_are_read_from_messages() {
        let message = |level| {
            format!(r#"{{"reason":"compiler-message","message":{{"level":"{level}","rendered":"{level}: x\n"}}}}"#)
        };
        let text = format!("{}\n{MESSAGE}\n{}", message("warning"), message("note"));
        assert_eq!(diagnostics(&text), ("warning: x\nnote: x\n".to_owned(), 1));
        assert_eq!(diagnostics(MESSAGE), (String::new(), 0));
    }

    #[test]
    fn packages_have_names_with_and_without_version() {
        assert_eq!(package_name("path+file:///a/b#ferroshmem-core@0.1.0"), "ferroshmem-core");
        assert_eq!(package_name("path+file:///a/pgas-microbench#0.1.0"), "pgas-microbench");
    }

    #[test]
    fn libraries_are_linted_with_their_unit_tests() {
        let folder = tempfile::tempdir().unwrap();
        let driver = folder.path().join("clippy-driver");
        fs::write(&driver, "#!/bin/sh\necho linted").unwrap();
        fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let is_linted = |manifest: &str, arguments: &[&str]| {
            fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
            let [(_, wrapper)] = linting();
            let mut compile = Command::new(wrapper);
            compile.args(["echo", "compiled"]).args(arguments);
            compile.env("PATH", &path).env("CARGO_MANIFEST_DIR", folder.path());
            printed(&mut compile).unwrap().starts_with("linted")
        };
        let tested = "[lib]\nname = \"a\"\n";
        let library = ["--crate-name", "a", "--crate-type", "lib", "--emit=link"];
        assert!(!is_linted(tested, &library));
        assert!(is_linted("[lib]\ntest = false\n", &library));
        assert!(is_linted(tested, &["--crate-name", "a", "--emit=link", "--test"]));
        assert!(is_linted(tested, &["--crate-type", "bin"]));
        assert!(!is_linted(tested, &["--crate-type", "bin", "--target", "aarch64-unknown-linux-gnu"]));
    }

    #[test]
    fn long_programs_start_first() {
        let [other, waiting] = ["is", "resilient"].map(|name| MESSAGE.replace("linkage", name));
        let plan = Plan {
            steps: Vec::new(),
            capacity: 1,
            folder: PathBuf::new(),
            wanted: &|_| true,
            prefix: PathBuf::new(),
            verbose: false,
            fast: false,
        };
        let steps = steps(&format!("{other}\n{MESSAGE}\n{waiting}"), &plan, false).unwrap();
        let names: Vec<_> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["conformance/resilient", "conformance/linkage", "conformance/is"]);
        assert!(steps.iter().all(|step| step.needs == [BUILD, INSTALLATION]));
        let of_product = MESSAGE.replace("/w/dev/conformance/", "/w/crates/tools/");
        assert_eq!(super::steps(&of_product, &plan, false).unwrap()[0].needs, [BUILD]);
    }
}
