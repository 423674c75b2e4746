/// Memory of a PE that it has shared: `offset` bytes from the base of one of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    pub pe: usize,
    pub segment: usize,
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
    Add,
    And,
    Or,
    Xor,
}

/// Size of the word that an atomic operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    W32,
    W64,
}
