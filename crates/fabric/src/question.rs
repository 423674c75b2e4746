//! What a PE asks another: an atomic operation, or a few bytes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::slip::CONTENT;
use crate::{AtomicOp, Op, Width};

/// Bytes that an answer holds at most.
pub(crate) const LONGEST: usize = CONTENT * size_of::<u64>();

/// What is asked of some memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    Fetch(AtomicOp),
    /// So many bytes as they are.
    Read(usize),
}

/// Operations by their numbers in a slip; the number after them is a read.
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

impl Question {
    /// Bytes of memory that it is about.
    pub(crate) fn len(&self) -> usize {
        match *self {
            Question::Fetch(atomic) => atomic.width.bytes(),
            Question::Read(len) => len,
        }
    }

    /// As a slip's content, about memory of a segment.
    pub(crate) fn to_words(self, segment: usize, offset: usize) -> [u64; CONTENT] {
        let (what, operand, compare) = match self {
            Question::Fetch(atomic) => {
                let op = OPS.iter().position(|op| *op == atomic.op);
                (op, atomic.operand, atomic.compare)
            }
            Question::Read(_) => (None, 0, 0),
        };
        let what = what.unwrap_or(OPS.len()) as u64;
        let head = what | (self.len() as u64) << 8 | (segment as u64) << 16;
        [head, offset as u64, operand, compare]
    }

    /// A question, and the segment and offset that it is about. None: these words are none.
    pub(crate) fn from_words(words: [u64; CONTENT]) -> Option<(Question, usize, usize)> {
        let [head, offset, operand, compare] = words;
        let (what, len, segment) = (head & 0xff, head >> 8 & 0xff, head >> 16);
        let question = match OPS.get(what as usize) {
            Some(&op) => Question::Fetch(AtomicOp {
                op,
                width: match len {
                    4 => Width::W32,
                    8 => Width::W64,
                    _ => return None,
                },
                operand,
                compare,
            }),
            None if what as usize == OPS.len() && len as usize <= LONGEST => {
                Question::Read(len as usize)
            }
            None => return None,
        };
        Some((question, segment as usize, offset as usize))
    }

    /// # Safety
    /// As many bytes as it is about are there, and words are aligned to their size. Whoever else
    /// uses them meanwhile does so by atomic operations.
    pub(crate) unsafe fn answer(&self, at: *mut u8) -> [u64; CONTENT] {
        let mut words = [0; CONTENT];
        match *self {
            Question::Fetch(AtomicOp {
                op,
                width: Width::W64,
                operand,
                compare,
            }) => {
                // SAFETY: the caller's promise.
                let word = unsafe { AtomicU64::from_ptr(at.cast()) };
                words[0] = wide(word, op, operand, compare);
            }
            Question::Fetch(AtomicOp {
                op,
                width: Width::W32,
                operand,
                compare,
            }) => {
                // SAFETY: the caller's promise.
                let word = unsafe { AtomicU32::from_ptr(at.cast()) };
                words[0] = narrow(word, op, operand as u32, compare as u32).into();
            }
            // SAFETY: the caller's promise; an answer has room.
            Question::Read(len) => unsafe {
                std::ptr::copy_nonoverlapping(at, words.as_mut_ptr().cast(), len);
            },
        }
        words
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
    fn comes_as_it_was_asked() {
        let widths = [Width::W32, Width::W64];
        let fetches = OPS.iter().flat_map(|&op| {
            widths.map(|width| {
                Question::Fetch(AtomicOp {
                    op,
                    width,
                    operand: u64::MAX,
                    compare: 1 << 63,
                })
            })
        });
        for question in fetches.chain((1..=LONGEST).map(Question::Read)) {
            let words = question.to_words(3, 1 << 50);
            assert_eq!(Question::from_words(words), Some((question, 3, 1 << 50)));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        let read = Question::Read(LONGEST + 1).to_words(0, 0);
        assert_eq!(Question::from_words(read), None);
        assert_eq!(
            Question::from_words([4 | 3 << 8, 0, 0, 0]),
            None,
            "3 bytes added"
        );
        assert_eq!(
            Question::from_words([200 | 8 << 8, 0, 0, 0]),
            None,
            "no operation"
        );
    }
}
