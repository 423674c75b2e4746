//! The dissemination barrier: in round k, tell the member 2^k ahead and hear from the one
//! 2^k behind; after log2(size) rounds everybody has heard of everybody.

use crate::wait::flag;
use crate::wait::{Patience, Word};

/// Arrives for epoch `epoch` as member `me` of `size` and waits for the others.
/// `round(m, k)` is member m's flag of round k.
///
/// A partner may be one epoch ahead and post over the value waited for; it posts larger
/// values only, and waiting is for "at least". It cannot be two ahead: that takes this member.
#[inline]
pub fn arrive_and_wait<'a, W: Word + 'a>(
    me: usize,
    size: usize,
    round: impl Fn(usize, usize) -> &'a W,
    epoch: u32,
    patience: &mut impl Patience,
) {
    let mut distance = 1;
    let mut k = 0;
    while distance < size {
        let ahead = me + distance;
        let partner = if ahead >= size { ahead - size } else { ahead };
        flag::post(round(partner, k), epoch);
        flag::wait(round(me, k), epoch, patience);
        distance *= 2;
        k += 1;
    }
}
