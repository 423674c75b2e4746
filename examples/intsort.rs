//! Sorts integers distributed over all PEs.
//!
//!     cargo build --release --example intsort
//!     oshrun -n 4 target/release/examples/intsort [LOG2_KEYS [ROUNDS]]
//!
//! 2^LOG2_KEYS keys of 32 bits (default 2^25) come from a counter-based generator: key i is the upper
//! half of SplitMix64(i), so any PE can make any part. One sort is
//!
//! 1. count: each PE counts its keys by their upper bits; a sum over all PEs gives the histogram of
//!    all keys, from which every PE derives the same split of the key range into one part per PE, of
//!    about equal numbers of keys;
//! 2. group: each PE groups its keys by destination;
//! 3. exchange: for each destination, an atomic fetch-add on the destination's counter reserves room
//!    in its receive buffer, and one put fills it;
//! 4. sort: each PE sorts the keys that it received (radix sort).
//!
//! The result is verified each time: keys ascend within each PE and from PE to PE, and number and
//! checksum of all keys are those of the generated ones. The rate counts steps 1 to 4, the best of
//! ROUNDS sorts (default 3).

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use ferroshmem::{Atomics, Sum, Symmetric, World};

const DEFAULT_LOG2_KEYS: u32 = 25;
const DEFAULT_ROUNDS: usize = 3;

/// Of the histogram that splits the range.
const COUNT_BITS: u32 = 12;
const COUNTS: usize = 1 << COUNT_BITS;

/// Of the radix sort.
const DIGIT_BITS: usize = 11;
const DIGITS: usize = 1 << DIGIT_BITS;
const PASSES: usize = 3;

fn splitmix64(counter: u64) -> u64 {
    let mut x = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A checksum that depends on every bit of every key, but not on their order.
fn checksum(keys: &[u32]) -> u64 {
    let mixed = keys.iter().map(|&key| splitmix64(key.into()));
    mixed.fold(0, u64::wrapping_add)
}

fn upper_bits(key: u32) -> usize {
    (key >> (u32::BITS - COUNT_BITS)) as usize
}

/// The PE that gets the keys with these upper bits.
struct Split {
    owner: Vec<usize>,
    /// Number of keys of this PE for each PE.
    to_send: Vec<usize>,
    /// The largest number of keys that any PE gets.
    most: usize,
}

/// Step 1.
fn split(world: &World, counts: &mut Symmetric<'_, u64>, keys: &[u32]) -> ferroshmem::Result<Split> {
    counts.fill(0);
    for &key in keys {
        counts[upper_bits(key)] += 1;
    }
    let mine = counts.to_vec();
    world.reduce_in_place(&mut *counts, Sum);

    let n = world.n_pes();
    let share = counts.iter().sum::<u64>() / n as u64;
    let (mut owner, mut to_send, mut load) = (Vec::with_capacity(COUNTS), vec![0; n], vec![0; n]);
    let (mut before, mut pe) = (0, 0);
    for (&all, mine) in counts.iter().zip(mine) {
        // The range of the next PE begins where the keys so far make up the shares before it.
        while pe < n - 1 && before >= share * (pe + 1) as u64 {
            pe += 1;
        }
        owner.push(pe);
        before += all;
        load[pe] += all as usize;
        to_send[pe] += mine as usize;
    }
    let most = load.into_iter().max().unwrap_or(0);
    Ok(Split { owner, to_send, most })
}

/// The offsets of parts of these lengths.
fn starts(lengths: &[usize]) -> Vec<usize> {
    let mut next = 0;
    let start = |length: &usize| {
        next += length;
        next - length
    };
    lengths.iter().map(start).collect()
}

/// Step 2: the keys by destination.
fn group(keys: &[u32], split: &Split, grouped: &mut [u32]) {
    let mut next = starts(&split.to_send);
    for &key in keys {
        let place = &mut next[split.owner[upper_bits(key)]];
        grouped[*place] = key;
        *place += 1;
    }
}

/// Step 3; returns the number of received keys.
fn exchange<'w>(
    world: &World,
    grouped: &[u32],
    split: &Split,
    received: Symmetric<'w, u32>,
    filled: &Atomics<'_, usize>,
) -> ferroshmem::Result<(Symmetric<'w, u32>, usize)> {
    let me = world.my_pe();
    filled.set(me, 0, 0)?;
    let received = received.open();
    let start = starts(&split.to_send);
    // Each PE begins with the next PE, so that not all put to the same one.
    for pe in world.others().chain([me]) {
        let keys = &grouped[start[pe.number()]..][..split.to_send[pe.number()]];
        let at = filled.fetch_add(pe, 0, keys.len())?;
        received.put(pe, at, keys)?;
    }
    let received = received.close();
    Ok((received, filled.fetch(me, 0)?))
}

/// Step 4: radix sort from the lowest digit; returns the sorted keys, which are in one of the slices.
fn radix_sort<'a>(mut keys: &'a mut [u32], mut scratch: &'a mut [u32]) -> &'a [u32] {
    let digit = |key: u32, pass: usize| key as usize >> (pass * DIGIT_BITS) & (DIGITS - 1);
    let mut counts = vec![[0; DIGITS]; PASSES];
    for &key in &*keys {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(key, pass)] += 1;
        }
    }
    for (pass, counts) in counts.iter().enumerate() {
        let mut next = starts(counts);
        for &key in &*keys {
            let place = &mut next[digit(key, pass)];
            scratch[*place] = key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut scratch);
    }
    keys
}

/// The first error in the sorted keys of all PEs, if there is one; the same on all PEs.
fn fault(world: &World, generated: u64, total: usize, sorted: &[u32]) -> ferroshmem::Result<Option<String>> {
    let ends = match sorted {
        [] => [1, 0],
        [first, .., last] => [*first, *last],
        [only] => [*only; 2],
    };
    let mut parts = world.gather_value(ends);
    parts.retain(|[first, last]| first <= last);
    let overlaps = !parts.is_sorted_by(|below, above| below[1] <= above[0]);

    let mut sums = [sorted.len() as u64, generated, checksum(sorted), u64::from(!sorted.is_sorted())];
    world.reduce_slice(&mut sums, Sum);
    let [keys, before, after, unsorted] = sums;
    Ok(if keys != total as u64 {
        Some(format!("{keys} keys after sorting, {total} before"))
    } else if before != after {
        Some(format!("checksum {after:016x} after sorting, {before:016x} before"))
    } else if unsorted > 0 || overlaps {
        Some(format!("{unsorted} PEs are not sorted, others overlap: {overlaps}"))
    } else {
        None
    })
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let log2_keys = args.next().map_or(Ok(DEFAULT_LOG2_KEYS), |arg| arg.parse())?;
    let rounds = args.next().map_or(Ok(DEFAULT_ROUNDS), |arg| arg.parse())?;
    let world = World::init()?;
    let (me, n) = (world.my_pe().number(), world.n_pes());

    let total = 1usize << log2_keys;
    let first = |pe: usize| (total / n) * pe + (total % n).min(pe);
    let keys: Vec<u32> = (first(me)..first(me + 1)).map(|i| (splitmix64(i as u64) >> 32) as u32).collect();
    let generated = checksum(&keys);

    let mut counts = world.alloc(COUNTS)?;
    let filled = world.atomics(1)?;
    // Room for the largest part of any PE, which the split determines and which is the same in each
    // round.
    let most = split(&world, &mut counts, &keys)?.most;
    let mut received = world.alloc(most)?;
    let (mut grouped, mut scratch) = (vec![0; keys.len()], vec![0; most]);

    let mut best = f64::INFINITY;
    for round in 1..=rounds {
        world.barrier();
        let begin = Instant::now();
        let split = split(&world, &mut counts, &keys)?;
        group(&keys, &split, &mut grouped);
        let count;
        (received, count) = exchange(&world, &grouped, &split, received, &filled)?;
        let sorted = radix_sort(&mut received[..count], &mut scratch[..count]);
        world.barrier();
        let seconds = begin.elapsed().as_secs_f64();
        best = best.min(seconds);

        if let Some(fault) = fault(&world, generated, total, sorted)? {
            if me == 0 {
                eprintln!("intsort: round {round}: {fault}");
            }
            return Ok(ExitCode::FAILURE);
        }
        if me == 0 {
            println!("  round {round}: {seconds:.3} s");
        }
    }
    if me == 0 {
        let rate = 1e-6 * total as f64 / best;
        println!("intsort: 2^{log2_keys} keys on {n} PEs sorted and verified: {best:.3} s, {rate:.1} Mkeys/s");
    }
    Ok(ExitCode::SUCCESS)
}
