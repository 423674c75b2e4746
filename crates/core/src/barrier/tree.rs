//! The tree barrier: arrivals climb a tree of [`FAN_IN`] children each, the release descends
//! it. Each member posts and waits as often as it has neighbours in the tree, so all members
//! together post 2 (size - 1) flags where the dissemination barrier posts size · log2(size)
//! (Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors", 1991).

/// Children of a member.
pub const FAN_IN: usize = 4;
/// The flag by which a parent lets a child go; flags 0 to `FAN_IN` - 1 are the children's.
pub const RELEASE: usize = FAN_IN;

/// Synchronises member `me` of `size`: `post(m, k)` posts member m's flag k, `wait(k)` waits
/// for this member's own.
#[inline]
pub fn arrive_and_wait(
    me: usize,
    size: usize,
    post: impl Fn(usize, usize),
    mut wait: impl FnMut(usize),
) {
    let children = || {
        (0..FAN_IN)
            .map(|c| (c, FAN_IN * me + c + 1))
            .take_while(|(_, m)| *m < size)
    };
    for (c, _) in children() {
        wait(c);
    }
    if me > 0 {
        post((me - 1) / FAN_IN, (me - 1) % FAN_IN);
        wait(RELEASE);
    }
    for (_, member) in children() {
        post(member, RELEASE);
    }
}
