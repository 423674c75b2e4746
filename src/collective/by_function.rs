//! Reductions by a function of the program. The members exchange the elements and each PE calls its function
//! afterwards, so that it may do anything, and operands are taken in the order of the members' numbers.

use std::cmp::Ordering;

use super::{Part, PartMut};
use crate::error::TeamError;
use crate::plain::Plain;
use crate::scratch::CHUNK;
use crate::team::{Member, Team, lives};

/// Elements that members gather at a time.
const fn at_once<T>() -> usize {
    match CHUNK.checked_div(size_of::<T>()) {
        Some(0) => 1,
        Some(elements) => elements,
        None => CHUNK,
    }
}

impl Team<'_> {
    /// The reduction of every member's value by a function, of which all members pass the same. It is associative; it
    /// need not commute, for operands are taken in the order of the members' numbers. Collective.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mine = [world.my_pe().number() as i64, 1]; // x -> number * x + 1
    /// let after = |f: [i64; 2], g: [i64; 2]| [f[0] * g[0], f[1] * g[0] + g[1]];
    /// let all = world.reduce_value_by(mine, after); // one after the other
    /// # assert_eq!(all[0], 0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn reduce_value_by<T: Plain>(&self, value: T, operator: impl Fn(T, T) -> T) -> T {
        let of_all = self.gather_value(value);
        of_all.into_iter().reduce(operator).unwrap_or(value)
    }

    /// Replaces each element by the reduction of every member's element there by a function, as
    /// [`reduce_value_by`](Self::reduce_value_by). Collective, with the same length. Every PE gets all elements: for
    /// many, [`reduce_by`](Self::reduce_by) is faster.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut numbers = [world.my_pe().number(), 5];
    /// world.reduce_slice_by(&mut numbers, usize::max);
    /// assert_eq!(numbers, [world.n_pes() - 1, 5]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn reduce_slice_by<T: Plain>(&self, values: &mut [T], operator: impl Fn(T, T) -> T) {
        lives(self.try_reduce_slice_by(values, operator));
    }

    #[track_caller]
    fn try_reduce_slice_by<T: Plain>(&self, values: &mut [T], operator: impl Fn(T, T) -> T) -> Result<(), TeamError> {
        for block in values.chunks_mut(at_once::<T>()) {
            let n = block.len();
            let of_all = self.try_gather_slice(block)?;
            block.copy_from_slice(&of_all[..n]);
            fold(block, &of_all[n..], &operator);
        }
        Ok(())
    }

    /// Reduces every member's `source`, element by element, to every member's `dest` by a function, as
    /// [`reduce_value_by`](Self::reduce_value_by). Collective. Each member reduces a part of the elements, so an
    /// element is copied about twice per member.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut mine = world.alloc::<f64>(1000)?;
    /// mine.fill(-(world.my_pe().number() as f64));
    /// let mut furthest = world.alloc::<f64>(1000)?;
    /// world.reduce_by(&mut furthest, &mine, |a, b| if a.abs() < b.abs() { b } else { a })?;
    /// assert_eq!(furthest[999], 1.0 - world.n_pes() as f64);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is shorter than `source`.
    #[track_caller]
    pub fn reduce_by<'a, T: Plain>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
        operator: impl Fn(T, T) -> T,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        let n = self.n_members();
        let block = source.len() / n;
        // Compares the lengths, and gives this PE its block of every member.
        self.alltoall_parts(&mut dest, source)?;
        if dest.len() < source.len() {
            let (needed, array) = (source.len(), dest.len());
            return Err(TeamError::TooShort { needed, array });
        }
        let all = block * n;
        let mut mine = dest[..block].to_vec();
        fold(&mut mine, &dest[block..all], &operator);
        for (i, piece) in mine.chunks(at_once::<T>()).enumerate() {
            let of_all = self.try_gather_slice(piece)?;
            let first = i * at_once::<T>();
            for (member, piece) in of_all.chunks(piece.len()).enumerate() {
                dest[member * block + first..][..piece.len()].copy_from_slice(piece);
            }
        }
        // Fewer elements than members.
        let rest = &mut dest[all..source.len()];
        rest.copy_from_slice(&source.elements()[all..]);
        self.try_reduce_slice_by(rest, operator)
    }

    /// The reduction by a function of the values of the members up to this PE, itself included. Collective.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let number = world.my_pe().number();
    /// let greatest = world.inclusive_scan_value_by(number % 3, usize::max);
    /// assert_eq!(greatest, number.min(2));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn inclusive_scan_value_by<T: Plain>(&self, value: T, operator: impl Fn(T, T) -> T) -> T {
        let of_all = self.gather_value(value);
        let before = of_all.into_iter().take(self.my_member().number() + 1);
        before.reduce(operator).unwrap_or(value)
    }

    /// The reduction by a function of the values of the members before this PE; none for the first. Collective.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let length = 10 + world.my_pe().number();
    /// let longest_before = world.exclusive_scan_value_by(length, usize::max);
    /// assert_eq!(longest_before, length.checked_sub(1).filter(|before| *before >= 10));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn exclusive_scan_value_by<T: Plain>(&self, value: T, operator: impl Fn(T, T) -> T) -> Option<T> {
        let of_all = self.gather_value(value);
        let before = of_all.into_iter().take(self.my_member().number());
        before.reduce(operator)
    }

    /// The greatest of the members' values, and the first member that has it. Collective. (As `MPI_MAXLOC`)
    ///
    /// A value that does not compare with itself, as NaN does not, is the result only if all are such.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let error = 1.0 / (1 + world.my_pe().number()) as f64;
    /// let (greatest, member) = world.max_loc(error);
    /// assert_eq!((greatest, member.number()), (1.0, 0));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn max_loc<T: Plain + PartialOrd>(&self, value: T) -> (T, Member) {
        self.extreme(value, Ordering::Greater)
    }

    /// The least of the members' values, and the first member that has it, as [`max_loc`](Self::max_loc). Collective.
    /// (As `MPI_MINLOC`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (least, member) = world.min_loc(-(world.my_pe().number() as f64));
    /// assert_eq!((least, member.number()), (1.0 - world.n_pes() as f64, world.n_pes() - 1));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn min_loc<T: Plain + PartialOrd>(&self, value: T) -> (T, Member) {
        self.extreme(value, Ordering::Less)
    }

    #[track_caller]
    fn extreme<T: Plain + PartialOrd>(&self, value: T, better: Ordering) -> (T, Member) {
        let of_all = self.gather_value(value);
        let comparable = |value: &T| value.partial_cmp(value).is_some();
        let mut best = of_all.iter().position(comparable).unwrap_or(0);
        for (number, value) in of_all.iter().enumerate() {
            if value.partial_cmp(&of_all[best]) == Some(better) {
                best = number;
            }
        }
        (of_all[best], self.numbered(best))
    }
}

/// Reduces the blocks of `others`, one after the other, into `block`.
fn fold<T: Plain>(block: &mut [T], others: &[T], operator: &impl Fn(T, T) -> T) {
    if block.is_empty() {
        return;
    }
    for other in others.chunks(block.len()) {
        for (value, other) in block.iter_mut().zip(other) {
            *value = operator(*value, *other);
        }
    }
}
