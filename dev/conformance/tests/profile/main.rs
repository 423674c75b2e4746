//! `oshrun --profile` and `--trace`: each planted fault is found, with its PE and line; a correct program has no
//! finding.

mod counts;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use counts::{Case, agree};
use ferroshmem_conformance::job::{Outcome, Running};
use ferroshmem_conformance::prefix::crate_folder;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool::Missing;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};
use nix::sys::signal::{Signal, kill};

const SOURCE: &str = "diagnosis/profile.c";

/// A fault, and words of the finding beside the line that has the fault's name.
const FAULTS: [(&str, &[&str]); 6] = [
    ("late", &["PE 1 arrives last", "shmem_barrier_all"]),
    ("late-reduce", &["PE 2 arrives last", "shmem_int_sum_reduce"]),
    ("neighbour", &["PE 2 reaches PE 0", "PE + 1", "shmem_long_p"]),
    ("barrier", &["a signal would do", "shmem_barrier_all"]),
    ("lock", &["PEs spend", "shmem_set_lock"]),
    ("sender", &["wait for PE 0", "shmem_signal_wait_until"]),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (fault, words) in FAULTS {
        suite.add(format!("profile::{fault}"), move |s| finds(s, fault, words));
        suite.add(format!("profile::{fault}-twin"), move |s| finds_nothing(s, fault));
    }
    suite.add("profile::crowded".to_owned(), crowded);
    suite.add("profile::stripped".to_owned(), stripped);
    suite.add("profile::short".to_owned(), many_short);
    suite.add("profile::deleted".to_owned(), deleted);
    suite.add("profile::static".to_owned(), in_static_program);
    suite.add("profile::off".to_owned(), nothing_is_recorded);
    suite.add("profile::counted_inline".to_owned(), counted_inline);
    for how in ["on", "off"] {
        suite.add(format!("counters::{how}"), move |s| counts(s, how, &[]));
        suite.add(format!("counters::{how}-inline"), move |s| counts(s, how, &["-DSHMEM_COUNT"]));
    }
    let cases: [(&'static str, &'static [&str], u64, bool); 5] = [
        ("not-inlined", &["-O0", "-g"], 100, true),
        ("inlined", &["-O2", "-g"], 100, true),
        ("many", &["-O2", "-g"], 120_000, false),
        ("by-the-program", &["-O2", "-g", "-DSHMEM_COUNT"], 100, false),
        ("by-the-program-traced", &["-O2", "-g", "-DSHMEM_COUNT"], 100, true),
    ];
    for (name, flags, singles, has_trace) in cases {
        suite.add(format!("counts::{name}"), move |s| agree(s, Case { name, flags, singles, has_trace }));
    }
    suite.add("counters::live".to_owned(), counts_live);
    suite.add("counters::unwritable".to_owned(), counters_unwritable);
    suite.add("trace::formats".to_owned(), formats);
    suite.add("trace::part".to_owned(), part);
    suite.add("trace::killed".to_owned(), killed);
    suite.add("trace::ring".to_owned(), ring);
    suite.add("trace::unwritable".to_owned(), unwritable);
    suite.add("trace::full".to_owned(), full_disk);
    suite.run()
}

fn program(s: &Setting, flags: &[&str]) -> Result<PathBuf> {
    let build = Build::new(SOURCE, Compiler::Gcc).flags(&["-g", "-O1"]).flags(flags);
    build.run(&s.prefix, &s.cache)
}

/// The line of the program that has this mark.
fn line(mark: &str) -> Result<String> {
    let text = fs::read_to_string(crate_folder().join("c").join(SOURCE))?;
    let mark = format!("/* {mark} */");
    let number = text.lines().position(|l| l.contains(&mark)).context("no such mark")?;
    Ok(format!("profile.c:{}", number + 1))
}

fn file(s: &Setting, name: &str) -> String {
    s.scratch.join(name).display().to_string()
}

fn run(s: &Setting, mode: &str, options: &[&str]) -> Result<Outcome> {
    let all = [&["-n", "4", "--bind-to", "none"], options].concat();
    let job = Job::new(4, &program(s, &[])?).options(&all).args(&[mode]);
    job.run(&s.prefix, &s.scratch)
}

fn profile(s: &Setting, mode: &str) -> Result<Outcome> {
    let page = file(s, &format!("profile-{mode}.html"));
    let outcome = run(s, mode, &[&format!("--profile={page}")])?;
    let page = fs::read_to_string(page)?;
    ensure!(page.contains("</html>") && !page.contains("http://"), "no page of its own");
    Ok(outcome)
}

fn finds(s: &Setting, fault: &str, words: &[&str]) -> Result<()> {
    let outcome = profile(s, fault)?;
    let at = line(fault)?;
    let found = outcome.stderr.lines().find(|l| words.iter().all(|w| l.contains(w)));
    ensure!(
        found.is_some_and(|l| l.contains(&format!("{at};"))
            || l.contains(&format!("{at},"))
            || l.contains(&format!("{at} "))
            || l.ends_with(&at)),
        "no finding with {words:?} at {at}\n{outcome}"
    );
    ensure!(outcome.status.success(), "{outcome}");
    Ok(())
}

/// The finding that a machine with fewer cores than PEs, or a busy one, may always give.
const CROWDED: &str = "PEs wait for a core";

/// On a busy machine, a PE may really be late: then the program runs again.
fn finds_nothing(s: &Setting, fault: &str) -> Result<()> {
    const RUNS: usize = 4;
    let is_clean = |outcome: &Outcome| {
        let mut findings = outcome.stderr.lines().filter(|line| line.starts_with("oshrun: - "));
        findings.all(|line| line.contains(CROWDED))
    };
    let mut outcome = profile(s, &format!("{fault}-twin"))?;
    for _ in 1..RUNS {
        if is_clean(&outcome) {
            break;
        }
        outcome = profile(s, &format!("{fault}-twin"))?;
    }
    ensure!(is_clean(&outcome), "a finding\n{outcome}");
    ensure!(outcome.stderr.lines().count() <= 11, "more than ten lines\n{outcome}");
    Ok(())
}

/// Four PEs on one processor wait for it three quarters of the time, and neither compute nor transfer so long.
fn crowded(s: &Setting) -> Result<()> {
    if !Path::new("/proc/self/schedstat").exists() {
        return Err(Missing("the kernel keeps no scheduling statistics (CONFIG_SCHED_INFO)".to_owned()).into());
    }
    let outcome = profile(s, "crowded")?;
    ensure!(outcome.stderr.contains(CROWDED), "no finding\n{outcome}");
    let share = outcome.stderr.split("for a core ").nth(1).and_then(|rest| rest.split('%').next()?.parse::<u32>().ok());
    ensure!(share.is_some_and(|share| (50..=90).contains(&share)), "another share\n{outcome}");
    Ok(())
}

/// Without debugging information, places are addresses in the program.
fn stripped(s: &Setting) -> Result<()> {
    let page = file(s, "stripped.html");
    let job = Job::new(4, &program(s, &["-s"])?).options(&["-n", "4", &format!("--profile={page}")]).args(&["late"]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let found = outcome.stderr.lines().any(|l| l.contains("PE 1 arrives last") && l.contains("+0x"));
    ensure!(found, "no finding with an address\n{outcome}");
    Ok(())
}

/// Of a program that makes millions of short operations, not all are timed.
fn many_short(s: &Setting) -> Result<()> {
    let page = file(s, "short.html");
    let option = format!("--profile={page}");
    let all = ["-n", "2", option.as_str()];
    let job = Job::new(2, &program(s, &[])?).options(&all).args(&["short"]);
    job.expect_success(&s.prefix, &s.scratch)?;
    let text = fs::read_to_string(page)?;
    ensure!(text.contains("were counted with their lines and bytes alone"), "not said");
    ensure!(text.contains("\"is_sample\":true") && text.contains("times with ≥"), "not marked");
    ensure!(text.contains("\"calls\":6000000"), "not all were counted");
    Ok(())
}

/// Operations that the program counts itself stay inlined, and all are in the page.
fn counted_inline(s: &Setting) -> Result<()> {
    let page = file(s, "counted.html");
    let option = format!("--profile={page}");
    let all = ["-n", "2", option.as_str()];
    let job = Job::new(2, &program(s, &["-DSHMEM_COUNT"])?).options(&all).args(&["short"]);
    job.expect_success(&s.prefix, &s.scratch)?;
    let text = fs::read_to_string(page)?;
    ensure!(text.contains("compiled with -DSHMEM_COUNT") && !text.contains("bytes alone"), "not said");
    ensure!(
        text.contains("puts, inlined") && text.contains("3000000") && text.contains("fences, inlined"),
        "not counted: {text}"
    );
    Ok(())
}

/// A program whose file is gone when the profile is made has addresses, too.
fn deleted(s: &Setting) -> Result<()> {
    fs::create_dir_all(&s.scratch)?;
    let (page, copy) = (file(s, "deleted.html"), s.scratch.join("gone"));
    fs::copy(program(s, &[])?, &copy)?;
    let job = Job::new(4, &copy)
        .options(&["-n", "4", &format!("--profile={page}")])
        .args(&["late", &copy.display().to_string()]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    // Which finding it is depends on how busy the machine is.
    let found = outcome.stderr.lines().any(|l| l.contains("gone (deleted)+0x"));
    ensure!(found && !copy.exists(), "no finding with an address\n{outcome}");
    Ok(())
}

/// Where the library is part of the program, its frames are told apart all the same.
fn in_static_program(s: &Setting) -> Result<()> {
    let page = file(s, "static.html");
    let job =
        Job::new(4, &program(s, &["-static-pie"])?).options(&["-n", "4", &format!("--profile={page}")]).args(&["late"]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    let at = line("late")?;
    ensure!(outcome.stderr.contains(&at), "no finding at {at}\n{outcome}");
    Ok(())
}

fn nothing_is_recorded(s: &Setting) -> Result<()> {
    let outcome = run(s, "many", &[])?;
    ensure!(outcome.stderr.is_empty() && outcome.status.success(), "{outcome}");
    Ok(())
}

fn formats(s: &Setting) -> Result<()> {
    let names = ["trace.html", "trace.json", "trace.pftrace"].map(|n| file(s, n));
    let options: Vec<_> = names.iter().flat_map(|n| ["--trace", n]).collect();
    let outcome = run(s, "many", &options)?.successful(std::time::Duration::from_secs(60))?;
    // Of each PE: malloc, free, barrier, a region and four calls ten times each.
    ensure!(outcome.stderr.contains("a trace of 176 calls"), "{outcome}");
    let json = fs::read_to_string(&names[1])?;
    let count = |text: &str| json.matches(text).count();
    for routine in ["shmem_long_p", "shmem_long_get", "shmem_long_atomic_inc", "shmem_fence"] {
        ensure!(count(&format!("\"name\":\"{routine}\"")) == 40, "{routine}: {json}");
    }
    ensure!(count("\"name\":\"exchange\"") == 4, "no regions: {json}");
    ensure!(count("\"bytes\":128") == 40 && count("globals+0x") >= 80, "no arguments: {json}");
    ensure!(count("\"ph\":\"s\"") == count("\"ph\":\"f\""), "half an arrow");
    ensure!(fs::read_to_string(&names[0])?.contains("</html>"), "no page");
    let perfetto = fs::read(&names[2])?;
    ensure!(perfetto.windows(12).any(|w| w == b"shmem_long_p"), "no names");
    Ok(())
}

/// What the PEs have recorded is shown later, in parts.
fn part(s: &Setting) -> Result<()> {
    let kept = file(s, "kept");
    let outcome = run(s, "many", &["--profile-dir", &kept])?;
    ensure!(outcome.status.success(), "{outcome}");
    let show = |options: &[&str]| {
        let mut oshrun = Command::new(s.prefix.bin("oshrun"));
        oshrun.args(["--profile-from", &kept]).args(options);
        oshrun.output().context("oshrun does not run")
    };
    let json = file(s, "part.json");
    let errors = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let output = show(&["--trace", &json])?;
    ensure!(output.status.code() == Some(1) && errors(&output).contains("no single calls"), "{}", errors(&output));
    let outcome = run(s, "many", &["--profile-dir", &kept, "-x", "SHMEM_TRACE_SIZE=1m", "--trace", &json])?;
    ensure!(outcome.stderr.contains("a trace of 176 calls"), "{outcome}");
    let output = show(&["--trace", &json, "--trace-pes", "1,3"])?;
    ensure!(output.status.success() && errors(&output).contains("a trace of 88 calls"), "{}", errors(&output));
    let text = fs::read_to_string(&json)?;
    ensure!(text.contains("\"pid\":3,") && !text.contains("\"pid\":2,"), "other PEs: {text}");
    // After the end there is nothing, and before it all.
    let output = show(&["--trace", &json, "--trace-window", "9000:"])?;
    ensure!(errors(&output).contains("a trace of 0 calls"), "{}", errors(&output));
    let page = file(s, "later.html");
    let output = show(&["--trace", &json, "--trace-window", ":9000", &format!("--profile={page}")])?;
    ensure!(
        errors(&output).contains("a trace of 176 calls") && fs::read_to_string(page)?.contains("</html>"),
        "{}",
        errors(&output)
    );
    for (options, status, words) in [
        (&["--trace", &json, "--trace-pes", "9"][..], 1, "no record of any PE"),
        (&["--trace", &json, "--trace-pes", "x"], 2, "0-7,12"),
        (&["--trace", &json, "./program"], 2, "give no program"),
        (&[], 2, "--trace FILE"),
    ] {
        let output = show(options)?;
        ensure!(
            output.status.code() == Some(status) && errors(&output).contains(words),
            "{options:?}: {}",
            errors(&output)
        );
    }
    Ok(())
}

fn killed(s: &Setting) -> Result<()> {
    let json = file(s, "killed.json");
    let page = file(s, "killed.html");
    let outcome = run(s, "many-killed", &["--trace", &json, &format!("--profile={page}")])?;
    ensure!(outcome.status.code() == Some(128 + 9), "{outcome}");
    let json = fs::read_to_string(json)?;
    // The other PEs may have been ended before theirs.
    let own = |l: &&str| l.contains("\"name\":\"shmem_fence\"") && l.contains("\"pid\":1,");
    ensure!(json.lines().filter(own).count() == 10, "calls are missing: {json}");
    ensure!(fs::read_to_string(page)?.contains("end before shmem_finalize"), "not said");
    Ok(())
}

/// Of a trace that is larger than its ring, the newest calls are there, and the others counted.
fn ring(s: &Setting) -> Result<()> {
    let json = file(s, "ring.json");
    let outcome = run(s, "many", &["-x", "SHMEM_TRACE_SIZE=560", "--trace", &json])?;
    ensure!(outcome.stderr.contains("a trace of 40 calls (23% of all: 136 older ones are lost"), "{outcome}");
    let json = fs::read_to_string(json)?;
    ensure!(json.contains("shmem_free") && !json.contains("shmem_malloc"), "not the newest: {json}");
    Ok(())
}

fn unwritable(s: &Setting) -> Result<()> {
    for (option, words) in [
        ("--profile=/proc/no.html", "cannot write \"/proc/no.html\""),
        ("--trace=/proc/no.json", "cannot write \"/proc/no.json\""),
        ("--trace=trace.otf2", "end the name in .html"),
    ] {
        let outcome = run(s, "many", &[option])?;
        ensure!(outcome.status.code() == Some(2), "{outcome}");
        ensure!(outcome.stderr.contains(words) && outcome.stderr.lines().count() == 1, "{outcome}");
    }
    let outcome = run(s, "many", &["--profile-dir", "/proc/no", &format!("--profile={}", file(s, "no.html"))])?;
    ensure!(outcome.stderr.contains("name another by --profile-dir"), "{outcome}");
    Ok(())
}

/// The job's own status stays what it was.
fn full_disk(s: &Setting) -> Result<()> {
    let link = file(s, "full.html");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink("/dev/full", &link)?;
    let outcome = run(s, "many", &[&format!("--profile={link}")])?;
    ensure!(outcome.status.success(), "{outcome}");
    ensure!(
        outcome.stderr.contains("No space left on device") && outcome.stderr.contains("make room there"),
        "{outcome}"
    );
    Ok(())
}

fn counter_program(s: &Setting, flags: &[&str]) -> Result<PathBuf> {
    let build = Build::new("diagnosis/counters.c", Compiler::Gcc).flags(&["-O2"]).flags(flags);
    build.run(&s.prefix, &s.cache)
}

fn counts(s: &Setting, how: &str, flags: &[&str]) -> Result<()> {
    let value = if how == "on" { "1" } else { "0" };
    let job = Job::new(3, &counter_program(s, flags)?).args(&[how]);
    let job = job.env("SHMEM_COUNTERS", value);
    job.expect_success(&s.prefix, &s.scratch).map(|_| ())
}

/// While the job runs, its counters are shown each moment, on SIGUSR1, in a file and by HTTP.
fn counts_live(s: &Setting) -> Result<()> {
    fs::create_dir_all(&s.scratch)?;
    let (end, metrics) = (s.scratch.join("end"), s.scratch.join("metrics.prom"));
    let _ = fs::remove_file(&end);
    // Free a moment ago, and below those that the kernel gives to others.
    let mut ports = (20_000..32_000).skip(std::process::id() as usize % 10_000);
    let port = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).context("no port is free")?;
    let job = Job::new(2, &counter_program(s, &[])?)
        .options(&[
            "-n",
            "2",
            "--status=0.05",
            &format!("--metrics={}", metrics.display()),
            &format!("--metrics=:{port}"),
        ])
        .args(&["long", &end.display().to_string()]);
    let running = Running::start(&job, &s.prefix, &s.scratch)?;
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !is_so() {
            ensure!(begin.elapsed() < Duration::from_secs(60), "{what}\n{}", running.stderr_so_far());
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    };
    let has_all = |text: &str| {
        [
            "shmem_operations_total{job=\"0\",pe=\"1\",kind=\"put\"} 1000\n",
            "shmem_bytes_total{job=\"0\",pe=\"0\",kind=\"get\"} 128000\n",
            "# TYPE shmem_seconds_total counter\n",
        ]
        .iter()
        .all(|line| text.contains(line))
    };
    until("the program counts", &|| running.stdout_so_far().contains("counted"))?;
    until("a line of rates", &|| running.stderr_so_far().contains("1 of 2 PEs wait"))?;
    until("the file", &|| has_all(&fs::read_to_string(&metrics).unwrap_or_default()))?;
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    ensure!(page.starts_with("HTTP/1.1 200 OK\r\n") && has_all(&page), "{page}");
    kill(running.pid(), Signal::SIGUSR1)?;
    until("the answer to SIGUSR1", &|| {
        let text = running.stderr_so_far();
        text.contains("PE 0 has made 1.00 k put (8.00 kB)") && text.contains("PE 1 has made")
    })?;
    fs::write(&end, "")?;
    running.finish(Duration::from_secs(60))?.successful(Duration::from_secs(60))?;
    Ok(())
}

fn counters_unwritable(s: &Setting) -> Result<()> {
    let outcome = run(s, "many", &["--metrics=/proc/no"])?;
    ensure!(outcome.status.code() == Some(2), "{outcome}");
    ensure!(outcome.stderr.contains("cannot write \"/proc/no\"") && outcome.stderr.lines().count() == 1, "{outcome}");
    Ok(())
}
