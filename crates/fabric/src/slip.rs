//! What two PEs write to each other's desks.

use std::sync::atomic::{AtomicU64, Ordering::*, fence};

/// Words of content.
pub(crate) const CONTENT: usize = 4;
/// A number before it, a digest after it.
const WORDS: usize = CONTENT + 2;

/// A question or an answer; the answer has the question's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slip {
    pub number: u64,
    pub content: [u64; CONTENT],
}

/// As it travels.
pub(crate) type Words = [u64; WORDS];

impl Slip {
    pub(crate) fn to_words(self) -> Words {
        let mut words = [self.number; WORDS];
        words[1..=CONTENT].copy_from_slice(&self.content);
        words[WORDS - 1] = digest(&words[..WORDS - 1]);
        words
    }
}

/// Never 0 for a whole slip, as places are before the first.
fn digest(words: &[u64]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 by the golden ratio
    let mix = |digest: u64, word: &u64| (digest ^ word).wrapping_mul(MIX).rotate_left(29);
    words.iter().fold(1, mix) | 1
}

/// Where a peer writes slips, each over the one before.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct Place([AtomicU64; WORDS]);

impl Place {
    /// The slip here, if it is another one than number `last`. A slip arrives word by word, in any
    /// order, while another thread receives it: it is here when its digest is right.
    #[inline]
    pub(crate) fn after(&self, last: u64) -> Option<Slip> {
        let number = self.0[0].load(Relaxed);
        if number == last {
            return None;
        }
        let content = std::array::from_fn(|i| self.0[1 + i].load(Relaxed));
        let slip = Slip { number, content };
        if slip.to_words()[WORDS - 1] != self.0[WORDS - 1].load(Relaxed) {
            return None;
        }
        fence(Acquire); // what came before it is there, too
        Some(slip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(place: &Place, words: &Words, which: impl Fn(usize) -> bool) {
        for (i, word) in words.iter().enumerate().filter(|(i, _)| which(*i)) {
            place.0[i].store(*word, Relaxed);
        }
    }

    #[test]
    fn is_seen_when_all_of_it_is_there() {
        let slips = [
            (1, [0; CONTENT]),
            (2, [7, 0, u64::MAX, 1]),
            (3, [7, 0, 1, 1]),
        ];
        let slips = slips.map(|(number, content)| Slip { number, content });
        // Any words may come last.
        for late in 1..1 << WORDS {
            let place = Place::default();
            let mut last = 0;
            for slip in slips {
                assert_eq!(place.after(last), None);
                let words = slip.to_words();
                let is_late = |i: usize| late >> i & 1 == 1;
                let before: Words = std::array::from_fn(|i| place.0[i].load(Relaxed));
                put(&place, &words, |i| !is_late(i));
                if (0..WORDS).any(|i| is_late(i) && before[i] != words[i]) {
                    assert_eq!(place.after(last), None, "{late:b}");
                }
                put(&place, &words, is_late);
                assert_eq!(place.after(last), Some(slip));
                last = slip.number;
            }
        }
    }
}
