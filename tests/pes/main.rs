//! Programs that use every method of the crate, run as jobs of several PEs under a watchdog.
//!
//! The programs are in this binary, which `oshrun` starts again for each PE with the name of one.
//! They verify what they do and panic where something differs. `failures` are those that do
//! something wrong, with how their jobs must end.

/// The programs of a module: functions that get the world, and with `()` those that make it.
macro_rules! programs {
    ($module:literal: $($name:ident $(($($own:tt)*))? $(with $env:expr)?),* $(,)?) => {
        pub(crate) const PROGRAMS: &[crate::Program] = &[$(
            crate::Program::new(concat!($module, "/", stringify!($name)), run!($name $(($($own)*))?))$(.env($env))?
        ),*];
    };
}

macro_rules! run {
    ($name:ident) => {
        || $name(&ferroshmem::World::init()?)
    };
    ($name:ident ()) => {
        $name
    };
}

mod arrays;
mod atomics;
mod contexts;
mod data;
mod distributed;
mod exchanges;
#[cfg(not(sanitized))]
mod failures;
mod functions;
mod groups;
mod locks;
mod messages;
mod nonblocking;
mod ports;
mod reductions;
mod resilient;
mod scans;
mod spaces;
mod streams;
mod strided;
mod teams;
mod threads;
mod values;
mod waits;
mod windows;
mod worlds;

use std::env;
#[cfg(not(sanitized))]
use std::path::Path;

use ferroshmem::Error;
#[cfg(not(sanitized))]
use ferroshmem_conformance::compile::on_path;
#[cfg(not(sanitized))]
use ferroshmem_conformance::suite::Setting;
#[cfg(not(sanitized))]
use ferroshmem_conformance::{Job, Suite};

/// First argument of a process that is a PE; a program's name follows.
const PE: &str = "--as-pe";

/// A launcher that starts PEs for jobs which it has started.
#[cfg(not(sanitized))]
const LAUNCHER: &str = "mpiexec.hydra";

/// Numbers of PEs: one, a power of two, no power of two, and more than cores.
#[cfg(not(sanitized))]
const PE_COUNTS: [usize; 4] = [1, 2, 5, 16];

/// A program, as one PE runs it.
pub struct Program {
    name: &'static str,
    run: fn() -> Result<(), Error>,
    /// Environment of a job of its own, in place of one for each number of PEs.
    env: &'static [(&'static str, &'static str)],
}

impl Program {
    const fn new(name: &'static str, run: fn() -> Result<(), Error>) -> Self {
        Self { name, run, env: &[] }
    }

    const fn env(mut self, env: &'static [(&'static str, &'static str)]) -> Self {
        self.env = env;
        self
    }
}

const PROGRAMS: &[&[Program]] = &[
    worlds::PROGRAMS,
    arrays::PROGRAMS,
    windows::PROGRAMS,
    strided::PROGRAMS,
    atomics::PROGRAMS,
    waits::PROGRAMS,
    locks::PROGRAMS,
    teams::PROGRAMS,
    contexts::PROGRAMS,
    distributed::PROGRAMS,
    functions::PROGRAMS,
    reductions::PROGRAMS,
    scans::PROGRAMS,
    exchanges::PROGRAMS,
    values::PROGRAMS,
    spaces::PROGRAMS,
    groups::PROGRAMS,
    messages::PROGRAMS,
    nonblocking::PROGRAMS,
    streams::PROGRAMS,
    ports::PROGRAMS,
    threads::PROGRAMS,
    resilient::PROGRAMS,
];

/// A job of a program of this binary.
#[cfg(not(sanitized))]
fn job(pes: usize, program: &'static str) -> Job {
    let this = env::current_exe().expect("a program that runs has a file");
    Job::new(pes, &this).args(&[PE, program])
}

fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some(PE) {
        let name = arguments.next().unwrap_or_default();
        let mut programs = PROGRAMS.iter().copied().flatten().chain(failing());
        let program = programs.find(|program| program.name == name);
        return (program.expect("the parent names a program of its own").run)();
    }
    #[cfg(not(sanitized))]
    suite().run();
    #[cfg(sanitized)]
    panic!("programs with sanitizers are run one by one: {PE} NAME");
}

/// Programs that call methods which are recorded.
#[cfg(not(sanitized))]
const PROFILED: [&str; 6] = [
    "contexts/every_operation", "contexts/fetches", "contexts/put_signals", "atomics/every_operation",
    "distributed/atomics", "locks/contended",
];

/// Fails if a profile of a program names a line of the crate as the place of a call, unless that is a drop.
#[cfg(not(sanitized))]
fn places_are_the_programs(name: &'static str, setting: &Setting) -> anyhow::Result<()> {
    const DROPS: [&str; 5] = ["Step::Free", "Step::Destroy", "Step::End", "Guard::drop", "drop of a Context"];
    let page = setting.scratch.join(format!("{}.html", name.replace('/', "-")));
    let profile = format!("--profile={}", page.display());
    job(2, name).options(&["-n", "2", &profile]).expect_success(&setting.prefix, &setting.scratch)?;
    let page = std::fs::read_to_string(&page)?;
    anyhow::ensure!(page.contains("tests/pes/"), "no place of the program");
    // "src/lock.rs:146"
    for (start, _) in page.match_indices("src/") {
        let place = page[start..].split_once(".rs:").map(|(file, rest)| (format!("{file}.rs"), rest));
        let Some((file, rest)) = place.filter(|(file, _)| !file.contains(['"', '<', ' '])) else {
            continue;
        };
        let number = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse::<usize>()?;
        let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file))?;
        let line = source.lines().nth(number - 1).unwrap_or_default();
        anyhow::ensure!(DROPS.iter().any(|drop| line.contains(drop)), "{file}:{number} is the place of a call: {line}");
    }
    Ok(())
}

/// The programs that do something wrong.
#[cfg(not(sanitized))]
fn failing() -> impl Iterator<Item = &'static Program> {
    let failures = failures::FAILURES.iter().copied().flatten();
    failures.map(|failure| &failure.program)
}

/// None: they are verified by what starts jobs.
#[cfg(sanitized)]
fn failing() -> impl Iterator<Item = &'static Program> {
    std::iter::empty()
}

/// The trials.
#[cfg(not(sanitized))]
fn suite() -> Suite {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (number, program) in PROGRAMS.iter().copied().flatten().enumerate() {
        let Program { name, env, .. } = *program;
        // Programs take turns with more PEs than cores, and with checks.
        let turn = number % 2 == 0;
        let mut add = |pes: usize, suffix: &str, env: &'static [(&str, &str)]| {
            let trial = format!("{name}/{pes}{suffix}");
            let run = move |setting: &Setting| {
                let set = |job: Job, (key, value): &(&str, &str)| job.env(key, value);
                let job = env.iter().fold(job(pes, name), set);
                job.expect_success(&setting.prefix, &setting.scratch)?;
                Ok(())
            };
            // It is about the number of teams: with many PEs, and checked, teams_many.c makes as many.
            let is_many = name == "teams/many" && (pes > 2 || !suffix.is_empty());
            let has_turn = match (pes, suffix) {
                (16, _) => turn,
                (_, "/checked") => !turn,
                _ => true,
            };
            suite.add_maybe_long(trial, is_many || !has_turn, run);
        };
        for pes in PE_COUNTS {
            add(pes, "", env);
        }
        if env.is_empty() {
            add(5, "/checked", &[("SHMEM_CHECK", "1")]);
        }
    }
    for (number, program) in PROGRAMS.iter().copied().flatten().enumerate() {
        let Program { name, env, .. } = *program;
        // Some of them are run by a launcher that starts PEs, below.
        if name.starts_with("groups/") || name.starts_with("ports/") {
            continue;
        }
        // Thousands of teams and of reductions, of which each takes some dozen round trips between nodes. Of the
        // others, those between nodes that do not run with 16 PEs: what is below the Rust API is there in C programs,
        // too.
        let is_long = matches!(name, "teams/many" | "reductions/integers");
        let is_short = !is_long && number % 2 == 1;
        suite.add_one_on_cluster(name, number, is_short, move |_, pes| {
            let set = |job: Job, (key, value): &(&str, &str)| job.env(key, value);
            Ok(env.iter().fold(job(pes, name), set))
        });
    }
    for name in PROFILED {
        suite.add(format!("{name}/places"), move |setting| places_are_the_programs(name, setting));
    }
    if on_path(LAUNCHER) {
        for name in groups::BY_LAUNCHER {
            suite.add(format!("{name}/by-hydra"), move |setting| {
                let this = env::current_exe()?;
                let words = ["-n", "2", &this.to_string_lossy(), PE, name];
                let job = Job::new(0, Path::new(LAUNCHER)).args(&words);
                job.expect_success(&setting.prefix, &setting.scratch)?;
                Ok(())
            });
        }
    }
    for failure in failures::FAILURES.iter().copied().flatten() {
        suite.add(format!("failures/{}", failure.program.name), |setting| {
            let watchdog = failures::WITHIN;
            let job = Job { watchdog, ..job(failure.pes, failure.program.name) };
            let outcome = job.run(&setting.prefix, &setting.scratch)?;
            failure.expect.verify(&outcome)
        });
    }
    suite
}
