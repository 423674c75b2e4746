//! What a member of a team on several nodes shows the others of the team's agreements, in a resilient job.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Failures;

/// Most PEs of a resilient job of several nodes: their numbers have 14 bits in these words.
pub const MAX_RESILIENT_PES: usize = 1 << COUNT_BITS;

/// Most nodes of one: each has a word for each other.
pub const MAX_RESILIENT_NODES: usize = 1024;

/// What a member shows the others of a team's agreements. Others may read the words at different times, so each has the
/// number of its agreement.
#[repr(C)]
pub struct AgreementWords {
    /// An [`Entered`].
    entered: AtomicU64,
    /// A [`Known`].
    known: AtomicU64,
    /// A [`Proposal`].
    proposal: AtomicU64,
    /// [`Decision`]s: that of this agreement, and that of the one before.
    decided: [AtomicU64; 2],
}

/// Those words, as they were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct AgreementRecord {
    entered: u64,
    known: u64,
    proposal: u64,
    decided: [u64; 2],
}

/// The number of an agreement. One that is an agreement behind has the decisions of the two before that, and another
/// one may be ahead: five numbers tell these apart, and 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgreementNumber(u64);

impl AgreementNumber {
    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 % 5 + 1)
    }
}

/// The failures of PEs that a member knows: all members that show the same know the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// How many there are: the first ones of its node's list.
    pub count: usize,
    /// A sum of what stands for each of them.
    sum: u64,
}

impl Known {
    /// Those that a node's list has now.
    pub fn of(failures: &Failures) -> Self {
        let count = failures.count();
        let sum = failures.between(0, count).fold(0, |sum: u64, pe| sum.wrapping_add(spread(pe as u64)));
        Self { count, sum: sum >> (NUMBER_BITS + COUNT_BITS) }
    }
}

/// Spreads a number over all bits (SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
/// 2014), so that the sums of different sets differ.
fn spread(pe: u64) -> u64 {
    let mut z = (pe + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What the members are to agree on, or have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Failures: the first ones of each node's list, which all have the same PEs.
    pub failures: usize,
    /// The values of members, combined by bitwise and.
    pub value: u32,
}

/// A decision that a member proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proposal {
    /// The member's number in the team.
    pub by: usize,
    /// What it proposes.
    pub decision: Decision,
}

// A word has, from the top: the number of the agreement, a member, a count, a value; or number, count and sum.
const NUMBER_BITS: u32 = 3;
const COUNT_BITS: u32 = 14;
const NUMBER: u32 = 64 - NUMBER_BITS;
const MEMBER: u32 = NUMBER - COUNT_BITS;
const COUNT: u32 = u32::BITS;
const KNOWN_COUNT: u32 = NUMBER - COUNT_BITS;

fn count(word: u64, shift: u32) -> usize {
    (word >> shift) as usize % MAX_RESILIENT_PES
}

impl Decision {
    fn word(self, number: AgreementNumber) -> u64 {
        number.0 << NUMBER | (self.failures as u64) << COUNT | u64::from(self.value)
    }

    fn from_word(word: u64) -> Self {
        Self { failures: count(word, COUNT), value: word as u32 }
    }
}

impl AgreementRecord {
    /// The last agreement that the member has entered.
    pub fn number(&self) -> AgreementNumber {
        AgreementNumber(self.entered >> NUMBER)
    }

    /// The member's value for an agreement, if it has entered that.
    pub fn value(&self, number: AgreementNumber) -> Option<u32> {
        is_of(self.entered, number).then_some(self.entered as u32)
    }

    /// The failures that it knew in an agreement.
    pub fn known(&self, number: AgreementNumber) -> Option<Known> {
        let known = Known { count: count(self.known, KNOWN_COUNT), sum: self.known & ((1 << KNOWN_COUNT) - 1) };
        is_of(self.known, number).then_some(known)
    }

    /// What it has proposed, or seen proposed.
    pub fn proposal(&self, number: AgreementNumber) -> Option<Proposal> {
        let proposal = Proposal { by: count(self.proposal, MEMBER), decision: Decision::from_word(self.proposal) };
        is_of(self.proposal, number).then_some(proposal)
    }

    /// What it knows to be decided.
    pub fn decision(&self, number: AgreementNumber) -> Option<Decision> {
        let word = self.decided.into_iter().find(|word| is_of(*word, number));
        word.map(Decision::from_word)
    }
}

fn is_of(word: u64, number: AgreementNumber) -> bool {
    word >> NUMBER == number.0
}

impl AgreementWords {
    /// What they are now.
    pub fn read(&self) -> AgreementRecord {
        let [entered, known, proposal] = [&self.entered, &self.known, &self.proposal].map(load);
        AgreementRecord { entered, known, proposal, decided: self.decided.each_ref().map(load) }
    }

    /// The owner enters an agreement.
    pub fn enter(&self, number: AgreementNumber, value: u32) {
        self.entered.store(number.0 << NUMBER | u64::from(value), Ordering::Release);
    }

    /// It knows these failures.
    pub fn know(&self, number: AgreementNumber, known: Known) {
        let word = number.0 << NUMBER | (known.count as u64) << KNOWN_COUNT | known.sum;
        self.known.store(word, Ordering::Release);
    }

    /// It proposes something, or has seen that proposed.
    pub fn propose(&self, number: AgreementNumber, proposal: Proposal) {
        let word = proposal.decision.word(number) & !(((1 << COUNT_BITS) - 1) << MEMBER);
        self.proposal.store(word | (proposal.by as u64) << MEMBER, Ordering::Release);
    }

    /// It knows what is decided. The decision of the agreement before stays.
    pub fn decide(&self, number: AgreementNumber, decision: Decision) {
        let [even, odd] = &self.decided;
        let is_before = AgreementNumber(load(even) >> NUMBER).next() == number;
        let to = if is_before { odd } else { even };
        to.store(decision.word(number), Ordering::Release);
    }

    /// The next team with these words begins anew.
    pub fn clear(&self) {
        for word in [&self.entered, &self.known, &self.proposal].into_iter().chain(&self.decided) {
            word.store(0, Ordering::Relaxed);
        }
    }
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

impl fmt::Debug for AgreementWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}
