//! `cargo xtask test`: all checks and tests, as far as this machine has the tools for them.

use crate::run::{status, works};
use crate::{PREFIX_VARIABLE, install, workspace};
use anyhow::{Result, bail};
use clap::Args;
use std::process::Command;

/// Status by which a script says that it lacks a tool, as in other test harnesses.
const SKIPPED: i32 = 77;

/// Scripts that run programs under a tool, below `dev/conformance/scripts/`.
const SCRIPTS: &[(&str, &str)] = &[
    ("AddressSanitizer", "asan.sh"),
    ("ThreadSanitizer", "tsan.sh"),
    ("valgrind", "valgrind.sh"),
    ("the Rust API under both sanitizers", "rust-sanitizers.sh"),
];

/// Tools whose tests skip themselves: command, and what is then not tested.
const OPTIONAL: &[(&str, &str)] = &[
    ("clang", "the header and the programs with clang"),
    ("cmake", "find_package(FerroSHMEM)"),
    ("pkg-config", "use by pkg-config"),
    ("mandoc", "the form of the manual pages"),
    ("ip", "jobs across hosts"),
    ("mpiexec.hydra", "jobs across hosts by Hydra"),
    ("mpirun.openmpi", "jobs across hosts by Open MPI"),
    ("srun", "jobs across hosts by Slurm"),
    (
        "qemu-system-x86_64",
        "jobs over RDMA devices, in virtual machines",
    ),
];

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Leaves out the sanitizers and valgrind
    #[arg(long)]
    quick: bool,
}

/// How a step ended.
enum Outcome {
    Passed,
    Failed,
    Skipped(String),
}

/// The steps so far.
#[derive(Default)]
struct Summary(Vec<(String, Outcome)>);

impl Summary {
    fn add(&mut self, step: &str, outcome: Outcome) {
        self.0.push((step.to_owned(), outcome));
    }

    /// Runs a command as a step.
    fn step(&mut self, step: &str, command: &mut Command) -> Result<()> {
        let status = status(command)?;
        let outcome = match status.code() {
            Some(0) => Outcome::Passed,
            Some(SKIPPED) => Outcome::Skipped("see its output above".to_owned()),
            _ => Outcome::Failed,
        };
        self.add(step, outcome);
        Ok(())
    }

    /// Runs a cargo subcommand that the toolchain may lack as a step.
    fn component(&mut self, step: &str, name: &str, command: &mut Command) -> Result<()> {
        if works(Command::new("cargo").args([name, "--version"])) {
            return self.step(step, command);
        }
        let advice = format!("cargo {name} is not installed (rustup component add {name})");
        self.add(step, Outcome::Skipped(advice));
        Ok(())
    }

    /// Prints all steps.
    ///
    /// # Errors
    /// If one failed.
    fn conclude(self) -> Result<()> {
        println!("\ncargo xtask test:");
        let mut failed = Vec::new();
        for (step, outcome) in &self.0 {
            match outcome {
                Outcome::Passed => println!("  passed   {step}"),
                Outcome::Skipped(reason) => println!("  skipped  {step}: {reason}"),
                Outcome::Failed => {
                    println!("  FAILED   {step}");
                    failed.push(step.as_str());
                }
            }
        }
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        println!("All tests that ran have passed.");
        Ok(())
    }
}

/// Runs the steps; a failed one does not keep the later ones from running.
///
/// # Errors
/// If a step fails, or if the library cannot be installed.
pub(crate) fn main(options: &Options) -> Result<()> {
    let mut summary = Summary::default();
    let mut format = workspace::cargo("fmt");
    format.args(["--all", "--check"]);
    summary.component("formatting", "fmt", &mut format)?;
    let mut lints = workspace::cargo("clippy");
    lints.args(["--workspace", "--all-targets", "--", "--deny", "warnings"]);
    summary.component("lints", "clippy", &mut lints)?;

    let prefix = workspace::target()?.join("test-prefix");
    install::into(&prefix, false)?;
    summary.add("installation", Outcome::Passed);

    let mut tests = workspace::cargo("test");
    tests
        .args(["--workspace", "--no-fail-fast"])
        .env(PREFIX_VARIABLE, &prefix);
    summary.step(
        "tests of the crates, and C programs at many numbers of PEs",
        &mut tests,
    )?;

    for (name, script) in SCRIPTS {
        let path = workspace::root()
            .join("dev/conformance/scripts")
            .join(script);
        if options.quick {
            summary.add(name, Outcome::Skipped("--quick".to_owned()));
        } else {
            summary.step(name, Command::new(path).env(PREFIX_VARIABLE, &prefix))?;
        }
    }
    for (tool, tested) in OPTIONAL {
        let version = match *tool {
            "mandoc" => "-h",
            "ip" => "-V",
            _ => "--version",
        };
        let there = Command::new(tool).arg(version).output().is_ok();
        if !there {
            summary.add(tested, Outcome::Skipped(format!("{tool} is not installed")));
        }
    }
    summary.conclude()
}
