//! Sorts a distributed array: each PE sorts its block, all agree on the bounds of the blocks to come, and each number
//! goes to the PE that will have it.
//!
//!     cargo build --example samplesort && oshrun -n 4 target/debug/examples/samplesort [NUMBERS]

use std::error::Error;

use ferroshmem::{Sum, World};

const DEFAULT_NUMBERS: usize = 100_000;

/// Samples of each PE for each PE.
const SAMPLES: usize = 32;

/// SplitMix64: the number of each place.
fn mix(place: u64) -> u64 {
    let mut x = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The numbers that belong to each PE: those from its bound on, up to the next one's.
fn parts<'a>(sorted: &'a [u64], bounds: &'a [u64]) -> impl Iterator<Item = &'a [u64]> {
    let start = |pe: usize| match pe {
        0 => 0,
        _ => bounds.get(pe - 1).map_or(sorted.len(), |bound| sorted.partition_point(|number| number < bound)),
    };
    (0..=bounds.len()).map(move |pe| &sorted[start(pe)..start(pe + 1)])
}

#[ferroshmem::main]
fn main(world: &World) -> Result<(), Box<dyn Error>> {
    let numbers = std::env::args().nth(1).map_or(Ok(DEFAULT_NUMBERS), |arg| arg.parse())?;
    let (me, n) = (world.my_pe().number(), world.n_pes());

    let mut array = world.distributed::<u64>(numbers)?;
    for (i, number) in array.iter_mut_with_index() {
        *number = mix(i as u64);
    }
    let checksum = |numbers: &[u64]| numbers.iter().fold(0, |sum: u64, one| sum.wrapping_add(mix(*one)));
    let before = world.reduce_value(checksum(&array), Sum);

    // Bounds that divide the samples evenly, and so the numbers nearly so.
    array.sort_unstable();
    let sample = |i: usize| array.get(i * array.len() / (SAMPLES * n)).copied();
    let mine = Vec::from_iter((0..SAMPLES * n).map(|i| sample(i).unwrap_or(u64::MAX)));
    let mut samples = world.gather_slice(&mine);
    samples.sort_unstable();
    let bounds = Vec::from_iter((1..n).map(|pe| samples[pe * samples.len() / n]));

    // How many numbers go from this PE to each, and what each has got from the PEs before this one.
    let counts = Vec::from_iter(parts(&array, &bounds).map(<[u64]>::len));
    let of_all = world.gather_slice(&counts);
    let to = |pe: usize| of_all.iter().skip(pe).step_by(n).copied();
    let most = (0..n).map(|pe| to(pe).sum::<usize>()).max().unwrap_or(0);
    let inbox = world.alloc::<u64>(most)?.open();
    for (pe, part) in world.pes().zip(parts(&array, &bounds)) {
        inbox.put(pe, to(pe.number()).take(me).sum(), part)?;
    }
    let mut inbox = inbox.close();
    let mine = to(me).sum::<usize>();
    inbox[..mine].sort_unstable();

    // Back to blocks of one length.
    let first = (0..me).map(|pe| to(pe).sum::<usize>()).sum();
    let window = array.open();
    window.put(first, &inbox[..mine])?;
    let array = window.close();

    let after = world.reduce_value(checksum(&array), Sum);
    let sorted = array.share();
    let mine = sorted.blocks().range_of(world.my_pe());
    let pairs = mine.filter(|i| i + 1 < numbers);
    let wrong = pairs.filter(|i| sorted[*i] > sorted[i + 1]).count();
    let wrong = world.reduce_value(wrong, Sum);
    if before != after || wrong > 0 {
        return Err(format!("{wrong} numbers are in the wrong order, or numbers are lost").into());
    }
    if me == 0 {
        println!("samplesort: {numbers} numbers on {n} PEs");
    }
    Ok(())
}
