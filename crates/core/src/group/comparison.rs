//! A synchronisation in which the members compare what they are about, at no further message: each
//! says it beside a flag that it posts anyway.
//!
//! In the dissemination barrier, each member tells the next one in the first round; in the tree
//! barrier, each child tells its parent. Both connect all members, so if any two differ, two
//! that are connected do. At the central barrier, the first member to arrive leaves a digest beside the
//! counter of arrivals, with which each other member compares its own.
//!
//! Words of an earlier call may be left where a member now synchronises without saying anything, so each
//! call bears the number of its epoch.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use ferroshmem_tuning::{Algorithm, Collective};

use super::channel::{Channel, Slots};
use super::hierarchy::HierarchicalTeam;
use super::{Epoch, Group};
use crate::barrier;

/// What a member says of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSummary {
    /// The routine, by a number of the caller's.
    pub routine: u32,
    /// Its arguments and what it has come to.
    pub arguments: [u64; 3],
}

/// Another member is about something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallDiffers {
    /// World number of the member.
    pub pe: usize,
    /// What it says; None if it synchronises without saying anything.
    pub call: Option<CallSummary>,
}

/// A summary as it is sent: number of the epoch and routine, then the arguments.
type Words = [u64; 4];

/// Bytes of [`Words`].
const BYTES: usize = size_of::<Words>();

const _: () = assert!(BYTES <= ferroshmem_layout::MESSAGE_BYTES);

impl CallSummary {
    fn words(&self, epoch: u32) -> Words {
        let [a, b, c] = self.arguments;
        [u64::from(epoch) << 32 | u64::from(self.routine), a, b, c]
    }

    /// The summary that these are, if they are of this epoch.
    fn of(words: Words, epoch: u32) -> Option<Self> {
        let [head, a, b, c] = words;
        (head >> 32 == u64::from(epoch)).then_some(Self { routine: head as u32, arguments: [a, b, c] })
    }
}

/// The epoch's number and 32 bits that depend on all others.
fn digest(words: &Words) -> u64 {
    // Odd numbers without a pattern: the words of the SHA-512 standard for 2, 3, 5 and 7.
    const FACTORS: Words = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];
    let products = words.iter().zip(FACTORS).map(|(w, f)| w.wrapping_mul(f));
    let sum = products.fold(0, u64::wrapping_add);
    words[0] & !0xffff_ffff | (sum ^ sum >> 29).wrapping_mul(FACTORS[3]) >> 32
}

impl Group<'_> {
    /// As [`sync`](Self::sync), and compares what the members say.
    ///
    /// # Errors
    /// A member that says something else. Not every PE gets one, but at least one does.
    pub fn sync_comparing(&self, call: &CallSummary) -> Result<(), CallDiffers> {
        match &self.channel {
            _ if self.size == 1 => self.sync(),
            Channel::Slots(slots) => {
                let epoch = self.epoch();
                return epoch.synchronise_comparing(slots, call).or_else(|differs| {
                    let pe = self.pe(differs.pe);
                    // Once a member has failed, what others say may be of other calls.
                    if self.has_failed() { Ok(()) } else { Err(CallDiffers { pe, ..differs }) }
                });
            }
            Channel::Mailboxes(_) => return self.epoch().disseminate_comparing(call),
            Channel::Hierarchy(team) => return self.sync_hierarchy_comparing(*team, call),
            Channel::WorkArray(_) => self.sync(),
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn sync_hierarchy_comparing(&self, team: HierarchicalTeam<'_>, call: &CallSummary) -> Result<(), CallDiffers> {
        let subgroups = self.subgroups_of(team);
        let local = subgroups.local.sync_comparing(call);
        let leaders = subgroups.leaders.as_ref();
        let leaders = leaders.map_or(Ok(()), |leaders| leaders.sync_comparing(call));
        let leaders = leaders.or_else(|differs| if self.is_failed_elsewhere() { Ok(()) } else { Err(differs) });
        if subgroups.local.size > 1 {
            subgroups.local.sync();
        }
        // Members of a node group go by their numbers on the node.
        let here = team.node.job.placement.local_pes();
        let local = local.map_err(|differs| CallDiffers { pe: here[differs.pe] as usize, ..differs });
        local.and(leaders)
    }
}

impl Epoch<'_> {
    /// As [`synchronise`](Self::synchronise). The error has the member's number in place of its PE's.
    #[inline]
    fn synchronise_comparing(&self, slots: &Slots<'_>, call: &CallSummary) -> Result<(), CallDiffers> {
        let (me, size) = (self.group.me, self.group.size);
        let words = call.words(self.number);
        let differs = Cell::new(None);
        match slots.decisions.choose(Collective::Barrier, 0).algorithm {
            Algorithm::Central => {
                let found = self.compare_at_counter(slots, &words);
                self.synchronise_with(|| ());
                return found;
            }
            Algorithm::Tree => barrier::tree(
                me,
                size,
                |member, k| match k {
                    barrier::RELEASE => self.post(member, k),
                    _ => self.send_summary(member, k, &words),
                },
                |k| match k {
                    barrier::RELEASE => self.wait(k),
                    _ => self.receive_summary(barrier::child(me, k), k, &words, &differs),
                },
            ),
            _ => self.disseminate(&words, &differs),
        }
        differs.get().map_or(Ok(()), Err)
    }

    /// The dissemination barrier of members that are not in one node group.
    fn disseminate_comparing(&self, call: &CallSummary) -> Result<(), CallDiffers> {
        let differs = Cell::new(None);
        self.disseminate(&call.words(self.number), &differs);
        differs.get().map_or(Ok(()), |differs| {
            let pe = match &self.group.channel {
                Channel::Mailboxes(mailboxes) => mailboxes.pe(differs.pe),
                _ => self.group.pe(differs.pe),
            };
            Err(CallDiffers { pe, ..differs })
        })
    }

    fn disseminate(&self, words: &Words, differs: &Cell<Option<CallDiffers>>) {
        let (me, size) = (self.group.me, self.group.size);
        let behind = if me == 0 { size - 1 } else { me - 1 };
        barrier::dissemination(
            me,
            size,
            |member, k| match k {
                0 => self.send_summary(member, k, words),
                _ => self.post(member, k),
            },
            |k| match k {
                0 => self.receive_summary(behind, k, words, differs),
                _ => self.wait(k),
            },
        );
    }

    /// Posts a flag of a member with this member's words.
    #[inline]
    fn send_summary(&self, member: usize, flag: usize, words: &Words) {
        // SAFETY: the words are readable.
        unsafe { self.send(member, flag, words.as_ptr().cast(), BYTES) };
    }

    /// Waits for a flag that `member` posts with its words, and compares them.
    #[inline]
    fn receive_summary(&self, member: usize, flag: usize, words: &Words, differs: &Cell<Option<CallDiffers>>) {
        let mut theirs = [0; 4];
        // SAFETY: the words are writable.
        unsafe { self.receive(flag, theirs.as_mut_ptr().cast(), BYTES) };
        // Without a branch for each word.
        let pairs = theirs.iter().zip(words);
        if pairs.fold(0, |all, (a, b)| all | (a ^ b)) != 0 {
            let call = CallSummary::of(theirs, self.number);
            differs.set(differs.get().or(Some(CallDiffers { pe: member, call })));
        }
    }

    /// Compares this member's words with those of the first to arrive at the central barrier, before
    /// this member arrives.
    #[inline]
    fn compare_at_counter(&self, slots: &Slots<'_>, words: &Words) -> Result<(), CallDiffers> {
        for (word, value) in slots.of(self.group.me).own.call.iter().zip(words) {
            word.store(*value, Ordering::Relaxed);
        }
        let (mine, first) = (digest(words), &slots.of(0).gathering.call);
        // The line is this core's from here on: the counter of arrivals is on it.
        let mut left = first.load(Ordering::Relaxed);
        loop {
            if left >> 32 == mine >> 32 {
                break;
            }
            match first.compare_exchange_weak(left, mine, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(other) => left = other,
            }
        }
        if left == mine {
            return Ok(());
        }
        Err(self.who_left(slots, first.load(Ordering::Acquire)))
    }

    /// The member that left `digest` at the counter of arrivals. No member leaves the barrier before
    /// this one has arrived, so all words are those of this epoch.
    #[cold]
    fn who_left(&self, slots: &Slots<'_>, left: u64) -> CallDiffers {
        let words = |member: usize| -> Words {
            let call = &slots.of(member).own.call;
            std::array::from_fn(|i| call[i].load(Ordering::Acquire))
        };
        let member = (0..self.group.size).find(|member| digest(&words(*member)) == left);
        CallDiffers {
            pe: member.unwrap_or(0),
            call: member.and_then(|member| CallSummary::of(words(member), self.number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::threads;
    use super::*;
    use ferroshmem_tuning::{Choice, DecisionTable};

    const BARRIERS: [Algorithm; 3] = [Algorithm::Central, Algorithm::Dissemination, Algorithm::Tree];

    fn call(size: u64) -> CallSummary {
        CallSummary { routine: 1, arguments: [size, 0, 4096] }
    }

    /// Who differs from whom, and what that one says, where members say what `says` returns.
    fn differences(
        algorithm: Algorithm,
        size: usize,
        says: impl Fn(usize, u32) -> Option<CallSummary> + Sync,
    ) -> Vec<(usize, u32, CallDiffers)> {
        let decisions = DecisionTable::fixed(Collective::Barrier, Choice::direct(algorithm));
        let found = Mutex::new(Vec::new());
        threads::run(size, |member| {
            for round in 0..6 {
                let group = member.group(&decisions);
                match says(member.me, round) {
                    None => group.sync(),
                    Some(call) => {
                        if let Err(differs) = group.sync_comparing(&call) {
                            found.lock().unwrap().push((member.me, round, differs));
                        }
                    }
                }
            }
        });
        found.into_inner().unwrap()
    }

    #[test]
    fn equal_calls_pass_and_a_different_one_is_found() {
        for algorithm in BARRIERS {
            for size in [2, 3, 5, 8, 16] {
                let equal = differences(algorithm, size, |_, round| Some(call(round.into())));
                assert_eq!(equal, [], "{algorithm:?} {size}");
                for odd in [0, 1, size - 1] {
                    let found = differences(algorithm, size, |me, round| {
                        Some(call(if me == odd && round % 3 == 2 { 7 } else { 8 }))
                    });
                    for round in [2, 5] {
                        assert!(found.iter().any(|(_, r, _)| *r == round), "{algorithm:?} {size}");
                    }
                    for (me, round, CallDiffers { pe, call: theirs }) in found {
                        assert_eq!(round % 3, 2);
                        assert!((me == odd) != (pe == odd), "{algorithm:?} {size}: {me} {pe}");
                        assert_eq!(theirs, Some(call(if pe == odd { 7 } else { 8 })));
                    }
                }
            }
        }
    }

    #[test]
    fn a_member_that_says_nothing_is_found_where_flags_carry_words() {
        for algorithm in [Algorithm::Dissemination, Algorithm::Tree] {
            let found = differences(algorithm, 2, |me, round| (me == 0 || round < 4).then(|| call(8)));
            assert!(found.iter().all(|(me, round, differs)| {
                *me == 0 && *round >= 4 && *differs == CallDiffers { pe: 1, call: None }
            }));
            assert_eq!(found.len(), 2, "{algorithm:?}");
        }
    }

    #[test]
    fn digests_depend_on_every_word() {
        let call = CallSummary { routine: 1, arguments: [64, 0, 1 << 20] };
        let words = call.words(7);
        assert_eq!(CallSummary::of(words, 7), Some(call));
        assert_eq!(CallSummary::of(words, 8), None);
        assert_eq!(digest(&words) >> 32, 7);
        for i in 0..4 {
            for bit in 0..if i == 0 { 32 } else { 64 } {
                let mut other = words;
                other[i] ^= 1 << bit;
                assert_ne!(digest(&other), digest(&words), "word {i}, bit {bit}");
            }
        }
    }
}
