//! An edge between neighbours: how the message of a round travels along it.
//!
//! Each edge has two lines at its end, for odd and for even rounds, and one at its start. A message is its bytes, and
//! then the round's number in the line of the round. Bytes go by one of four protocols: in the line, behind a number
//! elsewhere, beside the line, or to the array. Where they go to memory of the library's, of which there is as much for
//! each line, the receiver copies them when it finds the number. So the sender of round n has to know only that the
//! receiver has ended n - 2. If the receiver sends to it as well, it knows: its own round n - 1 has ended, so the other
//! has started n - 1. Else the receiver writes the number of a round that it has ended to the line at the start. Long
//! messages go to the array of the receiver at once: there, the receiver writes the number of a round that it has
//! started.

use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::node::Node;
use ferroshmem_core::transport::Location;
use ferroshmem_core::wait::signals::{self, SignalWords};
use ferroshmem_fabric::{AtomicOp, Op, Width};
use ferroshmem_layout::SignalLine;
use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};

use super::strided::Strided;
use crate::graph::Place;

/// Bytes of a line.
pub(super) const LINE: usize = 64;
/// Bytes of a message that a line holds beside a round's number.
const IN_LINE: usize = LINE - size_of::<u64>();
/// Lines that processors fetch together.
pub(super) const PAIR: usize = 2 * LINE;
/// Bytes of a message that follow their number in memory: from there on, another line costs as little as a copy.
const ADJACENT: usize = 4 * PAIR - size_of::<u64>();
/// Bytes of a message that the receiver copies rather than that the sender waits for the receiver's start.
const EAGER: usize = 8 << 10;

/// How the bytes of a message travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// In the line.
    InLine,
    /// Behind another number, in memory of the library's at the end of the edge.
    Adjacent,
    /// Through memory of the library's at the end of the edge.
    Eager,
    /// To the array of the receiver.
    Direct,
}

impl Protocol {
    /// The same at both ends.
    pub(super) fn of(bytes: usize, is_local: bool) -> Self {
        match bytes {
            0 => Self::InLine,
            _ if is_local && bytes <= IN_LINE => Self::InLine,
            _ if is_local && bytes <= ADJACENT => Self::Adjacent,
            _ if bytes <= EAGER => Self::Eager,
            _ => Self::Direct,
        }
    }

    /// Bytes at the end of the edge beside its lines: for a message of this round, and for one of the next.
    pub(super) fn room(self, bytes: usize) -> usize {
        match self {
            Self::InLine | Self::Direct => 0,
            Self::Adjacent => (size_of::<u64>() + bytes).next_multiple_of(PAIR),
            Self::Eager => bytes.next_multiple_of(PAIR),
        }
    }

    /// Whether the receiver says which round it has started, or which it has ended, if there is an edge back or not.
    pub(super) fn reply(self, has_edge_back: bool) -> Option<Reply> {
        match self {
            Self::Direct => Some(Reply::Started),
            _ => (!has_edge_back).then_some(Reply::Ended),
        }
    }
}

/// What a receiver tells its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Started,
    Ended,
}

/// One end of an edge.
#[derive(Debug)]
pub(super) struct End {
    pub pe: usize,
    pub protocol: Protocol,
    pub reply: Option<Reply>,
    /// Where the other PE sleeps, if it is of this node.
    pub sleepers: Option<&'static SignalLine>,
    /// The own lines of the edge.
    pub lines: *mut u8,
    /// The other's, of which this PE writes the numbers.
    pub peer_lines: Place,
    /// The own array.
    pub array: Strided,
    /// Room for two messages at the edge's end, where they go through it, and bytes from one to the other.
    pub room: Place,
    pub step: usize,
    /// The array at the end, if messages go there: the first byte here stands for `dest.addr`.
    pub dest: (Place, Strided),
    /// Whether this round's message has gone or come.
    pub is_done: bool,
}

/// The line of a round, of two.
fn parity(round: u64) -> usize {
    (round % 2) as usize
}

/// The number in an own line.
fn number<'a>(line: *mut u8) -> &'a AtomicU64 {
    // SAFETY: a line of this PE's, whose first word is accessed atomically alone, as long as its request lives.
    unsafe { AtomicU64::from_ptr(line.cast()) }
}

/// Writes the number of a round, after all that this PE has put there or read.
#[inline]
pub fn write_number<A: Atomics>(number: &A::U64, round: u64) {
    number.store(round, Ordering::Release);
}

/// Whether the number is that of a round, whose message is there then.
#[inline]
pub fn has_come<A: Atomics>(number: &A::U64, round: u64) -> bool {
    number.load(Ordering::Acquire) == round
}

/// Whether the number is such that the message of a round may go: at most `slack` less.
#[inline]
pub fn may_send<A: Atomics>(number: &A::U64, slack: u64, round: u64) -> bool {
    number.load(Ordering::Acquire) + slack >= round
}

impl End {
    /// Whether the receiver replies so.
    pub(super) fn has(&self, reply: Reply) -> bool {
        self.reply == Some(reply)
    }

    /// Writes a number to a line of the other PE, after all that this PE has put there.
    pub(super) fn write_number(&self, node: &Node, line: Place, round: u64) {
        match line {
            Place::Local(line) => write_number::<Std>(number(line), round),
            Place::Remote(at) => {
                let internode = node.transport.remote();
                internode.fabric().fence(&internode.context);
                internode.fabric().post(&internode.context, at, AtomicOp::new(Op::Write, Width::W64, round));
            }
        }
    }

    /// Wakes the other PE, if it sleeps; after a fence, behind what it is to see.
    pub(super) fn wake(&self) {
        if let Some(sleepers) = self.sleepers.filter(|sleepers| sleepers.has_sleepers()) {
            signals::notify(sleepers);
        }
    }

    /// Whether the receiver has come so far that the message of a round may go.
    pub(super) fn may_send(&self, round: u64) -> bool {
        let slack = match self.reply {
            None => return true,
            Some(Reply::Started) => 0,
            Some(Reply::Ended) => 2,
        };
        may_send::<Std>(number(self.lines), slack, round)
    }

    /// Whether the receiver has written the number of this round, which is the last before the next round.
    pub(super) fn is_told(&self, round: u64) -> bool {
        may_send::<Std>(number(self.lines), 0, round)
    }

    /// Sends the message of a round.
    ///
    /// # Safety
    /// The array is readable, and the receiver has come so far.
    pub(super) unsafe fn send(&self, node: &Node, round: u64) {
        let line = match self.protocol {
            Protocol::Adjacent => self.room.after(self.step * parity(round)),
            _ => self.peer_lines.after(LINE * parity(round)),
        };
        let bytes = self.array.whole();
        let contiguous = Strided::contiguous(std::ptr::null_mut(), bytes);
        let (to, shape) = match self.protocol {
            Protocol::InLine | Protocol::Adjacent => (line.after(size_of::<u64>()), contiguous),
            Protocol::Eager => (self.room.after(self.step * parity(round)), contiguous),
            Protocol::Direct => self.dest,
        };
        if bytes > 0 {
            match to {
                // SAFETY: the caller's promises; the other PE reads nothing there before it finds the number.
                Place::Local(addr) => unsafe { self.array.copy_to(&Strided { addr, ..shape }) },
                Place::Remote(_) => {
                    let internode = node.transport.remote();
                    self.array.to(&shape, |at, from, blocks| {
                        let (Place::Remote(at), context) = (to.after(at), &internode.context) else { return };
                        // SAFETY: as above.
                        unsafe { internode.fabric().put_blocks(context, at, self.array.addr.add(from), *blocks) };
                    });
                }
            }
        }
        self.write_number(node, line, round);
    }

    /// Whether the message of a round is there; then it is in the own array.
    ///
    /// # Safety
    /// The array is writable.
    pub(super) unsafe fn receive(&self, round: u64) -> bool {
        let line = match (self.protocol, self.room) {
            (Protocol::Adjacent, Place::Local(room)) => room.wrapping_add(self.step * parity(round)),
            _ => self.lines.wrapping_add(LINE * parity(round)),
        };
        if !has_come::<Std>(number(line), round) {
            return false;
        }
        let bytes = self.array.whole();
        let from = match (self.protocol, self.room) {
            (Protocol::InLine | Protocol::Adjacent, _) => line.wrapping_add(size_of::<u64>()),
            (Protocol::Eager, Place::Local(room)) => room.wrapping_add(self.step * parity(round)),
            _ => return true,
        };
        if bytes > 0 {
            // SAFETY: the message is there, of as many bytes; the caller promises the array.
            unsafe { Strided::contiguous(from, bytes).copy_to(&self.array) };
        }
        true
    }

    /// Gives the other end what it needs to know of this one.
    pub(super) fn tell(&self, node: &Node, record: &Record) {
        let bytes = size_of::<Record>();
        // SAFETY: the line is this edge's, and its start reads it after it has synchronised.
        unsafe {
            match self.peer_lines.after(size_of::<u64>()) {
                Place::Local(to) => to.cast::<Record>().write(*record),
                Place::Remote(to) => {
                    let internode = node.transport.remote();
                    internode.fabric().put(&internode.context, to, record.as_ptr().cast(), bytes);
                }
            }
        }
    }
}

/// What an end of an edge tells its start: where the array is, the size of its blocks, and the room for messages.
pub(super) type Record = [u64; 6];

/// Where the array of a receiver is.
pub(super) fn find_dest(node: &'static Node, name: &'static str, pe: usize, (place, shape): (u64, &Strided)) -> Place {
    let transport = &node.transport;
    let Some(addr) = transport.memory.space.address(place) else {
        fatal(name, format_args!("PE {pe} has a dest that is not symmetric here: take it from the symmetric heap"));
    };
    let call = transport.internal_call(name, pe);
    match transport.locate(&call, "dests", std::ptr::with_exposed_provenance(addr), shape.extent()) {
        Location::Local(at) => Place::Local(at),
        Location::Remote(target) => Place::Remote(target.at),
    }
}
