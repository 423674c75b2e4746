use fastrand::Rng;

use crate::copy::{copy_by, non_temporal_threshold_for};
use crate::level::forced;
use crate::method::METHODS;
use crate::{copy, copy_part, past_caches, set_non_temporal_threshold, stream};

const LEN: usize = 700;

fn noise() -> Vec<u8> {
    let mut random = Rng::with_seed(99);
    (0..LEN).map(|_| random.u64(..) as u8).collect()
}

#[test]
fn streams_at_every_alignment_and_length() {
    forced::each(|_| {
        let source = noise();
        for bytes in (0..200).chain([511, 512, 600]) {
            for (to, from) in (0..65).map(|to| (to, to * 7 % 64)) {
                let mut dest = vec![0xa5; LEN];
                let mut expected = dest.clone();
                expected[to..to + bytes].copy_from_slice(&source[from..from + bytes]);
                // SAFETY: both places are within the arrays.
                unsafe { stream(dest.as_mut_ptr().add(to), source.as_ptr().add(from), bytes) };
                assert!(dest == expected, "{bytes} bytes from {from} to {to}");
            }
        }
    });
}

/// Runs `test` with copies that go past the caches from 256 bytes on. Tests that copy meanwhile get the same
/// bytes either way.
fn with_low_threshold(test: impl Fn()) {
    set_non_temporal_threshold(0);
    forced::each(|_| test());
    set_non_temporal_threshold(usize::MAX);
}

#[test]
fn copies_may_overlap() {
    with_low_threshold(|| {
        let places = [(0, 0), (0, 1), (1, 0), (5, 300), (300, 5), (0, 350), (349, 0)];
        for (to, from) in places {
            for bytes in [0, 1, 64, 255, 256, 257, 350] {
                let mut array = noise();
                let mut expected = array.clone();
                expected.copy_within(from..from + bytes, to);
                let start = array.as_mut_ptr();
                // SAFETY: both places are within the array.
                unsafe { copy(start.add(to), start.add(from), bytes) };
                assert!(array == expected, "{bytes} bytes from {from} to {to}");
            }
        }
    });
}

#[test]
fn parts_of_a_large_copy_may_be_short() {
    with_low_threshold(|| {
        let source = noise();
        for bytes in [0, 1, 63, 64, 65, 300] {
            let mut dest = vec![0xa5; LEN];
            let mut expected = dest.clone();
            expected[7..7 + bytes].copy_from_slice(&source[3..3 + bytes]);
            // SAFETY: both places are within the arrays.
            unsafe {
                copy_part(dest.as_mut_ptr().add(7), source.as_ptr().add(3), bytes, 1 << 20);
            };
            assert!(dest == expected, "{bytes} bytes");
        }
    });
}

#[test]
fn large_copies_at_every_alignment() {
    const BYTES: usize = (1 << 20) + 77;
    let source: Vec<u8> = noise().into_iter().cycle().take(BYTES + 70).collect();
    let places = [(0, 0), (0, 1), (1, 0), (63, 64), (64, 63), (5, 70)];
    for ((to, from), method) in places.into_iter().flat_map(|place| METHODS.map(|method| (place, method))) {
        let mut dest = vec![0xa5; BYTES + 70];
        // SAFETY: both places are within the arrays.
        unsafe { copy_by(method, dest.as_mut_ptr().add(to), source.as_ptr().add(from), BYTES) };
        let (before, rest) = dest.split_at(to);
        let (copied, after) = rest.split_at(BYTES);
        assert!(copied == &source[from..from + BYTES], "from {from} to {to}, {method:?}");
        assert!(before.iter().chain(after).all(|byte| *byte == 0xa5));
    }
    set_non_temporal_threshold(usize::MAX);
    // Forwards and backwards.
    for (to, from) in [(0, 9), (9, 0)] {
        let mut array = source.clone();
        let start = array.as_mut_ptr();
        // SAFETY: both places are within the array.
        unsafe { copy(start.add(to), start.add(from), BYTES) };
        assert!(array[to..to + BYTES] == source[from..from + BYTES]);
    }
}

#[test]
fn more_pes_have_less_cache_each() {
    let (alone, many) = (non_temporal_threshold_for(1), non_temporal_threshold_for(4096));
    assert!(many <= alone, "{many} {alone}");
    assert!(many >= 4096, "{many}: less than a PE has for itself");
    assert!(!past_caches(0));
}
