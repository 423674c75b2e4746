//! Other ways to link and load: static, not position independent, by dlopen, with a
//! profiling tool between program and library, with a shared library of the user's.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use ferroshmem_conformance::compile::Language;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

/// Programs that see most of the address model: those about where objects are first.
const PROGRAMS: &[&str] = &[
    "globals.c", "pointers.c", "amo.c", "collectives.c", "initialize.c", "memory.c", "ordering.c", "overloads.cpp",
    "rma_sizes.c", "rma_types.c", "threads.c",
];

/// So many of them are linked in each way; of the others, each way has every third.
const ABOUT_PLACES: usize = 2;

/// Ways of linking, with the flags of compiler and linker. Those that compile otherwise do so for a type of
/// each size, and with less optimisation: where an object is depends on neither.
const LINKINGS: &[(&str, &[&str])] = &[
    ("no-pie", &["-no-pie", "-fno-pie", "-O1", "-DFEW_TYPES"]),
    ("static", &["-static"]),
    ("static-pie", &["-static-pie"]),
    ("static-no-pie", &["-static", "-no-pie", "-fno-pie", "-O1", "-DFEW_TYPES"]),
    ("lazy", &["-Wl,-z,lazy"]),
    ("no-relro", &["-Wl,-z,norelro"]),
    ("separate-code", &["-Wl,-z,separate-code", "-Wl,-z,now"]),
    ("sections", &["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-O0", "-DFEW_TYPES"]),
    ("lto", &["-flto", "-DFEW_TYPES"]),
];

/// Calls that `profiled.c` makes and that the tool counts.
const COUNTS: &str = "put 10 p 20 get 30 fetch_add 40 barrier 3 malloc 1 reduce 1";

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    // Neighbours in the list are different builds: trials of the same one wait for each other.
    for (alone, pes) in [(true, 1), (false, 4)] {
        for (p, program) in PROGRAMS.iter().enumerate() {
            for (l, (name, flags)) in LINKINGS.iter().enumerate() {
                // Each way of linking has some programs with a PE, and some with four.
                let short = match p < ABOUT_PLACES {
                    true => ((p + l) % 2 == 0) == alone,
                    false => (p + l) % 6 == if alone { 0 } else { 3 },
                };
                let stem = program.split('.').next().unwrap_or(program);
                suite.add_maybe_long(format!("{stem}::{name}::{pes}pe"), !short, move |s| {
                    let program = s.compile(program, flags)?;
                    Job::new(pes, &program).expect_success(&s.prefix, &s.scratch).map(drop)
                });
            }
        }
    }
    suite.add("profiling::no-tool".into(), |s| profiled(s, &[], &[], None));
    suite.add("profiling::linked-object".into(), |s| profiled(s, &["linkage/profiling_tool.c"], &[], None));
    suite.add("profiling::linked-object-clang".into(), |s| {
        if Compiler::installed().contains(&Compiler::Clang) {
            profiled_by(s, Compiler::Clang, &["linkage/profiling_tool.c"], &[], None)?;
        }
        Ok(())
    });
    suite.add("profiling::static".into(), |s| profiled(s, &["linkage/profiling_tool.c"], &["-static"], None));
    suite.add("profiling::not-inlined".into(), |s| {
        profiled(s, &["linkage/profiling_tool.c"], &["-DSHMEM_NO_INLINE"], None)
    });
    suite.add("profiling::shared-library".into(), |s| {
        let tool = tool_library(s)?;
        let folder = tool.parent().unwrap_or(Path::new("."));
        let rpath = format!("-Wl,-rpath,{}", folder.display());
        // Named before libshmem, so that its symbols come first.
        profiled(s, &[], &[&tool.display().to_string(), &rpath], Some(""))
    });
    suite.add("profiling::preloaded".into(), |s| {
        let tool = tool_library(s)?;
        profiled(s, &[], &[], Some(&tool.display().to_string()))
    });
    suite.add("dlopen::1pe".into(), |s| dlopened(s, 1));
    suite.add("dlopen::4pe".into(), |s| dlopened(s, 4));
    suite.add("user-library::4pe".into(), user_library);
    suite.add("two-executables".into(), two_executables);
    suite.add("symbols-are-found-without-the-library-of-the-build".into(), needed);
    suite.run();
}

/// Builds and runs `profiled.c`. With a tool (`tools` or `preload`) each PE must report
/// exactly [`COUNTS`]; without, there is no report.
fn profiled(s: &Setting, tools: &[&str], flags: &[&str], preload: Option<&str>) -> Result<()> {
    profiled_by(s, Compiler::Gcc, tools, flags, preload)
}

fn profiled_by(s: &Setting, compiler: Compiler, tools: &[&str], flags: &[&str], preload: Option<&str>) -> Result<()> {
    let mut build = Build::new("linkage/profiled.c", compiler).flags(flags);
    build.sources.extend(tools.iter().map(|t| (*t).to_owned()));
    let program = build.run(&s.prefix, &s.cache)?;
    for pes in [1, 3] {
        let mut job = Job::new(pes, &program);
        if let Some(tool) = preload.filter(|t| !t.is_empty()) {
            job = job.options(&["-n", &pes.to_string(), "-x", &format!("LD_PRELOAD={tool}")]);
        }
        let outcome = job.expect_success(&s.prefix, &s.scratch)?;
        let reports = outcome.stdout.matches("tool: PE").count();
        let good = outcome.stdout.matches(COUNTS).count();
        let want = if tools.is_empty() && preload.is_none() { 0 } else { pes };
        if reports != want || good != want {
            bail!("want {want} reports of \"{COUNTS}\"\n{outcome}");
        }
    }
    Ok(())
}

/// The tool as a shared library.
fn tool_library(s: &Setting) -> Result<std::path::PathBuf> {
    s.compile("linkage/profiling_tool.c", &["-shared", "-fPIC"])
}

fn dlopened(s: &Setting, pes: usize) -> Result<()> {
    let mut build = Build::new("linkage/dlopened.c", Compiler::Gcc).flags(&["-ldl"]);
    build.language = Language::PlainC;
    let program = build.run(&s.prefix, &s.cache)?;
    let library = s.prefix.library("libshmem.so").display().to_string();
    Job::new(pes, &program).args(&[&library]).expect_success(&s.prefix, &s.scratch).map(drop)
}

fn user_library(s: &Setting) -> Result<()> {
    let library = s.compile("linkage/library.c", &["-shared", "-fPIC"])?;
    let program = s.compile("linkage/library_globals.c", &[&library.display().to_string()])?;
    Job::new(4, &program).expect_success(&s.prefix, &s.scratch).map(drop)
}

/// Jobs of two executables: two PEs of the first, three of the second, whose segments lie as the first one's or do not.
fn two_executables(s: &Setting) -> Result<()> {
    let build = |defined: &[&str]| {
        let build = Build::new("linkage/mpmd.c", Compiler::Gcc);
        build.flags(&["-Wl,--build-id"]).flags(defined).run(&s.prefix, &s.cache)
    };
    let first = build(&["-DROLE=0"])?;
    for second in [build(&["-DROLE=1"])?, build(&["-DROLE=1", "-DSHIFTED"])?] {
        let second = second.display().to_string();
        let job = Job::new(2, &first).args(&[":", "-n", "3", &second]);
        job.expect_success(&s.prefix, &s.scratch)?;
        job.env("SHMEM_CHECK", "1").expect_success(&s.prefix, &s.scratch)?;
    }
    Ok(())
}

/// A program names the library by its soname and finds it by a run path.
fn needed(s: &Setting) -> Result<()> {
    let program = s.compile("linkage/profiled.c", &[])?;
    let output = Command::new("readelf").arg("-d").arg(&program).output()?;
    let dynamic = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(dynamic.contains("[libshmem.so.1]"), "not linked by soname:\n{dynamic}");
    ensure!(dynamic.contains("RUNPATH"), "no run path:\n{dynamic}");
    Ok(())
}
