//! Waiting for elements of one's own part (standard, "Point-To-Point Synchronization Routines").
#![allow(unsafe_code)]

use std::panic::Location;

use ferroshmem_api::check::Concerns;
use ferroshmem_api::p2p;
use ferroshmem_api::record::{self, Kind};

use crate::amo::AmoInt;
use crate::compare::Compare;
use crate::error::OutOfBounds;
use crate::memory::{Atomics, Signals};

impl<T: AmoInt> Atomics<'_, T> {
    /// Waits until an element of mine compares so; returns its value then.
    ///
    /// ```
    /// # use ferroshmem::Compare;
    /// # let world = ferroshmem::World::init()?;
    /// let arrived = world.atomics::<u32>(1)?;
    /// arrived.add(world.my_pe().next(), 0, 1)?;
    /// arrived.wait_until(0, Compare::Ge(1))?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index is not that of an element.
    #[track_caller]
    pub fn wait_until(&self, index: usize, compare: Compare<T>) -> Result<T, OutOfBounds> {
        self.wait(index, |value| compare.holds(&value))
    }

    /// Waits until `condition` holds of an element of mine; returns its value then. It is
    /// evaluated again and again, and should be quick.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let bits = world.atomics::<u64>(1)?;
    /// bits.or(world.my_pe().next(), 0, 1 << 5)?;
    /// assert_eq!(bits.wait(0, |bits| bits.count_ones() == 1)?, 32);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index is not that of an element.
    #[track_caller]
    pub fn wait(&self, index: usize, mut condition: impl FnMut(T) -> bool) -> Result<T, OutOfBounds> {
        let at = self.own(index)?;
        let call = ("Atomics::wait", Location::caller());
        let _record = record::begin(call, Kind::Wait, Concerns::None, 0, at.addr());
        let value = p2p::wait_for("Atomics::wait", at.addr(), || {
            // SAFETY: an element of this PE's part, which only atomic operations use.
            let value = unsafe { T::fetch(at) };
            condition(value).then_some(value)
        });
        self.note(index);
        Ok(value)
    }

    /// Has checks know that an element of mine has the value waited for.
    fn note(&self, index: usize) {
        if let Ok(at) = self.own(index) {
            record::seen(at.addr(), size_of::<T>());
        }
    }

    /// Whether an element of mine compares so now.
    ///
    /// ```
    /// # use ferroshmem::Compare;
    /// # let world = ferroshmem::World::init()?;
    /// let flag = world.atomics::<u32>(1)?;
    /// assert!(!flag.test(0, Compare::Ne(0))?);
    /// flag.set(world.my_pe(), 0, 1)?; // or another PE does
    /// while !flag.test(0, Compare::Ne(0))? {
    ///     // compute
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index is not that of an element.
    pub fn test(&self, index: usize, compare: Compare<T>) -> Result<bool, OutOfBounds> {
        let at = self.own(index)?;
        // SAFETY: an element of this PE's part, which only atomic operations use.
        let holds = compare.holds(&unsafe { T::fetch(at) });
        if holds {
            self.note(index);
        } else {
            // Programs call this in loops, which must not keep the core from the PE that they wait
            // for.
            p2p::yield_core();
        }
        Ok(holds)
    }
}

/// Which elements are waited for, and what each is compared with: the same, or one each.
#[derive(Clone, Copy)]
enum Set<'a, T> {
    Same(&'a [usize], Compare<T>),
    Each(&'a [(usize, Compare<T>)]),
}

impl<T: AmoInt> Set<'_, T> {
    fn len(&self) -> usize {
        match self {
            Self::Same(indices, _) => indices.len(),
            Self::Each(conditions) => conditions.len(),
        }
    }

    fn get(&self, i: usize) -> (usize, Compare<T>) {
        match self {
            Self::Same(indices, compare) => (indices[i], *compare),
            Self::Each(conditions) => conditions[i],
        }
    }

    /// The indices of the elements that compare so now.
    fn holding<'s>(&'s self, array: &'s Atomics<'_, T>) -> impl Iterator<Item = usize> + 's {
        let all = (0..self.len()).map(|i| self.get(i));
        let holding = all.filter(|(index, compare)| {
            array
                .own(*index)
                // SAFETY: an element of this PE's part, which only atomic operations use.
                .is_ok_and(|at| compare.holds(&unsafe { T::fetch(at) }))
        });
        holding.map(|(index, _)| index)
    }
}

impl<T: AmoInt> Atomics<'_, T> {
    /// The address of the first of these elements of mine, if all exist.
    fn check(&self, set: &Set<'_, T>) -> Result<usize, OutOfBounds> {
        let mut first = 0;
        for i in (0..set.len()).rev() {
            first = self.own(set.get(i).0)?.addr();
        }
        Ok(first)
    }

    /// Waits until `n` of these elements compare so; the indices of all that do then.
    #[track_caller]
    fn wait_for(&self, set: Set<'_, T>, n: usize) -> Result<Vec<usize>, OutOfBounds> {
        let address = self.check(&set)?;
        let call = ("Atomics::wait_until", Location::caller());
        let _record = record::begin(call, Kind::Wait, Concerns::None, 0, address);
        let holding = p2p::wait_for("Atomics::wait", address, || {
            // Counted first, for a wait allocates nothing but its result; elements may have changed again after that.
            (set.holding(self).count() >= n).then(|| Vec::from_iter(set.holding(self))).filter(|all| all.len() >= n)
        });
        for index in &holding {
            self.note(*index);
        }
        Ok(holding)
    }

    /// The indices of the elements that compare so now; lets another PE run if less than `n` do.
    fn test_for(&self, set: Set<'_, T>, n: usize) -> Result<Vec<usize>, OutOfBounds> {
        self.check(&set)?;
        let holding = Vec::from_iter(set.holding(self));
        if holding.len() < n {
            p2p::yield_core();
        }
        for index in &holding {
            self.note(*index);
        }
        Ok(holding)
    }
}

/// The forms of waits and tests for several elements, of atomics and signals; how the examples make and set some.
macro_rules! forms {
    (
        $array:ident[$($t:ident: $bound:ident)?], $value:ty, $element:literal,
        $new:literal, $set:literal, |$self:ident| $words:expr
    ) => {
        impl<$($t: $bound)?> $array<'_, $($t)?> {
            #[doc = concat!("Waits until all of some ", $element, "s of mine compare so.")]
            ///
            /// ```
            /// # use ferroshmem::{Compare, SignalUpdate};
            /// # let world = ferroshmem::World::init()?;
            #[doc = concat!("let (next, words) = (world.my_pe().next(), world.", $new, ");")]
            /// for i in 0..3 {
            #[doc = concat!("    words.", $set, ";")]
            /// }
            /// words.wait_until_all(&[0, 1, 2], Compare::Eq(7))?; // of the previous PE
            /// assert!(words.test_all(&[0, 1, 2], Compare::Gt(0))?);
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            #[doc = concat!("For this and the methods below: if one of the indices is not that of ", $element, ".")]
            #[track_caller]
            pub fn wait_until_all(&$self, indices: &[usize], compare: Compare<$value>) -> Result<(), OutOfBounds> {
                $words.wait_for(Set::Same(indices, compare), indices.len()).map(drop)
            }

            #[doc = concat!("Waits until one of some ", $element, "s of mine compares so; returns its index, or `None` \
                if")]
            /// `indices` is empty.
            ///
            /// ```
            /// # use ferroshmem::{Compare, SignalUpdate};
            /// # let world = ferroshmem::World::init()?;
            #[doc = concat!("let (next, words) = (world.my_pe().next(), world.", $new, ");")]
            /// let i = 1;
            #[doc = concat!("words.", $set, ";")]
            /// assert_eq!(words.wait_until_any(&[0, 1, 2], Compare::Ne(0))?, Some(1));
            /// assert_eq!(words.test_any(&[0, 2], Compare::Ne(0))?, None); // not yet
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for [`wait_until_all`](Self::wait_until_all).
            #[track_caller]
            pub fn wait_until_any(
                &$self,
                indices: &[usize],
                compare: Compare<$value>,
            ) -> Result<Option<usize>, OutOfBounds> {
                Ok($self.wait_until_some(indices, compare)?.first().copied())
            }

            #[doc = concat!("Waits until at least one of some ", $element, "s of mine compares so; returns the indices \
                of all")]
            /// that do then, none if `indices` is empty.
            ///
            /// ```
            /// # use ferroshmem::{Compare, SignalUpdate};
            /// # let world = ferroshmem::World::init()?;
            #[doc = concat!("let (next, words) = (world.my_pe().next(), world.", $new, ");")]
            /// for i in [0, 2] {
            #[doc = concat!("    words.", $set, ";")]
            /// }
            /// world.barrier();
            /// assert_eq!(words.wait_until_some(&[0, 1, 2], Compare::Ne(0))?, [0, 2]);
            /// assert_eq!(words.test_some(&[0, 1, 2], Compare::Lt(7))?, [1]);
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for [`wait_until_all`](Self::wait_until_all).
            #[track_caller]
            pub fn wait_until_some(
                &$self,
                indices: &[usize],
                compare: Compare<$value>,
            ) -> Result<Vec<usize>, OutOfBounds> {
                $words.wait_for(Set::Same(indices, compare), indices.len().min(1))
            }

            /// As [`wait_until_all`](Self::wait_until_all), with an own comparison for each.
            ///
            /// ```
            /// # use ferroshmem::{Compare, SignalUpdate};
            /// # let world = ferroshmem::World::init()?;
            #[doc = concat!("let (next, words) = (world.my_pe().next(), world.", $new, ");")]
            /// let i = 1;
            #[doc = concat!("words.", $set, ";")]
            /// words.wait_until_all_vector(&[(0, Compare::Eq(0)), (1, Compare::Ge(5))])?;
            /// assert!(!words.test_all_vector(&[(0, Compare::Ne(0)), (1, Compare::Ge(5))])?);
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for that.
            #[track_caller]
            pub fn wait_until_all_vector(&$self, conditions: &[(usize, Compare<$value>)]) -> Result<(), OutOfBounds> {
                $words.wait_for(Set::Each(conditions), conditions.len()).map(drop)
            }

            /// As [`wait_until_any`](Self::wait_until_any), with an own comparison for each.
            ///
            /// ```
            /// # use ferroshmem::{Compare, SignalUpdate};
            /// # let world = ferroshmem::World::init()?;
            #[doc = concat!("let (next, words) = (world.my_pe().next(), world.", $new, ");")]
            /// let i = 1;
            #[doc = concat!("words.", $set, ";")]
            /// assert_eq!(words.wait_until_any_vector(&[(0, Compare::Gt(0)), (1, Compare::Ge(5))])?, Some(1));
            /// assert_eq!(words.test_any_vector(&[(0, Compare::Eq(0)), (1, Compare::Lt(5))])?, Some(0));
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for that.
            #[track_caller]
            pub fn wait_until_any_vector(
                &$self,
                conditions: &[(usize, Compare<$value>)],
            ) -> Result<Option<usize>, OutOfBounds> {
                Ok($self.wait_until_some_vector(conditions)?.first().copied())
            }

            /// As [`wait_until_some`](Self::wait_until_some), with an own comparison for each.
            ///
            /// ```
            /// # use ferroshmem::{Compare, SignalUpdate};
            /// # let world = ferroshmem::World::init()?;
            #[doc = concat!("let (next, words) = (world.my_pe().next(), world.", $new, ");")]
            /// let i = 1;
            #[doc = concat!("words.", $set, ";")]
            /// world.barrier();
            /// assert_eq!(words.wait_until_some_vector(&[(0, Compare::Eq(0)), (1, Compare::Ge(5))])?, [0, 1]);
            /// assert_eq!(words.test_some_vector(&[(0, Compare::Ne(0)), (2, Compare::Eq(0))])?, [2]);
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for that.
            #[track_caller]
            pub fn wait_until_some_vector(
                &$self,
                conditions: &[(usize, Compare<$value>)],
            ) -> Result<Vec<usize>, OutOfBounds> {
                $words.wait_for(Set::Each(conditions), conditions.len().min(1))
            }

            #[doc = concat!("Whether all of some ", $element, "s of mine compare so now.")]
            ///
            /// As in the example of [`wait_until_all`](Self::wait_until_all).
            ///
            /// # Errors
            /// As for [`wait_until_all`](Self::wait_until_all).
            pub fn test_all(&$self, indices: &[usize], compare: Compare<$value>) -> Result<bool, OutOfBounds> {
                let n = indices.len();
                Ok($words.test_for(Set::Same(indices, compare), n)?.len() == n)
            }

            #[doc = concat!("The index of one of some ", $element, "s of mine that compares so now.")]
            ///
            /// As in the example of [`wait_until_any`](Self::wait_until_any).
            ///
            /// # Errors
            /// As for [`wait_until_all`](Self::wait_until_all).
            pub fn test_any(&$self, indices: &[usize], compare: Compare<$value>) -> Result<Option<usize>, OutOfBounds> {
                Ok($self.test_some(indices, compare)?.first().copied())
            }

            #[doc = concat!("The indices of all of some ", $element, "s of mine that compare so now.")]
            ///
            /// As in the example of [`wait_until_some`](Self::wait_until_some).
            ///
            /// # Errors
            /// As for [`wait_until_all`](Self::wait_until_all).
            pub fn test_some(&$self, indices: &[usize], compare: Compare<$value>) -> Result<Vec<usize>, OutOfBounds> {
                $words.test_for(Set::Same(indices, compare), 1)
            }

            /// As [`test_all`](Self::test_all), with an own comparison for each.
            ///
            /// As in the example of [`wait_until_all_vector`](Self::wait_until_all_vector).
            ///
            /// # Errors
            /// As for that.
            pub fn test_all_vector(&$self, conditions: &[(usize, Compare<$value>)]) -> Result<bool, OutOfBounds> {
                let n = conditions.len();
                Ok($words.test_for(Set::Each(conditions), n)?.len() == n)
            }

            /// As [`test_any`](Self::test_any), with an own comparison for each.
            ///
            /// As in the example of [`wait_until_any_vector`](Self::wait_until_any_vector).
            ///
            /// # Errors
            /// As for that.
            pub fn test_any_vector(
                &$self,
                conditions: &[(usize, Compare<$value>)],
            ) -> Result<Option<usize>, OutOfBounds> {
                Ok($self.test_some_vector(conditions)?.first().copied())
            }

            /// As [`test_some`](Self::test_some), with an own comparison for each.
            ///
            /// As in the example of [`wait_until_some_vector`](Self::wait_until_some_vector).
            ///
            /// # Errors
            /// As for that.
            pub fn test_some_vector(
                &$self,
                conditions: &[(usize, Compare<$value>)],
            ) -> Result<Vec<usize>, OutOfBounds> {
                $words.test_for(Set::Each(conditions), 1)
            }
        }
    };
}

forms!(Atomics[T: AmoInt], T, "element", "atomics::<u64>(3)?", "set(next, i, 7)?", |self| self);
forms!(Signals[], u64, "signal", "signals(3)?", "update(next, i, SignalUpdate::Set(7))?", |self| self.words());

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
