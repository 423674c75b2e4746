//! What operations are about: remote memory, atomic operators, blocks.

/// Memory of a PE that it has shared: `offset` bytes from the base of one of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Number of the PE.
    pub pe: usize,
    /// Number of the segment, in the order in which the PE shared them.
    pub segment: usize,
    /// Bytes from the segment's base.
    pub offset: usize,
}

/// What an atomic operation does to the word at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Stores the operand.
    Write,
    /// Returns the word.
    Read,
    /// Stores the operand and returns what was there.
    Swap,
    /// Stores the operand if the word equals `compare`, and returns what was there.
    CompareSwap,
    /// Adds the operand, wrapping around.
    Add,
    /// Bitwise and with the operand.
    And,
    /// Bitwise or with the operand.
    Or,
    /// Bitwise exclusive or with the operand.
    Xor,
}

/// An atomic operation on one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicOp {
    /// The operator.
    pub op: Op,
    /// Size of the word.
    pub width: Width,
    /// What is stored, added or combined; not used by [`Op::Read`].
    pub operand: u64,
    /// What the word must be for [`Op::CompareSwap`] to store; not used by the others.
    pub compare: u64,
}

impl AtomicOp {
    /// An operation with one operand.
    pub fn new(op: Op, width: Width, operand: u64) -> AtomicOp {
        AtomicOp { op, width, operand, compare: 0 }
    }

    /// Returns the word.
    pub fn read(width: Width) -> AtomicOp {
        AtomicOp::new(Op::Read, width, 0)
    }

    /// Stores `new` if the word equals `expected`, and returns what was there.
    pub fn compare_swap(width: Width, expected: u64, new: u64) -> AtomicOp {
        AtomicOp { compare: expected, ..AtomicOp::new(Op::CompareSwap, width, new) }
    }
}

/// Blocks of equal length at regular distances, in local and in remote memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Length of a block in bytes.
    pub bytes: usize,
    /// Number of blocks.
    pub count: usize,
    /// Bytes from the beginning of a block in local memory to that of the next.
    pub local_stride: isize,
    /// The same in remote memory.
    pub remote_stride: isize,
}

impl Blocks {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 || self.bytes == 0
    }

    /// Whether the blocks are one piece in local and in remote memory.
    pub(crate) fn are_contiguous(&self) -> bool {
        let stride = self.bytes as isize;
        self.count == 1 || self.remote_stride == stride && self.local_stride == stride
    }
}

/// Size of the word that an atomic operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

impl Width {
    /// Bytes of the word.
    pub fn bytes(self) -> usize {
        match self {
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }
}
