//! The processes of a job.

use std::fmt::{self, Display};
use std::iter::FusedIterator;
use std::ops::Range;

use crate::init;

/// A process of the job ("processing element"), by its number in the world. It exists:
/// [`World::pe`](crate::World::pe) checks the number.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let me = world.my_pe();
/// assert_eq!(me.next().previous(), me);
/// assert_eq!(me.shifted(2), me.next().next()); // in a ring
/// let even = world.pes().filter(|pe| pe.number() % 2 == 0);
/// assert_eq!(even.count(), world.n_pes().div_ceil(2));
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pe(u32);

impl Pe {
    /// `number` is that of a PE.
    pub(crate) fn new(number: usize) -> Self {
        Self(number as u32)
    }

    /// Its number, from 0.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let me = world.my_pe();
    /// assert_eq!(me.to_string(), format!("PE {}", me.number()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    pub fn number(self) -> usize {
        self.0 as usize
    }

    /// The PE after this one; after the last comes PE 0.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let last = world.pe(world.n_pes() - 1)?;
    /// assert_eq!(last.next(), world.pe(0)?);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn next(self) -> Self {
        self.shifted(1)
    }

    /// The PE before this one; before PE 0 comes the last.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// assert_eq!(world.pe(0)?.previous().number(), world.n_pes() - 1);
    /// assert_eq!(world.my_pe().previous().next(), world.my_pe());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn previous(self) -> Self {
        self.shifted(-1)
    }

    /// The PE whose number is `by` more, wrapping around.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let me = world.my_pe();
    /// assert_eq!(me.shifted(-1), me.previous());
    /// assert_eq!(me.shifted(world.n_pes() as isize), me); // once around
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn shifted(self, by: isize) -> Self {
        let n = init::n_pes() as isize;
        Self::new((self.number() as isize + by % n).rem_euclid(n) as usize)
    }
}

impl Display for Pe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PE {}", self.0)
    }
}

/// Some PEs, in the order of their numbers.
#[derive(Debug, Clone)]
pub struct Pes(Range<usize>);

impl Pes {
    pub(crate) fn all(n_pes: usize) -> Self {
        Self(0..n_pes)
    }
}

impl Iterator for Pes {
    type Item = Pe;

    fn next(&mut self) -> Option<Pe> {
        self.0.next().map(Pe::new)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Pes {
    fn next_back(&mut self) -> Option<Pe> {
        self.0.next_back().map(Pe::new)
    }
}

impl ExactSizeIterator for Pes {}
impl FusedIterator for Pes {}
