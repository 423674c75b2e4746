//! Calls between nodes: a message goes to each member of group 1 as records of the connection's fabric, and each
//! answers when it has run its kernels.
//!
//! | from | record | meaning |
//! |---|---|---|
//! | member 0 | `CALLS`, bytes of the message | a message begins, with as much of it as there is room for |
//! | member 0 | `MORE` | what comes next of it |
//! | member 0 | `END` | no message follows |
//! | group 1, to each member of group 0 | `FINISHED`, number of the message | this member has run its kernels |
//! | group 1, to member 0 | `LEFT` | this member takes no messages any more |
//!
//! Records of a member arrive in their order. Memory of this process alone has the [`CallLines`], of which the threads
//! that wait are the same as on one node.

use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferroshmem_platform::atomic::Std;

use super::message::Line;
use super::served::leave_after;
use crate::connection::groups::Groups;
use crate::wait::flag;
use ferroshmem_layout::CallLines;

const CALLS: u8 = 1;
const MORE: u8 = 2;
const END: u8 = 3;
const FINISHED: u8 = 4;
const LEFT: u8 = 5;

/// Room that is made for a message before its bytes have come.
const FIRST_ROOM: usize = 1 << 20;

/// What is said of a member that has left and not run what was called.
pub(crate) const UNSERVED: &str =
    "a PE of the group has left it without running the kernel: have it call shmemx_kernel_serve";

/// What takes records to members.
pub(crate) trait Records {
    /// The longest record in bytes.
    fn longest(&self) -> usize;

    /// Sends a record of two parts to a member, once there is room for it.
    fn send(&self, member: usize, parts: [&[u8]; 2]);
}

/// A message, as records bring it.
#[derive(Debug)]
pub(super) struct Message {
    lines: Vec<Line>,
    len: usize,
    bytes: usize,
}

impl Message {
    /// One of so many bytes, of which none has come.
    pub(super) fn new(bytes: usize) -> Self {
        Self { lines: Vec::with_capacity(bytes.min(FIRST_ROOM).div_ceil(size_of::<Line>())), len: 0, bytes }
    }

    /// Makes room for all of it.
    pub(super) fn fill(&mut self) {
        self.lines.resize(self.bytes.div_ceil(size_of::<Line>()), Line::ZERO);
        self.len = self.bytes;
    }

    /// Where it is.
    pub(super) fn base(&mut self) -> NonNull<u8> {
        NonNull::from(&mut *self.lines).cast()
    }

    fn as_bytes(&self) -> &[u8] {
        // SAFETY: lines are bytes, of which there are at least so many.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    /// Adds bytes; whether so many were missing.
    fn extend(&mut self, bytes: &[u8]) -> bool {
        let end = self.len + bytes.len();
        if end > self.bytes {
            return false;
        }
        self.lines.resize(end.div_ceil(size_of::<Line>()), Line::ZERO);
        let to = self.base().as_ptr().wrapping_add(self.len);
        // SAFETY: the lines have room up to the end.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len = end;
        true
    }
}

/// What has come.
#[derive(Debug)]
struct ReceivedCalls {
    /// On the group that is called: messages, and at last that none follows; a message of which some is missing.
    messages: VecDeque<Option<Message>>,
    partial: Option<Message>,
    count: u32,
    /// On the group that calls: how many messages each member of the other one has finished.
    finished: Box<[u32]>,
}

/// Calls of a connection between nodes.
#[derive(Debug)]
pub(crate) struct RemoteCalls {
    lines: CallLines,
    groups: [Range<usize>; 2],
    /// Whether this is group 1.
    is_called: bool,
    arrived: Mutex<ReceivedCalls>,
}

impl RemoteCalls {
    /// Of a connection with these groups.
    pub(crate) fn new(groups: &Groups) -> Self {
        let (own, others) = (groups.own(), groups.others());
        Self {
            lines: CallLines::default(),
            is_called: groups.own == 1,
            arrived: Mutex::new(ReceivedCalls {
                messages: VecDeque::new(),
                partial: None,
                count: 0,
                finished: vec![0; others.len()].into(),
            }),
            groups: [own, others],
        }
    }

    pub(crate) fn lines(&self) -> &CallLines {
        &self.lines
    }

    fn lock(&self) -> MutexGuard<'_, ReceivedCalls> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a record of a member; `lost` is called if that has left and not run what was called. False: no member
    /// sends such a record.
    pub(crate) fn take(&self, from: usize, record: &[u8], lost: impl FnOnce()) -> bool {
        let Some((head, data)) = record.split_first_chunk() else {
            return false;
        };
        let head = u64::from_ne_bytes(*head);
        let (kind, value) = (head as u8, head >> 8);
        let [_, others] = &self.groups;
        let mut arrived = self.lock();
        match kind {
            CALLS | MORE | END if self.is_called && from == 0 => {
                let is_valid = arrived.message(kind, value as usize, data);
                flag::post(&self.lines.sent, arrived.count & flag::VALUE);
                is_valid
            }
            FINISHED | LEFT if !self.is_called && others.contains(&from) => {
                let finished = &mut arrived.finished[from - others.start];
                if kind == LEFT {
                    if leave_after::<Std>(&self.lines.left, &self.lines.sent) != *finished {
                        lost();
                    }
                    return true;
                }
                *finished = value as u32 & flag::VALUE;
                let count = flag::value(&self.lines.finished.count);
                let ahead = arrived.finished.iter();
                let ahead = ahead.map(|n| n.wrapping_sub(count) & flag::VALUE).min();
                if let Some(ahead @ 1..) = ahead {
                    let all = count.wrapping_add(ahead) & flag::VALUE;
                    flag::post(&self.lines.finished.count, all);
                }
                true
            }
            _ => false,
        }
    }

    /// The next message, which has come; None if none follows.
    pub(super) fn next(&self) -> Option<Message> {
        self.lock().messages.pop_front().flatten()
    }

    /// Sends a message to all members of the other group, which are to run its kernels.
    pub(super) fn send(&self, records: &impl Records, message: &Message) {
        let longest = records.longest() - size_of::<u64>();
        let bytes = message.as_bytes();
        let mut kind = (CALLS, bytes.len());
        for part in bytes.chunks(longest) {
            self.send_to(records, &self.groups[1], kind, part);
            kind = (MORE, 0);
        }
    }

    /// Says that no message follows.
    pub(super) fn end(&self, records: &impl Records) {
        self.send_to(records, &self.groups[1], (END, 0), &[]);
    }

    /// Says that this member has run the kernels of the message of a number.
    pub(super) fn finish(&self, records: &impl Records, number: u32) {
        let number = (number & flag::VALUE) as usize;
        self.send_to(records, &self.groups[1], (FINISHED, number), &[]);
    }

    /// This member takes no messages any more. Whether there is one that it has not taken.
    pub(super) fn leave(&self, records: &impl Records) -> bool {
        if self.is_called {
            self.send_to(records, &(0..1), (LEFT, 0), &[]);
        }
        matches!(self.lock().messages.front(), Some(Some(_)))
    }

    fn send_to(&self, records: &impl Records, to: &Range<usize>, (kind, value): (u8, usize), data: &[u8]) {
        let head = (value as u64) << 8 | u64::from(kind);
        for member in to.clone() {
            records.send(member, [&head.to_ne_bytes(), data]);
        }
    }
}

impl ReceivedCalls {
    /// Takes a record of a message; false if none can be so.
    fn message(&mut self, kind: u8, value: usize, data: &[u8]) -> bool {
        let mut message = match (kind, self.partial.take()) {
            (CALLS, None) => Message::new(value),
            (MORE, Some(message)) => message,
            (END, None) => {
                self.messages.push_back(None);
                self.count = self.count.wrapping_add(1);
                return true;
            }
            _ => return false,
        };
        if !message.extend(data) {
            return false;
        }
        if message.len < message.bytes {
            self.partial = Some(message);
        } else {
            self.messages.push_back(Some(message));
            self.count = self.count.wrapping_add(1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, value: usize, data: &[u8]) -> Vec<u8> {
        let head = (value as u64) << 8 | u64::from(kind);
        [&head.to_ne_bytes(), data].concat()
    }

    fn calls(own: usize) -> RemoteCalls {
        RemoteCalls::new(&Groups::new([2, 3], own))
    }

    #[test]
    fn messages_come_whole_and_in_their_order() {
        let calls = calls(1);
        let take = |from, record: &[u8]| calls.take(from, record, || unreachable!());
        let sent = || flag::value(&calls.lines.sent);
        let bytes: Vec<u8> = (0..200).collect();
        assert!(take(0, &record(CALLS, 200, &bytes[..130])));
        assert_eq!(sent(), 0);
        assert!(take(0, &record(MORE, 0, &bytes[130..])));
        assert!(take(0, &record(CALLS, 3, &bytes[..3])));
        assert!(take(0, &record(END, 0, &[])));
        assert_eq!(sent(), 3);
        let mut first = calls.next().unwrap();
        assert_eq!(first.as_bytes(), bytes);
        assert!(first.base().as_ptr().addr().is_multiple_of(64));
        assert_eq!(calls.next().unwrap().as_bytes(), &bytes[..3]);
        assert!(calls.next().is_none());
    }

    #[test]
    fn records_that_no_member_sends_are_refused() {
        let called = calls(1);
        let take = |from, record: &[u8]| called.take(from, record, || unreachable!());
        for wrong in [
            record(CALLS, 2, &[1, 2, 3]),
            record(MORE, 0, &[1]),
            record(FINISHED, 1, &[]),
            record(LEFT, 0, &[]),
            record(9, 0, &[]),
            vec![CALLS],
        ] {
            assert!(!take(0, &wrong), "{wrong:?}");
        }
        assert!(!take(1, &record(CALLS, 1, &[1])));
        assert!(take(0, &record(CALLS, 9, &[1])));
        assert!(!take(0, &record(END, 0, &[])));
        let calling = calls(0);
        for (from, kind) in [(1, FINISHED), (2, CALLS), (5, LEFT)] {
            let record = record(kind, 1, &[1]);
            assert!(!calling.take(from, &record, || unreachable!()), "{kind}");
        }
    }

    #[test]
    fn a_message_is_finished_when_all_have_finished_it() {
        let calls = calls(0);
        let finished = || flag::value(&calls.lines.finished.count);
        let mut lost = 0;
        let mut take = |from, kind, n| assert!(calls.take(from, &record(kind, n, &[]), || lost += 1));
        take(2, FINISHED, 1);
        take(2, FINISHED, 2);
        take(4, FINISHED, 1);
        assert_eq!(finished(), 0);
        take(3, FINISHED, 1);
        assert_eq!(finished(), 1);
        take(3, FINISHED, 2);
        take(4, FINISHED, 2);
        assert_eq!(finished(), 2);
        flag::post(&calls.lines.sent, 2);
        take(3, LEFT, 0);
        flag::post(&calls.lines.sent, 3);
        take(2, LEFT, 0);
        assert_eq!(lost, 1);
        assert_eq!(calls.lines.left.load(std::sync::atomic::Ordering::Relaxed), 2);
    }
}
