//! How much one PE may have under way at another one, of another node.
//!
//! [`Credit`] bounds eager messages that no receive has matched, a [`FragmentWindow`] the fragments of a message that
//! one has. `tests/flow.rs` checks both in all orders in which records may arrive.

/// What a PE counts of another one. Both count alike: bytes of data, and some for each message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Credit {
    /// Of this PE's eager messages there, what the other one has not said to have been matched.
    there: u64,
    /// Of the other one's eager messages here, what has been matched and it does not know of.
    owed: u64,
}

impl Credit {
    /// Takes credit for a message, if no more than `limit` is there then.
    #[inline]
    pub fn take(&mut self, bytes: u64, limit: u64) -> bool {
        let there = self.there + bytes;
        let is_enough = there <= limit;
        if is_enough {
            self.there = there;
        }
        is_enough
    }

    /// The other PE says that receives have matched so much.
    #[inline]
    pub fn give_back(&mut self, bytes: u64) {
        self.there = self.there.saturating_sub(bytes);
    }

    /// A receive has matched a message of the other PE: what to say of it and those before, if it is a quarter of the
    /// limit.
    #[inline]
    pub fn return_credit(&mut self, bytes: u64, limit: u64) -> Option<u64> {
        self.owed += bytes;
        (self.owed >= limit / 4).then(|| std::mem::take(&mut self.owed))
    }
}

/// The fragments of a message that a receiver takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FragmentWindow {
    /// Bytes that the receiver has taken.
    pub done: u64,
    /// Bytes that the sender may send until it hears of more.
    pub allowed: u64,
    /// Bytes that will be.
    pub all: u64,
}

impl FragmentWindow {
    /// Up to which byte the sender may send now, if that is to be said: when half of what it may has been taken.
    #[inline]
    pub fn advance(&self, size: u64) -> Option<u64> {
        if self.allowed == self.all || self.done + size / 2 < self.allowed {
            return None;
        }
        Some(self.all.min(self.done + size))
    }
}
