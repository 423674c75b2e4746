//! Waiting for elements of one's own part (standard, "Point-To-Point Synchronization Routines").
#![allow(unsafe_code)]

use ferroshmem_core::api::p2p;

use crate::amo::AmoInt;
use crate::error::OutOfBounds;
use crate::memory::Atomics;

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

impl<T: AmoInt> Atomics<'_, T> {
    /// Waits until an element of mine compares so; returns its value then.
    ///
    /// ```
    /// # use ferroshmem::{Compare, World};
    /// # fn main() -> Result<(), ferroshmem::Error> {
    /// # let world = World::init()?;
    /// let arrived = world.atomics::<u32>(1)?;
    /// arrived.add(world.my_pe().next(), 0, 1)?;
    /// arrived.wait_until(0, Compare::Ge(1))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the index is not that of an element.
    pub fn wait_until(&self, index: usize, compare: Compare<T>) -> Result<T, OutOfBounds> {
        self.wait(index, |value| compare.holds(&value))
    }

    /// Waits until `condition` holds of an element of mine; returns its value then. It is
    /// evaluated again and again, and should be quick.
    ///
    /// # Errors
    /// If the index is not that of an element.
    pub fn wait(
        &self,
        index: usize,
        mut condition: impl FnMut(T) -> bool,
    ) -> Result<T, OutOfBounds> {
        let at = self.own(index)?;
        Ok(p2p::wait_for("Atomics::wait", at.addr(), || {
            // SAFETY: an element of this PE's part, which only atomic operations use.
            let value = unsafe { T::fetch(at) };
            condition(value).then_some(value)
        }))
    }

    /// Whether an element of mine compares so now.
    ///
    /// # Errors
    /// If the index is not that of an element.
    pub fn test(&self, index: usize, compare: Compare<T>) -> Result<bool, OutOfBounds> {
        let at = self.own(index)?;
        // SAFETY: an element of this PE's part, which only atomic operations use.
        let holds = compare.holds(&unsafe { T::fetch(at) });
        if !holds {
            // Programs call this in loops, which must not keep the core from the PE that they wait
            // for.
            p2p::give_way();
        }
        Ok(holds)
    }

    /// Waits until all of some elements of mine compare so.
    ///
    /// # Errors
    /// If one of the indices is not that of an element.
    pub fn wait_until_all(
        &self,
        indices: &[usize],
        compare: Compare<T>,
    ) -> Result<(), OutOfBounds> {
        for index in indices {
            self.own(*index)?;
        }
        self.wait_for_some(indices, compare, indices.len());
        Ok(())
    }

    /// Waits until one of some elements of mine compares so; returns its index, or `None` if
    /// `indices` is empty.
    ///
    /// # Errors
    /// If one of the indices is not that of an element.
    pub fn wait_until_any(
        &self,
        indices: &[usize],
        compare: Compare<T>,
    ) -> Result<Option<usize>, OutOfBounds> {
        Ok(self.wait_until_some(indices, compare)?.first().copied())
    }

    /// Waits until at least one of some elements of mine compares so; returns the indices of all
    /// that do then, none if `indices` is empty.
    ///
    /// # Errors
    /// If one of the indices is not that of an element.
    pub fn wait_until_some(
        &self,
        indices: &[usize],
        compare: Compare<T>,
    ) -> Result<Vec<usize>, OutOfBounds> {
        for index in indices {
            self.own(*index)?;
        }
        Ok(self.wait_for_some(indices, compare, indices.len().min(1)))
    }

    fn wait_for_some(&self, indices: &[usize], compare: Compare<T>, n: usize) -> Vec<usize> {
        let holds = |index: &&usize| {
            self.own(**index)
                // SAFETY: an element of this PE's part, which only atomic operations use.
                .is_ok_and(|at| compare.holds(&unsafe { T::fetch(at) }))
        };
        let address = indices.first().and_then(|index| self.own(*index).ok());
        p2p::wait_for("Atomics::wait", address.map_or(0, |at| at.addr()), || {
            // Counted first: a wait allocates nothing but its result.
            (indices.iter().filter(holds).count() >= n)
                .then(|| indices.iter().filter(holds).copied().collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Compare;

    #[test]
    fn comparisons() {
        let holds = |compare: Compare<i32>| [-1, 0, 1].map(|value| compare.holds(&value));
        assert_eq!(holds(Compare::Eq(0)), [false, true, false]);
        assert_eq!(holds(Compare::Ne(0)), [true, false, true]);
        assert_eq!(holds(Compare::Lt(0)), [true, false, false]);
        assert_eq!(holds(Compare::Le(0)), [true, true, false]);
        assert_eq!(holds(Compare::Gt(0)), [false, false, true]);
        assert_eq!(holds(Compare::Ge(0)), [false, true, true]);
    }
}
