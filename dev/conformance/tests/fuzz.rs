//! Random sequences of all routines against a sequential model (`c/fuzz`, docs/fuzzing.md): the same
//! in every run of the tests; `cargo xtask fuzz` runs others, for as long as one likes.

use anyhow::{Result, bail};
use ferroshmem_cluster::hosts::Launcher;
use ferroshmem_conformance::Suite;
use ferroshmem_conformance::cluster::{Clusters, launchers};
use ferroshmem_conformance::fuzz::{Campaign, Sequence};
use ferroshmem_conformance::suite::Setting;

/// Trials on one node, and sequences of each: together less than half a minute of processor time.
const TRIALS: u64 = 8;
const SEQUENCES: u64 = 8;
const STEPS: usize = 60;

/// Sequences on several hosts.
const ON_HOSTS: u64 = 4;
const STEPS_ON_HOSTS: usize = 40;

fn run(s: &Setting, seeds: std::ops::Range<u64>, steps: usize, launchers: &[Launcher]) -> Result<()> {
    let campaign = Campaign {
        prefix: s.prefix.clone(),
        cache: s.cache.clone(),
        scratch: s.scratch.clone(),
        clusters: Clusters::default(),
        shrinks: true,
    };
    for seed in seeds {
        let mut sequence = Sequence::new(seed, steps, 16, launchers);
        // The other builds take as long to compile as all of this takes to run.
        sequence.build = 0;
        if let Some(finding) = campaign.run(&sequence)? {
            bail!("{finding}");
        }
    }
    Ok(())
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for trial in 0..TRIALS {
        let seeds = trial * SEQUENCES..(trial + 1) * SEQUENCES;
        suite.add(format!("node::{trial}"), move |s| run(s, seeds, STEPS, &[]));
    }
    let launchers = launchers();
    // The first ones, and the first in which PEs fail.
    let loses = |seed: &u64| Sequence::new(*seed, STEPS_ON_HOSTS, 16, &launchers).loses;
    let losing: Vec<u64> = (ON_HOSTS..100).filter(loses).take(2).collect();
    for seed in (0..ON_HOSTS).chain(losing) {
        let launchers = launchers.clone();
        if !launchers.is_empty() {
            suite.add(format!("hosts::{seed}"), move |s| run(s, seed..seed + 1, STEPS_ON_HOSTS, &launchers));
        }
    }
    suite.run();
}
