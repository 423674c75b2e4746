//! Members of a connection between nodes that use it no more, while others still call its collectives.

use std::sync::atomic::Ordering;

use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};

/// How many collectives of both groups this PE has entered, and which member has left after the fewest.
#[derive(Debug, Default)]
pub struct Disconnects<A: Atomics = Std> {
    entered: A::U32,
    /// The member's number plus 1, and in the lower half how many it had entered; 0: none has left.
    first: A::U64,
}

impl<A: Atomics> Disconnects<A> {
    /// This PE enters a collective; false if a member has left that was to enter it, too.
    pub(crate) fn enter(&self) -> bool {
        let number = self.entered().wrapping_add(1);
        self.entered.store(number, Ordering::Relaxed);
        // One of this and `leave`, which another thread calls, sees what the other has stored.
        A::fence(Ordering::SeqCst);
        self.missing().is_none()
    }

    /// How many this PE has entered.
    pub(super) fn entered(&self) -> u32 {
        self.entered.load(Ordering::Relaxed)
    }

    /// A member has left after so many collectives; whether this PE waits for it.
    pub(super) fn leave(&self, member: usize, entered: u32) -> bool {
        let this = (member as u64 + 1) << 32 | u64::from(entered);
        let is_earlier = |first| first == 0 || is_after(first as u32, entered);
        let replace = |first| is_earlier(first).then_some(this);
        // Whether it is replaced or not, what is there counts.
        let _ = self.first.fetch_update(Ordering::Relaxed, Ordering::Relaxed, replace);
        A::fence(Ordering::SeqCst);
        self.missing().is_some()
    }

    /// The member that does not come to the collective which this PE has entered last.
    pub fn missing(&self) -> Option<usize> {
        let first = self.first.load(Ordering::Relaxed);
        let is_missing = first != 0 && is_after(self.entered(), first as u32);
        is_missing.then(|| (first >> 32) as usize - 1)
    }
}

/// Whether `a` comes after `b`, of numbers that count up and wrap.
fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    ferroshmem_platform::atomics!();

    /// A member leaves before a collective that this PE enters: one of its two threads sees both.
    #[test]
    fn who_enters_or_who_disconnects_sees_the_other() {
        loom::model(|| {
            let this = loom::sync::Arc::new(Disconnects::<Loom>::default());
            let enters = this.clone();
            let enters = loom::thread::spawn(move || enters.enter());
            let is_waited_for = this.leave(3, 0);
            assert!(is_waited_for || !enters.join().unwrap());
        });
    }

    /// As far as `entered` collectives.
    fn after(entered: u32) -> Disconnects {
        let this = Disconnects::<Std>::default();
        this.entered.store(entered, Ordering::Relaxed);
        this
    }

    #[test]
    fn a_member_is_missing_from_what_it_has_not_entered() {
        for entered in [0, 7, u32::MAX - 1, u32::MAX] {
            let this = after(entered);
            assert!(this.enter());
            // It has entered as many: it has left late enough.
            assert!(!this.leave(3, entered.wrapping_add(1)));
            assert_eq!(this.missing(), None);
            assert!(!this.enter());
            assert_eq!(this.missing(), Some(3));
        }
    }

    #[test]
    fn the_earliest_counts() {
        let this = after(u32::MAX);
        assert!(this.enter());
        assert!(!this.leave(5, 0));
        assert!(this.leave(0, u32::MAX));
        assert!(this.leave(4, 0));
        assert_eq!(this.missing(), Some(0));
    }
}
