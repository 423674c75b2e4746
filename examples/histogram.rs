//! A histogram distributed over all PEs, filled by atomic additions of all PEs.
//!
//!     cargo build --example histogram && oshrun -n 4 target/debug/examples/histogram [SAMPLES_PER_PE]
//!
//! Bin b lives on PE b % n. A sample is the sum of two dice with BINS / 2 faces, so the bins'
//! frequencies form a triangle. At the end the bins must hold exactly as many samples as were
//! drawn, and the bins of each PE exactly the samples that all PEs sent to them.

use std::error::Error;
use std::process::ExitCode;

use ferroshmem::{Pe, Sum, World};

const BINS: usize = 256;
const DEFAULT_SAMPLES: u64 = 200_000;

/// SplitMix64: a counter-based generator, so each PE draws its own samples.
fn mix(counter: u64) -> u64 {
    let mut x = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let samples = match std::env::args().nth(1) {
        Some(samples) => samples.parse()?,
        None => DEFAULT_SAMPLES,
    };
    let world = World::init()?;
    let (me, n) = (world.my_pe().number(), world.n_pes());
    let pes: Vec<Pe> = world.pes().collect();

    let bins = world.atomics::<u64>(BINS.div_ceil(n))?;
    let mut sent = [0u64; BINS]; // samples that this PE sent to each bin
    for i in 0..samples {
        let draw = mix(me as u64 * samples + i);
        let die = |bits: u64| bits as usize % (BINS / 2);
        let bin = die(draw) + die(draw >> 32);
        sent[bin] += 1;
        bins.add(pes[bin % n], bin / n, 1)?;
    }

    let mine = bins.into_inner(); // all PEs have added all their samples
    world.reduce_slice(&mut sent, Sum);
    let mut right = sent.iter().sum::<u64>() == samples * n as u64;
    for (held, bin) in mine.iter().zip((me..BINS).step_by(n)) {
        if *held != sent[bin] {
            eprintln!("histogram: PE {me}: bin {bin} holds {held}, expected {}", sent[bin]);
            right = false;
        }
    }
    if !right {
        return Ok(ExitCode::FAILURE);
    }
    if me == 0 {
        println!("histogram: {} samples in {BINS} bins on {n} PEs", samples * n as u64);
    }
    Ok(ExitCode::SUCCESS)
}
