//! With `SHMEM_CHECK=1`: a check that all members call the same routine with the same arguments.
//! A difference ends the job with a line that names both PEs.

use std::sync::atomic::Ordering;

use super::Group;
use super::channel::Channel;
use super::mailbox::MailboxChannel;
use crate::failure::fatal::fatal;
use crate::memory::show_place;
use crate::node::Node;
use ferroshmem_layout::{name_from_words, name_to_words};

/// What differs between two routines, if their names show it: the type, or the operator.
fn difference(mine: &str, other: &str) -> &'static str {
    const OPERATORS: &[&str] = &["and", "or", "xor", "max", "min", "sum", "prod"];
    let (mine, other): (Vec<_>, Vec<_>) = (mine.split('_').collect(), other.split('_').collect());
    let mut different = mine.iter().zip(&other).filter(|(a, b)| a != b);
    match (mine.len() == other.len(), different.next(), different.next()) {
        (true, Some((a, b)), None) if OPERATORS.contains(a) && OPERATORS.contains(b) => ", with another operator",
        // shmem_TYPE_...: the type is the second word, but for shmem_sync_all and shmem_barrier_all.
        (true, Some(_), None) if mine.len() > 2 && mine[1] != other[1] && mine[2] != "all" => ", with another type",
        _ => "",
    }
}

impl Group<'_> {
    /// Checks, if checks are on, that all members call this routine with the same `arguments`.
    #[inline]
    pub fn check_matching(&self, node: &Node, arguments: &[(&str, u64)]) {
        if node.settings.check && self.size > 1 && self.connection().is_none() {
            self.match_routine();
            self.match_arguments(arguments);
        }
    }

    /// Publishes word `i` of this PE's call.
    pub fn publish_call_word(&self, i: usize, word: u64) {
        match &self.channel {
            Channel::Slots(slots) => &slots.of(self.me).own.call[i],
            Channel::Mailboxes(MailboxChannel { team, .. }) | Channel::Hierarchy(team) => team.call_word(i),
            Channel::WorkArray(array) => return array.publish_call_word(self.me, i, word),
        }
        .store(word, Ordering::Release);
    }

    /// Word `i` of a member's call.
    pub fn call_word(&self, member: usize, i: usize) -> u64 {
        match &self.channel {
            Channel::Slots(slots) => slots.of(member).own.call[i].load(Ordering::Acquire),
            Channel::Mailboxes(MailboxChannel { team, .. }) | Channel::Hierarchy(team) => {
                team.read_call_word(member, i)
            }
            Channel::WorkArray(array) => array.call_word(member, i),
        }
    }

    /// The first member whose words differ from those of member 0.
    fn first_difference(&self, words: [u64; 6]) -> Option<(usize, [u64; 6])> {
        for (i, word) in words.into_iter().enumerate() {
            self.publish_call_word(i, word);
        }
        self.sync();
        let of = |m: usize| std::array::from_fn(|i| self.call_word(m, i));
        let first = of(0);
        let different = (1..self.size).find(|m| of(*m) != first && !self.has_failed());
        self.sync();
        for i in 0..words.len() {
            self.publish_call_word(i, 0);
        }
        self.sync();
        different.filter(|_| !self.is_failed_elsewhere()).map(|m| (m, first))
    }

    /// Ends the job if some member calls another routine.
    pub fn match_routine(&self) {
        if let Some((member, first)) = self.first_difference(name_to_words(self.name)) {
            self.only_on(member);
            let other = name_from_words(first);
            fatal(
                self.name,
                format_args!(
                    "PE {} calls {other} at this point{}: all PEs must make the same collective calls in the same \
                        order",
                    self.pe(0),
                    difference(self.name, &other),
                ),
            );
        }
    }

    fn match_arguments(&self, arguments: &[(&str, u64)]) {
        let words = std::array::from_fn(|i| arguments.get(i).map_or(0, |a| a.1));
        if let Some((member, first)) = self.first_difference(words) {
            self.only_on(member);
            let (&(name, mine), other) =
                arguments.iter().zip(first).find(|(mine, other)| mine.1 != *other).expect("the words differ");
            let show = |value: u64| match name {
                "ptr" | "space" => format!("{value:#x}"),
                "dest" | "source" => show_place(value),
                _ => (value as i64).to_string(),
            };
            let (mine, other, pe) = (show(mine), show(other), self.pe(0));
            fatal(self.name, format_args!("{name} is {mine} here, but {other} on PE {pe}: all PEs must give the same"));
        }
    }

    /// Returns on `member` alone, which reports the difference and ends the job; other PEs wait for
    /// that.
    fn only_on(&self, member: usize) {
        if self.me != member {
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn what_differs_between_routines() {
        let sum = "shmem_int_sum_reduce";
        assert_eq!(difference(sum, "shmem_uint_sum_reduce"), ", with another type");
        assert_eq!(difference(sum, "shmem_int_max_reduce"), ", with another operator");
        assert_eq!(difference(sum, "shmem_int_broadcast"), "");
        assert_eq!(difference("shmem_sync_all", "shmem_barrier_all"), "");
    }
}
