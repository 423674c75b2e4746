//! A small message whose words may arrive in any order.
//!
//! A write over the fabric may become visible word by word, in any order, while the target reads it. So
//! each 64-bit word of the message has the message's sequence number in its lower half and 4 bytes
//! of the value in its upper half: the message has arrived when all of its words show the number.
//! It needs no flag after it, and goes over the fabric in one write.

use std::sync::atomic::Ordering::*;

use ferroshmem_platform::atomic::Atomic;

/// Bytes of value in a word.
const HALF: usize = size_of::<u32>();

/// A message as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaggedMessage {
    words: [u64; TaggedMessage::WORDS],
    n: usize,
}

impl TaggedMessage {
    /// Longest value in bytes.
    pub const BYTES: usize = 32;
    /// Words of the longest message: twice its value.
    pub const WORDS: usize = TaggedMessage::BYTES / HALF;

    /// Words of a message whose value has `bytes` bytes: at least one, which shows that the message
    /// has arrived.
    pub const fn words_for(bytes: usize) -> usize {
        let n = bytes.div_ceil(HALF);
        if n == 0 { 1 } else { n }
    }

    /// A message with a sequence number that differs from that of the message which it replaces at
    /// the target.
    ///
    /// # Panics
    /// If the value is longer than [`BYTES`](Self::BYTES).
    pub fn new(sequence: u32, value: &[u8]) -> TaggedMessage {
        // SAFETY: the slice is readable for its length.
        unsafe { TaggedMessage::from_raw(sequence, value.as_ptr(), value.len()) }
    }

    /// As [`new`](Self::new), with a value of `bytes` bytes at `value`.
    ///
    /// # Panics
    /// If the value is longer than [`BYTES`](Self::BYTES).
    ///
    /// # Safety
    /// `value` is readable for `bytes` bytes.
    pub unsafe fn from_raw(sequence: u32, value: *const u8, bytes: usize) -> TaggedMessage {
        let mut halves = [0u32; TaggedMessage::WORDS];
        let n = TaggedMessage::words_for(bytes);
        assert!(n <= TaggedMessage::WORDS, "a value of {bytes} bytes");
        if bytes > 0 {
            // SAFETY: the caller promises that `value` is readable for `bytes` bytes, which fit.
            unsafe { value.copy_to_nonoverlapping(halves.as_mut_ptr().cast(), bytes) };
        }
        let words = halves.map(|half| u64::from(half) << 32 | u64::from(sequence));
        TaggedMessage { words, n }
    }

    /// The words to be written to the target.
    pub fn words(&self) -> &[u64] {
        &self.words[..self.n]
    }

    /// Writes the message by stores, for a reader in the same memory. Releases all earlier writes.
    pub fn store<A>(&self, slot: &[impl Atomic<u64, A>]) {
        for (to, word) in slot.iter().zip(self.words()) {
            to.store(*word, Release);
        }
    }

    /// Whether the message with this number and a value of `bytes` bytes has arrived in `slot`.
    /// Acquires what its writer released.
    #[inline]
    pub fn has_arrived<A>(slot: &[impl Atomic<u64, A>], sequence: u32, bytes: usize) -> bool {
        slot[..TaggedMessage::words_for(bytes)].iter().all(|word| word.load(Acquire) as u32 == sequence)
    }

    /// The value of a message that has arrived, and what is behind it in the slot.
    pub fn value<A>(slot: &[impl Atomic<u64, A>]) -> [u8; TaggedMessage::BYTES] {
        let mut value = [0; TaggedMessage::BYTES];
        for (bytes, word) in value.chunks_exact_mut(HALF).zip(slot) {
            bytes.copy_from_slice(&((word.load(Relaxed) >> 32) as u32).to_ne_bytes());
        }
        value
    }

    /// Copies the value, of `bytes` bytes, of a message that has arrived.
    ///
    /// # Safety
    /// `to` is writable for `bytes` bytes, [`BYTES`](Self::BYTES) at most.
    pub unsafe fn read<A>(slot: &[impl Atomic<u64, A>], to: *mut u8, bytes: usize) {
        debug_assert!(bytes <= TaggedMessage::BYTES);
        let value = TaggedMessage::value(slot);
        // SAFETY: the caller promises that `to` is writable for `bytes` bytes, and that the value
        // has as many.
        unsafe { to.copy_from_nonoverlapping(value.as_ptr(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    const WORDS: usize = TaggedMessage::WORDS;
    const BYTES: usize = TaggedMessage::BYTES;

    type Slot = [AtomicU64; WORDS];

    #[test]
    fn values_of_all_lengths() {
        let slot = Slot::default();
        for bytes in 0..=BYTES {
            let sequence = 7 + bytes as u32;
            let value: Vec<u8> = (1..).take(bytes).collect();
            let mut back = vec![0; bytes];
            assert!(!TaggedMessage::has_arrived(&slot, sequence, bytes));
            TaggedMessage::new(sequence, &value).store(&slot);
            assert!(TaggedMessage::has_arrived(&slot, sequence, bytes));
            // SAFETY: as long as the value.
            unsafe { TaggedMessage::read(&slot, back.as_mut_ptr(), bytes) };
            assert_eq!(value, back);
        }
    }

    /// Who finds a message finds its value, and what its writer stored before.
    #[test]
    fn a_message_in_a_slot_brings_what_was_before_it() {
        use loom::{sync::Arc, sync::atomic, thread};
        loom::model(|| {
            let shared = Arc::new((<[atomic::AtomicU64; 2]>::default(), atomic::AtomicU32::new(0)));
            let writer = shared.clone();
            let writer = thread::spawn(move || {
                writer.1.store(1, Relaxed);
                TaggedMessage::new(1, &[7; 8]).store(&writer.0);
            });
            let (slot, before) = &*shared;
            if TaggedMessage::has_arrived(slot, 1, 8) {
                assert_eq!((&TaggedMessage::value(slot)[..8], before.load(Relaxed)), (&[7; 8][..], 1));
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn any_words_may_be_late() {
        // The first replaces an empty slot, the others what was there before, partly the same.
        let values = [[0; BYTES], [7; BYTES], [7; BYTES], [0xff; BYTES]];
        for late in 1..1u32 << WORDS {
            let slot = Slot::default();
            for (sequence, value) in (1..).zip(&values) {
                let message = TaggedMessage::new(sequence, value);
                let is_late = |i: &usize| late >> i & 1 == 1;
                for i in (0..WORDS).filter(|i| !is_late(i)) {
                    slot[i].store(message.words[i], Relaxed);
                }
                assert!(!TaggedMessage::has_arrived(&slot, sequence, BYTES));
                for i in (0..WORDS).filter(is_late) {
                    slot[i].store(message.words[i], Relaxed);
                }
                assert!(TaggedMessage::has_arrived(&slot, sequence, BYTES));
                assert_eq!(TaggedMessage::value(&slot), *value);
            }
        }
    }

    #[test]
    fn sequence_numbers_wrap() {
        let slot = Slot::default();
        for sequence in [u32::MAX, 0, 1] {
            assert!(!TaggedMessage::has_arrived(&slot, sequence, BYTES));
            TaggedMessage::new(sequence, &[1; BYTES]).store(&slot);
            assert!(TaggedMessage::has_arrived(&slot, sequence, BYTES));
        }
    }
}
