//! Debuggers and core files: `oshrun --debugger`, `--gdb`, and what the core file of a PE has.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_conformance::job::Outcome;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool::{self, Missing};
use ferroshmem_conformance::{Build, Compiler, Job, Suite};

const SOURCE: &str = "diagnosis/crash.c";

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (how, signal) in [("abort", 6), ("fault", 11), ("divide", 8)] {
        suite.add(format!("gdb::{how}"), move |s| shows_backtrace(s, how, 128 + signal));
    }
    suite.add("gdb::misuse".to_owned(), |s| shows_backtrace(s, "misuse", 1));
    suite.add("gdb::missing".to_owned(), gdb_is_missing);
    suite.add("debugger::attaches".to_owned(), attaches);
    suite.add("debugger::fails".to_owned(), debugger_fails);
    suite.add("debugger::non-stop".to_owned(), non_stop);
    suite.add("perf::frame-pointers".to_owned(), perf);
    suite.add("core::place-and-size".to_owned(), core_file);
    suite.run()
}

fn program(s: &Setting) -> Result<PathBuf> {
    s.compile(SOURCE, &["-g", "-O0"])
}

fn run(s: &Setting, how: &str, options: &[&str]) -> Result<Outcome> {
    let all = [&["-n", "2", "--bind-to", "none"], options].concat();
    let job = Job::new(2, &program(s)?).options(&all).args(&[how]);
    job.run(&s.prefix, &s.scratch)
}

/// Asks for gdb, which may attach to processes.
fn gdb() -> Result<()> {
    tool::command("gdb", "gdb")?;
    let mut child = std::process::Command::new("sleep").arg("60").spawn()?;
    let pid = child.id().to_string();
    let attached = std::process::Command::new("gdb").args(["-nx", "-batch", "-p", &pid, "-ex", "print 6*7"]).output();
    let _ = child.kill();
    let _ = child.wait();
    let may = attached.is_ok_and(|o| {
        let errors = String::from_utf8_lossy(&o.stderr);
        !errors.contains("ptrace")
    });
    match may {
        true => Ok(()),
        false => bail!(Missing("gdb may not attach to processes here".to_owned())),
    }
}

fn shows_backtrace(s: &Setting, how: &str, status: i32) -> Result<()> {
    gdb()?;
    let outcome = run(s, how, &["--gdb"])?;
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    ensure!(outcome.status.code() == Some(status), "{outcome}");
    let text = &outcome.stderr;
    ensure!(
        text.contains("PE 1: backtrace of process") && text.contains("on_pe_1 (how=") && text.contains("in main ("),
        "no backtrace\n{outcome}"
    );
    ensure!(text.contains("ended the job") || how == "misuse", "the end is not said\n{outcome}");
    Ok(())
}

/// The job ends as without gdb.
fn gdb_is_missing(s: &Setting) -> Result<()> {
    let outcome = run(s, "abort", &["--gdb", "-x", "PATH=/nowhere"])?;
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    ensure!(outcome.status.code() == Some(128 + 6), "{outcome}");
    ensure!(outcome.stderr.contains("PE 1: gdb is not in PATH"), "{outcome}");
    Ok(())
}

/// A debugger sees its PE before the program goes on from shmem_init; the other PE has none.
fn attaches(s: &Setting) -> Result<()> {
    gdb()?;
    let gdb = "gdb -nx -batch -p {pid} -ex 'print reached' -ex 'break on_pe_1' -ex continue -ex 'set var reached = 41 \
        + {pe}' -ex 'detach'";
    let outcome = run(s, "", &["--debug-pes", "1", "--debugger", gdb])?.ended(0)?;
    let text = &outcome.stdout;
    ensure!(
        text.contains("$1 = 0")
            && text.contains("PE 1 ended with reached = 42")
            && text.contains("PE 0 ended with reached = 1")
            && !text.contains("$2"),
        "{outcome}"
    );
    Ok(())
}

fn debugger_fails(s: &Setting) -> Result<()> {
    let outcome = run(s, "", &["--debugger", "exit 7"])?.ended(1)?;
    ensure!(
        outcome.stderr.contains("the debugger of PE ") && outcome.stderr.contains("before it was attached"),
        "{outcome}"
    );
    // One that ends well, without a look at the PE, lets it go on.
    let outcome = run(s, "", &["--debugger", "true"])?;
    ensure!(outcome.status.success() && outcome.left == 0, "{outcome}");
    Ok(())
}

/// gdb's non-stop mode, where threads are stopped one by one.
fn non_stop(s: &Setting) -> Result<()> {
    gdb()?;
    let script = s.scratch.join("non-stop.gdb");
    fs::create_dir_all(&s.scratch)?;
    fs::write(&script, "set pagination off\nset non-stop on\nbreak on_pe_1\nrun\nprint reached + 6\ncontinue\n")?;
    let program = program(s)?;
    let job = Job::new(2, &PathBuf::from("gdb"))
        // By --label lines come whole: gdb writes them in many pieces.
        .options(&["-n", "2", "--stdin", "none", "--label"])
        .args(&["-nx", "-batch", "-x"])
        .args(&[&script.display().to_string(), &program.display().to_string()]);
    let outcome = job.run(&s.prefix, &s.scratch)?.ended(0)?;
    let count = |words: &str| outcome.stdout.matches(words).count();
    ensure!(count("$1 = 7") == 2 && count("ended with reached = 1") == 2, "{outcome}");
    Ok(())
}

/// perf sees the program's functions, and who calls them, where it is compiled with frame pointers.
fn perf(s: &Setting) -> Result<()> {
    fs::create_dir_all(&s.scratch)?;
    let data = s.scratch.join("perf.data").display().to_string();
    let record = ["record", "-q", "--call-graph", "fp", "-e", "cpu-clock"];
    let may = std::process::Command::new("perf").args(record).args(["-o", &data, "true"]).output();
    if !may.is_ok_and(|o| o.status.success()) {
        bail!(Missing("perf is not installed, or may not count here".to_owned()));
    }
    let build = Build::new(SOURCE, Compiler::Gcc);
    let flags = ["-g", "-O1", "-fno-omit-frame-pointer"];
    let program = build.flags(&flags).run(&s.prefix, &s.cache)?;
    let job = Job::new(2, &PathBuf::from("perf")).options(&["-n", "1"]).args(&record).args(&[
        "-o",
        &data,
        &program.display().to_string(),
        "spin",
    ]);
    job.expect_success(&s.prefix, &s.scratch)?;
    let report =
        std::process::Command::new("perf").args(["report", "--stdio", "-i", &data, "--no-children", "-G"]).output()?;
    let text = String::from_utf8_lossy(&report.stdout);
    let lines: Vec<_> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains("spin"));
    let called = at.is_some_and(|at| lines[at..].iter().take(12).any(|l| l.contains("main")));
    ensure!(called, "not called by main:\n{text}");
    Ok(())
}

/// The core file's place is said, and it has neither the memory of other PEs nor what the heap may grow to.
fn core_file(s: &Setting) -> Result<()> {
    const MOST: u64 = 160 << 20;
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.starts_with(['|', '/']) || pattern.trim().is_empty() {
        bail!(Missing(format!("core files go to {pattern:?} here")));
    }
    let folder = s.scratch.join("cores");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let place = folder.display().to_string();
    let program = program(s)?.display().to_string();
    let script = format!("ulimit -c unlimited 2>/dev/null || exit 0; exec {program} core");
    let job = Job::new(2, &PathBuf::from("sh"))
        .options(&["-n", "2", "--wdir", &place, "-x", "SHMEM_SYMMETRIC_SIZE=1g"])
        .args(&["-c", &script]);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && outcome.left == 0, "{outcome}");
    if !outcome.stderr.contains("core dumped") {
        bail!(Missing("no core files are written here".to_owned()));
    }
    let file = outcome
        .stderr
        .split("core dumped to ")
        .nth(1)
        .and_then(|rest| rest.split(')').next())
        .with_context(|| format!("its place is not said\n{outcome}"))?;
    let size = fs::metadata(file)?.len();
    let text = fs::read(file)?;
    let has = |byte: u8| text.windows(4096).step_by(4096).any(|w| w.iter().all(|b| *b == byte));
    fs::remove_file(file)?;
    ensure!(size < MOST, "{size} bytes");
    ensure!(has(b'c'), "the PE's own memory is missing");
    ensure!(!has(b'd'), "it has another PE's memory");
    Ok(())
}
