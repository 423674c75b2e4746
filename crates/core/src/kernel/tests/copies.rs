use super::Random;
use crate::kernel::level::forced;
use crate::kernel::{copy, stream};

const LEN: usize = 700;

fn noise() -> Vec<u8> {
    let mut random = Random(99);
    (0..LEN).map(|_| random.next() as u8).collect()
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

#[test]
fn copies_may_overlap() {
    for (to, from) in [(0, 0), (0, 1), (1, 0), (5, 300), (300, 5)] {
        let mut bytes = noise();
        let mut expected = bytes.clone();
        expected.copy_within(from..from + 350, to);
        let start = bytes.as_mut_ptr();
        // SAFETY: both places are within the array.
        unsafe { copy(start.add(to), start.add(from), 350) };
        assert!(bytes == expected, "from {from} to {to}");
    }
}
