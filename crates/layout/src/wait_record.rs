//! What a PE that has waited for more than a moment waits for.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::MAX_PES;

/// Kinds of waits, as stored in [`WaitRecord::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitKind {
    /// The PE runs.
    None = 0,
    /// A collective on a team (barrier included).
    Team = 1,
    /// A collective on an active set.
    ActiveSet = 2,
    /// `wait_until` and its kin.
    Point = 3,
    /// A lock.
    Lock = 4,
    /// A signal.
    Signal = 5,
    /// An operation to another node.
    Remote = 6,
    /// A collective with PEs of another job.
    Connection = 7,
    /// A message.
    Message = 8,
    /// Items of a stream.
    Stream = 9,
    /// A neighbour in a graph.
    Neighbor = 10,
    /// All PEs of a resilient job that live, and then replacements of the others.
    Replacement = 11,
}

/// What a PE that has waited for more than a moment waits for. Written by the waiter
/// once it stops spinning, so that a short wait costs nothing; read by the launcher.
#[repr(C)]
pub struct WaitRecord {
    /// A [`WaitKind`]; 0 while the PE runs.
    pub kind: AtomicU32,
    /// Counts waits, so that a reader can tell one wait from the next.
    pub serial: AtomicU32,
    /// C name of the routine, NUL padded.
    pub routine: [AtomicU64; 6],
    /// Start of the wait, milliseconds of `CLOCK_MONOTONIC`.
    pub since_ms: AtomicU64,
    /// Team id (team collectives).
    pub team: AtomicU32,
    /// First world PE of the team or active set.
    pub start: AtomicI32,
    /// Stride between its PEs.
    pub stride: AtomicI32,
    /// If the stride is 0 and there are several, the PEs: a bit each.
    pub listed: [AtomicU64; MAX_PES / 64],
    /// Its number of PEs.
    pub size: AtomicU32,
    /// The collective's number on its team (see [`OwnLine::entered`](crate::OwnLine::entered)).
    pub sequence: AtomicU32,
    /// Address waited on (point-to-point, lock, signal), as in the waiting PE.
    pub address: AtomicU64,
    /// Start of the heap's block that it is in, and the bytes that were asked for; 0: none is known.
    pub block: [AtomicU64; 2],
    /// What is to be there: `SHMEM_CMP_*` + 1, or 0 if that is not known.
    pub comparison: AtomicU32,
    /// Bytes of the variable, and [`SIGNED`].
    pub width: AtomicU32,
    /// What it is compared with.
    pub value: AtomicU64,
}

/// Added to [`WaitRecord::width`] for a variable that has a sign.
pub const SIGNED: u32 = 1 << 8;

impl WaitRecord {
    /// Stores the routine's name.
    pub fn set_routine(&self, name: &str) {
        for (word, value) in self.routine.iter().zip(name_to_words(name)) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Stores the PEs of a team that are no sequence; those of jobs on several nodes as far as there are bits.
    pub fn set_listed(&self, pes: &[u32]) {
        let mut words = [0_u64; MAX_PES / 64];
        for pe in pes {
            if let Some(word) = words.get_mut(*pe as usize / 64) {
                *word |= 1 << (pe % 64);
            }
        }
        for (word, value) in self.listed.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// These PEs, ascending.
    pub fn listed(&self) -> Vec<u32> {
        let words = self.listed.each_ref().map(|word| word.load(Ordering::Relaxed));
        (0..MAX_PES as u32).filter(|pe| words[*pe as usize / 64] >> (pe % 64) & 1 != 0).collect()
    }

    /// The routine's name as last stored.
    pub fn routine(&self) -> String {
        name_from_words(self.routine.each_ref().map(|w| w.load(Ordering::Relaxed)))
    }
}

/// The name of a routine as words for shared memory: cut to 48 bytes, NUL padded.
pub fn name_to_words(name: &str) -> [u64; 6] {
    let mut bytes = [0; 48];
    let len = name.len().min(bytes.len());
    bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
    std::array::from_fn(|word| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * word + byte])))
}

/// The name that [`name_to_words`] was given.
pub fn name_from_words(words: [u64; 6]) -> String {
    let bytes = words.iter().flat_map(|w| w.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|b| *b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pes_come_back_of_which_there_is_room_for_a_bit() {
        // SAFETY: zero bytes are a valid record.
        let record = unsafe { Box::<WaitRecord>::new_zeroed().assume_init() };
        record.set_listed(&[9, 0, MAX_PES as u32 - 1, MAX_PES as u32]);
        assert_eq!(record.listed(), [0, 9, MAX_PES as u32 - 1]);
    }

    #[test]
    fn names_come_back() {
        for name in ["", "shmem_put", "eight888"] {
            assert_eq!(name_from_words(name_to_words(name)), name);
        }
        let long = "x".repeat(60);
        assert_eq!(name_from_words(name_to_words(&long)), long[..48]);
    }
}
