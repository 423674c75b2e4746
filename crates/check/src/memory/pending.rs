//! Sources of non-blocking puts, which must not change before the next quiet.

use std::collections::HashMap;

use crate::own_memory::OwnMemory;
use crate::shared::mixed;

/// A put that may not be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Put {
    /// Its source.
    at: usize,
    pub len: usize,
    digest: Digest,
    /// The call.
    pub site: u32,
    pub target: usize,
}

/// What became of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Changed,
    Unmapped,
}

/// Bytes of each source that are compared.
const COMPARED: usize = 1 << 20;
/// Puts of a context that are remembered: 3 MiB.
const REMEMBERED: usize = 1 << 16;

/// The puts, by context.
#[derive(Debug, Default)]
pub(super) struct Pending {
    puts: HashMap<usize, Vec<Put>>,
}

/// A number for the contents of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digest(u64);

impl Digest {
    fn of_words(words: impl Iterator<Item = [u8; 8]>) -> Self {
        let mut digest = Self(0);
        words.for_each(|word| digest.add(word));
        digest
    }

    fn add(&mut self, word: [u8; 8]) {
        self.0 = mixed(self.0, u64::from_le_bytes(word));
    }

    /// Adds bytes; what is less than a word ends the contents.
    fn add_bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(word);
        }
    }

    /// # Safety
    /// The bytes are readable.
    unsafe fn of_memory(at: usize, len: usize) -> Self {
        Self::of_words((0..len).step_by(8).map(|i| {
            let mut word = [0; 8];
            if len - i >= 8 {
                // SAFETY: the caller promises that the bytes are readable. Volatile, since others may write them
                // meanwhile.
                word = unsafe { ((at + i) as *const [u8; 8]).read_volatile() };
            } else {
                for (n, byte) in word[..len - i].iter_mut().enumerate() {
                    // SAFETY: as above.
                    *byte = unsafe { ((at + i + n) as *const u8).read_volatile() };
                }
            }
            word
        }))
    }
}

impl Put {
    /// What became of its source.
    fn change(&self, memory: &mut OwnMemory) -> Option<Change> {
        let mut now = Digest(0);
        let is_mapped = memory.each_piece(self.at..self.at + self.len, |piece| {
            now.add_bytes(piece);
        });
        if !is_mapped {
            return Some(Change::Unmapped);
        }
        (now != self.digest).then_some(Change::Changed)
    }
}

impl Pending {
    /// Remembers a put from `len` bytes at `at`.
    ///
    /// # Safety
    /// The bytes are readable.
    pub(super) unsafe fn add(&mut self, context: usize, (at, len): (usize, usize), site: u32, target: usize) {
        let puts = self.puts.entry(context).or_default();
        if len == 0 || puts.len() >= REMEMBERED {
            return;
        }
        let len = len.min(COMPARED);
        puts.push(Put {
            at,
            len,
            // SAFETY: the caller promises that the bytes are readable.
            digest: unsafe { Digest::of_memory(at, len) },
            site,
            target,
        });
    }

    /// The puts of a context, or of all, are complete: those whose source has changed.
    pub(super) fn complete(&mut self, context: Option<usize>) -> Vec<(Put, Change)> {
        let puts: Vec<Put> = match context {
            Some(context) => self.puts.remove(&context).unwrap_or_default(),
            None => self.puts.drain().flat_map(|(_, puts)| puts).collect(),
        };
        if puts.is_empty() {
            return Vec::new();
        }
        let Ok(mut memory) = OwnMemory::open() else {
            return Vec::new();
        };
        let changed = puts.into_iter().filter_map(|put| Some((put, put.change(&mut memory)?)));
        changed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_changes_before_the_quiet_is_found() {
        let mut source = [1_u8; 100];
        let bytes = (source.as_mut_ptr().expose_provenance(), 100);
        let mut pending = Pending::default();
        // SAFETY: the bytes are the array's.
        let add = |pending: &mut Pending, context, site, target| unsafe {
            pending.add(context, bytes, site, target);
        };
        add(&mut pending, 0, 5, 1);
        assert!(pending.complete(Some(0)).is_empty());
        add(&mut pending, 0, 6, 1);
        add(&mut pending, 9, 7, 2);
        source[99] = 2;
        std::hint::black_box(&mut source);
        let found = pending.complete(Some(0));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0.site, found[0].1), (6, Change::Changed));
        assert!(pending.complete(Some(0)).is_empty());
        let found = pending.complete(None);
        assert_eq!((found[0].0.site, found[0].0.target), (7, 2));
        assert!(pending.puts.is_empty());
    }

    #[test]
    fn a_source_that_may_no_longer_be_read_is_not_touched() {
        const PAGE: usize = 4096;
        // SAFETY: a new mapping, which is of this test alone.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(at, libc::MAP_FAILED);
        let mut pending = Pending::default();
        // SAFETY: the bytes are those of the mapping.
        unsafe {
            pending.add(0, (at.addr(), PAGE), 5, 1);
            assert_eq!(libc::mprotect(at, PAGE, libc::PROT_NONE), 0);
        }
        // Where the kernel refuses to read it, it is as good as unmapped.
        let found = pending.complete(Some(0));
        assert!(found.iter().all(|(_, change)| *change == Change::Unmapped));
    }
}
