//! Where a fault or a misuse is said to be: routine and source line of operations that are expanded in the program, and
//! nothing of the program's own faults.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::prefix::workspace;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Outcome, Suite};

use crate::ending::{Status, ended_rightly};
use crate::tables::CHECKED;

const SOURCE: &str = "faults/inlined.c";

/// A fault, and what its line has beside the source line.
const FAULTS: &[(&str, &[&str])] = &[
    ("null", &["PE 1: shmem_long_p: segmentation fault at 0x", " (write): a null pointer was used for PE 0"]),
    ("get", &["PE 1: shmem_long_g: segmentation fault at 0x", " (read): a null pointer was used for PE 0"]),
    ("member", &["PE 1: shmem_long_atomic_inc: ", "a null pointer, plus 16 bytes, was used for PE 0"]),
    ("stack", &["PE 1: shmem_long_p: ", "(on the stack) used for PE 0 is not symmetric"]),
    ("source", &["PE 1: shmem_long_put: segmentation fault at 0x10 (read): a null pointer, plus 16 bytes, was passed"]),
    ("copy", &["PE 1: shmem_putmem: segmentation fault at 0x10 (read): a null pointer, plus 16 bytes, was passed"]),
];

/// Ways to compile the programs.
const FORMS: &[(&str, Compiler, &[&str])] = &[
    ("gcc", Compiler::Gcc, &["-g", "-O2"]),
    ("clang", Compiler::Clang, &["-g", "-O2"]),
    ("static-pie", Compiler::Gcc, &["-g", "-O2", "-static-pie"]),
];

pub(crate) fn add(suite: &mut Suite) {
    for &(form, compiler, flags) in FORMS {
        suite.add(format!("place::{form}"), move |s| {
            FAULTS.iter().try_for_each(|(fault, words)| at_line(s, (compiler, flags), fault, words))
        });
    }
    for flags in [&["-g", "-O2", "-static"][..], &["-g", "-O2", "-no-pie", "-fno-pie"]] {
        suite.add(format!("place::{}", &flags[2][1..]), move |s| where_calls_may_be_real(s, flags));
    }
    suite.add("place::without-debug-information".into(), without_debug_information);
    suite.add("place::stripped".into(), stripped);
    suite.add("place::of-the-program".into(), of_the_program);
    suite.add("place::caught-by-the-program".into(), caught_by_the_program);
    suite.add("place::checked".into(), checked);
    suite.add("place::of-misuse".into(), of_misuse);
    suite.add("place::without-oshrun".into(), without_oshrun);
}

fn run(s: &Setting, (compiler, flags): (Compiler, &[&str]), fault: &str, env: &[(&str, &str)]) -> Result<Outcome> {
    let program = Build::new(SOURCE, compiler).flags(flags).run(&s.prefix, &s.cache)?;
    let mut job = Job::new(2, &program).args(&[fault]);
    for (name, value) in env {
        job = job.env(name, value);
    }
    job.run(&s.prefix, &s.scratch)
}

/// `inlined.c:27 (null)`.
fn line_of(fault: &str) -> Result<String> {
    let source = fs::read_to_string(workspace().join("dev/conformance/c").join(SOURCE))?;
    let at = source.lines().position(|line| line.contains(&format!("/* @{fault} */")));
    Ok(format!("called at inlined.c:{} ({fault})", at.context("no such mark")? + 1))
}

fn at_line(s: &Setting, how: (Compiler, &[&str]), fault: &str, words: &[&str]) -> Result<()> {
    let outcome = run(s, how, fault, &[])?;
    // A fault past the end of the address space may be a bus error.
    ended_rightly(&outcome, Status::NonZero, words)?;
    ensure!([139, 135].contains(&shell_status(outcome.status)), "another status\n{outcome}");
    says_place(&outcome, &line_of(fault)?)
}

/// Of a program at a fixed address, the library may have to see every call.
fn where_calls_may_be_real(s: &Setting, flags: &[&str]) -> Result<()> {
    let outcome = run(s, (Compiler::Gcc, flags), "null", &[])?;
    ended_rightly(&outcome, Status::NonZero, &["PE 1: shmem_long_p: ", "a null pointer"])?;
    says_place(&outcome, &line_of("null")?)?;
    let mut in_library = FAULTS.iter().filter(|(fault, _)| ["source", "copy"].contains(fault));
    in_library.try_for_each(|(fault, words)| at_line(s, (Compiler::Gcc, flags), fault, words))
}

/// Whether the line ends in this place, whose file it may give with its folder.
fn says_place(outcome: &Outcome, place: &str) -> Result<()> {
    let (words, file) = place.split_once(" at ").context("a place")?;
    let line = outcome.stderr.trim_end();
    let named = line.rsplit_once(&format!("{words} at ")).map(|(_, named)| named);
    let is_it = named.is_some_and(|named| named == file || named.ends_with(&format!("/{file}")));
    ensure!(is_it, "does not end in \"{place}\"\n{outcome}");
    Ok(())
}

/// The function, and the distance from its start.
fn without_debug_information(s: &Setting) -> Result<()> {
    let outcome = run(s, (Compiler::Gcc, &["-O2", "-g0"]), "null", &[])?;
    ended_rightly(&outcome, Status::Is(139), &["a null pointer was used for PE 0", "; at null+0x"])
}

/// The address in the file.
fn stripped(s: &Setting) -> Result<()> {
    let outcome = run(s, (Compiler::Gcc, &["-O2", "-s"]), "null", &[])?;
    ended_rightly(&outcome, Status::Is(139), &["a null pointer was used for PE 0", "; at inlined", "+0x"])
}

/// The line on a fault of the program's own is `oshrun`'s alone.
fn of_the_program(s: &Setting) -> Result<()> {
    for flags in [&["-g", "-O2"][..], &["-O2", "-g0"], &["-O2", "-s"]] {
        let outcome = run(s, (Compiler::Gcc, flags), "own", &[])?;
        ended_rightly(&outcome, Status::Is(139), &["oshrun: PE 1 (", "was killed by SIGSEGV"])?;
    }
    Ok(())
}

/// A program that catches faults does so as before, and nothing is said.
fn caught_by_the_program(s: &Setting) -> Result<()> {
    for when in ["caught_before", "caught_after"] {
        let outcome = run(s, (Compiler::Gcc, &["-g", "-O2"]), when, &[])?;
        ended_rightly(&outcome, Status::Is(3), &["oshrun: PE 1 (", "exited with status 3"])?;
        ensure!(outcome.stdout.contains("caught by the program"), "not caught\n{outcome}");
    }
    Ok(())
}

/// With checks, the call is not expanded; its place is the same.
fn checked(s: &Setting) -> Result<()> {
    let outcome = run(s, (Compiler::Gcc, &["-g", "-O2"]), "null", CHECKED)?;
    ended_rightly(&outcome, Status::Is(1), &["PE 1: shmem_long_p: dest is a null pointer"])?;
    says_place(&outcome, &line_of("null")?)
}

fn misuse(s: &Setting) -> Result<std::path::PathBuf> {
    s.compile("faults/misuse.c", &["-g", "-rdynamic"])
}

fn of_misuse(s: &Setting) -> Result<()> {
    let job = Job::new(2, &misuse(s)?).args(&["put_after_finalize"]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ended_rightly(&outcome, Status::NonZero, &["shmem_int_put", "called at ", "misuse.c:", " (put_after_finalize)"])
}

/// Where no `oshrun` is found, the line says where the call is as `addr2line` takes it.
fn without_oshrun(s: &Setting) -> Result<()> {
    let lib = s.scratch.join("lib");
    fs::create_dir_all(&lib)?;
    fs::copy(s.prefix.root().join("lib/libshmem.so.1"), lib.join("libshmem.so.1"))?;
    let program = misuse(s)?;
    let job = Job::new(0, &program).args(&["put_after_finalize"]);
    let job = job.env("LD_LIBRARY_PATH", &lib.to_string_lossy()).env("PATH", "/nowhere");
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ended_rightly(&outcome, Status::NonZero, &["shmem_int_put", "called at "])?;
    let line = outcome.stderr.trim_end();
    let place = line.rsplit_once(" 0x").map(|(_, rest)| rest.trim_end_matches(')'));
    let address = format!("0x{}", place.context("no address")?);
    let found = found_by_addr2line(&program, &address)?;
    ensure!(found.contains("put_after_finalize") && found.contains("misuse.c:"), "{address} is in {found}\n{outcome}");
    Ok(())
}

fn found_by_addr2line(program: &Path, address: &str) -> Result<String> {
    let mut command = Command::new("addr2line");
    command.args(["-i", "-f", "-e"]).arg(program).arg(address);
    let found = command.output().context("addr2line, of binutils as the linker is")?;
    Ok(String::from_utf8_lossy(&found.stdout).into_owned())
}
