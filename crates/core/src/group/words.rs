//! A synchronisation that combines a few words of each member: some by bitwise or, the last to its greatest
//! value. The words travel beside the flags that the members post anyway, so it costs what a barrier does.
//!
//! Both operations may be applied to a word twice, so the dissemination barrier combines right for any number
//! of members. In the tree barrier the words go up with the arrivals, and the result comes down with the
//! release. At the central barrier each member adds its words to those on the line of the counter; the
//! last to arrive moves them to the line that all poll.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use ferroshmem_tuning::{Algorithm, Collective};

use super::channel::{Channel, Slots};
use super::{Epoch, Group};
use crate::barrier;

/// Words of a member: three of which all bits are united, and one of which the greatest counts.
pub type Words = [u64; 4];

/// Bytes of [`Words`].
const BYTES: usize = size_of::<Words>();

const _: () = assert!(BYTES <= ferroshmem_layout::MESSAGE_BYTES);
const _: () = assert!(BYTES <= ferroshmem_layout::SMALL);

fn combine(a: Words, b: Words) -> Words {
    [a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3].max(b[3])]
}

impl Group<'_> {
    /// As [`sync`](Self::sync); the result is the same on all members: the words of all, combined. For teams.
    pub fn combine_words(&self, mine: Words) -> Words {
        match &self.channel {
            _ if self.size == 1 => {
                self.sync();
                mine
            }
            Channel::Slots(slots) => self.epoch().combine_words(slots, mine),
            Channel::Mailboxes(_) => self.epoch().disseminate_words(mine),
            Channel::Hierarchy(team) => {
                let subgroups = self.subgroups_of(*team);
                let local = subgroups.local.combine_words(mine);
                let all = match &subgroups.leaders {
                    Some(leaders) => leaders.combine_words(local),
                    None => local,
                };
                subgroups.local.combine_words(all)
            }
            Channel::WorkArray(_) => unreachable!("active sets agree by what they publish"),
        }
    }
}

impl Epoch<'_> {
    fn combine_words(&self, slots: &Slots<'_>, mine: Words) -> Words {
        let (me, size) = (self.group.me, self.group.size);
        match slots.decisions.choose(Collective::Barrier, 0).algorithm {
            Algorithm::Central => self.combine_at_counter(slots, mine),
            Algorithm::Tree => {
                let words = Cell::new(mine);
                barrier::tree(
                    me,
                    size,
                    |member, k| self.send_words(member, k, &words),
                    |k| match k {
                        barrier::RELEASE => words.set(self.receive_words(k)),
                        _ => words.set(combine(words.get(), self.receive_words(k))),
                    },
                );
                words.get()
            }
            Algorithm::Sockets => {
                let Some(sockets) = slots.local.sockets() else {
                    return self.disseminate_words(mine);
                };
                let words = Cell::new(mine);
                barrier::by_sockets(
                    &sockets.tree(true),
                    |socket| sockets.leader(socket),
                    |member, k| self.send_words(member, k, &words),
                    |k| match k {
                        barrier::RELEASE => words.set(self.receive_words(k)),
                        _ => words.set(combine(words.get(), self.receive_words(k))),
                    },
                );
                words.get()
            }
            _ => self.disseminate_words(mine),
        }
    }

    fn disseminate_words(&self, mine: Words) -> Words {
        let words = Cell::new(mine);
        barrier::dissemination(
            self.group.me,
            self.group.size,
            |member, k| self.send_words(member, k, &words),
            |k| words.set(combine(words.get(), self.receive_words(k))),
        );
        words.get()
    }

    fn send_words(&self, member: usize, flag: usize, words: &Cell<Words>) {
        // SAFETY: the words are readable.
        unsafe { self.send(member, flag, words.as_ptr().cast_const().cast(), BYTES) };
        self.group.traffic.moved(0, BYTES);
    }

    fn receive_words(&self, flag: usize) -> Words {
        let mut words = [0; 4];
        // SAFETY: the words are writable.
        unsafe { self.receive(flag, words.as_mut_ptr().cast(), BYTES) };
        self.group.traffic.moved(BYTES, 0);
        words
    }

    /// The counter's line is read and written by each member anyway.
    fn combine_at_counter(&self, slots: &Slots<'_>, mine: Words) -> Words {
        let combined = &slots.of(0).gathering.combined;
        for (i, (word, value)) in combined.iter().zip(mine).enumerate() {
            if i + 1 == combined.len() {
                if value > word.load(Ordering::Relaxed) {
                    word.fetch_max(value, Ordering::Relaxed);
                }
            } else if value != 0 {
                word.fetch_or(value, Ordering::Relaxed);
            }
        }
        self.group.traffic.moved(0, BYTES);
        self.synchronise_with(|| {
            // All members have added theirs, and none adds to those of the next epoch before it is released.
            let all: Words = combined.each_ref().map(|word| word.swap(0, Ordering::Relaxed));
            // SAFETY: there is room for them; no member reads the last result any more, since all have
            // entered this epoch.
            unsafe { self.result(0).cast::<Words>().write(all) };
        });
        self.group.traffic.moved(BYTES, 0);
        // SAFETY: the last member to arrive has written it, and the next result comes after this member has
        // entered the next epoch.
        unsafe { self.result(0).cast::<Words>().read() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::threads;
    use super::*;
    use ferroshmem_tuning::{Choice, DecisionTable};

    /// All members get the same result, whatever the barrier, and a result does not depend on those before.
    #[test]
    fn all_members_get_all_words() {
        for barrier in [Algorithm::Central, Algorithm::Dissemination, Algorithm::Tree] {
            for size in [1, 2, 3, 5, 8, 17] {
                threads::run(size, |member| {
                    let decisions = DecisionTable::fixed(Collective::Barrier, Choice::direct(barrier));
                    for round in 0..20 {
                        let group = member.group(&decisions);
                        let mine = (member.me + round) % size;
                        let bit = 1u64 << (mine % 64);
                        let all = group.combine_words([bit, 0, u64::from(mine == 1), mine as u64]);
                        let bits = (0..size).fold(0, |bits, m| bits | 1 << (m % 64));
                        let expected = [bits, 0, u64::from(size > 1), size as u64 - 1];
                        assert_eq!(all, expected, "{barrier:?}, {size} members, round {round}");
                    }
                });
            }
        }
    }

    /// What a member reads grows with the logarithm of the number of members at most.
    #[test]
    fn a_member_reads_no_more_than_in_a_barrier() {
        for (barrier, most) in [(Algorithm::Central, 1), (Algorithm::Dissemination, 6), (Algorithm::Tree, 5)] {
            threads::run(64, |member| {
                let decisions = DecisionTable::fixed(Collective::Barrier, Choice::direct(barrier));
                let group = member.group(&decisions);
                group.combine_words([1, 2, 3, 4]);
                let (read, _) = group.traffic().total();
                assert!(read <= most * BYTES, "{barrier:?}: {read} bytes");
            });
        }
    }
}
