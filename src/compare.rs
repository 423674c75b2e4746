//! Comparisons, as those that a PE waits for.

/// What a value is to be compared with, and how.
///
/// ```
/// # use ferroshmem::Compare;
/// # let world = ferroshmem::World::init()?;
/// let flags = world.atomics::<u32>(3)?;
/// flags.set(world.my_pe().next(), 1, 7)?;
/// assert_eq!(flags.wait_until_any(&[0, 1, 2], Compare::Ne(0))?, Some(1));
/// flags.wait_until_all_vector(&[(0, Compare::Eq(0)), (1, Compare::Ge(5))])?;
/// assert!(!flags.test(2, Compare::Gt(0))?); // not yet
/// assert_eq!(flags.test_some(&[0, 1], Compare::Lt(9))?, [0, 1]);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
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
    ///
    /// ```
    /// # use ferroshmem::Compare;
    /// assert!(Compare::Ge(5).holds(&5) && !Compare::Lt(5).holds(&5));
    /// ```
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
