//! Comparisons, as those that a PE waits for.

/// What a value is to be compared with, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare<T> {
    /// Equal to.
    Eq(T),
    /// Not equal to.
    Ne(T),
    /// Less than.
    Lt(T),
    /// Less than or equal to.
    Le(T),
    /// Greater than.
    Gt(T),
    /// Greater than or equal to.
    Ge(T),
}

impl<T: PartialOrd> Compare<T> {
    /// Whether `value` compares so.
    pub fn holds(&self, value: &T) -> bool {
        match self {
            Self::Eq(other) => value == other,
            Self::Ne(other) => value != other,
            Self::Lt(other) => value < other,
            Self::Le(other) => value <= other,
            Self::Gt(other) => value > other,
            Self::Ge(other) => value >= other,
        }
    }
}
