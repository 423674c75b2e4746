//! The program of this crate as jobs, each under a watchdog.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};
use ferroshmem_interop::races::PROGRAMS;

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    // 0: without launcher.
    for pes in [0, 1, 2, 4] {
        suite.add(format!("rust-first::{pes}pe"), move |s| run(s, job(pes), "stores"));
        suite.add(format!("c-first::{pes}pe"), move |s| run(s, job(pes).args(&["c-first"]), "stores"));
        suite.add(format!("threads::{pes}pe"), move |s| run(s, job(pes).args(&["threads"]), "stores"));
    }
    for (variable, value) in [("SHMEM_CHECK", "1"), ("SHMEM_FAST_PATH", "0")] {
        suite.add(format!("{variable}::4pe"), move |s| run(s, job(4).env(variable, value), "calls"));
    }
    suite.add("spans".to_owned(), spans);
    for (name, _) in PROGRAMS {
        suite.add(format!("races::{name}"), move |s| races(s, name));
    }
    suite.add("races::whole-program".to_owned(), |s| {
        let outcome = job(0).options(&["-n", "4", "--check=race"]).expect_success(&s.prefix, &s.scratch)?;
        ensure!(outcome.stderr.contains("has found no race"), "{outcome}");
        Ok(())
    });
    suite.run();
}

/// What is said of programs with a fault: the calls of the two PEs, without the places of those in Rust.
const RACES: &[(&str, [&str; 2])] = &[
    ("window", ["Window::put", "Window::get"]),
    ("fence", ["Window::p", "Window::g"]),
    ("strided", ["Window::put_blocks", "Window::put_blocks"]),
    ("barrier", ["Window::put", "Window::g"]),
    ("context", ["Context::p", "Window::g"]),
    ("calls-of-c", ["shmem_long_g", "shmem_int64_put"]),
    ("stores-of-c", ["store at stores.c:4 (fill)", "shmem_long_g"]),
];

/// A function whose stores are seen.
const STORES: &str = "void fill(long *at);
void fill(long *at)
{
    at[3] = at[0] = 7;
}
";

/// The race of a program is found, and named by its places; without its fault nothing is.
fn races(s: &Setting, name: &str) -> Result<()> {
    std::fs::create_dir_all(&s.scratch)?;
    let (source, object, library) =
        (s.scratch.join("stores.c"), s.scratch.join("stores.o"), s.scratch.join("libstores.so"));
    if name == "stores-of-c" {
        std::fs::write(&source, STORES)?;
        let libraries = s.prefix.library("");
        let libraries = libraries.display();
        let run_path = format!("-Wl,-rpath,{libraries}");
        let cc = |command: &mut Command| {
            ensure!(command.status()?.success(), "{command:?} fails");
            anyhow::Ok(())
        };
        cc(Command::new("cc").args(["-g", "-fPIC", "-fsanitize=thread", "-c", "-o"]).args([&object, &source]))?;
        let mut link = Command::new("cc");
        link.args(["-shared", "-o"]).args([&library, &object]).args([&format!("-L{libraries}"), &run_path]);
        cc(link.arg("-lshmem-accesses"))?;
    }
    let program = job(0).options(&["-n", "2", "--check=race"]).env("STORES", &library.to_string_lossy());
    let program = program.args(&["races", name]);
    let outcome = program.clone().expect_success(&s.prefix, &s.scratch)?;
    ensure!(!outcome.stderr.contains(" race: "), "{outcome}");
    let Some((_, calls)) = RACES.iter().find(|(of, _)| *of == name) else {
        return Ok(());
    };
    let outcome = program.args(&["fault"]).run(&s.prefix, &s.scratch)?;
    let source = include_str!("../src/races.rs");
    let line = |pe: usize| {
        let is_marked = |line: &str| line.contains("// ") && line.contains(&format!("{name} {pe}"));
        source.lines().position(is_marked).map_or(String::new(), |line| format!(" at races.rs:{}", line + 1))
    };
    let [first, second] = [0, 1].map(|pe| format!("PE {pe}'s {}{}", calls[pe], line(pe)));
    let is_said = outcome
        .stderr
        .lines()
        .any(|line| line.contains(&first) && line.contains(&format!("and {second}")) && line.contains(" race: "));
    ensure!(outcome.status.code() == Some(66) && is_said, "{first} and {second}: not said\n{outcome}");
    Ok(())
}

/// Spans of the crate `tracing` are in the trace of each PE, each time that they were entered.
fn spans(s: &Setting) -> Result<()> {
    std::fs::create_dir_all(&s.scratch)?;
    let file = s.scratch.join("spans.json");
    let traced = format!("--trace={}", file.display());
    let job = job(2).args(&["spans"]).options(&["-n", "2", &traced]);
    job.expect_success(&s.prefix, &s.scratch)?;
    let trace = std::fs::read_to_string(file)?;
    for (name, pe) in [("span_of_a_step", 0), ("span_of_a_step", 1), ("span_of_c", 0), ("span_of_c", 1)] {
        let of =
            |line: &&str| line.contains(&format!("\"name\":\"{name}\"")) && line.contains(&format!("\"pid\":{pe},"));
        let found = trace.lines().filter(of).count();
        ensure!(found == 3, "{name} of PE {pe}: {found}, not 3\n{trace}");
    }
    Ok(())
}

fn job(pes: usize) -> Job {
    let program = Path::new(env!("CARGO_BIN_EXE_ferroshmem-interop"));
    let mut job = Job::new(pes, program);
    job.watchdog = Duration::from_secs(30);
    job
}

/// The job must end well, and C must have reached other PEs as it should.
fn run(s: &Setting, job: Job, puts: &str) -> Result<()> {
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let line = format!("C's puts are {puts}");
    ensure!(outcome.stdout.matches(&line).count() == job.pes.max(1), "C's puts should be {puts}\n{outcome}");
    Ok(())
}
