//! Programs whose libraries do not fit: each ends with one line that says what to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::compile::{self, Language};
use ferroshmem_conformance::job::Outcome;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

/// A program that notes needs of its own, beside those of its headers.
const NEEDS: &str = r#"
#include <shmem.h>
#ifdef OWN_NEEDS
__asm__(".pushsection .note.ferroshmem, \"a\", %note\n"
        ".balign 4\n.long 11, 16, 1\n.asciz \"FerroSHMEM\"\n.balign 4\n"
        ".long " OWN_NEEDS "\n.popsection");
#endif
int main(void)
{
    shmem_init();
    int bad = shmem_n_pes() < 1;
    shmem_finalize();
    return bad;
}
"#;

/// What other libraries have, as far as the program calls it.
const OTHER_LIBRARY: &str = "
void shmem_init(void) {}
int shmem_n_pes(void) { return 1; }
void shmem_finalize(void) {}
int other(void) { return 0; }
";

/// A program that calls another library as well.
const BOTH: &str = "
#include <shmem.h>
int other(void);
int main(void)
{
    shmem_init();
    shmem_finalize();
    return other();
}
";

/// A program that loads two copies of the library.
const TWO_COPIES: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        void (*init)(void) = library ? (void (*)(void))dlsym(library, "shmem_init") : 0;
        if (!init)
            return fprintf(stderr, "%s\n", dlerror()), 3;
        init();
        printf("initialised %d\n", i);
        fflush(stdout);
    }
    return 0;
}
"#;

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for pes in [0, 2] {
        suite.add(format!("header::{pes}pe"), move |s| header(s, pes));
        suite.add(format!("two-copies::{pes}pe"), move |s| two_copies(s, pes));
        suite.add(format!("two-libraries::{pes}pe"), move |s| two_libraries(s, pes));
    }
    suite.add("another-soname".into(), another_soname);
    suite.add("another-library".into(), another_library);
    suite.add("library-of-mpi".into(), library_of_mpi);
    suite.add("library-not-found".into(), not_found);
    suite.add("crate-without-compiler".into(), without_compiler);
    suite.run();
}

/// Writes a source, and compiles it.
fn program(s: &Setting, name: &str, code: &str, language: Language, flags: &[&str]) -> Result<PathBuf> {
    let source = compile::source(&s.scratch, &format!("{name}.c"), code)?;
    let source = source.to_str().context("a path in UTF-8")?;
    let mut build = Build::new(source, Compiler::Gcc).flags(flags);
    build.language = language;
    build.run(&s.prefix, &s.cache)
}

/// A library with this soname, in a folder of its own.
fn library(s: &Setting, soname: &str) -> Result<PathBuf> {
    let folder = s.scratch.join(format!("of-{soname}"));
    let source = compile::source(&folder, "other.c", OTHER_LIBRARY)?;
    let file = source.with_file_name(soname);
    compile::once(&file, |temporary| {
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o"]);
        let output = gcc.arg(temporary).arg(&source).output()?;
        ensure!(output.status.success(), "{output:?}");
        Ok(())
    })?;
    Ok(file)
}

/// The flags that link a program with a library.
fn linked(library: &Path) -> Result<[String; 2]> {
    let folder = library.parent().context("it is in a folder")?;
    Ok([library.display().to_string(), format!("-Wl,-rpath,{}", folder.display())])
}

/// Headers newer than the library, or those of another soname.
fn header(s: &Setting, pes: usize) -> Result<()> {
    let run = |flags: &[&str]| {
        let program = program(s, "needs", NEEDS, Language::C, flags)?;
        Job::new(pes, &program).run(&s.prefix, &s.scratch)
    };
    run(&[])?.successful(std::time::Duration::from_secs(60))?;
    // An older release: its programs run.
    run(&["-DOWN_NEEDS=\"1, 0, 0, 9\""])?.successful(std::time::Duration::from_secs(60))?;
    let newer = run(&["-DOWN_NEEDS=\"1, 99, 2, 3\""])?;
    newer
        .ended_saying(None, &["the program was compiled with the headers of FerroSHMEM 99.2.3", "compile it again"])?;
    let other = run(&["-DOWN_NEEDS=\"2, 0, 0, 1\""])?;
    other.ended_saying(None, &["the program was compiled for libshmem.so.2", "compile it again"])
}

/// A second copy of the library notices that the first one has the job.
fn two_copies(s: &Setting, pes: usize) -> Result<()> {
    let program = program(s, "two-copies", TWO_COPIES, Language::PlainC, &["-ldl"])?;
    let first = s.prefix.library("libshmem.so");
    let second = s.scratch.join(format!("libshmem-copy-{pes}.so"));
    fs::copy(&first, &second)?;
    let [first, second] = [&first, &second].map(|file| file.display().to_string());
    let once = Job::new(pes, &program).args(&[&first, &first]);
    let once = once.run(&s.prefix, &s.scratch)?;
    ensure!(once.stdout.contains("initialised 2"), "{once}");
    let twice = Job::new(pes, &program).args(&[&first, &second]);
    let twice = twice.run(&s.prefix, &s.scratch)?;
    ensure!(!twice.stdout.contains("initialised 2"), "{twice}");
    // The job's memory is the first copy's: oshrun does not know that the second one has said why.
    let first = twice.stderr.lines().next().unwrap_or_default();
    for word in ["two FerroSHMEM runtimes", "libshmem-copy-", "link one alone"] {
        ensure!(first.contains(word), "no \"{word}\"\n{twice}");
    }
    ensure!(!twice.hung && !twice.status.success(), "{twice}");
    // Both PEs may come to it before oshrun ends them.
    ensure!(twice.stderr.lines().count() <= pes.max(1) + 1, "{twice}");
    Ok(())
}

/// Another OpenSHMEM library beside ours: oshrun sees it in the program's file, and the library in the process.
fn two_libraries(s: &Setting, pes: usize) -> Result<()> {
    let other = library(s, "liboshmem.so.40")?;
    let [file, rpath] = linked(&other)?;
    let flags = ["-lshmem", &file, &rpath];
    let program = program(s, "both", BOTH, Language::C, &flags)?;
    let outcome = Job::new(pes, &program).run(&s.prefix, &s.scratch)?;
    outcome.ended_saying(None, &["two OpenSHMEM libraries", "liboshmem.so.40", "link one of them alone"])
}

/// A program of another installation, whose library has another number.
fn another_soname(s: &Setting) -> Result<()> {
    let outcome = of_another(s, "libshmem.so.2")?;
    outcome.ended_saying(None, &["it needs libshmem.so.2", "that of libshmem.so.1", "compile it again"])
}

/// Another OpenSHMEM's program.
fn another_library(s: &Setting) -> Result<()> {
    let outcome = of_another(s, "libsma.so.3")?;
    outcome.ended_saying(None, &["libsma.so.3", "Sandia", "oshcc"])
}

/// MPI's launcher is what starts such a program; it runs nevertheless, as it may not use MPI.
fn library_of_mpi(s: &Setting) -> Result<()> {
    let outcome = of_another(s, "libmpi.so.40")?;
    let line = "linked with libmpi.so.40 (Open MPI), in which each PE will be alone: mpirun of that MPI starts";
    ensure!(outcome.stderr.contains(line) && outcome.stdout.is_empty(), "{outcome}");
    outcome.successful(std::time::Duration::from_secs(60)).map(drop)
}

fn of_another(s: &Setting, soname: &str) -> Result<Outcome> {
    let other = library(s, soname)?;
    let code = "int other(void);\nint main(void) { return other(); }\n";
    let [file, rpath] = linked(&other)?;
    let program = program(s, soname, code, Language::PlainC, &[&file, &rpath])?;
    Job::new(2, &program).run(&s.prefix, &s.scratch)
}

/// The dynamic linker's line says what is missing, and oshrun's what to do.
fn not_found(s: &Setting) -> Result<()> {
    let include = format!("-I{}", s.prefix.include().display());
    let folder = s.prefix.root().join("lib").display().to_string();
    let library = format!("-L{folder}");
    let flags = [&include, &library, "-lshmem"];
    let program = program(s, "no-rpath", NEEDS, Language::PlainC, &flags)?;
    let outcome = Job::new(1, &program).run(&s.prefix, &s.scratch)?;
    ensure!(outcome.status.code() == Some(127), "{outcome}");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    ensure!(lines.len() == 2, "{outcome}");
    for word in ["oshcc", "LD_LIBRARY_PATH"] {
        ensure!(lines[1].contains(word), "{outcome}");
    }
    let job = Job::new(1, &program).env("LD_LIBRARY_PATH", &folder);
    job.expect_success(&s.prefix, &s.scratch).map(drop)
}

/// The build script of the crate with parts in C, where there is no compiler for them.
fn without_compiler(s: &Setting) -> Result<()> {
    // This test is in PROFILE/deps.
    let test = std::env::current_exe()?;
    let profile = test.ancestors().nth(2).context("tests are in a folder of their own")?;
    let script = fs::read_dir(profile.join("build"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("ferroshmem-sys-")
        })
        .map(|folder| folder.join("build-script-build"))
        .filter(|script| script.is_file())
        .max_by_key(|script| script.metadata().and_then(|m| m.modified()).ok())
        .context("the build script was built with this test")?;
    let source = ferroshmem_conformance::prefix::workspace().join("shmem-sys");
    fs::create_dir_all(&s.scratch)?;
    let mut run = Command::new(script);
    run.current_dir(&source).env("CARGO_MANIFEST_DIR", &source);
    run.env("OUT_DIR", &s.scratch).env("CC", "/no/such/compiler");
    for (name, value) in [("OPT_LEVEL", "0"), ("DEBUG", "false")] {
        run.env(name, value);
    }
    for name in ["HOST", "TARGET"] {
        run.env(name, "x86_64-unknown-linux-gnu");
    }
    let output = run.output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut errors = printed.lines().filter(|line| line.starts_with("cargo::error="));
    let line = errors.next().with_context(|| format!("no error: {output:?}"))?;
    ensure!(errors.next().is_none(), "{printed}");
    for word in ["/no/such/compiler", "gcc", "CC", "the crate ferroshmem alone needs none"] {
        ensure!(line.contains(word), "no {word}: {line}");
    }
    Ok(())
}
