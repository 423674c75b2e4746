//! The shared file, mapped.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_platform::mapping::{MapAddress, map_shared};

use crate::finding::Finding;
use crate::layout::{self, FINDINGS, MAGIC, WORD, finding, header};

/// States of an entry.
const FREE: u64 = 0;
const BUSY: u64 = 1;
const THERE: u64 = 2;

/// The file.
#[derive(Debug)]
pub struct Shared {
    words: &'static [AtomicU64],
}

/// Mixes two words to one.
pub fn mixed(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 29)
}

/// Yields until something is so that another PE is about to do, but not for ever: that PE may have died.
pub(crate) fn yield_until(mut is_so: impl FnMut() -> bool) {
    const TRIES: u32 = 100_000;
    for _ in 0..TRIES {
        if is_so() {
            return;
        }
        std::thread::yield_now();
    }
}

impl Shared {
    /// Prepares an empty file for a job of `n_pes` PEs, and maps it.
    pub fn create(file: &File, mode: u64, n_pes: usize) -> io::Result<Self> {
        file.set_len(layout::bytes(mode, n_pes) as u64)?;
        let this = Self::map(file)?;
        this.set(header::MODE, mode);
        this.set(header::N_PES, n_pes as u64);
        this.set(header::MAGIC, MAGIC);
        Ok(this)
    }

    /// Maps the file of a job.
    pub fn open(file: &File) -> io::Result<Self> {
        let this = Self::map(file)?;
        if this.words.len() < layout::RACE || this.get(header::MAGIC) != MAGIC {
            return Err(io::Error::other("no file of checks"));
        }
        Ok(this)
    }

    fn map(file: &File) -> io::Result<Self> {
        let len = file.metadata()?.len() as usize;
        if len < layout::RACE * WORD {
            return Err(io::Error::other("too short"));
        }
        // SAFETY: a new mapping of the file's length; the kernel chooses its address.
        let at = unsafe { map_shared(file.as_fd(), 0, len, MapAddress::Anywhere)? };
        // SAFETY: the mapping is page-aligned, has so many words, and stays until the process ends.
        let words = unsafe { std::slice::from_raw_parts(at.cast::<AtomicU64>().cast_const(), len / WORD) };
        Ok(Self { words })
    }

    /// A word.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    /// Changes a word.
    #[inline]
    pub fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Ordering::Relaxed);
    }

    /// Adds to a word.
    pub fn add(&self, at: usize, value: u64) -> u64 {
        self.words[at].fetch_add(value, Ordering::Relaxed)
    }

    /// The words from `at` on.
    pub(crate) fn from(&self, at: usize) -> &'static [AtomicU64] {
        &self.words[at..]
    }

    /// Takes a free entry: true, the caller is to write it. False: it is another's, which has been written.
    pub(crate) fn take(&self, state: usize) -> bool {
        let word = &self.words[state];
        let taken = word.compare_exchange(FREE, BUSY, Ordering::AcqRel, Ordering::Acquire);
        if taken.is_err() {
            yield_until(|| word.load(Ordering::Acquire) == THERE);
        }
        taken.is_ok()
    }

    /// Lets others read an entry that was taken.
    pub(crate) fn publish(&self, state: usize) {
        self.words[state].store(THERE, Ordering::Release);
    }

    pub(crate) fn set_text(&self, at: usize, words: usize, text: &str) {
        for (word, chunk) in text.as_bytes().chunks(WORD).take(words).enumerate() {
            let mut eight = [0; WORD];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.set(at + word, u64::from_le_bytes(eight));
        }
    }

    pub(crate) fn text(&self, at: usize, bytes: usize) -> String {
        let words = (0..bytes.div_ceil(WORD)).flat_map(|i| self.get(at + i).to_le_bytes());
        let all: Vec<u8> = words.take(bytes).take_while(|b| *b != 0).collect();
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Adds a finding: the same of the same calls, whatever the PEs, counts once.
    pub fn report(&self, found: &Finding) {
        let key = found.key();
        let first = mixed(mixed(key[0], key[1]), mixed(key[2], key[3])) as usize;
        for i in 0..finding::MOST {
            let at = FINDINGS.start + first.wrapping_add(i) % finding::MOST * finding::WORDS;
            if self.take(at + finding::STATE) {
                for (word, value) in found.words() {
                    self.set(at + word, value);
                }
                self.set(at + finding::COUNT, 1);
                self.publish(at + finding::STATE);
                return;
            }
            if self.finding(at).is_some_and(|(there, _)| there.key() == key) {
                self.add(at + finding::COUNT, 1);
                return;
            }
        }
        self.add(header::LOST, 1);
    }

    /// The finding at a word, and how often it was made.
    fn finding(&self, at: usize) -> Option<(Finding, u64)> {
        if self.words[at + finding::STATE].load(Ordering::Acquire) != THERE {
            return None;
        }
        let found = Finding::from_words(|word| self.get(at + word))?;
        Some((found, self.get(at + finding::COUNT)))
    }

    /// All findings, and how often each was made.
    pub fn findings(&self) -> Vec<(Finding, u64)> {
        let all = (0..finding::MOST).map(|i| FINDINGS.start + i * finding::WORDS);
        all.filter_map(|at| self.finding(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Kind, Place};
    use crate::layout::mode;
    use ferroshmem_platform::mapping::memory_file;

    fn shared() -> Shared {
        Shared::create(&memory_file(0).unwrap(), mode::MEMORY, 4).unwrap()
    }

    fn found(site: u32, other: u32) -> Finding {
        Finding {
            kind: Kind::Race,
            pe: 1,
            site,
            target: 3,
            other: Some((2, other)),
            place: Place::Global(5, 0x40),
            bytes: 8,
            detail: 7,
        }
    }

    #[test]
    fn a_finding_is_kept_once_for_two_calls_in_either_order() {
        let shared = shared();
        shared.report(&found(10, 20));
        shared.report(&found(20, 10));
        shared.report(&found(10, 21));
        let mut all = shared.findings();
        all.sort_by_key(|(found, _)| found.other);
        assert_eq!(all, [(found(10, 20), 2), (found(10, 21), 1)]);
    }

    #[test]
    fn findings_that_do_not_fit_are_counted() {
        let shared = shared();
        for i in 0..finding::MOST as u32 + 5 {
            shared.report(&found(i, i + 1));
        }
        assert_eq!(shared.findings().len(), finding::MOST);
        assert_eq!(shared.get(header::LOST), 5);
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        assert!(Shared::open(&memory_file(100).unwrap()).is_err());
        assert!(Shared::open(&memory_file(64 << 20).unwrap()).is_err());
    }
}
