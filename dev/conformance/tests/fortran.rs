//! The Fortran interfaces: generated programs that call each routine, and the programs of the guide.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::compile::{once, source};
use ferroshmem_conformance::environment::succeed;
use ferroshmem_conformance::prefix::crate_folder;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite, generated, guide, tool};

/// Each makes a form of the module of its own.
const COMPILERS: [&str; 2] = ["gfortran", "flang-new-19"];

/// Programs of the guide, and what their first PE prints with 4 PEs.
const GUIDE: [(&str, &str); 5] = [
    ("hello", "PE 0 of 4 counts 4 PEs"),
    ("rod", "heat: 1000.00"),
    ("teams", "2 even PEs, sum 2"),
    ("legacy_hello", "PE 0 of 4 counts 4 PEs"),
    ("legacy_halo", "heat: 1000.00"),
];

/// Sections without gaps, or elements, and one with gaps as the destination of a put.
const GAPS: &str = "program gaps
  use shmem
  integer, save :: a(4, 4) = 0
  call shmem_init
  call shmem_put(a(:, 2:3), a(:, 3:4), 8, 0)
  call shmem_put(a(1:4:2, 1:0), a(1:4:2, 1:0), 0, 0)
  call shmem_put(a(1, :), a(:, 1), 0, 0)
end program
";

/// What the example says.
const STENCIL: &str = "50 iterations of 102 x 102 points: 0 columns are wrong";

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
        every_routine(Job::new(2, &compile(s, "gfortran", generated_source(s)?, &["-O2", "-static"])?), s)
    });
    suite.add_one_on_cluster("every_routine", 0, true, |s, pes| Ok(Job::new(pes, &program(s)?)));
    for (pes, variables) in [(0, None), (2, None), (4, None), (3, Some(("SHMEM_CHECK", "1")))] {
        let name = variables.map_or(format!("{pes}pe"), |(name, _)| name.to_owned());
        for compiler in COMPILERS {
            suite.add(format!("every_interface::{name}::{compiler}"), move |s| {
                let source = generated::folder(&s.cache)?.join("fortran/every_interface.f90");
                // Optimised, it takes a minute to compile.
                let job = Job::new(pes, &compile(s, compiler, source, &["-O0"])?);
                let job = variables.into_iter().fold(job, |job, (name, value)| job.env(name, value));
                expect(&job, "every interface: passed", s)
            });
        }
    }
    for compiler in COMPILERS {
        suite.add(format!("gaps::{compiler}"), move |s| {
            let program = compile(s, compiler, source(&s.scratch, "gaps.f90", GAPS)?, &[])?;
            let words = ["shmem_int32_put: the elements of the array section dest are not next to each other"];
            Job::new(1, &program).expect_failure(&s.prefix, &s.scratch, 1, &words)
        });
    }
    for (pes, compiler) in [(1, COMPILERS[0]), (3, COMPILERS[0]), (4, COMPILERS[1])] {
        suite.add(format!("examples::stencil::{pes}pe::{compiler}"), move |s| {
            let program = compile(s, compiler, crate_folder().join("../../examples/stencil.f90"), &["-O2"])?;
            expect(&Job::new(pes, &program).args(&["50", "102"]), STENCIL, s)
        });
    }
    suite.add("plain_compiler".to_owned(), plain_compiler);
    suite.add("no_module".to_owned(), no_module);
    suite.add("global_exit".to_owned(), |s| {
        Job::new(2, &program(s)?).args(&["exit"]).expect_failure(&s.prefix, &s.scratch, 7, &[])
    });
    for (name, line) in GUIDE {
        for compiler in COMPILERS {
            suite.add(format!("guide::{name}::{compiler}"), move |s| {
                let program = compile(s, compiler, of_guide(s, name)?, &["-O2"])?;
                expect(&Job::new(4, &program), line, s)
            });
        }
    }
    suite.run();
}

fn every_routine(job: Job, s: &Setting) -> Result<()> {
    expect(&job, "every routine: passed", s)
}

fn expect(job: &Job, line: &str, s: &Setting) -> Result<()> {
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    ensure!(outcome.stdout.trim() == line, "{outcome}");
    Ok(())
}

/// Without the wrapper, as the guide says.
fn plain_compiler(s: &Setting) -> Result<()> {
    tool::command("gfortran", "gfortran")?;
    let (hello, program) = (of_guide(s, "hello")?, s.scratch.join("plain"));
    let library = s.prefix.root().join("lib");
    let mut gfortran = Command::new("gfortran");
    gfortran.arg("-J").arg(&s.scratch).arg(s.prefix.include().join("shmem.f90")).arg(hello).arg("-o").arg(&program);
    gfortran.arg("-L").arg(&library).arg(format!("-Wl,-rpath,{}", library.display()));
    succeed(gfortran.args(["-lshmem-fortran", "-lshmem"]))?;
    expect(&Job::new(4, &program), GUIDE[0].1, s)
}

/// A compiler that cannot compile the module compiles other programs. It is asked once where the reason is in the
/// source, else each time.
fn no_module(s: &Setting) -> Result<()> {
    tool::command("gfortran", "gfortran")?;
    let hello = of_guide(s, "legacy_hello")?;
    let object = s.scratch.join("no_module.o");
    for (error, notes) in [("$source:7:1: Error: Unclassifiable", [1, 0]), ("Error: No space left on device", [1, 1])] {
        let cache = s.scratch.join(format!("no_module-{}", std::process::id()));
        fs::create_dir_all(&cache)?;
        let compiler = cache.join("compiler");
        let script = format!(
            "#!/bin/sh\nfor source; do case $source in */shmem.f90) echo \"{error}\" >&2; exit 1;; esac; done\n\
             exec gfortran \"$@\"\n"
        );
        fs::write(&compiler, script)?;
        fs::set_permissions(&compiler, Permissions::from_mode(0o755))?;
        for expected in notes {
            let mut oshfort = Command::new(s.prefix.bin("oshfort"));
            oshfort.env("OSHMEM_FC", &compiler).env("XDG_CACHE_HOME", &cache);
            let output = oshfort.args(["-w", "-c", "-o"]).arg(&object).arg(&hello).output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{errors}");
            ensure!(errors.matches("note: no module shmem: ").count() == expected, "{error}: {errors}");
        }
        fs::remove_dir_all(cache)?;
    }
    Ok(())
}

fn program(s: &Setting) -> Result<PathBuf> {
    compile(s, "gfortran", generated_source(s)?, &["-O2"])
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
    source(&s.scratch, &format!("{name}.f90"), text)
}

/// Compiles a source by the wrapper, once for all trials.
fn compile(s: &Setting, compiler: &str, source: PathBuf, flags: &[&str]) -> Result<PathBuf> {
    let package = if compiler == "gfortran" { "gfortran" } else { "flang-19" };
    tool::command(compiler, package)?;
    let name = source.file_stem().context("a name")?.to_string_lossy().into_owned();
    let program = s.scratch.join([&[name.as_str(), compiler], flags].concat().concat());
    once(&program, |temporary| {
        let modules = program.with_extension("modules");
        fs::create_dir_all(&modules)?;
        let mut oshfort = Command::new(s.prefix.bin("oshfort"));
        oshfort.env("OSHMEM_FC", compiler).env("XDG_CACHE_HOME", s.scratch.join("cache"));
        // Of the same external procedure, some calls have arguments of one type and some of another.
        oshfort.arg("-w").args(flags).arg("-J").arg(modules);
        succeed(oshfort.arg("-o").arg(temporary).arg(&source))
    })?;
    Ok(program)
}
