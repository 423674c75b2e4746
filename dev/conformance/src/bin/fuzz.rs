//! `cargo xtask fuzz`: the differential fuzzer, by hand.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use ferroshmem_cluster::hosts::applets;
use ferroshmem_conformance::Prefix;
use ferroshmem_conformance::cluster::{Clusters, launchers};
use ferroshmem_conformance::fuzz::{Campaign, Sequence};

/// Between two lines that say how far it is.
const PROGRESS: Duration = Duration::from_secs(10);

/// Runs random sequences of all routines and compares each with a sequential model
#[derive(Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
struct Options {
    /// Seed of the first sequence, or of the only one without --seconds; drawn if it is not given
    #[arg(long)]
    seed: Option<u64>,
    /// Runs the sequences of following seeds for this long
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Steps of a sequence of few PEs; those of more PEs have fewer
    #[arg(long, default_value_t = 100)]
    steps: usize,
    /// PEs of a sequence, at most
    #[arg(long, value_name = "PES", default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=64))]
    most_pes: u8,
    /// On hosts made of namespaces, with slow and lossy links
    #[arg(long)]
    hosts: bool,
    /// Does not look for shorter sequences that fail, too
    #[arg(long)]
    no_shrinking: bool,
    /// How many sequences may fail before it ends
    #[arg(long, default_value_t = 1)]
    failures: usize,
    /// Folder of the compiled program
    #[arg(long, hide = true, default_value = "target/fuzz")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    applets::dispatch();
    match fuzz(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs sequences; how many failed.
fn fuzz(options: &Options) -> Result<usize> {
    let campaign = Campaign {
        prefix: Prefix::find()?,
        cache: options.folder.join("programs"),
        scratch: options.folder.join(format!("scratch-{}", std::process::id())),
        clusters: Clusters::default(),
        shrinks: !options.no_shrinking,
    };
    let launchers = if options.hosts { launchers() } else { Vec::new() };
    ensure!(
        !options.hosts || !launchers.is_empty(),
        "no launcher for several hosts is installed (package mpich has one)"
    );
    let first = match options.seed {
        Some(seed) => seed,
        None => drawn_seed()?,
    };
    let limit = Duration::from_secs(options.seconds.unwrap_or(0));
    let (begin, mut reported) = (Instant::now(), Instant::now());
    let (mut failed, mut ran, mut steps) = (0, 0, 0);
    let report = |ran: usize, steps: usize, failed: usize| {
        let seconds = begin.elapsed().as_secs();
        println!("{ran} sequences of {steps} steps in {seconds} s, {failed} failed");
    };
    println!("first seed {first}");
    for seed in first.. {
        if ran > 0 && (begin.elapsed() >= limit || failed >= options.failures) {
            break;
        }
        let sequence = Sequence::new(seed, options.steps, options.most_pes.into(), &launchers);
        if options.seconds.is_none() {
            println!("{sequence}");
        }
        if let Some(finding) = campaign.run(&sequence)? {
            failed += 1;
            println!("{finding}");
            println!("  again: cargo xtask fuzz --seed {seed}{}", others(options));
        }
        ran += 1;
        steps += sequence.steps;
        if reported.elapsed() >= PROGRESS {
            reported = Instant::now();
            report(ran, steps, failed);
        }
    }
    remove(&campaign.scratch);
    report(ran, steps, failed);
    Ok(failed)
}

/// The options that a seed's sequence depends on.
fn others(options: &Options) -> String {
    let hosts = if options.hosts { " --hosts" } else { "" };
    format!(" --steps {} --most-pes {}{hosts}", options.steps, options.most_pes)
}

/// A seed that is short enough to be typed.
fn drawn_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    let file = std::fs::File::open("/dev/urandom");
    std::io::Read::read_exact(&mut file?, &mut bytes).context("/dev/urandom")?;
    Ok(u32::from_ne_bytes(bytes).into())
}

fn remove(folder: &Path) {
    // Output files are removed one by one; a file that cannot be removed does no harm.
    let _ = std::fs::remove_dir(folder);
}
