//! The keys of IS: each is the mean of four numbers of the generator of the NAS Parallel Benchmarks,
//! x' = 5^13 x mod 2^46 from 314159265 on, scaled to the range of keys. Their distribution is a
//! bell, densest in the middle of the range.

const MODULUS_MASK: u64 = (1 << 46) - 1;
const MULTIPLIER: u64 = 1_220_703_125;
const SEED: u64 = 314_159_265;

const NUMBERS_OF_KEY: u64 = 4;

/// Wrapping products are exact modulo 2^64, hence also modulo 2^46.
fn product(a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & MODULUS_MASK
}

/// The state of the generator after `steps` numbers: the seed times the multiplier to that power.
fn state_after(mut steps: u64) -> u64 {
    let (mut state, mut power) = (SEED, MULTIPLIER);
    while steps > 0 {
        if steps & 1 == 1 {
            state = product(state, power);
        }
        power = product(power, power);
        steps >>= 1;
    }
    state
}

/// The sequence of keys from index `first` on, each below 2^`log2_max_key`.
pub(crate) fn from(first: usize, log2_max_key: u32) -> impl Iterator<Item = u32> {
    let mut state = state_after(NUMBERS_OF_KEY * first as u64);
    std::iter::repeat_with(move || {
        let mut sum = 0; // below 2^48
        for _ in 0..NUMBERS_OF_KEY {
            state = product(state, MULTIPLIER);
            sum += state;
        }
        (sum >> (48 - log2_max_key)) as u32
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_part_of_the_sequence() {
        let all: Vec<u32> = super::from(0, 11).take(100).collect();
        let part: Vec<u32> = super::from(37, 11).take(63).collect();
        assert_eq!(all[37..], part);
        assert!(all.iter().all(|key| *key < 1 << 11));
    }
}
