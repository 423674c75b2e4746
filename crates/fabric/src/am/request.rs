//! What a PE requests of another: an atomic operation, or a few bytes.
//!
//! Frames come from peers: [`Request::from_frame`] refuses what no PE sends.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{AtomicOp, Op, TaggedMessage, Width};

/// Bytes of a reply.
pub(crate) type Reply = [u8; TaggedMessage::BYTES];

/// What is to be done with some memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// An atomic operation without a result.
    Post(AtomicOp),
    /// An atomic operation; the result is what the word was before.
    Fetch(AtomicOp),
    /// The result is as many bytes as they are.
    Read(usize),
}

/// A request and the memory that it is about, as it travels.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Frame {
    /// Number of the operation in [`OPS`], with [`POSTED`] if there is no result; the number after
    /// them is a read.
    op: u8,
    /// Length of the memory.
    bytes: u8,
    segment: u16,
    /// Number of the request message, for one in a slot.
    sequence: u32,
    offset: u64,
    operand: u64,
    compare: u64,
}

const _: () = assert!(size_of::<Frame>() == TaggedMessage::BYTES);

const POSTED: u8 = 0x80;

const OPS: [Op; 8] = [
    Op::Write,
    Op::Read,
    Op::Swap,
    Op::CompareSwap,
    Op::Add,
    Op::And,
    Op::Or,
    Op::Xor,
];

impl Request {
    /// Longest memory in bytes.
    pub(crate) const LONGEST: usize = TaggedMessage::BYTES;

    /// Bytes of memory that it is about.
    pub(crate) fn len(&self) -> usize {
        match *self {
            Request::Post(atomic) | Request::Fetch(atomic) => atomic.width.bytes(),
            Request::Read(len) => len,
        }
    }

    /// Bytes of the result.
    pub(crate) fn result_len(&self) -> usize {
        match self {
            Request::Post(_) => 0,
            _ => self.len(),
        }
    }

    /// The request as it travels, about memory of a segment.
    pub(crate) fn to_frame(self, segment: usize, offset: usize, sequence: u32) -> Reply {
        let number = |op| OPS.iter().position(|other| *other == op);
        let (op, operand, compare) = match self {
            Request::Post(AtomicOp {
                op,
                operand,
                compare,
                ..
            })
            | Request::Fetch(AtomicOp {
                op,
                operand,
                compare,
                ..
            }) => (number(op), operand, compare),
            Request::Read(_) => (None, 0, 0),
        };
        let posted = u8::from(matches!(self, Request::Post(_))) * POSTED;
        let frame = Frame {
            op: op.unwrap_or(OPS.len()) as u8 | posted,
            bytes: self.len() as u8,
            segment: segment as u16,
            sequence,
            offset: offset as u64,
            operand,
            compare,
        };
        zerocopy::transmute!(frame)
    }

    /// A request, and the segment and offset that it is about. None: the frame is malformed.
    pub(crate) fn from_frame(frame: Reply) -> Option<(Request, usize, usize)> {
        let frame: Frame = zerocopy::transmute!(frame);
        let (op, bytes) = (usize::from(frame.op & !POSTED), usize::from(frame.bytes));
        let posted = frame.op & POSTED != 0;
        let request = match OPS.get(op) {
            Some(&op) => {
                let atomic = AtomicOp {
                    op,
                    width: match bytes {
                        4 => Width::W32,
                        8 => Width::W64,
                        _ => return None,
                    },
                    operand: frame.operand,
                    compare: frame.compare,
                };
                if !(frame.offset as usize).is_multiple_of(bytes) {
                    return None;
                }
                if posted {
                    Request::Post(atomic)
                } else {
                    Request::Fetch(atomic)
                }
            }
            None if op == OPS.len() && bytes <= Request::LONGEST && !posted => Request::Read(bytes),
            None => return None,
        };
        Some((request, frame.segment.into(), frame.offset as usize))
    }

    /// The number of the request message that a frame in a slot says.
    pub(crate) fn sequence(frame: Reply) -> u32 {
        let frame: Frame = zerocopy::transmute!(frame);
        frame.sequence
    }

    /// Does what is requested.
    ///
    /// # Safety
    /// The memory at `at` is as long as the request says, and words are aligned to their size. Other
    /// threads use such words meanwhile by atomic operations only.
    pub(crate) unsafe fn execute(&self, at: *mut u8) -> Reply {
        let mut reply = [0; TaggedMessage::BYTES];
        let word = match *self {
            Request::Post(AtomicOp {
                op,
                width: Width::W64,
                operand,
                compare,
            })
            | Request::Fetch(AtomicOp {
                op,
                width: Width::W64,
                operand,
                compare,
            }) => {
                // SAFETY: the caller promises an aligned word that is used atomically.
                let word = unsafe { AtomicU64::from_ptr(at.cast()) };
                wide(word, op, operand, compare)
            }
            Request::Post(AtomicOp {
                op,
                width: Width::W32,
                operand,
                compare,
            })
            | Request::Fetch(AtomicOp {
                op,
                width: Width::W32,
                operand,
                compare,
            }) => {
                // SAFETY: the caller promises an aligned word that is used atomically.
                let word = unsafe { AtomicU32::from_ptr(at.cast()) };
                narrow(word, op, operand as u32, compare as u32).into()
            }
            Request::Read(len) => {
                // SAFETY: the caller promises that there are `len` bytes; a reply has room.
                unsafe { std::ptr::copy_nonoverlapping(at, reply.as_mut_ptr(), len) };
                return reply;
            }
        };
        reply[..size_of::<u64>()].copy_from_slice(&word.to_ne_bytes());
        reply
    }
}

macro_rules! on_word {
    ($name:ident, $atomic:ty, $word:ty) => {
        fn $name(word: &$atomic, op: Op, operand: $word, compare: $word) -> $word {
            match op {
                Op::Write | Op::Swap => word.swap(operand, SeqCst),
                Op::Read => word.load(SeqCst),
                Op::CompareSwap => word
                    .compare_exchange(compare, operand, SeqCst, SeqCst)
                    .unwrap_or_else(|other| other),
                Op::Add => word.fetch_add(operand, SeqCst),
                Op::And => word.fetch_and(operand, SeqCst),
                Op::Or => word.fetch_or(operand, SeqCst),
                Op::Xor => word.fetch_xor(operand, SeqCst),
            }
        }
    };
}

on_word!(wide, AtomicU64, u64);
on_word!(narrow, AtomicU32, u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_the_request() {
        let widths = [Width::W32, Width::W64];
        let atomics = OPS.iter().flat_map(|&op| {
            widths.map(|width| AtomicOp {
                op,
                width,
                operand: u64::MAX,
                compare: 1 << 63,
            })
        });
        let atomics = atomics.flat_map(|atomic| [Request::Fetch(atomic), Request::Post(atomic)]);
        for request in atomics.chain((1..=Request::LONGEST).map(Request::Read)) {
            let frame = request.to_frame(3, 1 << 50, 9);
            assert_eq!(Request::from_frame(frame), Some((request, 3, 1 << 50)));
            assert_eq!(Request::sequence(frame), 9);
        }
    }

    #[test]
    fn malformed_frames_are_refused() {
        let too_long = Request::Read(Request::LONGEST + 1).to_frame(0, 0, 0);
        assert_eq!(Request::from_frame(too_long), None);
        let add = AtomicOp::new(Op::Add, Width::W64, 1);
        let across_words = Request::Fetch(add).to_frame(0, 4, 0);
        assert_eq!(Request::from_frame(across_words), None);
        let frame = |op: u8, bytes: u8| {
            let mut frame = [0; TaggedMessage::BYTES];
            (frame[0], frame[1]) = (op, bytes);
            frame
        };
        assert_eq!(Request::from_frame(frame(4, 3)), None, "3 bytes added");
        assert_eq!(Request::from_frame(frame(100, 8)), None, "no operation");
        assert_eq!(
            Request::from_frame(frame(POSTED | 8, 8)),
            None,
            "a posted read"
        );
    }
}
