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

/// Size of the word that an atomic operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}
