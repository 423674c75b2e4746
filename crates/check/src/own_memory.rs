//! This process's memory, read by the kernel: a page that another thread unmaps meanwhile is an error, not a signal.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes that are read at once, and those of a page: none of them or all can be read.
const CHUNK: usize = 64 << 10;
const PAGE: usize = 4096;

/// The memory.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    file: File,
    buffer: Vec<u8>,
}

impl OwnMemory {
    /// An error where the process may not do so.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { file: File::open("/proc/self/mem")?, buffer: vec![0; CHUNK] })
    }

    /// Passes the bytes of a range in pieces, which but for the last are multiples of 8 bytes. False: some are not
    /// mapped.
    pub(crate) fn each_piece(&mut self, range: Range<usize>, mut found: impl FnMut(&[u8])) -> bool {
        let mut at = range.start;
        while at < range.end {
            let piece = &mut self.buffer[..CHUNK.min(range.end - at)];
            if self.file.read_exact_at(piece, at as u64).is_err() {
                return false;
            }
            found(piece);
            at += piece.len();
        }
        true
    }

    /// Passes the aligned words of a range, but those of pages that are not mapped.
    pub(crate) fn each_word(&mut self, range: Range<usize>, mut found: impl FnMut(usize)) {
        const WORD: usize = size_of::<usize>();

        let mut at = range.start.next_multiple_of(WORD);
        while at + WORD <= range.end {
            let wanted = &mut self.buffer[..CHUNK.min(range.end - at)];
            let read = self.file.read_at(wanted, at as u64).unwrap_or(0);
            let (words, _) = wanted[..read].as_chunks::<WORD>();
            for word in words {
                found(usize::from_ne_bytes(*word));
            }
            at = match words.len() {
                0 => (at + 1).next_multiple_of(PAGE),
                words => at + words * WORD,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_but_those_of_pages_that_are_not_mapped() {
        let mut memory = OwnMemory::open().unwrap();
        let mut words = 0;
        memory.each_word(PAGE..3 * PAGE, |_| words += 1);
        assert_eq!(words, 0);
        let here = [7_usize; 3];
        let start = here.as_ptr().addr();
        let mut sum = 0;
        memory.each_word(start..start + size_of_val(&here), |word| sum += word);
        assert_eq!(sum, 21);
    }

    #[test]
    fn pieces_are_all_of_a_range_or_it_is_not_mapped() {
        let mut memory = OwnMemory::open().unwrap();
        let here = vec![3_u8; CHUNK + 5];
        let start = here.as_ptr().addr();
        let mut lengths = Vec::new();
        let is_mapped = memory.each_piece(start..start + here.len(), |piece| {
            assert!(piece.iter().all(|byte| *byte == 3));
            lengths.push(piece.len());
        });
        assert!(is_mapped);
        assert_eq!(lengths, [CHUNK, 5]);
        assert!(!memory.each_piece(PAGE..PAGE + 8, |_| panic!("page 1 is not mapped")));
    }
}
