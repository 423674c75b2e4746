//! From an address in another PE's window back to the own address that it stands for.

use std::ops::Range;

/// What an address stands for: on each PE whose window it may be in, an own address.
#[derive(Debug, Clone, Copy)]
pub struct Origins {
    me: usize,
    n_pes: usize,
    stride: u64,
    address: usize,
}

impl Origins {
    /// Of `address` on PE `me` of `n_pes`, whose windows are `stride` bytes apart.
    pub fn new(me: usize, n_pes: usize, stride: u64, address: usize) -> Self {
        Self { me, n_pes, stride, address }
    }

    /// The own address that it stands for in PE `pe`'s window.
    pub fn of(&self, pe: usize) -> usize {
        let distance = (self.me as i64 - pe as i64).wrapping_mul(self.stride as i64);
        self.address.wrapping_add(distance as usize)
    }

    /// The first of the other PEs in whose window the address stands for an own address in `own`, and that address.
    /// In a time that does not depend on how many PEs there are.
    pub fn first_in(&self, own: &Range<usize>) -> Option<(usize, usize)> {
        // Below the first window, addresses are at the other end: negative.
        let (address, stride) = (i128::from(self.address as i64), i128::from(self.stride));
        let last = own.end as i128 - 1;
        // Own addresses fall as the PE's number grows: the first PE has the largest one.
        let strides = (last - address).div_euclid(stride);
        let first = (self.me as i128 - strides).max(0);
        let next = first + i128::from(first == self.me as i128);
        let pe = usize::try_from(next).ok().filter(|pe| *pe < self.n_pes)?;
        let address = self.of(pe);
        own.contains(&address).then_some((pe, address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pe_is_found() {
        let (n_pes, stride) = (9, 1000);
        for me in 0..n_pes {
            for address in (0..9000).step_by(70) {
                let origins = Origins::new(me, n_pes, stride, address);
                for (start, len) in [(0, 1), (10, 500), (3000, 1), (5500, 3000), (20_000, 5)] {
                    let own = start..start + len;
                    let found = (0..n_pes)
                        .filter(|pe| *pe != me)
                        .map(|pe| (pe, origins.of(pe)))
                        .find(|(_, address)| own.contains(address));
                    assert_eq!(origins.first_in(&own), found, "{origins:?} {own:?}");
                }
            }
        }
    }

    #[test]
    fn addresses_below_the_first_window_are_at_the_other_end() {
        let address = 0x40_0000_usize.wrapping_sub(2 << 32);
        let origins = Origins::new(3, 4, 1 << 32, address);
        let executable = 0x40_0000..0x50_0000;
        assert_eq!(origins.first_in(&executable), Some((1, 0x40_0000)));
    }
}
