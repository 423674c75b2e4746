//! IS of `nas/`: verified at all sizes that are quick, and one line for what it cannot do.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use ferroshmem_conformance::make::{make, make_for_peer};
use ferroshmem_conformance::preload::{preloaded, tool};
use ferroshmem_conformance::refusal::{heap_refusal, refusal};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, OpenMpi, Outcome, Suite, npb};

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
        suite.add(format!("S::{variant}::open-mpi"), move |s| under_open_mpi(s, variant, version));
        suite.add(format!("refused::{variant}::heap-too-small"), move |s| heap_too_small(s, variant));
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
            refusal(&job.run(&s.prefix, &s.scratch)?, "is", words).map(drop)
        });
    }
    suite.add("a-damaged-key-is-noticed".into(), damaged);
    suite.run();
}

fn program(s: &Setting, variant: &str) -> Result<PathBuf> {
    let build = make("nas", &["is"], &s.prefix.bin("oshcc"), &s.cache)?;
    Ok(build.join(format!("is-{variant}")))
}

fn reported(outcome: &Outcome, class: &str, size: &str, pes: usize, version: &str) -> Result<()> {
    npb::reports(
        outcome,
        "IS",
        &[
            ("Class", class),
            ("Size", size),
            ("Iterations", "10"),
            ("Total processes", &pes.to_string()),
            ("Operation type", "keys ranked"),
            ("Verification", "SUCCESSFUL"),
            ("Version", version),
        ],
    )?;
    // Each iteration ranks all keys.
    npb::rate_fits(outcome, size.parse::<f64>()? * 1e-5)?;
    let total = npb::number(outcome, "Mop/s total")?;
    let each = npb::number(outcome, "Mop/s/process")?;
    let pes = f64::from(u32::try_from(pes)?);
    ensure!((total - each * pes).abs() <= 0.01 * (pes + 1.0), "rates do not fit\n{outcome}");
    Ok(())
}

fn heap_too_small(s: &Setting, variant: &str) -> Result<()> {
    for (class, small, pes) in [("S", "4k", 1), ("W", "2m", 2), ("A", "16m", 4)] {
        let job = Job::new(pes, &program(s, variant)?).args(&[class]);
        heap_refusal(s, job, "is", small)?;
    }
    Ok(())
}

fn under_open_mpi(s: &Setting, variant: &str, version: &str) -> Result<()> {
    let peer = OpenMpi::find()?;
    let build = make_for_peer("nas", &["is"], ("OSHCC", &peer.oshcc()), &s.cache)?;
    let program = build.join(format!("is-{variant}")).display().to_string();
    let outcome = peer.job(4, "256M", &program, &["S"]).expect_success(&s.prefix, &s.scratch)?;
    reported(&outcome, "S", "65536", 4, version)
}

/// A wrong bit of a key makes verification fail.
fn damaged(s: &Setting) -> Result<()> {
    let tool = tool(&s.cache, "damaging-is", DAMAGING_TOOL)?;
    for pes in [1, 2] {
        let job = Job::new(pes, &program(s, "putget")?).args(&["S"]);
        npb::notices(&preloaded(job, &tool).run(&s.prefix, &s.scratch)?)?;
    }
    Ok(())
}
