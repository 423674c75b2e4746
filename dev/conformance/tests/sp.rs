//! SP of `nas/`: verified at square numbers of PEs, also where some are late; and one line for what it
//! cannot do.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use ferroshmem_conformance::make::{make, make_for_peer};
use ferroshmem_conformance::preload::{preloaded, tool};
use ferroshmem_conformance::refusal::{heap_refusal, refusal};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, OpenMpi, Outcome, Suite, npb};

/// The variants, as in the names of programs and in reports.
const PUTGET: Variant = ("putget", "put/get");
const PTR: Variant = ("ptr", "shmem_ptr");
type Variant = (&'static str, &'static str);

/// A class: name, points along an axis, iterations.
type Class = (&'static str, u32, u32);
const S: Class = ("S", 12, 100);
const W: Class = ("W", 36, 400);
const A: Class = ("A", 64, 400);

/// Every 1,000th put has an error in its last number.
const DAMAGING_TOOL: &str = "#include <stddef.h>
void pshmem_double_put(double *, const double *, size_t, int);
static int puts_seen;
void shmem_double_put(double *dest, const double *source, size_t n, int pe)
{
    double copy[n];
    for (size_t i = 0; i < n; i++)
        copy[i] = source[i];
    copy[n - 1] += ++puts_seen % 1000 == 0 ? 1e-3 : 0;
    pshmem_double_put(dest, copy, n, pe);
}
";

/// PEs are late, at other places in every run: what they waited for has come, but they do not
/// go on. Puts of flags take as long.
const DELAYING_TOOL: &str = "#include <stdlib.h>
#include <time.h>
#include <unistd.h>
void pshmem_long_wait_until(long *, int, long);
void pshmem_long_p(long *, long, int);
static void be_late(void)
{
    static unsigned seed;
    if (seed == 0)
        seed = (unsigned)getpid() * 2654435761u + (unsigned)time(NULL) + 1;
    int draw = rand_r(&seed);
    if (draw % 8 == 0)
        usleep(draw / 8 % 500);
}
void shmem_long_wait_until(long *object, int comparison, long value)
{
    be_late();
    pshmem_long_wait_until(object, comparison, value);
    be_late();
}
void shmem_long_p(long *dest, long value, int pe)
{
    be_late();
    pshmem_long_p(dest, value, pe);
}
";

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    let mut add = |class: Class, variant: Variant, pes: usize| {
        let name = format!("{}::{}::{pes}pe", class.0, variant.0);
        suite.add(name, move |s| verified(s, class, variant, pes));
    };
    for variant in [PUTGET, PTR] {
        for pes in [1, 4, 9, 16, 25] {
            add(S, variant, pes);
        }
    }
    add(W, PUTGET, 9);
    add(W, PTR, 4);
    // Larger classes change the sizes alone: copies.c and stream have longer transfers than any of them.
    for (class, variant, pes) in [
        (W, PTR, 1),
        (W, PTR, 9),
        (W, PUTGET, 4),
        (W, PUTGET, 16),
        (A, PUTGET, 9),
        (A, PUTGET, 1),
        (A, PTR, 4),
        (A, PTR, 16),
    ] {
        let name = format!("{}::{}::{pes}pe", class.0, variant.0);
        suite.add_long(name, move |s| verified(s, class, variant, pes));
    }
    for variant in [PUTGET, PTR] {
        let name = variant.0;
        suite.add(format!("S::{name}::without-launcher"), move |s| verified(s, S, variant, 0));
        suite.add(format!("S::{name}::open-mpi"), move |s| under_open_mpi(s, variant));
        suite.add(format!("S::{name}::late"), move |s| late(s, variant));
        suite.add(format!("refused::{name}::heap-too-small"), move |s| heap_too_small(s, variant));
    }
    for (name, pes, args, words) in [
        ("class-X", 4, &["X"][..], &["\"X\"", "SWABC"][..]),
        ("class-lower-case", 1, &["s"], &["\"s\"", "SWABC"]),
        ("no-class", 4, &[], &["SWABC"]),
        ("3-pes", 3, &["S"], &["square", "3"]),
        ("8-pes", 8, &["W"], &["square", "8"]),
        ("36-pes", 36, &["S"], &["class S", "at most 25", "36"]),
    ] {
        suite.add(format!("refused::{name}"), move |s| {
            let job = Job::new(pes, &program(s, PUTGET)?).args(args);
            refusal(&job.run(&s.prefix, &s.scratch)?, "sp", words).map(drop)
        });
    }
    suite.add("wrong-data-are-noticed".into(), damaged);
    suite.run();
}

fn program(s: &Setting, variant: Variant) -> Result<PathBuf> {
    let build = make("nas", &["sp"], &s.prefix.bin("oshcc"), &s.cache)?;
    Ok(build.join(format!("sp-{}", variant.0)))
}

fn job(s: &Setting, class: Class, variant: Variant, pes: usize) -> Result<Job> {
    Ok(Job::new(pes, &program(s, variant)?).args(&[class.0]))
}

fn verified(s: &Setting, class: Class, variant: Variant, pes: usize) -> Result<()> {
    let outcome = job(s, class, variant, pes)?.expect_success(&s.prefix, &s.scratch)?;
    reported(&outcome, class, variant, pes.max(1))
}

fn reported(outcome: &Outcome, class: Class, variant: Variant, pes: usize) -> Result<()> {
    let (name, points, iterations) = class;
    let last_step = format!("Time step {iterations:4}");
    ensure!(outcome.stdout.contains(&last_step), "no {last_step}\n{outcome}");
    let size = format!("{points:4}x{points:4}x{points:4}");
    npb::reports(
        outcome,
        "SP",
        &[
            ("Class", name),
            ("Size", size.trim()),
            ("Iterations", &iterations.to_string()),
            ("Total processes", &pes.to_string()),
            ("Operation type", "floating point"),
            ("Verification", "SUCCESSFUL"),
            ("Version", variant.1),
        ],
    )?;
    // The number of operations is a formula of the benchmark.
    let n = f64::from(points);
    let operations = 881.174 * n.powi(3) - 4683.91 * n.powi(2) + 11484.5 * n - 19272.4;
    npb::rate_fits(outcome, operations * f64::from(iterations) * 1e-6)
}

fn heap_too_small(s: &Setting, variant: Variant) -> Result<()> {
    for (class, small, pes) in [(S, "4k", 1), (S, "256k", 4), (W, "2m", 4)] {
        heap_refusal(s, job(s, class, variant, pes)?, "sp", small)?;
    }
    Ok(())
}

fn under_open_mpi(s: &Setting, variant: Variant) -> Result<()> {
    let peer = OpenMpi::find()?;
    let build = make_for_peer("nas", &["sp"], ("OSHCC", &peer.oshcc()), &s.cache)?;
    let program = build.join(format!("sp-{}", variant.0));
    let outcome = peer.job(4, "256M", &program.display().to_string(), &["S"]).expect_success(&s.prefix, &s.scratch)?;
    reported(&outcome, S, variant, 4)
}

/// Nothing is overwritten before its last use, and nothing used before it is there, whichever PE
/// is late.
fn late(s: &Setting, variant: Variant) -> Result<()> {
    let tool = tool(&s.cache, &format!("delaying-{}", variant.0), DELAYING_TOOL)?;
    for pes in [4, 9] {
        let job = preloaded(job(s, S, variant, pes)?, &tool);
        let outcome = job.expect_success(&s.prefix, &s.scratch)?;
        reported(&outcome, S, variant, pes)?;
    }
    Ok(())
}

/// Wrong ghost points and lines make verification fail.
fn damaged(s: &Setting) -> Result<()> {
    let tool = tool(&s.cache, "damaging-sp", DAMAGING_TOOL)?;
    let outcome = preloaded(job(s, S, PUTGET, 4)?, &tool).run(&s.prefix, &s.scratch)?;
    npb::notices(&outcome)?;
    ensure!(outcome.stdout.contains("FAILURE:"), "{outcome}");
    Ok(())
}
