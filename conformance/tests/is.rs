//! IS of `nas/`: verified at all sizes that are quick, and one line for what it cannot do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_conformance::job::shell_status;
use ferroshmem_conformance::make::make;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, OpenMpi, Outcome, Suite};

/// The variants, as in the names of programs and in reports.
const VARIANTS: [(&str, &str); 2] = [("putget", "put/get"), ("ptr", "shmem_ptr")];

/// The classes that are quick, and their numbers of keys.
const CLASSES: [(&str, &str); 3] = [("S", "65536"), ("W", "1048576"), ("A", "8388608")];

/// Puts of single keys with an error in one bit of every 50,000th: in each ranking.
const DAMAGING_TOOL: &str = "void pshmem_int_p(int *, int, int);
static int puts_seen;
void shmem_int_p(int *dest, int value, int pe)
{
    pshmem_int_p(dest, ++puts_seen % 50000 == 0 ? value ^ 1 : value, pe);
}
";

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (variant, version) in VARIANTS {
        for (class, size) in CLASSES {
            for pes in [1, 2, 4, 16] {
                suite.add(format!("{class}::{variant}::{pes}pe"), move |s| {
                    let job = Job::new(pes, &program(s, variant)?).args(&[class]);
                    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
                    reported(&outcome, class, size, pes, version)
                });
            }
        }
        suite.add(format!("S::{variant}::without-launcher"), move |s| {
            let job = Job::new(0, &program(s, variant)?).args(&["S"]);
            let outcome = job.expect_success(&s.prefix, &s.scratch)?;
            reported(&outcome, "S", "65536", 1, version)
        });
        suite.add(format!("S::{variant}::open-mpi"), move |s| {
            under_open_mpi(s, variant, version)
        });
        suite.add(format!("refused::{variant}::heap-too-small"), move |s| {
            heap_too_small(s, variant)
        });
    }
    for (name, pes, args, words) in [
        ("class-X", 2, &["X"][..], &["\"X\"", "SWABC"][..]),
        ("class-lower-case", 2, &["s"], &["\"s\"", "SWABC"]),
        ("class-of-two-letters", 1, &["SS"], &["\"SS\"", "SWABC"]),
        ("no-class", 2, &[], &["SWABC"]),
        ("two-classes", 2, &["S", "W"], &["SWABC"]),
        ("3-pes", 3, &["S"], &["power of two", "128", "not on 3"]),
        ("256-pes", 256, &["S"], &["class S", "128", "not on 256"]),
    ] {
        suite.add(format!("refused::{name}"), move |s| {
            let job = Job::new(pes, &program(s, "putget")?).args(args);
            refused(&job.run(&s.prefix, &s.scratch)?, words).map(drop)
        });
    }
    suite.add("a-damaged-key-is-noticed".into(), damaged);
    suite.run();
}

fn program(s: &Setting, variant: &str) -> Result<PathBuf> {
    let build = make("nas", &["is"], &s.prefix.bin("oshcc"), &s.cache)?;
    Ok(build.join(format!("is-{variant}")))
}

/// The value of a line of the report.
fn fact<'a>(outcome: &'a Outcome, label: &str) -> Result<&'a str> {
    let mut lines = outcome.stdout.lines().filter_map(|l| l.split_once(" = "));
    let line = lines.find(|(name, _)| name.trim() == label);
    let (_, value) = line.with_context(|| format!("no line \"{label}\"\n{outcome}"))?;
    Ok(value.trim())
}

fn reported(outcome: &Outcome, class: &str, size: &str, pes: usize, version: &str) -> Result<()> {
    ensure!(
        outcome.stdout.contains("IS Benchmark Completed."),
        "{outcome}"
    );
    let pes_text = pes.to_string();
    for (label, expected) in [
        ("Class", class),
        ("Size", size),
        ("Iterations", "10"),
        ("Total processes", &pes_text),
        ("Operation type", "keys ranked"),
        ("Verification", "SUCCESSFUL"),
        ("Version", version),
    ] {
        let value = fact(outcome, label)?;
        ensure!(
            value == expected,
            "{label} is {value}, not {expected}\n{outcome}"
        );
    }
    let number = |label| -> Result<f64> { Ok(fact(outcome, label)?.parse()?) };
    let seconds = number("Time in seconds")?;
    let (total, each) = (number("Mop/s total")?, number("Mop/s/process")?);
    // Times have four digits after the point, rates two.
    let error_of_product = total * 0.0001 + seconds * 0.01;
    let millions = size.parse::<f64>()? * 1e-5;
    ensure!(
        (total * seconds - millions).abs() <= error_of_product,
        "rate and time do not fit\n{outcome}"
    );
    let pes = f64::from(u32::try_from(pes)?);
    ensure!(
        (total - each * pes).abs() <= 0.01 * (pes + 1.0),
        "rates do not fit\n{outcome}"
    );
    Ok(())
}

/// Status 1, nothing but one line with these words on standard error; the line.
fn refused<'a>(outcome: &'a Outcome, words: &[&str]) -> Result<&'a str> {
    ensure!(!outcome.hung, "hangs\n{outcome}");
    ensure!(outcome.left == 0, "processes are left\n{outcome}");
    ensure!(
        shell_status(outcome.status) == 1,
        "status is not 1\n{outcome}"
    );
    ensure!(outcome.stdout.is_empty(), "output\n{outcome}");
    let line = outcome.stderr.trim_end();
    ensure!(
        line.starts_with("is: ") && line.lines().count() == 1,
        "not one line\n{outcome}"
    );
    for word in words {
        ensure!(line.contains(word), "does not say \"{word}\"\n{outcome}");
    }
    Ok(line)
}

/// What the refusal tells to set makes the program run.
fn heap_too_small(s: &Setting, variant: &str) -> Result<()> {
    for (class, small, pes) in [("S", "4k", 1), ("W", "2m", 2), ("A", "16m", 4)] {
        let job = Job::new(pes, &program(s, variant)?).args(&[class]);
        let limited = job.clone().env("SHMEM_SYMMETRIC_SIZE", small);
        let outcome = limited.run(&s.prefix, &s.scratch)?;
        let line = refused(&outcome, &["symmetric heap", "MiB"])?;
        let enough = line.split("SHMEM_SYMMETRIC_SIZE=").nth(1);
        let enough = enough.with_context(|| format!("no size to set\n{outcome}"))?;
        job.env("SHMEM_SYMMETRIC_SIZE", enough)
            .expect_success(&s.prefix, &s.scratch)
            .with_context(|| format!("with {enough}"))?;
    }
    Ok(())
}

fn under_open_mpi(s: &Setting, variant: &str, version: &str) -> Result<()> {
    let Some(peer) = OpenMpi::find() else {
        println!("skipped: Open MPI's OpenSHMEM is not installed");
        return Ok(());
    };
    let build = make("nas", &["is"], &peer.oshcc(), &s.cache)?;
    let program = build.join(format!("is-{variant}")).display().to_string();
    let outcome = peer
        .job(4, "256M", &program, &["S"])
        .expect_success(&s.prefix, &s.scratch)?;
    reported(&outcome, "S", "65536", 4, version)
}

/// A wrong bit of a key makes verification fail.
fn damaged(s: &Setting) -> Result<()> {
    let tool = damaging_tool(&s.cache)?;
    for pes in [1, 2] {
        let outcome = Job::new(pes, &program(s, "putget")?)
            .args(&["S"])
            .options(&[
                "-n",
                &pes.to_string(),
                "-x",
                &format!("LD_PRELOAD={}", tool.display()),
            ])
            .run(&s.prefix, &s.scratch)?;
        ensure!(!outcome.hung, "hangs\n{outcome}");
        ensure!(
            shell_status(outcome.status) == 1,
            "status is not 1\n{outcome}"
        );
        let verification = fact(&outcome, "Verification")?;
        ensure!(verification == "UNSUCCESSFUL", "{outcome}");
    }
    Ok(())
}

fn damaging_tool(cache: &Path) -> Result<PathBuf> {
    fs::create_dir_all(cache)?;
    let (source, library) = (cache.join("damaging.c"), cache.join("damaging.so"));
    fs::write(&source, DAMAGING_TOOL)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &source]);
    if !gcc.status().context("cannot run gcc")?.success() {
        bail!("{gcc:?} failed");
    }
    Ok(library)
}
