//! A small value with the number of its epoch in every word: so it needs no flag after it, and
//! goes over the fabric in one write, whose words may arrive in any order.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::job::region::{MailLane, NOTE_BYTES};

/// Bytes of value in a word, the upper half.
const HALF: usize = size_of::<u32>();
const WORDS: usize = NOTE_BYTES / HALF;

/// A note as it is written.
#[derive(Debug)]
pub(crate) struct Note {
    words: [u64; WORDS],
    n: usize,
}

/// Words of a note of `bytes` bytes: one at least, which says that it is there.
fn words(bytes: usize) -> usize {
    bytes.div_ceil(HALF).max(1)
}

impl Note {
    /// # Safety
    /// `value` is valid for `bytes` bytes, [`NOTE_BYTES`] at most.
    pub(crate) unsafe fn new(number: u32, value: *const u8, bytes: usize) -> Self {
        let mut halves = [0u32; WORDS];
        let n = words(bytes);
        assert!(n <= WORDS);
        if bytes > 0 {
            // SAFETY: the caller's promise; there is room.
            unsafe { value.copy_to_nonoverlapping(halves.as_mut_ptr().cast(), bytes) };
        }
        let words = halves.map(|half| u64::from(half) << 32 | u64::from(number));
        Self { words, n }
    }

    /// Its words.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words[..self.n]
    }

    /// Writes it into a lane of this node. Releases all earlier writes.
    pub(crate) fn show(&self, lane: &MailLane) {
        for (to, word) in lane.words.iter().zip(self.words()) {
            to.store(*word, Ordering::Release);
        }
    }
}

/// Whether all of a note of `bytes` bytes is there. Acquires what its writer released.
pub(crate) fn is_there(lane: &MailLane, number: u32, bytes: usize) -> bool {
    let shows = |word: &AtomicU64| word.load(Ordering::Acquire) as u32 == number;
    lane.words[..words(bytes)].iter().all(shows)
}

/// Copies the value of a note that is there.
///
/// # Safety
/// `value` is valid for `bytes` bytes, [`NOTE_BYTES`] at most.
pub(crate) unsafe fn read(lane: &MailLane, value: *mut u8, bytes: usize) {
    let mut halves = [0u32; WORDS];
    for (half, word) in halves.iter_mut().zip(&lane.words) {
        *half = (word.load(Ordering::Relaxed) >> 32) as u32;
    }
    // SAFETY: the caller's promise.
    unsafe { value.copy_from_nonoverlapping(halves.as_ptr().cast(), bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> MailLane {
        MailLane {
            words: Default::default(),
        }
    }

    #[test]
    fn values_of_all_lengths() {
        let lane = lane();
        for bytes in 0..=NOTE_BYTES {
            let number = 7 + bytes as u32;
            let value: Vec<u8> = (1..).take(bytes).collect();
            let mut read_back = vec![0; bytes];
            assert!(!is_there(&lane, number, bytes));
            // SAFETY: both are as long.
            unsafe {
                Note::new(number, value.as_ptr(), bytes).show(&lane);
                assert!(is_there(&lane, number, bytes));
                read(&lane, read_back.as_mut_ptr(), bytes);
            }
            assert_eq!(value, read_back);
        }
    }

    #[test]
    fn any_word_that_is_late_is_missed() {
        let value = [9u8; NOTE_BYTES];
        // SAFETY: as long.
        let [old, new] = [1, 2].map(|number| unsafe { Note::new(number, value.as_ptr(), 32) });
        for late in 0..WORDS {
            let lane = lane();
            old.show(&lane);
            for i in (0..WORDS).filter(|i| *i != late) {
                lane.words[i].store(new.words[i], Ordering::Relaxed);
            }
            assert!(!is_there(&lane, 2, NOTE_BYTES));
            lane.words[late].store(new.words[late], Ordering::Relaxed);
            assert!(is_there(&lane, 2, NOTE_BYTES));
        }
    }
}
