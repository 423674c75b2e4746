//! Collectives of values and slices in private memory.
#![allow(unsafe_code)]

use std::ptr;

use ferroshmem_api::collective;

use super::{Operator, Reducible, Sum, reduction, scan_details};
use crate::error::TeamError;
use crate::plain::Plain;
use crate::scratch::{CHUNK, Scratch};
use crate::step::{Detail, Step, What};
use crate::team::AsMember;
use crate::team::{Team, lives};

/// Bytes of `n` elements, as a detail of a step.
fn bytes<T>(n: usize) -> u64 {
    (n * size_of::<T>()) as u64
}

/// Details of a step on the scratch, which is no array, and at one place of all heaps.
fn of_values(scratch: &Scratch, [a, b]: [Detail; 2], length: u64) -> [Detail; 4] {
    let place = u64::MAX - scratch.place() as u64;
    [(What::Array, place), a, b, (What::Length, length)]
}

/// Collectives of values and slices.
///
/// ```
/// # use ferroshmem::Max;
/// # let world = ferroshmem::World::init()?;
/// let (me, n) = (world.my_pe().number(), world.n_pes());
/// assert_eq!(world.gather_value(me), Vec::from_iter(0..n));
/// assert_eq!(world.broadcast_value(world.pe(0)?, me)?, 0);
/// assert_eq!(world.inclusive_scan_value(1), me + 1); // of the PEs up to this one
/// assert_eq!(world.exclusive_scan_value(1), me); // of those before
/// let mut counts = [1, me];
/// world.reduce_slice(&mut counts, Max);
/// assert_eq!(counts, [1, n - 1]);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
impl Team<'_> {
    /// The reduction of every member's `value`. Collective.
    ///
    /// ```
    /// # use ferroshmem::Max;
    /// # let world = ferroshmem::World::init()?;
    /// let last = world.reduce_value(world.my_pe().number(), Max);
    /// assert_eq!(last, world.n_pes() - 1);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed, as for the other methods that have one with `try_`.
    #[track_caller]
    pub fn reduce_value<T: Reducible<Op>, Op: Operator>(&self, value: T, operator: Op) -> T {
        lives(self.try_reduce_value(value, operator))
    }

    /// As [`reduce_value`](Self::reduce_value), for the team of a group that may fail.
    ///
    /// As in the example of [`reduce_value`](Self::reduce_value).
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_reduce_value<T: Reducible<Op>, Op: Operator>(&self, value: T, operator: Op) -> Result<T, TeamError> {
        let mut values = [value];
        self.try_reduce_slice(&mut values, operator)?;
        Ok(values[0])
    }

    /// Replaces each element by the reduction of every member's element there. Collective, with the
    /// same length; arrays of symmetric memory ([`reduce`](Self::reduce)) are faster for many
    /// elements.
    ///
    /// ```
    /// # use ferroshmem::Sum;
    /// # let world = ferroshmem::World::init()?;
    /// let mut counts = [1, world.my_pe().number()];
    /// world.reduce_slice(&mut counts, Sum);
    /// assert_eq!(counts, [world.n_pes(), (0..world.n_pes()).sum()]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn reduce_slice<T: Reducible<Op>, Op: Operator>(&self, values: &mut [T], operator: Op) {
        lives(self.try_reduce_slice(values, operator));
    }

    /// As [`reduce_slice`](Self::reduce_slice), for the team of a group that may fail.
    ///
    /// As in the example of [`reduce_slice`](Self::reduce_slice).
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_reduce_slice<T: Reducible<Op>, Op: Operator>(&self, values: &mut [T], _: Op) -> Result<(), TeamError> {
        let (source, dest) = (self.scratch().source::<T>(), self.scratch().dest::<T>());
        let of_all = bytes::<T>(values.len());
        for chunk in values.chunks_mut(CHUNK / size_of::<T>()) {
            let n = chunk.len();
            // SAFETY: the scratch has room for a chunk, and the step orders all earlier use of it before
            // this one. The step ends the job unless all members pass the same type and length.
            unsafe {
                ptr::copy_nonoverlapping(chunk.as_ptr(), source, n);
                self.step(Step::Reduce, &of_values(self.scratch(), reduction::<T, Op>(), of_all));
                super::done(collective::reduce::<T::Core, Op::Core>(
                    "Team::reduce",
                    self.handle(),
                    dest.cast(),
                    source.cast(),
                    n,
                ))?;
                ptr::copy_nonoverlapping(dest, chunk.as_mut_ptr(), n);
            }
        }
        Ok(())
    }

    /// The sum of the members' values up to this PE's, itself included. Collective. (Standard:
    /// `shmem_sum_inscan`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let end = world.inclusive_scan_value(10);
    /// assert_eq!(end, 10 * (world.my_pe().number() + 1));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn inclusive_scan_value<T: Reducible<Sum>>(&self, value: T) -> T {
        lives(self.scan_value(value, true))
    }

    /// As [`inclusive_scan_value`](Self::inclusive_scan_value), for the team of a group that may fail.
    ///
    /// As in the example of [`inclusive_scan_value`](Self::inclusive_scan_value).
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_inclusive_scan_value<T: Reducible<Sum>>(&self, value: T) -> Result<T, TeamError> {
        self.scan_value(value, true)
    }

    /// The sum of the values of the members before this PE, zero for the first. Collective.
    /// (Standard: `shmem_sum_exscan`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let start = world.exclusive_scan_value(10);
    /// assert_eq!(start, 10 * world.my_pe().number());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn exclusive_scan_value<T: Reducible<Sum>>(&self, value: T) -> T {
        lives(self.scan_value(value, false))
    }

    /// As [`exclusive_scan_value`](Self::exclusive_scan_value), for the team of a group that may fail.
    ///
    /// As in the example of [`exclusive_scan_value`](Self::exclusive_scan_value).
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_exclusive_scan_value<T: Reducible<Sum>>(&self, value: T) -> Result<T, TeamError> {
        self.scan_value(value, false)
    }

    #[track_caller]
    fn scan_value<T: Reducible<Sum>>(&self, value: T, inclusive: bool) -> Result<T, TeamError> {
        let (source, dest) = (self.scratch().source::<T>(), self.scratch().dest::<T>());
        // SAFETY: as in `reduce_slice`; a number is shorter than a chunk.
        unsafe {
            source.write(value);
            self.step(Step::Scan, &of_values(self.scratch(), scan_details::<T>(inclusive), 1));
            super::done(collective::scan::<T::Core>(
                "Team::scan",
                self.handle(),
                dest.cast(),
                source.cast(),
                1,
                inclusive,
            ))?;
            Ok(dest.read())
        }
    }

    /// The root's value, on every member. Collective.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let seed = if world.my_pe().number() == 0 { 42 } else { 0 };
    /// assert_eq!(world.broadcast_value(world.pe(0)?, seed)?, 42);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the root is a member of another team, or a PE that is not in this one.
    #[track_caller]
    pub fn broadcast_value<T: Plain>(&self, root: impl AsMember, value: T) -> Result<T, TeamError> {
        let mut values = [value];
        self.broadcast_slice(root, &mut values)?;
        Ok(values[0])
    }

    /// Copies the root's elements to every member's. Collective, with the same length.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut numbers = [world.my_pe().number(); 3];
    /// world.broadcast_slice(world.pe(0)?, &mut numbers)?;
    /// assert_eq!(numbers, [0; 3]); // PE 0's
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the root is a member of another team, or a PE that is not in this one.
    #[track_caller]
    pub fn broadcast_slice<T: Plain>(&self, root: impl AsMember, values: &mut [T]) -> Result<(), TeamError> {
        let number = self.number_of(root)? as i32;
        let (source, dest) = (self.scratch().source::<u8>(), self.scratch().dest::<u8>());
        let of_all = bytes::<T>(values.len());
        for chunk in bytemuck::cast_slice_mut::<T, u8>(values).chunks_mut(CHUNK) {
            let n = chunk.len();
            // SAFETY: as in `reduce_slice`.
            unsafe {
                ptr::copy_nonoverlapping(chunk.as_ptr(), source, n);
                self.step(
                    Step::Broadcast,
                    &of_values(
                        self.scratch(),
                        [(What::Root, number as u64), (What::Type, size_of::<T>() as u64)],
                        of_all,
                    ),
                );
                let (to, from) = (dest.cast(), source.cast());
                super::done(collective::broadcast("Team::broadcast", self.handle(), to, from, n, number))?;
                ptr::copy_nonoverlapping(dest, chunk.as_mut_ptr(), n);
            }
        }
        Ok(())
    }

    /// Every member's value, in the order of their numbers. Collective.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let numbers = world.gather_value(world.my_pe().number());
    /// assert_eq!(numbers, Vec::from_iter(0..world.n_pes()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn gather_value<T: Plain>(&self, value: T) -> Vec<T> {
        lives(self.try_gather_value(value))
    }

    /// As [`gather_value`](Self::gather_value), for the team of a group that may fail.
    ///
    /// As in the example of [`gather_value`](Self::gather_value).
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_gather_value<T: Plain>(&self, value: T) -> Result<Vec<T>, TeamError> {
        self.try_gather_slice(&[value])
    }

    /// Every member's elements, those of member 0 first. Collective, with the same length.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mine = [world.my_pe().number() as u32; 3];
    /// let of_all = world.gather_slice(&mine);
    /// assert_eq!(of_all.chunks(3).last(), Some(&[world.n_pes() as u32 - 1; 3][..]));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn gather_slice<T: Plain>(&self, mine: &[T]) -> Vec<T> {
        lives(self.try_gather_slice(mine))
    }

    /// As [`gather_slice`](Self::gather_slice), for the team of a group that may fail.
    ///
    /// As in the example of [`gather_slice`](Self::gather_slice).
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_gather_slice<T: Plain>(&self, mine: &[T]) -> Result<Vec<T>, TeamError> {
        let (source, dest) = (self.scratch().source::<u8>(), self.scratch().dest::<u8>());
        let mut of_all = vec![T::zeroed(); self.n_members() * mine.len()];
        let most = self.chunk();
        for (i, chunk) in bytemuck::cast_slice::<T, u8>(mine).chunks(most).enumerate() {
            let n = chunk.len();
            // SAFETY: as in `reduce_slice`; the destination has room for `most` bytes of each member.
            unsafe {
                ptr::copy_nonoverlapping(chunk.as_ptr(), source, n);
                self.step(
                    Step::Fcollect,
                    &of_values(self.scratch(), [(What::Type, bytes::<T>(1)), (What::Sharing, 0)], mine.len() as u64),
                );
                let (to, from) = (dest.cast(), source.cast());
                super::done(collective::fcollect("Team::fcollect", self.handle(), to, from, n))?;
            }
            for (member, values) in of_all.chunks_mut(mine.len()).enumerate() {
                let piece = &mut bytemuck::cast_slice_mut::<T, u8>(values)[i * most..][..n];
                // SAFETY: the member's block of the destination, which has one for each PE.
                unsafe { ptr::copy_nonoverlapping(dest.add(member * n), piece.as_mut_ptr(), n) };
            }
        }
        Ok(of_all)
    }
}
