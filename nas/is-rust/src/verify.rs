//! Verification of rankings: known ranks of some keys in each iteration, and at the end the order of
//! all keys when each is at its rank.

use ferroshmem::{Error, Sum, World};

use crate::ranking::Ranking;

/// The number of test keys of this PE that have the correct rank in an iteration.
pub(crate) fn tests(ranking: &mut Ranking<'_>, iteration: u32) -> u64 {
    let tests = ranking.problem.tests;
    let keys = ranking.test_keys();
    let right = tests.iter().zip(keys).filter(|(test, key)| {
        let rank = ranking.rank_of(*key);
        rank.is_some_and(|rank| i64::from(*rank) == test.rank(iteration))
    });
    right.count() as u64
}

/// A sum that depends on every key, but not on their order.
fn checksum(keys: &[u32]) -> u64 {
    let mix = |key: &u32| (u64::from(*key) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29;
    keys.iter().map(mix).fold(0, u64::wrapping_add)
}

/// The keys of this PE's buckets, each at its rank, if each rank is free and in this PE's share.
fn at_their_ranks(ranking: &mut Ranking<'_>, received: &[u32]) -> Option<Vec<u32>> {
    let ranks = ranking.my_ranks();
    let mut sorted = vec![None; ranks.len()];
    for &key in received {
        let rank = ranking.rank_of(key)?;
        let place = sorted.get_mut((*rank as usize).checked_sub(ranks.start)?)?;
        *rank += 1; // for the next key of this value
        if place.replace(key).is_some() {
            return None;
        }
    }
    sorted.into_iter().collect()
}

/// Whether the ranks sort all keys of all PEs. Overwrites the ranks. `received` are the keys of this
/// PE's buckets.
pub(crate) fn order(world: &World, ranking: &mut Ranking<'_>, received: &[u32]) -> Result<bool, Error> {
    let sorted = at_their_ranks(ranking, &received[..ranking.my_ranks().len()]);
    let values = ranking.my_values();
    // By the order of buckets, the keys of this PE are larger than those of the PEs before it.
    let ordered = sorted.as_ref().is_some_and(|keys| keys.is_sorted() && keys.iter().all(|key| values.contains(key)));
    let after = sorted.map_or(0, |keys| checksum(&keys));
    let mut sums = [u64::from(!ordered), checksum(&ranking.keys), after];
    world.reduce_slice(&mut sums, Sum);
    let [unordered, before, after] = sums;
    Ok(unordered == 0 && before == after)
}
