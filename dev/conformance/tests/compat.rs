//! Programs that were compiled for other OpenSHMEM libraries run on this one.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem_abi::peers::{PEERS, Peer};
use ferroshmem_abi::table;
use ferroshmem_cluster::hosts::{AGENT, Distribution, Launcher, Placement};
use ferroshmem_conformance::cluster::Launch;
use ferroshmem_conformance::compile::{self, Language, once};
use ferroshmem_conformance::environment::succeed;
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::prefix::crate_folder;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, OpenMpi, Suite, generated};

/// The program, which uses what differs.
const PROGRAM: &str = "compat/program.c";

const LIMIT: Duration = Duration::from_secs(60);

/// Two PEs on each of two hosts.
const PLACE: Placement = Placement { pes: 4, hosts: 2, distribution: Distribution::Block };

/// The exit status where checks have findings.
const FOUND: i32 = 66;

/// What `--check=race` says where it has none.
const NO_RACE: &str = "oshrun: --check=race has found no race between calls;";

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for peer in PEERS {
        for pes in [1, 2, 7] {
            suite.add(format!("{}::{pes}pe", peer.name), move |s| by_its_values(s, peer, pes));
        }
    }
    suite.add("said".into(), said);
    for peer in PEERS {
        suite.add(format!("{}::checked", peer.name), move |s| checked(s, peer));
        let launch = Launch { launcher: Launcher::Hydra, place: PLACE };
        suite.add_launch(&format!("{}::hosts", peer.name), launch, true, |s, _| on_two_hosts(s, peer));
    }
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

/// A program with the values of the peer's header, linked with a library of the peer's name.
fn build(s: &Setting, peer: &Peer, program: &str, flags: &[&str]) -> Result<PathBuf> {
    let header = format!("-include{}/compat/{}.h", generated::folder(&s.cache)?.display(), peer.name);
    let include = format!("-I{}", s.prefix.include().display());
    let library = library(s, peer)?.display().to_string();
    let build = Build::new(program, Compiler::Gcc);
    let mut build = build.flags(&["-DSHMEM_NO_INLINE", &include, &header, &library]).flags(flags);
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
    let program = build(s, peer, PROGRAM, &[])?;
    let outcome = Job::new(pes, &program).run(&s.prefix, &s.scratch)?;
    let line = format!("was compiled for {}, {}", peer.soname, peer.whose);
    ensure!(outcome.stderr.contains(&line) && outcome.stderr.lines().count() == 1, "{outcome}");
    outcome.successful(LIMIT).map(drop)
}

/// With `--compat`, nothing is said.
fn said(s: &Setting) -> Result<()> {
    for peer in PEERS {
        let program = build(s, peer, PROGRAM, &[])?;
        let option = format!("--compat={}", peer.name);
        let outcome = Job::new(2, &program).options(&[&option]).run(&s.prefix, &s.scratch)?;
        ensure!(outcome.stderr.is_empty(), "{outcome}");
        outcome.successful(LIMIT)?;
    }
    Ok(())
}

/// The checks see what translates and what does not: a wait orders, and where it is missing, the race is named.
fn checked(s: &Setting, peer: &Peer) -> Result<()> {
    let compat = format!("--compat={}", peer.name);
    let job = |program: &Path| Job::new(2, program).options(&[&compat, "--check=collective,memory,race"]);
    let program = build(s, peer, PROGRAM, &[])?;
    let outcome = job(&program).run(&s.prefix, &s.scratch)?.successful(LIMIT)?;
    ensure!(outcome.stderr.lines().count() == 1 && outcome.stderr.contains(NO_RACE), "{outcome}");
    let program = build(s, peer, "../../diagnosis/races/no_wait.c", &["-g", "-O1"])?;
    let outcome = job(&program).run(&s.prefix, &s.scratch)?.successful(LIMIT)?;
    ensure!(outcome.stderr.lines().count() == 1 && outcome.stderr.contains(NO_RACE), "{outcome}");
    let outcome = job(&program).args(&["fault"]).run(&s.prefix, &s.scratch)?;
    let race = "PE 0's shmem_int_put_signal at no_wait.c:";
    ensure!(shell_status(outcome.status) == FOUND && outcome.stderr.contains(race), "{outcome}");
    Ok(())
}

/// `oshrun` finds by the program's file, which is here, what PEs on other hosts load, and checks them.
fn on_two_hosts(s: &Setting, peer: &Peer) -> Result<()> {
    let job = Job::new(PLACE.pes, &build(s, peer, PROGRAM, &[])?);
    for (option, lines) in [("--verbose", 2), ("--check=memory,race", 2)] {
        let oshrun = s.prefix.bin("oshrun").display().to_string();
        let words = ["--launcher", "hydra", "--hosts", "a:2,b:2", "--launch-agent", AGENT, option];
        let words: Vec<_> = [oshrun].into_iter().chain(words.map(str::to_owned)).collect();
        let cluster = s.stations.take()?;
        let process = cluster.command_on("a", &words, &job).spawn()?;
        let outcomes = cluster.finish(vec![process], LIMIT)?;
        let outcome = &outcomes[0];
        ensure!(!outcome.hung && outcome.left == 0 && shell_status(outcome.status) == 0, "{outcome}");
        s.stations.give(cluster);
        let line = format!("was compiled for {}, {}", peer.soname, peer.whose);
        ensure!(outcome.stderr.contains(&line) && outcome.stderr.lines().count() == lines, "{outcome}");
    }
    Ok(())
}

/// A routine that is the peer's alone is named at start.
fn missing(s: &Setting) -> Result<()> {
    let program = build(s, &PEERS[0], PROGRAM, &["-DCALLS_ANOTHER", "-Wl,-z,lazy"])?;
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
