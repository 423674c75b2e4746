//! shmem4py, installed from the package index as a user installs it: its own tests, and the programs of the guide.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Error, Result, anyhow, ensure};
use ferroshmem_conformance::environment::{Environment, succeed};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool::{self, Missing};
use ferroshmem_conformance::{Job, Suite, compile, guide};

/// What the guide names.
const PACKAGES: [&str; 2] = ["shmem4py==1.0.0", "numpy<2"];

/// The number of its tests.
const TESTS: usize = 110;

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for pes in [1, 2, 4] {
        suite.add(format!("tests::{pes}pe"), move |s| tests(s, pes));
    }
    let page = guide::page("book/python.md").expect("the guide is in the repository");
    for (name, text) in programs(&page) {
        match name.as_str() {
            "notebook" => suite.add_long("guide::notebook".to_owned(), move |s| notebook(s, &text)),
            "errors" => {
                let run = move |s: &Setting| fails(s, "errors", &text, 3, "ValueError: no such grid");
                suite.add("guide::errors".to_owned(), run);
            }
            _ => {
                for pes in [1, 4] {
                    let (name, text) = (name.clone(), text.clone());
                    suite.add(format!("guide::{name}::{pes}pe"), move |s| run(s, &name, &text, pes));
                }
            }
        }
    }
    let (_, freeing) = programs(&page).into_iter().find(|(name, _)| name == "freeing").expect("it is in the guide");
    suite.add("guide::collected".to_owned(), move |s| {
        let collect = "if shmem.my_pe() == 0:\n        __import__(\"gc\").collect()";
        let text = freeing.replace("grid.free()", collect);
        fails(s, "collected", &text, 1, "all PEs must make the same allocation calls in the same order")
    });
    suite.add("guide::patch".to_owned(), move |s| patch(s, &page));
    suite.run();
}

/// The patch for the package's authors fits.
fn patch(s: &Setting, page: &str) -> Result<()> {
    tool::command("patch", "patch")?;
    let (_, text) = page.split_once("```diff\n").context("a patch")?;
    let (text, _) = text.split_once("```").context("an end")?;
    let file = compile::source(&s.scratch, "shmem4py.diff", text)?;
    let folder = environment(s)?.folder().join("source");
    succeed(Command::new("patch").args(["-p1", "--dry-run", "-i"]).arg(file).current_dir(folder))
}

/// The programs of the page: names, which the first lines have, and texts.
fn programs(page: &str) -> Vec<(String, String)> {
    let program = |block: &str| {
        let text = block.split("```").next().expect("the first part");
        let name = text.lines().next().and_then(|line| line.strip_prefix("# ")?.strip_suffix(".py"));
        (name.unwrap_or_else(|| panic!("no name: {text}")).to_owned(), text.to_owned())
    };
    page.split("```python\n").skip(1).map(program).collect()
}

/// An environment with shmem4py, and its tests in `source/test/`. The first call makes it.
fn environment(s: &Setting) -> Result<&'static Environment> {
    static MADE: OnceLock<Result<Environment>> = OnceLock::new();
    let made = MADE.get_or_init(|| make(s)).as_ref();
    made.map_err(|error| match error.downcast_ref::<Missing>() {
        Some(missing) => Error::new(missing.clone()),
        None => anyhow!("{error:#}"),
    })
}

fn make(s: &Setting) -> Result<Environment> {
    const HEADER: &str = "import sysconfig, os; assert os.path.exists(sysconfig.get_paths()['include'] + '/Python.h')";
    const OLD: &str = "import sys; assert sys.version_info < (3, 13)";
    let environment = Environment::make(Path::new(env!("CARGO_TARGET_TMPDIR")).join("python"))?;
    let python = |script: &str| succeed(Command::new(environment.python()).args(["-c", script]));
    python(OLD).map_err(|_| Missing("NumPy below 2, which shmem4py 1.0.0 needs, is not for this Python".to_owned()))?;
    python(HEADER).map_err(|_| Missing::package("Python.h", "python3-dev"))?;
    environment.fetch(&["download", "--no-deps", "--no-binary", "shmem4py", PACKAGES[0], "--dest", "."])?;
    let unpack = "mkdir source && tar -x -f shmem4py-*.tar.gz -C source --strip-components=1";
    succeed(Command::new("sh").current_dir(environment.folder()).args(["-c", unpack]))?;
    succeed(&mut pip(s, &environment, &["install", PACKAGES[0], PACKAGES[1]]))?;
    Ok(environment)
}

/// A command of pip where it finds the installation's `oshcc`.
fn pip(s: &Setting, environment: &Environment, arguments: &[&str]) -> Command {
    let mut command = environment.pip(arguments);
    // Its 3000 functions are compiled in 7 seconds so, in 45 as users have it.
    command.env("PATH", path(s)).env("CFLAGS", "-O0");
    command
}

/// `PATH` with the installation before all.
fn path(s: &Setting) -> String {
    format!("{}:{}", s.prefix.bin("").display(), std::env::var("PATH").unwrap_or_default())
}

/// `oshrun -n PES python ...`.
fn job(s: &Setting, pes: usize, arguments: &[&str]) -> Result<Job> {
    Ok(Job::new(pes, &environment(s)?.python()).args(arguments))
}

/// shmem4py's own tests pass on each PE.
fn tests(s: &Setting, pes: usize) -> Result<()> {
    let folder = environment(s)?.folder().join("source/test");
    let folder = folder.to_str().context("a path in UTF-8")?;
    let job = job(s, pes, &["-m", "unittest", "discover", "-s", folder])?;
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let ran = outcome.stderr.matches(&format!("Ran {TESTS} tests")).count();
    ensure!(ran == pes, "{ran} PEs ran {TESTS} tests\n{outcome}");
    Ok(())
}

/// A program of the guide, as a file.
fn file(s: &Setting, name: &str, text: &str) -> Result<String> {
    fs::create_dir_all(&s.scratch)?;
    let file = s.scratch.join(format!("{name}.py"));
    fs::write(&file, text)?;
    Ok(file.display().to_string())
}

fn run(s: &Setting, name: &str, text: &str, pes: usize) -> Result<()> {
    let outcome = job(s, pes, &[&file(s, name, text)?])?.expect_success(&s.prefix, &s.scratch)?;
    ensure!(outcome.stderr.is_empty(), "{outcome}");
    Ok(())
}

/// The job ends with this status, and says why.
fn fails(s: &Setting, name: &str, text: &str, status: i32, why: &str) -> Result<()> {
    let outcome = job(s, 4, &[&file(s, name, text)?])?.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && outcome.status.code() == Some(status), "{}\n{outcome}", outcome.status);
    ensure!(outcome.stderr.contains(why) && outcome.left == 0, "{outcome}");
    Ok(())
}

fn notebook(s: &Setting, text: &str) -> Result<()> {
    succeed(&mut pip(s, environment(s)?, &["install", "ipyparallel"]))?;
    let job = job(s, 0, &[&file(s, "notebook", text)?])?.env("PATH", &path(s));
    job.expect_success(&s.prefix, &s.scratch).map(drop)
}
