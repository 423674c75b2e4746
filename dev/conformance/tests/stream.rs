//! STREAM: all programs at small sizes validate, and one line for options that make no sense.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::make::{make, make_for_peer};
use ferroshmem_conformance::refusal::{heap_refusal, refusal};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, OpenMpi, Outcome, Suite};

const VARIANTS: [&str; 3] = ["local", "remote-putget", "remote-ptr"];
const KERNELS: [&str; 4] = ["Copy", "Scale", "Add", "Triad"];

/// Elements of each array on each PE: one, fewer than what is reduced, a block and what is
/// left of one.
const ELEMENTS: [&str; 4] = ["1", "1000", "2048", "100001"];

/// Options that are refused, and what the refusal says.
const REFUSALS: &[(&[&str], &[&str])] = &[
    (&["-n", "0"], &["-n", " 1 "]),
    (&["-n", "-5"], &["-n", "-5"]),
    (&["-n", "many"], &["-n", "many"]),
    (&["-n", "10x"], &["-n", "10x"]),
    (&["-n", "99999999999999999999999"], &["-n"]),
    (&["-n", "1000000000000"], &["-n", "1000000000000"]),
    (&["-n"], &["usage", "--cap", "--reduce-every"]),
    (&["--cap", "0"], &["--cap"]),
    (&["--cap", "lots"], &["--cap", "lots"]),
    (&["--reduce-every", "-1"], &["--reduce-every", "-1"]),
    (&["--fast"], &["usage", "--cap", "--reduce-every"]),
    (&["-n", "10", "more"], &["usage"]),
];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for variant in VARIANTS {
        for pes in [1, 2, 5] {
            for elements in ELEMENTS {
                suite.add(format!("{variant}::{elements}::{pes}pe"), move |s| {
                    let job = Job::new(pes, &program(s, variant)?).args(&["-n", elements]);
                    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
                    validated(&outcome, Some(9))
                });
            }
        }
        suite.add(format!("{variant}::open-mpi"), move |s| under_open_mpi(s, variant));
    }
    suite.add("openmp".into(), |s| {
        for threads in ["1", "2", "3"] {
            let job = Job::new(0, &program(s, "openmp")?).args(&["-n", "100001"]).env("OMP_NUM_THREADS", threads);
            validated(&job.expect_success(&s.prefix, &s.scratch)?, Some(9))?;
        }
        Ok(())
    });
    for (every, times) in [("0", None), ("2", Some(5)), ("3", Some(3)), ("11", None)] {
        suite.add(format!("reduce-every::{every}"), move |s| {
            let args = ["-n", "5000", "--reduce-every", every];
            let job = Job::new(2, &program(s, "local")?).args(&args);
            validated(&job.expect_success(&s.prefix, &s.scratch)?, times)
        });
    }
    suite.add("cap".into(), capped);
    for (args, words) in REFUSALS {
        for variant in ["local", "openmp"] {
            suite.add(format!("refused::{variant}::{}", args.join(" ")), move |s| {
                let pes = if variant == "openmp" { 0 } else { 2 };
                let job = Job::new(pes, &program(s, variant)?).args(args);
                refusal(&job.run(&s.prefix, &s.scratch)?, "stream", words).map(drop)
            });
        }
    }
    suite.add("refused::heap-too-small".into(), heap_too_small);
    suite.run();
}

fn program(s: &Setting, variant: &str) -> Result<PathBuf> {
    let build = make("pgas-microbench/stream", &[], &s.prefix.bin("oshcc"), &s.cache)?;
    Ok(build.join(format!("stream-{variant}")))
}

/// The table is there, with rates that are numbers, the solution validates, and there were
/// `reductions` after the first repetition.
fn validated(outcome: &Outcome, reductions: Option<usize>) -> Result<()> {
    let line = |start: &str| outcome.stdout.lines().find(|l| l.starts_with(start));
    ensure!(line("Solution Validates").is_some(), "{outcome}");
    ensure!(line("Function    Best Rate MB/s  Avg time     Min time     Max time").is_some(), "{outcome}");
    for kernel in KERNELS {
        let numbers = line(&format!("{kernel}:")).with_context(|| format!("{outcome}"))?;
        let numbers: Vec<f64> = numbers.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>()?;
        let [rate, mean, least, most] = numbers[..] else {
            anyhow::bail!("{kernel} has not four numbers\n{outcome}");
        };
        // The 32 bytes of two elements, in more than 0.64 ms on a busy machine, are 0.0 MB/s as printed.
        let rounded_to_zero = rate == 0.0 && least > 6.4e-4;
        ensure!(rate.is_finite() && (rate > 0.0 || rounded_to_zero), "{outcome}");
        ensure!(least <= mean && mean <= most, "{outcome}");
    }
    let reduction = line("Reduction of").map(|l| l.split(',').nth(1).unwrap_or_default().trim());
    let expected = reductions.map(|n| format!("{n} times: average"));
    ensure!(
        reduction.map(|r| r.split_inclusive("average").next().unwrap_or_default()) == expected.as_deref(),
        "not {reductions:?} reductions\n{outcome}"
    );
    Ok(())
}

/// A cap keeps the arrays below it, and the output says that they are too small then.
fn capped(s: &Setting) -> Result<()> {
    let job = Job::new(2, &program(s, "local")?).args(&["--cap", "3"]);
    let outcome = job.expect_success(&s.prefix, &s.scratch)?;
    validated(&outcome, Some(9))?;
    let size = "Each array: 131072 elements, 1.0 MiB; 65536 elements on each PE";
    ensure!(outcome.stdout.contains(size), "{outcome}");
    ensure!(outcome.stdout.contains("Note: "), "{outcome}");
    Ok(())
}

fn heap_too_small(s: &Setting) -> Result<()> {
    for variant in VARIANTS {
        let job = Job::new(2, &program(s, variant)?).args(&["-n", "1000000"]);
        heap_refusal(s, job, "stream", "8m")?;
    }
    Ok(())
}

fn under_open_mpi(s: &Setting, variant: &str) -> Result<()> {
    let peer = OpenMpi::find()?;
    let build = make_for_peer("pgas-microbench/stream", &[], ("OSHCC", &peer.oshcc()), &s.cache)?;
    let program = build.join(format!("stream-{variant}")).display().to_string();
    let outcome = peer.job(2, "64M", &program, &["-n", "100001"]).expect_success(&s.prefix, &s.scratch)?;
    validated(&outcome, Some(9))
}
