//! Addresses to try for the heaps: the same in all PEs, clear of what else is in a process.

use crate::job::plan::{MIN_STRIDE, WINDOW_SPACE};

/// One choice of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Address of every PE's own heap.
    pub heap_base: usize,
    /// Bytes from one PE's window to the next.
    pub stride: u64,
    /// Bytes of heap in each window.
    pub heap_size: u64,
    /// Whether the windows are as far apart as the heaps in the job's file.
    pub is_planned: bool,
}

/// Number of candidates; all PEs move to the next one together.
pub const CANDIDATES: u32 = 2;

/// Candidate `k` for nodes of at most `n_pes` PEs planned with `stride` and `heap_size`.
///
/// Candidate 0 lies from 17 TiB up: above AddressSanitizer's shadow (which ends at 16 TiB
/// and 2 GiB) and, with at most [`WINDOW_SPACE`] to either side, below the lowest window of
/// the globals (executables are loaded from 85 TiB up). Candidate 1 lies in the lowest
/// 512 GiB, where ThreadSanitizer and valgrind leave room, with small windows.
pub(super) fn candidate(k: u32, n_pes: usize, stride: u64, heap_size: u64) -> Layout {
    let n = n_pes as u64;
    match k {
        0 => Layout { heap_base: ((17 << 40) + n * stride) as usize, stride, heap_size, is_planned: true },
        _ => Layout {
            heap_base: ((8 << 30) + n * MIN_STRIDE) as usize,
            stride: MIN_STRIDE,
            heap_size: heap_size.min(MIN_STRIDE),
            is_planned: stride == MIN_STRIDE,
        },
    }
}

const _: () = assert!((17 << 40) + 2 * WINDOW_SPACE < (85 << 40) - WINDOW_SPACE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_stay_in_their_area() {
        for n in [1, 7, 64, 4096] {
            let stride = WINDOW_SPACE / 4096;
            let l = candidate(0, n, stride, 1 << 30);
            let lowest = l.heap_base as u64 - (n as u64 - 1) * stride;
            assert!(lowest >= 17 << 40);
            assert!(l.heap_base as u64 + n as u64 * stride <= 49 << 40);
        }
        let low = candidate(1, 60, 64 << 30, 24 << 30);
        assert!(low.heap_base as u64 + 60 * low.stride <= 512 << 30);
    }
}
