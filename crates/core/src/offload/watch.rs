//! The sources of puts under way, under `SHMEM_CHECK`: whether the program has changed or freed one before the put was
//! complete.
//!
//! All reads are made by the system (`process_vm_readv`), which refuses where memory is gone instead of ending the
//! process.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use ferroshmem_platform::process;

/// Whether sources are watched.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Begins or ends watching.
pub(super) fn set(on: bool) {
    IS_ON.store(on, Ordering::Relaxed);
}

#[inline]
pub(super) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// A source, as it was when its put began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    routine: &'static str,
    start: usize,
    bytes: usize,
    sum: u64,
}

impl Source {
    /// The source of a call of `routine`, if sources are watched.
    pub(super) fn of(routine: &'static str, start: *const u8, bytes: usize) -> Option<Self> {
        if !is_on() {
            return None;
        }
        let start = start.addr();
        let sum = sum(start, bytes)?;
        Some(Self { routine, start, bytes, sum })
    }

    /// What has become of it, if it is not as it was.
    pub(super) fn damage(&self) -> Option<Damage> {
        let what = match sum(self.start, self.bytes) {
            Some(sum) if sum == self.sum => return None,
            Some(_) => "changed",
            None => "freed",
        };
        let source = *self;
        Some(Damage { source, what })
    }
}

/// A source that is not as it was.
#[derive(Debug)]
pub(super) struct Damage {
    source: Source,
    what: &'static str,
}

impl Damage {
    /// The routine that began the put.
    pub(super) fn routine(&self) -> &'static str {
        self.source.routine
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Source { start, bytes, .. } = self.source;
        let what = self.what;
        write!(
            f,
            "source ({bytes} bytes at {start:#x}) was {what} before the put was complete: keep it as it is until \
                shmem_quiet"
        )
    }
}

/// A checksum of memory; None: it is not there.
fn sum(start: usize, bytes: usize) -> Option<u64> {
    const PIECE: usize = 4 << 10;
    /// The prime of the 64-bit FNV hash.
    const PRIME: u64 = 0x100_0000_01b3;

    let mut piece = [0u64; PIECE / 8];
    let mut sum = bytes as u64;
    for at in (0..bytes).step_by(PIECE) {
        let length = PIECE.min(bytes - at);
        piece[length / 8..].fill(0);
        // SAFETY: the piece has room for so many bytes.
        if !unsafe { read(piece.as_mut_ptr().cast(), start + at, length) } {
            return None;
        }
        for word in piece {
            sum = (sum ^ word).wrapping_mul(PRIME).rotate_left(23);
        }
    }
    Some(sum)
}

/// Reads memory of this process, wherever it is; false: it is not there.
///
/// # Safety
/// `to` is writable for `bytes` bytes.
pub(super) unsafe fn read(to: *mut u8, from: usize, bytes: usize) -> bool {
    // SAFETY: the caller promises that `to` is writable for `bytes` bytes.
    unsafe { process::read_memory(std::process::id().cast_signed(), [(to, from, bytes)]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_sees_every_byte_and_memory_that_is_gone() {
        let mut memory: Vec<u8> = (0..10_000u32).map(|i| i as u8).collect();
        let of = |memory: &[u8]| sum(memory.as_ptr().expose_provenance(), memory.len());
        let Some(before) = of(&memory) else {
            return; // The system lets no process read memory so.
        };
        for at in [0, 1, 7, 8, 4095, 4096, 9_998, 9_999] {
            memory[at] ^= 4;
            assert_ne!(of(&memory), Some(before), "{at}");
            memory[at] ^= 4;
        }
        assert_eq!(of(&memory), Some(before));
        assert_eq!(sum(8, 16), None);
    }
}
