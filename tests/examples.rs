//! Every example in Rust as a job of several PEs, under a watchdog. Examples verify their results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_conformance::compile::on_path;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

/// One PE, powers of two, and nine: no power of two, and more than many machines have cores.
const PE_COUNTS: [usize; 4] = [1, 2, 4, 9];

/// Arguments that make the examples small, and those that select a variant.
const EXAMPLES: &[(&str, &[&[&str]])] = &[
    ("grow", &[&[]]),
    // Cells that 1, 2, 4 and 9 PEs divide.
    ("heat", &[&["40", "72"], &["0", "36"]]),
    ("hello", &[&[]]),
    ("histogram", &[&["5000"], &["0"]]),
    ("intsort", &[&["16", "2"], &["3", "1"]]),
    ("matmul", &[&["100"], &["5"]]),
    ("ring", &[&["50"]]),
    ("samplesort", &[&["5000"], &["10"], &["1"]]),
    ("stencil", &[&["40", "98"], &["10"], &["0", "11"]]),
    ("stream", &[&["1000", "2"]]),
    ("work_queue", &[&["8"], &["1"]]),
];

/// A launcher that starts PEs for jobs which it has started.
const LAUNCHER: &str = "mpiexec.hydra";

/// The example that starts PEs, which needs an `oshrun` of one node.
const GROWS: &str = "grow";

/// Arguments that are refused, and the message.
const REFUSALS: &[(&str, &str, &str)] = &[
    ("ring", "many", "InvalidDigit"),
    ("heat", "-1", "InvalidDigit"),
    ("stencil", "-1", "InvalidDigit"),
    ("matmul", "0", "at least one row"),
    ("work_queue", "99", "at most 15 queens"),
    ("render-farm", "--blur", "is no option"),
    ("render-farm", "--workers", "needs a value"),
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
    let profile = test.ancestors().nth(2).context("tests are in a folder of their own")?;
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
        let name = file.file_stem().context("a file has a name")?.to_string_lossy();
        let is_rust = file.extension().is_some_and(|extension| extension == "rs");
        ensure!(!is_rust || listed.contains_key(&*name), "{name} is not tested");
    }
    Ok(())
}

/// The program in `docs/spawn.md` is the example, and prints what is said there.
fn guide(s: &Setting) -> Result<()> {
    let guide = fs::read_to_string(folder().join("docs/spawn.md"))?;
    let shown = guide.split("```rust\n").nth(1).context("no program")?;
    let shown = shown.split("```").next().context("no end")?;
    let example = fs::read_to_string(folder().join("examples/grow.rs"))?;
    ensure!(example.ends_with(shown), "the guide has another program");
    let outcome = Job::new(1, &program(GROWS)?).expect_success(&s.prefix, &s.scratch)?;
    let line = outcome.stdout.trim();
    ensure!(guide.contains(&format!("prints `{line}`")), "{outcome}");
    Ok(())
}

/// The render farm's picture is the same, whether workers come and go, or are there from the start.
fn same_picture(s: &Setting) -> Result<()> {
    let render = |pes, form: &[&str], file: &str| -> Result<(String, Vec<u8>)> {
        let file = s.scratch.join(file);
        let small = ["--size", "90x64", "--samples", "1", "--tile", "8", "--output"];
        let job = Job::new(pes, &program("render-farm")?).args(form);
        let job = job.args(&small).args(&[&file.to_string_lossy()]);
        let outcome = job.expect_success(&s.prefix, &s.scratch)?;
        Ok((outcome.stdout, fs::read(&file)?))
    };
    let (_, alone) = render(0, &["--fixed"], "alone.png")?;
    ensure!(alone.starts_with(b"\x89PNG") && alone.len() > 5000, "no picture");
    for pes in [2, 5] {
        let (_, fixed) = render(pes, &["--fixed"], "fixed.png")?;
        ensure!(fixed == alone, "another picture by {pes} PEs");
    }
    for (workers, message) in
        [("1", "1 started, 0 sent away"), ("1,4,2,3", "5 started, 2 sent away"), ("4,1,4,1", "7 started, 6 sent away")]
    {
        let (line, growing) = render(1, &["--workers", workers], "growing.png")?;
        ensure!(line.contains(message), "{line}");
        ensure!(growing == alone, "another picture by {workers} workers");
    }
    Ok(())
}

/// Its workers are started by another launcher as well.
fn by_launcher(s: &Setting) -> Result<()> {
    let render = |job: Job, form: &[&str], file: &str| -> Result<(String, Vec<u8>)> {
        let file = s.scratch.join(file);
        let job = job.args(form).args(&["--size", "40x40", "--samples", "1"]);
        let job = job.args(&["--tile", "8", "--output", &file.to_string_lossy()]);
        let outcome = job.expect_success(&s.prefix, &s.scratch)?;
        Ok((outcome.stdout, fs::read(&file)?))
    };
    let farm = program("render-farm")?;
    let (_, alone) = render(Job::new(0, &farm), &["--fixed"], "fixed-alone.png")?;
    let launched = Job::new(0, Path::new(LAUNCHER)).args(&["-n", "1", &farm.to_string_lossy()]);
    let (line, growing) = render(launched, &["--workers", "1,2"], "launched.png")?;
    ensure!(line.contains("2 started"), "{line}");
    ensure!(growing == alone, "another picture");
    Ok(())
}

/// The render farm times both of its forms.
fn both_are_timed(s: &Setting) -> Result<()> {
    let job = Job::new(0, &program("render-farm")?);
    let folder = s.prefix.bin("");
    let job = job.env("PATH", &folder.to_string_lossy());
    let picture = s.scratch.join("timed.png");
    let job = job.args(&["--compare", "--turns", "1", "--workers", "1,3"]);
    let job = job.args(&["--size", "9x9", "--output", &picture.to_string_lossy()]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let rows = outcome.stdout.lines().skip(2);
    let workers: Vec<_> = rows.filter_map(|row| row.split_whitespace().next()).collect();
    ensure!(workers == ["1", "3"], "{outcome}");
    Ok(())
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    suite.add("all-are-listed".to_owned(), |_| all_are_listed());
    for (name, runs) in EXAMPLES {
        for (args, pes) in runs.iter().flat_map(|args| PE_COUNTS.map(|pes| (args, pes))) {
            let trial = format!("{name}::{}::{pes}pe", args.join(","));
            suite.add(trial, move |s| {
                let job = Job::new(pes, &program(name)?).args(args);
                job.expect_success(&s.prefix, &s.scratch).map(drop)
            });
        }
        for pes in ["2", "4"] {
            suite.add(format!("{name}::has-no-race::{pes}pe"), move |s| {
                let job = Job::new(0, &program(name)?).options(&["-n", pes, "--check=race"]).args(runs[0]);
                let outcome = job.expect_success(&s.prefix, &s.scratch)?;
                ensure!(outcome.stderr.contains("has found no race"), "is not checked\n{outcome}");
                Ok(())
            });
        }
        if *name == GROWS {
            continue;
        }
        suite.add(format!("{name}::without-launcher"), move |s| {
            let job = Job::new(0, &program(name)?).args(runs[0]);
            job.expect_success(&s.prefix, &s.scratch).map(drop)
        });
    }
    suite.add("grow::of-the-guide".into(), guide);
    for (number, (name, runs)) in EXAMPLES.iter().enumerate() {
        if *name == GROWS {
            continue;
        }
        suite.add_on_cluster(name, number, false, move |_, pes| Ok(Job::new(pes, &program(name)?).args(runs[0])));
    }
    suite.add("render-farm::same-picture".into(), same_picture);
    suite.add("render-farm::both-are-timed".into(), both_are_timed);
    if on_path(LAUNCHER) {
        suite.add("render-farm::by-hydra".into(), by_launcher);
    }
    for (name, arg, message) in REFUSALS {
        suite.add(format!("{name}::{arg}::refused"), move |s| {
            let outcome = Job::new(2, &program(name)?).args(&[arg]).run(&s.prefix, &s.scratch)?;
            ensure!(!outcome.hung && outcome.status.code() == Some(1), "{:?}\n{outcome}", outcome.status);
            ensure!(outcome.stderr.contains(message), "{outcome}");
            Ok(())
        });
    }
    suite.run();
}
