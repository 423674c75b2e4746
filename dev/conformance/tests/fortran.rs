//! The Fortran interface: a generated program that calls each routine, and the programs of the guide.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::compile::{once, source};
use ferroshmem_conformance::environment::succeed;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite, generated, guide, tool};

/// Programs of the guide, and what their first PE prints with 4 PEs.
const GUIDE: [(&str, &str); 3] =
    [("hello", "PE 0 of 4 counts 4 PEs"), ("halo", "heat: 1000.00"), ("teams", "4 PEs, sum 6.0")];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    // 0: without launcher.
    for pes in [0, 1, 2, 4, 7] {
        suite.add(format!("every_routine::{pes}pe"), move |s| every_routine(Job::new(pes, &program(s)?), s));
    }
    for (variable, value) in [("SHMEM_CHECK", "1"), ("SHMEM_FAST_PATH", "0")] {
        suite.add(format!("every_routine::{variable}"), move |s| {
            every_routine(Job::new(3, &program(s)?).env(variable, value), s)
        });
    }
    suite.add("every_routine::static".to_owned(), |s| {
        every_routine(Job::new(2, &compile(s, generated_source(s)?, &["-static"])?), s)
    });
    suite.add_one_on_cluster("every_routine", 0, true, |s, pes| Ok(Job::new(pes, &program(s)?)));
    suite.add("global_exit".to_owned(), |s| {
        Job::new(2, &program(s)?).args(&["exit"]).expect_failure(&s.prefix, &s.scratch, 7, &[])
    });
    for (name, line) in GUIDE {
        suite.add(format!("guide::{name}"), move |s| {
            let outcome = Job::new(4, &of_guide(s, name)?).expect_success(&s.prefix, &s.scratch)?;
            ensure!(outcome.stdout.trim() == line, "{outcome}");
            Ok(())
        });
    }
    suite.run();
}

fn every_routine(job: Job, s: &Setting) -> Result<()> {
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    ensure!(outcome.stdout.trim() == "every routine: passed", "{outcome}");
    Ok(())
}

fn program(s: &Setting) -> Result<PathBuf> {
    compile(s, generated_source(s)?, &[])
}

fn generated_source(s: &Setting) -> Result<PathBuf> {
    Ok(generated::folder(&s.cache)?.join("fortran/every_routine.f90"))
}

/// The program of that name in the guide.
fn of_guide(s: &Setting, name: &str) -> Result<PathBuf> {
    let page = guide::page("fortran.md")?;
    let start = format!("```fortran\nprogram {name}\n");
    let at = page.find(&start).with_context(|| format!("no program {name}"))?;
    let text = page[at..].split("```").nth(1).context("no end")?;
    let (_, text) = text.split_once('\n').context("no line")?;
    compile(s, source(&s.scratch, &format!("{name}.f90"), text)?, &[])
}

/// Compiles a source by the wrapper, once for all trials.
fn compile(s: &Setting, source: PathBuf, flags: &[&str]) -> Result<PathBuf> {
    tool::command("gfortran", "gfortran")?;
    let name = source.file_stem().context("a name")?.to_string_lossy().into_owned();
    let program = s.scratch.join([&[name.as_str()], flags].concat().concat());
    once(&program, |temporary| {
        let modules = program.with_extension("modules");
        fs::create_dir_all(&modules)?;
        let mut oshfort = Command::new(s.prefix.bin("oshfort"));
        // Of the same external procedure, some calls have arguments of one type and some of another.
        oshfort.env("OSHMEM_FC", "gfortran").args(["-O2", "-w"]).args(flags).arg("-J").arg(modules);
        succeed(oshfort.arg("-o").arg(temporary).arg(&source))
    })?;
    Ok(program)
}
