//! `cargo xtask test`: all checks and tests, as far as this machine has the tools for them.

mod group;
mod idle;
mod programs;
mod progress;
mod scheduler;
mod step;

use crate::run::{self, works};
use crate::{PREFIX_VARIABLE, install, workspace};
use anyhow::{Context, Result, bail};
use clap::Args;
use programs::{BUILD, DEBUG_FOLDER, INSTALLATION, LINTS};
use scheduler::{Ended, Plan};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use std::{env, fs};
use step::{Outcome, Step, Work};

/// The script that builds the Rust API with a sanitizer: it compiles all crates for that.
const RUST_SANITIZERS: &str = "rust-sanitizers.sh";

/// The script that runs a C program with ThreadSanitizer, with crates of that one.
const TSAN: &str = "tsan.sh";

/// The step that runs only if it is asked for by its name, as it compiles all crates once more. AddressSanitizer is
/// tried with C programs in each run.
const RUST_ASAN: &str = "rust-asan";

/// The script that runs README's commands as on a machine with a Rust toolchain and gcc alone.
const BARE: &str = "bare.sh";

/// Scripts that run programs under a tool, below `dev/conformance/scripts/`, with their arguments and the threads
/// that each uses.
const SCRIPTS: &[(&str, &str, &[&str], usize)] = &[
    ("rust-tsan", RUST_SANITIZERS, &["thread"], 1),
    (RUST_ASAN, RUST_SANITIZERS, &["address"], 1),
    ("asan", "asan.sh", &[], 2),
    ("tsan", TSAN, &[], 1),
    ("valgrind", "valgrind.sh", &[], 1),
    ("bare", BARE, &[], 2),
];

/// The test programs of `--fast`, beside unit tests: the ABI, the house rules, and the conformance programs.
const FAST: &[&str] = &["book", "headers", "house", "programs", "standard"];

/// What measures, and is not built by `--fast`.
const MEASURING: [&str; 6] =
    ["--exclude", "ferroshmem-benches", "--exclude", "pgas-microbench", "--exclude", "ferroshmem-interop"];

/// What is left out by `--fast` beside the scripts.
const LONG: &[&str] = &["dependencies", "book"];

/// Tools whose tests skip themselves: command, and what is then not tested.
const OPTIONAL: &[(&str, &str)] = &[
    ("clang", "the header and the programs with clang"),
    ("gfortran", "programs in Fortran"),
    ("cmake", "find_package(FerroSHMEM)"),
    ("pkg-config", "use by pkg-config"),
    ("ld.gold", "linking by gold"),
    ("ld.lld", "linking by lld"),
    ("mold", "linking by mold"),
    ("mandoc", "the form of the manual pages"),
    ("ip", "jobs across hosts"),
    ("mpiexec.hydra", "jobs across hosts by Hydra"),
    ("mpirun.openmpi", "jobs across hosts by Open MPI"),
    ("srun", "jobs across hosts by Slurm"),
    ("qemu-system-x86_64", "jobs over RDMA devices, in virtual machines"),
    ("qemu-aarch64", "programs for aarch64"),
];

/// Steps that are named in the list of the slowest.
const SLOWEST: usize = 10;

/// Lines about a step that failed, at the end.
const REASONS: usize = 20;

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Some minutes instead of all: formatting, lints, unit and doc tests, the ABI, and the conformance programs
    /// with 2 PEs of a library that is not optimised
    #[arg(long)]
    fast: bool,

    /// With --fast, after a whole run: tests its installation by its test programs, so that nothing is built again
    #[arg(long, hide = true, requires = "fast", value_name = "DIR")]
    built: Option<PathBuf>,

    /// Runs only this step and what it needs; a name that is no step's selects the test programs
    /// whose name contains it, as conformance/ or linkage. May be given several times
    #[arg(long, value_name = "NAME")]
    step: Vec<String>,

    /// Leaves out this step
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,

    /// Lists the steps and runs none
    #[arg(long)]
    list: bool,

    /// Shows the output of steps that pass, too
    #[arg(long)]
    verbose: bool,
}

/// The step of the documentation's examples.
const EXAMPLES: &str = "doc-tests";

/// Runs the steps; a failed one does not keep those from running that do not need it.
///
/// # Errors
/// If a step fails.
pub(crate) fn main(options: &Options) -> Result<()> {
    let begin = Instant::now();
    let (prefix, folder) = match options.fast {
        true => ("test-prefix-fast", "test-output/fast"),
        false => ("test-prefix", "test-output"),
    };
    let (prefix, folder) = (workspace::target()?.join(prefix), workspace::target()?.join(folder));
    let prefix = options.built.clone().unwrap_or(prefix);
    let mut steps = steps(&prefix, options.fast, options.built.is_some())?;
    if options.list {
        for step in &steps {
            println!("{}", step.name);
        }
        println!("(test-programs: each test program is a further step, as conformance/linkage)");
        return Ok(());
    }
    let names: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
    let (chosen, patterns): (Vec<_>, Vec<_>) = options.step.iter().cloned().partition(|name| names.contains(name));
    if !options.step.is_empty() {
        choose(&mut steps, &chosen, !patterns.is_empty());
    }
    share(&mut steps, options.fast)?;
    if options.step.is_empty()
        && let Some(step) = steps.iter_mut().find(|step| step.name == RUST_ASAN)
    {
        step.work = Work::Skip(format!("takes long; --step {RUST_ASAN} runs it"));
    }
    for step in steps.iter_mut().filter(|s| options.without.contains(&s.name)) {
        step.work = Work::Skip("--without".to_owned());
    }
    let all = options.step.is_empty() || chosen.iter().any(|name| name == BUILD);
    let built = options.built.is_some();
    let wanted = move |name: &str| {
        (!built || is_fast(name))
            && (all || patterns.iter().any(|p| name.contains(p.as_str())))
            && !options.without.iter().any(|w| w == name)
    };
    let cores = available_parallelism().map_or(2, usize::from);
    report_when_interrupted()?;
    let mut ended = scheduler::run(Plan {
        steps,
        // One more than there are cores, as test programs wait now and then. With twice as many, PEs that poll take
        // the time of others, and the whole takes longer.
        capacity: cores + 1,
        folder: folder.clone(),
        wanted: &wanted,
        prefix,
        verbose: options.verbose,
        fast: options.fast,
    })?;
    if options.step.is_empty() && !options.fast {
        ended.extend(not_installed());
    }
    let interrupted = scheduler::INTERRUPTED.load(Ordering::Relaxed);
    conclude(&ended, begin.elapsed(), cores, &folder)?;
    anyhow::ensure!(!interrupted, "interrupted: not all steps have run");
    Ok(())
}

/// Has SIGINT and SIGTERM end the run with what is known by then. A run in a script's background, where
/// SIGINT is ignored, goes on.
///
/// # Errors
/// If the handler cannot be set.
fn report_when_interrupted() -> Result<()> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if ignores_interrupts(&status) {
        return Ok(());
    }
    ctrlc::set_handler(|| scheduler::INTERRUPTED.store(true, Ordering::Relaxed)).context("cannot handle SIGINT")
}

/// Whether SIGINT, the second signal, is in the mask of ignored signals of `/proc/PID/status`.
fn ignores_interrupts(status: &str) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 2 != 0)
}

/// All steps but the test programs, which are known once they are built.
fn steps(prefix: &Path, fast: bool, built: bool) -> Result<Vec<Step>> {
    let mut format = workspace::cargo("fmt");
    format.args(["--all", "--check"]);
    let mut lints = workspace::cargo("clippy");
    lints.args(["--workspace", "--all-targets", "--", "--deny", "warnings"]);
    let mut install = Command::new(env::current_exe().context("the path of xtask is unknown")?);
    install.args(["install", "--prefix"]).arg(prefix);
    let mut build = workspace::cargo("test");
    build.args(["--workspace", "--no-run"]);
    build.arg("--message-format=json");
    if built {
        install = Command::new(prefix.join("bin/oshmem_info"));
    } else if fast {
        build = with_commands(build);
        install.arg("--debug").arg("--built").arg(workspace::target()?.join("debug"));
    } else {
        build = with_libraries(&build);
    }
    let mut examples = workspace::cargo("test");
    examples.args(["--workspace", "--doc"]);
    if fast && !built {
        examples.args(MEASURING);
    }
    examples.env(PREFIX_VARIABLE, prefix);

    let cores = available_parallelism().map_or(2, usize::from);
    let mut all = vec![
        Step::new("formatting", 1, component("fmt", format)),
        Step::new("dependencies", 1, dependencies()),
        // Optimising the library as a whole takes one thread, for most of the time.
        Step::new(INSTALLATION, 1, Work::Run(install)),
        Step::new(BUILD, cores, Work::BuildTests { command: build, linting: false }).resource(DEBUG_FOLDER),
        Step::new(LINTS, cores, component("clippy", lints)).resource(DEBUG_FOLDER),
        Step::new(EXAMPLES, 2, Work::Run(examples)).resource(DEBUG_FOLDER),
        Step::new("book", 1, book()?).resource(DEBUG_FOLDER),
    ];
    if fast {
        all.retain(|step| !LONG.contains(&step.name.as_str()));
        return Ok(all);
    }
    for (name, script, arguments, threads) in SCRIPTS {
        let path = workspace::root().join("dev/conformance/scripts").join(script);
        let mut command = Command::new(path);
        command.args(*arguments).env(PREFIX_VARIABLE, prefix);
        let step = Step::new(name, *threads, Work::Run(command));
        all.push(match *script {
            RUST_SANITIZERS | TSAN | BARE => step.needs(&[INSTALLATION]).resource(DEBUG_FOLDER),
            _ => step.needs(&[INSTALLATION]),
        });
    }
    Ok(all)
}

/// Leaves out work that the build of the test programs does, too, if that is among the steps: it lints what it
/// compiles, and makes the commands, which are then installed without optimisation. The library is
/// built as it is released, but for `--fast`.
///
/// # Errors
/// If the path of cargo's target folder is unknown.
fn share(steps: &mut Vec<Step>, fast: bool) -> Result<()> {
    let built = steps.iter().any(|step| step.name == BUILD);
    let lints = steps.iter().position(|step| step.name == LINTS && matches!(step.work, Work::Run(_)));
    if built && let Some(lints) = lints {
        steps.remove(lints);
    }
    // Whether all is run or a step: a build by the plain compiler would compile the workspace once more.
    let clippy = works(Command::new("cargo").args(["clippy", "--version"]));
    for step in steps.iter_mut() {
        match &mut step.work {
            Work::BuildTests { command, linting } if clippy => {
                command.envs(programs::linting());
                *linting = true;
            }
            // What cargo builds in that folder is then built once.
            Work::Run(command) if step.resource == Some(DEBUG_FOLDER) && clippy => {
                command.envs(programs::linting());
            }
            Work::Run(command) if step.name == INSTALLATION && built => {
                if !fast {
                    let commands = workspace::target()?.join("debug");
                    command.arg("--commands").arg(commands);
                }
                step.needs.push(BUILD);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The command that builds the test programs, and after it what it leaves out: the benchmarks, and what
/// `oshrun --check` preloads, which the installation under test has without optimisation.
fn with_libraries(build: &Command) -> Command {
    let mut rest = workspace::cargo("build");
    rest.args(["--workspace", "--lib", "--bench", "*", "--message-format=json"]);
    shell(&format!("{} && exec {}", run::line(build), run::line(&rest)))
}

/// The command that builds the test programs of `--fast`, and with the same features the library and its commands.
fn with_commands(mut build: Command) -> Command {
    build.args(["--lib", "--bins"]).args(MEASURING);
    for test in FAST {
        build.args(["--test", test]);
    }
    let mut commands = workspace::cargo("build");
    commands.args(["--workspace", "--lib"]).args(MEASURING);
    for program in install::PROGRAMS.iter().chain(&["ferroshmem-abi"]) {
        commands.args(["--bin", program]);
    }
    shell(&format!("{} && exec {}", run::line(&build), run::line(&commands)))
}

/// Whether `--fast` runs a test program.
fn is_fast(program: &str) -> bool {
    program.split_once('/').is_some_and(|(_, test)| test.starts_with("unit") || FAST.contains(&test))
}

/// Runs a line of the shell.
fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]);
    command
}

/// A cargo subcommand that the toolchain may lack.
fn component(name: &str, command: Command) -> Work {
    match works(Command::new("cargo").args([name, "--version"])) {
        true => Work::Run(command),
        false => Work::Skip(format!("cargo {name} is not installed (rustup component add {name})")),
    }
}

/// The book, by mdBook.
///
/// # Errors
/// If the path of this program is unknown.
fn book() -> Result<Work> {
    if !works(Command::new("mdbook").arg("--version")) {
        return Ok(Work::Skip("mdbook is not installed (cargo install mdbook --version '^0.5')".to_owned()));
    }
    let mut build = Command::new(env::current_exe().context("the path of xtask is unknown")?);
    build.arg("book");
    Ok(Work::Run(build))
}

/// Licences, advisories and sources of the crates that we depend on, by cargo-deny.
fn dependencies() -> Work {
    let mut check = workspace::cargo("deny");
    check.arg("check");
    match works(Command::new("cargo").args(["deny", "--version"])) {
        true => Work::Run(check),
        false => Work::Skip("cargo-deny is not installed (cargo install cargo-deny)".to_owned()),
    }
}

/// Keeps the chosen steps and those that they need, and with `programs` those that test programs
/// need.
fn choose(steps: &mut Vec<Step>, chosen: &[String], programs: bool) {
    let mut keep: Vec<String> = chosen.to_vec();
    if programs || chosen.iter().any(|name| name == BUILD) {
        keep.extend([BUILD, INSTALLATION].map(str::to_owned));
    }
    let mut index = 0;
    while index < keep.len() {
        let step = steps.iter().find(|step| step.name == keep[index]);
        let needs = step.map(|step| step.needs.clone()).unwrap_or_default();
        keep.extend(needs.into_iter().map(str::to_owned));
        index += 1;
    }
    steps.retain(|step| keep.contains(&step.name));
}

/// What is not tested since a tool is missing.
fn not_installed() -> Vec<Ended> {
    let missing = OPTIONAL.iter().filter(|(tool, _)| {
        let version = match *tool {
            "mandoc" => "-h",
            "ip" => "-V",
            _ => "--version",
        };
        Command::new(tool).arg(version).output().is_err()
    });
    missing
        .map(|(tool, tested)| Ended {
            name: (*tested).to_owned(),
            outcome: Outcome::Skipped(format!("{tool} is not installed")),
            times: step::Times::default(),
        })
        .collect()
}

/// Prints the slowest steps and how all ended; writes the times of all to `times.txt` in `folder`.
///
/// # Errors
/// If one failed, or the file cannot be written.
fn conclude(ended: &[Ended], elapsed: Duration, cores: usize, folder: &Path) -> Result<()> {
    let mut slowest: Vec<_> = ended.iter().collect();
    slowest.sort_by_key(|step| std::cmp::Reverse(step.times.elapsed));
    println!("\nSlowest steps, with seconds from start to end and seconds of processor time:");
    let line = |step: &Ended| {
        let (elapsed, processor) = (step.times.elapsed, step.times.processor);
        format!("  {:6.1}  {:6.1}  {}\n", elapsed.as_secs_f32(), processor.as_secs_f32(), step.name)
    };
    let lines: Vec<String> = slowest.into_iter().map(line).collect();
    print!("{}", lines[..SLOWEST.min(lines.len())].concat());
    let all = folder.join("times.txt");
    fs::write(&all, lines.concat()).with_context(|| format!("cannot write {}", all.display()))?;
    let processor: Duration = ended.iter().map(|step| step.times.processor).sum();
    let passed = ended.iter().filter(|s| s.outcome == Outcome::Passed).count();
    println!("\ncargo xtask test:");
    println!("  passed   {passed} steps");
    for step in ended {
        if let Outcome::Skipped(reason) = &step.outcome {
            println!("  skipped  {}: {reason}", step.name);
        }
    }
    let failed: Vec<_> =
        ended.iter().filter(|step| step.outcome == Outcome::Failed).map(|step| step.name.as_str()).collect();
    for name in &failed {
        println!("  FAILED   {name}");
        // All of it was printed when the step ended; who reads the end of a log sees why here.
        let output = fs::read(step::output_file(folder, name)).unwrap_or_default();
        for line in step::reasons(&String::from_utf8_lossy(&output), REASONS) {
            println!("           {line}");
        }
    }
    println!(
        "Took {} min {} s; {:.0} s of processor time on {cores} cores.",
        elapsed.as_secs() / 60,
        elapsed.as_secs() % 60,
        processor.as_secs_f32()
    );
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("All tests that ran have passed.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        assert!(ignores_interrupts("Name:\tx\nSigIgn:\t0000000000001006\n"));
        assert!(!ignores_interrupts("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_interrupts(""));
    }

    #[test]
    fn building_tests_lints_and_makes_commands() {
        let mut steps = steps(Path::new("/prefix"), false, false).unwrap();
        share(&mut steps, false).unwrap();
        let of = |name: &str| steps.iter().find(|step| step.name == name).unwrap();
        assert_eq!(of(INSTALLATION).needs, [BUILD]);
        let Work::BuildTests { command, linting } = &of(BUILD).work else {
            panic!("the build is no build");
        };
        let driver = |command: &Command| command.get_envs().any(|(name, _)| name == programs::WRAPPER);
        assert_eq!(driver(command), *linting);
        let sanitized = |name| matches!(&of(name).work, Work::Run(command) if driver(command) == *linting);
        assert!(sanitized("rust-tsan") && sanitized("tsan"));
        // Without clippy, the step stays, to say that it is skipped.
        let stays = steps.iter().any(|step| step.name == LINTS);
        assert_ne!(stays, *linting);
        // A step by itself does not build the test programs.
        let mut alone = super::steps(Path::new("/prefix"), false, false).unwrap();
        choose(&mut alone, &["asan".to_owned(), LINTS.to_owned()], false);
        share(&mut alone, false).unwrap();
        assert!(alone.iter().all(|step| step.needs.is_empty() || step.name == "asan"));
        assert!(alone.iter().any(|step| step.name == LINTS));
    }

    #[test]
    fn chosen_steps_bring_what_they_need() {
        let chosen = |names: &[&str], programs| {
            let mut steps = steps(Path::new("/prefix"), false, false).unwrap();
            let names: Vec<_> = names.iter().map(|n| (*n).to_owned()).collect();
            choose(&mut steps, &names, programs);
            steps.into_iter().map(|step| step.name).collect::<Vec<_>>()
        };
        assert_eq!(chosen(&["formatting"], false), ["formatting"]);
        assert_eq!(chosen(&["asan"], false), [INSTALLATION, "asan"]);
        assert_eq!(chosen(&[], true), [INSTALLATION, BUILD]);
        assert_eq!(chosen(&[EXAMPLES], false), [EXAMPLES]);
    }
}
