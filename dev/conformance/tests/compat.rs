//! Programs that were compiled for other OpenSHMEM libraries run on this one.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_abi::peers::{PEERS, Peer};
use ferroshmem_abi::table;
use ferroshmem_conformance::compile::{self, Language, once};
use ferroshmem_conformance::environment::succeed;
use ferroshmem_conformance::prefix::crate_folder;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, OpenMpi, Suite, generated};

/// The program, which uses what differs.
const PROGRAM: &str = "compat/program.c";

const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for peer in PEERS {
        for pes in [1, 2, 7] {
            suite.add(format!("{}::{pes}pe", peer.name), move |s| by_its_values(s, peer, pes));
        }
    }
    suite.add("said".into(), said);
    suite.add("missing".into(), missing);
    suite.add("openmpi-itself::header".into(), |s| compiled_by_open_mpi(s, "compat/openmpi.c").map(drop));
    for (name, source) in [("program", PROGRAM), ("hello", "../../../examples/hello.c")] {
        suite.add(format!("openmpi-itself::{name}"), move |s| {
            let program = compiled_by_open_mpi(s, source)?;
            Job::new(4, &program).run(&s.prefix, &s.scratch)?.successful(LIMIT).map(drop)
        });
    }
    suite.run();
}

/// The program with the values of the peer's header, linked with a library of the peer's name.
fn build(s: &Setting, peer: &Peer, flags: &[&str]) -> Result<PathBuf> {
    let header = generated::folder(&s.cache)?.join(format!("compat/{}.h", peer.name));
    let include = format!("-I{}", s.prefix.include().display());
    let header = format!("-DPEER_HEADER=\"{}\"", header.display());
    let library = library(s, peer)?.display().to_string();
    let mut build =
        Build::new(PROGRAM, Compiler::Gcc).flags(&["-DSHMEM_NO_INLINE", &include, &header, &library]).flags(flags);
    build.language = Language::PlainC;
    build.run(&s.prefix, &s.cache)
}

/// A library with the names of all routines, and the peer's variables.
fn library(s: &Setting, peer: &Peer) -> Result<PathBuf> {
    let mut code = String::from("void shmemx_of_another(void) {}\n");
    for (variable, _) in peer.handles {
        writeln!(code, "void *{variable};")?;
    }
    for symbol in table::symbols(&table::chapters()) {
        let name = symbol.name();
        writeln!(code, "__asm__(\".globl {name}\\n.type {name}, %function\\n{name}:\");")?;
    }
    let source = compile::source(&s.scratch.join(peer.name), "library.c", &code)?;
    let library = source.with_file_name(peer.soname);
    let soname = format!("-Wl,-soname,{}", peer.soname);
    once(&library, |temporary| {
        succeed(Command::new("gcc").args(["-shared", "-fPIC", &soname, "-o"]).arg(temporary).arg(&source))
    })?;
    Ok(library)
}

/// It is found by its file, and a line says so.
fn by_its_values(s: &Setting, peer: &Peer, pes: usize) -> Result<()> {
    let program = build(s, peer, &[])?;
    let outcome = Job::new(pes, &program).run(&s.prefix, &s.scratch)?;
    let line = format!("was compiled for {}, {}", peer.soname, peer.whose);
    ensure!(outcome.stderr.contains(&line) && outcome.stderr.lines().count() == 1, "{outcome}");
    outcome.successful(LIMIT).map(drop)
}

/// With `--compat`, nothing is said.
fn said(s: &Setting) -> Result<()> {
    for peer in PEERS {
        let program = build(s, peer, &[])?;
        let option = format!("--compat={}", peer.name);
        let outcome = Job::new(2, &program).options(&[&option]).run(&s.prefix, &s.scratch)?;
        ensure!(outcome.stderr.is_empty(), "{outcome}");
        outcome.successful(LIMIT)?;
    }
    Ok(())
}

/// A routine that is the peer's alone is named at start.
fn missing(s: &Setting) -> Result<()> {
    let program = build(s, &PEERS[0], &["-DCALLS_ANOTHER", "-Wl,-z,lazy"])?;
    let outcome = Job::new(1, &program).run(&s.prefix, &s.scratch)?;
    ensure!(outcome.stderr.contains("this library lacks shmemx_of_another"), "{outcome}");
    ensure!(outcome.stderr.contains("shmemx_of_another") && !outcome.status.success(), "{outcome}");
    Ok(())
}

/// A program that Open MPI's wrapper has made.
fn compiled_by_open_mpi(s: &Setting, source: &str) -> Result<PathBuf> {
    let oshcc = OpenMpi::find()?.oshcc();
    let generated = generated::folder(&s.cache)?;
    let written = crate_folder().join("c").join(source);
    let source = if written.is_file() { written } else { generated.join(source) };
    let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(&source)?;
    let file = compile::source(&s.scratch, &format!("{name}.c"), &text)?;
    let program = file.with_extension("openmpi");
    once(&program, |temporary| succeed(Command::new(&oshcc).arg("-O2").arg(&file).arg("-o").arg(temporary)))?;
    Ok(program)
}
