//! What memory holds that no PE has written: words that depend on their address, as no program writes them.

use std::ptr;

use crate::shared::mixed;

/// Which memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Of a block that was allocated.
    New = 0x6e65_7720,
    /// Behind a block: its red zone.
    RedZone = 0x7a6f_6e65,
    /// Of a block that was freed.
    Freed = 0x6672_6565,
}

const WORD: usize = 8;

/// Fewer bytes may be the same by chance.
const LEAST: usize = 4;

impl Pattern {
    fn word(self, at: usize) -> [u8; WORD] {
        mixed(self as u64, (at / WORD) as u64).to_le_bytes()
    }

    fn byte(self, at: usize) -> u8 {
        self.word(at)[at % WORD]
    }

    /// Fills memory.
    ///
    /// # Safety
    /// The bytes are this thread's to write.
    pub(super) unsafe fn fill(self, at: usize, len: usize) {
        let (start, end) = (at.next_multiple_of(WORD), (at + len) / WORD * WORD);
        // SAFETY: the caller promises that the bytes are this thread's to write.
        unsafe {
            if start >= end {
                (at..at + len).for_each(|at| *(at as *mut u8) = self.byte(at));
                return;
            }
            (at..start).for_each(|at| *(at as *mut u8) = self.byte(at));
            for word in (start..end).step_by(WORD) {
                *(word as *mut [u8; WORD]) = self.word(word);
            }
            (end..at + len).for_each(|at| *(at as *mut u8) = self.byte(at));
        }
    }

    /// The first of `len` bytes at `at` that is not as it was filled.
    ///
    /// # Safety
    /// The bytes are readable.
    pub(super) unsafe fn first_changed(self, at: usize, len: usize) -> Option<usize> {
        // SAFETY: the caller promises that the bytes are readable.
        unsafe { self.first_changed_of(at, at, len) }
    }

    /// Whether `len` bytes, which this process reads at `seen` and which are at `at` for the PE that has them, are as
    /// they were filled.
    ///
    /// # Safety
    /// The bytes at `seen` are readable.
    pub(super) unsafe fn is_in(self, seen: usize, at: usize, len: usize) -> bool {
        // SAFETY: the caller promises that the bytes are readable.
        len >= LEAST && unsafe { self.first_changed_of(seen, at, len) }.is_none()
    }

    /// # Safety
    /// The bytes at `seen` are readable.
    unsafe fn first_changed_of(self, seen: usize, at: usize, len: usize) -> Option<usize> {
        let mut i = 0;
        while i < len {
            // SAFETY: the caller promises that the bytes are readable. Volatile, since others may write them meanwhile.
            unsafe {
                if (at + i).is_multiple_of(WORD)
                    && len - i >= WORD
                    && ptr::read_volatile((seen + i) as *const [u8; WORD]) == self.word(at + i)
                {
                    i += WORD;
                    continue;
                }
                if ptr::read_volatile((seen + i) as *const u8) != self.byte(at + i) {
                    return Some(i);
                }
            }
            i += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_is_recognised_and_what_is_changed_is_found() {
        let mut bytes = vec![0_u8; 200];
        let at = bytes.as_mut_ptr().expose_provenance() + 3;
        // SAFETY: the bytes are the vector's.
        unsafe {
            Pattern::New.fill(at, 150);
            assert!(Pattern::New.is_in(at, at, 150));
            assert!(!Pattern::RedZone.is_in(at, at, 150));
            assert!(!Pattern::New.is_in(at, at, 2));
            assert_eq!(Pattern::New.first_changed(at, 150), None);
            *((at + 77) as *mut u8) ^= 1;
            assert!(!Pattern::New.is_in(at, at, 150));
            assert!(Pattern::New.is_in(at, at, 77));
            assert_eq!(Pattern::New.first_changed(at, 150), Some(77));
            Pattern::Freed.fill(at + 1, 3);
            assert_eq!(Pattern::Freed.first_changed(at + 1, 3), None);
        }
    }
}
