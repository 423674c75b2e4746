//! Every example in Rust as a job of several PEs, under a watchdog. Examples verify their results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_conformance::{Job, Suite};

/// One PE, powers of two, and nine: no power of two, and more than many machines have cores.
const PE_COUNTS: [usize; 4] = [1, 2, 4, 9];

/// Arguments that make the examples small, and those that select a variant.
const EXAMPLES: &[(&str, &[&[&str]])] = &[
    ("hello", &[&[]]),
    ("histogram", &[&["5000"], &["0"]]),
    ("intsort", &[&["16", "2"], &["3", "1"]]),
    ("matmul", &[&["100"], &["5"]]),
    ("ring", &[&["50"]]),
    ("stencil", &[&["40", "98"], &["10"], &["0", "11"]]),
    ("stream", &[&["1000", "2"]]),
    ("work_queue", &[&["8"], &["1"]]),
];

/// Arguments that are refused, and the message.
const REFUSALS: &[(&str, &str, &str)] = &[
    ("ring", "many", "InvalidDigit"),
    ("stencil", "-1", "InvalidDigit"),
    ("matmul", "0", "at least one row"),
    ("work_queue", "99", "at most 15 queens"),
];

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Builds the examples with the profile of this test, and returns their folder. Of the whole workspace, as
/// `cargo xtask test` builds: for one package, features of dependencies differ, and all would be compiled again.
fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--workspace", "--examples"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let status = command.current_dir(folder()).status()?;
    ensure!(status.success(), "{command:?}: {status}");
    // This test is in PROFILE/deps.
    let test = std::env::current_exe()?;
    let profile = test
        .ancestors()
        .nth(2)
        .context("tests are in a folder of their own")?;
    Ok(profile.join("examples"))
}

/// The path of an example's program; the first call builds all examples.
fn program(name: &str) -> Result<PathBuf> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOLDER.get_or_init(|| build().map_err(|error| format!("{error:#}"))) {
        Ok(folder) => Ok(folder.join(name)),
        Err(error) => bail!("the examples are not built: {error}"),
    }
}

/// Every example in the folder is tested.
fn all_are_listed() -> Result<()> {
    let listed: BTreeMap<_, _> = EXAMPLES.iter().copied().collect();
    for entry in fs::read_dir(folder().join("examples"))? {
        let file = PathBuf::from(entry?.file_name());
        let name = file
            .file_stem()
            .context("a file has a name")?
            .to_string_lossy();
        let is_rust = file.extension().is_some_and(|extension| extension == "rs");
        ensure!(
            !is_rust || listed.contains_key(&*name),
            "{name} is not tested"
        );
    }
    Ok(())
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    suite.add("all-are-listed".to_owned(), |_| all_are_listed());
    for (name, runs) in EXAMPLES {
        for (args, pes) in runs
            .iter()
            .flat_map(|args| PE_COUNTS.map(|pes| (args, pes)))
        {
            let trial = format!("{name}::{}::{pes}pe", args.join(","));
            suite.add(trial, move |s| {
                let job = Job::new(pes, &program(name)?).args(args);
                job.expect_success(&s.prefix, &s.scratch).map(drop)
            });
        }
        suite.add(format!("{name}::without-launcher"), move |s| {
            let job = Job::new(0, &program(name)?).args(runs[0]);
            job.expect_success(&s.prefix, &s.scratch).map(drop)
        });
    }
    for (number, (name, runs)) in EXAMPLES.iter().enumerate() {
        suite.add_on_cluster(name, number, move |_, pes| {
            Ok(Job::new(pes, &program(name)?).args(runs[0]))
        });
    }
    for (name, arg, said) in REFUSALS {
        suite.add(format!("{name}::{arg}::refused"), move |s| {
            let outcome = Job::new(2, &program(name)?)
                .args(&[arg])
                .run(&s.prefix, &s.scratch)?;
            ensure!(
                !outcome.hung && outcome.status.code() == Some(1),
                "{:?}\n{outcome}",
                outcome.status
            );
            ensure!(outcome.stderr.contains(said), "{outcome}");
            Ok(())
        });
    }
    suite.run();
}
