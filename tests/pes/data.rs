//! Values that programs put, and their types.

use bytemuck::{Pod, Zeroable};
use ferroshmem::Plain;

/// Bytes that depend on the PE, the purpose and the index.
pub(crate) fn scramble(pe: usize, round: usize, place: usize) -> u64 {
    let mut x = (pe as u64 + 1) << 40 ^ (round as u64 + 1) << 20 ^ place as u64;
    x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// `n` elements of any type, of which no byte is zero.
pub(crate) fn elements<T: Plain>(pe: usize, round: usize, n: usize) -> Vec<T> {
    let mut all = vec![T::zeroed(); n];
    let bytes = bytemuck::cast_slice_mut::<T, u8>(&mut all);
    // Eight at a time: without optimisation, one at a time took a fifth of these programs' time.
    for (place, word) in bytes.chunks_mut(8).enumerate() {
        let odd = scramble(pe, round, place) | u64::from_ne_bytes([1; 8]);
        word.copy_from_slice(&odd.to_ne_bytes()[..word.len()]);
    }
    all
}

/// Whether elements have the same bytes.
pub(crate) fn same<T: Plain>(a: &[T], b: &[T]) -> bool {
    bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b)
}

/// A struct such as users define: 40 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Particle {
    pub position: [f64; 3],
    pub charge: f32,
    pub kind: u32,
    pub serial: u64,
}

/// An alignment larger than that of every array.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
pub(crate) struct Page(pub [u8; 4096]);
