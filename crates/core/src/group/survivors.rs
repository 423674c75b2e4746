//! Agreements of the members that are left, in a resilient job. Those of a team on several nodes are
//! [others](super::internode_agreement).
//!
//! Each member says the number of the agreement and its value, in a word of its slot. The launcher records failures in
//! one order, so a count of them stands for a set. Once every member has said its value or is in that set, whoever
//! finds so first makes the result of the agreement by one compare-exchange of a word in the first member's slot:
//! number, count and value in one. That memory is there, whether or not its PE is.
//!
//! All results are the same: all survivors read one word. It is that of the agreement until the next one is made, which
//! needs a value of each survivor, so each has read it. A value is that of all who have said one, also if they failed
//! after it: a member that is found failed writes no more, so its word is read after that.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Group;
use super::channel::{Channel, Slots};
use crate::team::{Fragile, Health};
use crate::wait::{WaitReason, Waiter};

/// What the members of a team that are left have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// The count of failures of the job by which members are taken to have failed: on each node, the first ones of its
    /// list.
    pub failures: usize,
    /// The values of all who have said one, combined by bitwise and; on several nodes, perhaps without those of members
    /// that have failed since.
    pub value: u32,
}

/// An agreement, as its word has it.
#[derive(Debug, Clone, Copy)]
struct Decision {
    number: u16,
    failures: u16,
    value: u32,
}

impl Decision {
    fn from_word(word: u64) -> Self {
        Self { number: (word >> 48) as u16, failures: (word >> 32) as u16, value: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.number) << 48 | u64::from(self.failures) << 32 | u64::from(self.value)
    }
}

impl Group<'_> {
    /// An agreement of the members that are left: the same result on all of them, which sees what they wrote before.
    /// Returns although members fail. `value` is of all members.
    #[cold]
    #[inline(never)]
    pub fn agree(&self, value: u32) -> Agreed {
        match &self.channel {
            Channel::Slots(slots) => {
                if let Some(Fragile::Members(health)) = slots.fragile {
                    return self.agree_in(slots, health, value);
                }
            }
            Channel::Hierarchy(team) => {
                if let Some(health) = team.team.health() {
                    return team.agree(health, value, &self.wait_reason());
                }
            }
            Channel::Mailboxes(_) | Channel::WorkArray(_) => {}
        }
        // Bits that some member has not.
        let missing = self.combine_words([u64::from(!value), 0, 0, 0])[0];
        Agreed { failures: 0, value: !missing as u32 }
    }

    fn agree_in(&self, slots: &Slots<'_>, health: &Health, value: u32) -> Agreed {
        let contribution = |member: usize| &slots.of(member).own.contribution;
        let own = contribution(self.me);
        let number = (own.load(Ordering::Relaxed) >> 48).wrapping_add(1) as u16;
        let mine = Decision { number, failures: 0, value };
        own.store(mine.word(), Ordering::Release);
        let agreed = &slots.of(0).gathering.agreed;
        // The wait ends by an agreement alone.
        let mut waiter = Waiter::new(WaitReason { ending: None, ..self.wait_reason() });
        let (mut all, mut member) = (value, 0);
        loop {
            let before = agreed.load(Ordering::Acquire);
            let decision = Decision::from_word(before);
            if decision.number == number {
                return Agreed { failures: decision.failures.into(), value: decision.value };
            }
            let count = health.count();
            while member < self.size {
                let theirs = Decision::from_word(contribution(member).load(Ordering::Acquire));
                if theirs.number == number {
                    all &= theirs.value;
                } else if !health.is_failed(member, count) {
                    break;
                }
                member += 1;
            }
            if member == self.size {
                let new = Decision { number, failures: count as u16, value: all };
                // If it fails, another member has made it.
                let _ = agreed.compare_exchange(before, new.word(), Ordering::AcqRel, Ordering::Relaxed);
                continue;
            }
            let (word, value) = (contribution(member), contribution(member).load(Ordering::Relaxed));
            // SAFETY: it is a word in the slot.
            unsafe { waiter.pause_at(word.as_ptr().cast_const().cast(), || is(agreed, before) && is(word, value)) };
        }
    }
}

fn is(word: &AtomicU64, value: u64) -> bool {
    word.load(Ordering::Relaxed) == value
}
