//! The dissemination barrier: in round k, tell the member 2^k ahead and hear from the one
//! 2^k behind; after log2(size) rounds everybody has heard of everybody (Hensgen, Finkel and
//! Manber, "Two Algorithms for Barrier Synchronization", 1988).

/// Synchronises member `me` of `size`: `post(m, k)` posts member m's flag of round k, `wait(k)`
/// waits for this member's own.
#[inline]
pub fn arrive_and_wait(
    me: usize,
    size: usize,
    post: impl Fn(usize, usize),
    mut wait: impl FnMut(usize),
) {
    let mut distance = 1;
    let mut k = 0;
    while distance < size {
        let ahead = me + distance;
        let partner = if ahead >= size { ahead - size } else { ahead };
        post(partner, k);
        wait(k);
        distance *= 2;
        k += 1;
    }
}
