//! With `SHMEM_CHECK=1`: a check that all members call the same routine with the same arguments.
//! A difference ends the job with a line that names both PEs.

use std::sync::atomic::Ordering;

use super::Group;
use super::channel::Channel;
use super::mailbox::MailboxChannel;
use crate::failure::fatal::fatal;
use crate::job::region::{name_from_words, name_to_words};
use crate::node::Node;

impl Group<'_> {
    /// Checks, if checks are on, that all members call this routine with the same `arguments`.
    #[inline]
    pub fn check_agreement(&self, node: &Node, arguments: &[(&str, u64)]) {
        if node.settings.check && self.size > 1 {
            self.agree_on_routine();
            self.agree_on_arguments(arguments);
        }
    }

    /// Publishes word `i` of this PE's call.
    fn publish_call_word(&self, i: usize, word: u64) {
        match &self.channel {
            Channel::Slots(slots) => &slots.of(self.me).own.call[i],
            Channel::Mailboxes(MailboxChannel { team, .. }) | Channel::Hierarchy(team) => {
                team.call_word(i)
            }
            Channel::WorkArray(array) => return array.publish_call_word(self.me, i, word),
        }
        .store(word, Ordering::Release);
    }

    /// Word `i` of a member's call.
    fn call_word(&self, member: usize, i: usize) -> u64 {
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
        let different = (1..self.size).find(|m| of(*m) != first);
        self.sync();
        for i in 0..words.len() {
            self.publish_call_word(i, 0);
        }
        self.sync();
        different.map(|m| (m, first))
    }

    fn agree_on_routine(&self) {
        if let Some((member, first)) = self.first_difference(name_to_words(self.name)) {
            self.only_on(member);
            let other = name_from_words(first);
            fatal(
                self.name,
                format_args!("PE {} calls {other} at this point", self.pe(0)),
            );
        }
    }

    fn agree_on_arguments(&self, arguments: &[(&str, u64)]) {
        let words = std::array::from_fn(|i| arguments.get(i).map_or(0, |a| a.1));
        if let Some((member, first)) = self.first_difference(words) {
            self.only_on(member);
            let (&(name, mine), other) = arguments
                .iter()
                .zip(first)
                .find(|(mine, other)| mine.1 != *other)
                .expect("the words differ");
            let show = |value: u64| match name {
                "ptr" => format!("{value:#x}"),
                _ => (value as i64).to_string(),
            };
            let (mine, other, pe) = (show(mine), show(other), self.pe(0));
            fatal(
                self.name,
                format_args!("{name} is {mine} here, but {other} on PE {pe}"),
            );
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
