//! Collectives of arrays in symmetric memory, which the members read and write in place.
#![allow(unsafe_code)]

use ferroshmem_api::collective;

use super::{Operator, Part, PartMut, Reducible, Sum, reduction, scan_details};
use crate::error::TeamError;
use crate::memory::Symmetric;
use crate::plain::Plain;
use crate::step::{Detail, Step, What};
use crate::team::AsMember;
use crate::team::{Team, lives};

/// Two arrays as details of a step: where they are and how long, which is the same on all PEs.
pub(super) fn details<T: Plain>(dest: &mut PartMut<'_, T>, source: Part<'_, T>, more: [Detail; 2]) -> [Detail; 7] {
    [
        (What::Array, dest.start().addr() as u64),
        (What::Length, dest.len() as u64),
        (What::Array, source.start().addr() as u64),
        (What::Length, source.len() as u64),
        (What::Type, size_of::<T>() as u64),
        more[0],
        more[1],
    ]
}

/// No more details.
pub(super) const NONE: [Detail; 2] = [(What::Sharing, 0); 2];

/// One array as details of a step.
pub(super) fn in_place(start: usize, n: usize, [ty, operator]: [Detail; 2]) -> [Detail; 4] {
    [(What::Array, start as u64), (What::Length, n as u64), ty, operator]
}

/// As [`Result`], for an array that must be so long.
pub(super) fn enough(array: usize, needed: Option<usize>) -> Result<(), TeamError> {
    match needed {
        Some(needed) if needed <= array => Ok(()),
        _ => Err(TeamError::TooShort { needed: needed.unwrap_or(usize::MAX), array }),
    }
}

/// Collectives of arrays.
///
/// ```
/// # use ferroshmem::Max;
/// # let world = ferroshmem::World::init()?;
/// let n = world.n_pes();
/// let (mut source, mut dest) = (world.alloc::<usize>(n)?, world.alloc::<usize>(n)?);
/// source.fill(world.my_pe().number());
/// world.broadcast(world.pe(0)?, &mut dest, &source)?; // PE 0's
/// assert!(dest.iter().all(|number| *number == 0));
/// world.alltoall(&mut dest, &source)?; // element i goes to PE i
/// assert!(dest.iter().copied().eq(0..n));
/// world.fcollect(&mut dest, source.part(..1)?)?; // one of each PE
/// assert!(dest.iter().copied().eq(0..n));
/// assert_eq!(world.collect(&mut dest, &source, 1)?, n); // as many as each PE gives
/// world.inclusive_scan(&mut dest, &source)?; // sums over the PEs up to this one
/// world.reduce_in_place(&mut source, Max);
/// assert_eq!(source[0], n - 1);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
impl Team<'_> {
    /// Copies the root's `source` to every member's `dest`. Collective. (Standard:
    /// `shmem_broadcast`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut source, mut dest) = (world.alloc::<usize>(4)?, world.alloc::<usize>(4)?);
    /// source.fill(world.my_pe().number());
    /// world.broadcast(world.pe(0)?, &mut dest, &source)?;
    /// assert_eq!(dest[..], [0; 4]); // PE 0's, on all PEs
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is shorter than `source`, or the root a member of another team.
    #[track_caller]
    pub fn broadcast<'a, T: Plain>(
        &self,
        root: impl AsMember,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        let number = self.number_of(root)? as i32;
        enough(dest.len(), Some(source.len()))?;
        self.step(Step::Broadcast, &details(&mut dest, source, [(What::Root, number as u64), NONE[0]]));
        let bytes = source.len() * size_of::<T>();
        let (to, from) = (dest.start().cast(), source.start().cast());
        // SAFETY: symmetric memory, of the lengths that the members have compared in the step; this
        // call has the only borrow of it. The same holds for the calls below.
        super::done(unsafe { collective::broadcast("Team::broadcast", self.handle(), to, from, bytes, number) })
    }

    /// Reduces every member's `source`, element by element, to every member's `dest`. Collective.
    /// (Standard: `shmem_sum_reduce` and its like)
    ///
    /// ```
    /// # use ferroshmem::Max;
    /// # let world = ferroshmem::World::init()?;
    /// let mut mine = world.alloc::<f64>(1000)?;
    /// mine.fill(world.my_pe().number() as f64);
    /// let mut greatest = world.alloc::<f64>(1000)?;
    /// world.reduce(&mut greatest, &mine, Max)?;
    /// assert_eq!(greatest[999], (world.n_pes() - 1) as f64);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is shorter than `source`.
    #[track_caller]
    pub fn reduce<'a, T: Reducible<Op>, Op: Operator>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
        _: Op,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        enough(dest.len(), Some(source.len()))?;
        self.step(Step::Reduce, &details(&mut dest, source, reduction::<T, Op>()));
        let (to, from, n) = (dest.start(), source.start(), source.len());
        // SAFETY: as in `broadcast`.
        super::done(unsafe {
            let (to, from) = (to.cast(), from.cast());
            collective::reduce::<T::Core, Op::Core>("Team::reduce", self.handle(), to, from, n)
        })
    }

    /// As [`reduce`](Self::reduce), with one array for both.
    ///
    /// ```
    /// # use ferroshmem::Max;
    /// # let world = ferroshmem::World::init()?;
    /// let mut numbers = world.alloc::<usize>(2)?;
    /// numbers.copy_from_slice(&[1, world.my_pe().number()]);
    /// world.reduce_in_place(&mut numbers, Max);
    /// assert_eq!(numbers[..], [1, world.n_pes() - 1]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn reduce_in_place<'a, T: Reducible<Op>, Op: Operator>(&self, array: impl Into<PartMut<'a, T>>, operator: Op) {
        lives(self.try_reduce_in_place(array, operator));
    }

    /// As [`reduce_in_place`](Self::reduce_in_place), for the team of a group that may fail.
    ///
    /// As in the example of [`reduce_in_place`](Self::reduce_in_place).
    ///
    /// # Errors
    /// If the team is that of a group that has failed.
    #[track_caller]
    pub fn try_reduce_in_place<'a, T: Reducible<Op>, Op: Operator>(
        &self,
        array: impl Into<PartMut<'a, T>>,
        _: Op,
    ) -> Result<(), TeamError> {
        let mut array = array.into();
        let (start, n) = (array.start(), array.len());
        self.step(Step::Reduce, &in_place(start.addr(), n, reduction::<T, Op>()));
        let name = "Team::reduce";
        // SAFETY: as in `broadcast`; `dest` and `source` may be the same.
        super::done(unsafe {
            collective::reduce::<T::Core, Op::Core>(name, self.handle(), start.cast(), start.cast(), n)
        })
    }

    /// Sums up the members' `source`, element by element, up to this PE's, itself included.
    /// Collective. (Standard: `shmem_sum_inscan`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut lengths, mut ends) = (world.alloc::<usize>(1)?, world.alloc::<usize>(1)?);
    /// lengths[0] = 10;
    /// world.inclusive_scan(&mut ends, &lengths)?;
    /// assert_eq!(ends[0], 10 * (world.my_pe().number() + 1));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is shorter than `source`.
    #[track_caller]
    pub fn inclusive_scan<'a, T: Reducible<Sum>>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
    ) -> Result<(), TeamError> {
        self.scan(dest.into(), source.into(), true)
    }

    /// As [`inclusive_scan`](Self::inclusive_scan), this PE's elements left out; zeros for the first
    /// member. (Standard: `shmem_sum_exscan`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut lengths, mut starts) = (world.alloc::<usize>(1)?, world.alloc::<usize>(1)?);
    /// lengths[0] = 10;
    /// world.exclusive_scan(&mut starts, &lengths)?;
    /// assert_eq!(starts[0], 10 * world.my_pe().number());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is shorter than `source`.
    #[track_caller]
    pub fn exclusive_scan<'a, T: Reducible<Sum>>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
    ) -> Result<(), TeamError> {
        self.scan(dest.into(), source.into(), false)
    }

    #[track_caller]
    fn scan<T: Reducible<Sum>>(
        &self,
        mut dest: PartMut<'_, T>,
        source: Part<'_, T>,
        inclusive: bool,
    ) -> Result<(), TeamError> {
        enough(dest.len(), Some(source.len()))?;
        self.step(Step::Scan, &details(&mut dest, source, scan_details::<T>(inclusive)));
        let (to, from, n) = (dest.start(), source.start(), source.len());
        // SAFETY: as in `broadcast`.
        super::done(unsafe {
            let (to, from) = (to.cast::<T::Core>(), from.cast());
            collective::scan("Team::scan", self.handle(), to, from, n, inclusive)
        })
    }

    /// Gathers every member's `source`, all of one length, in the order of their numbers, in every
    /// member's `dest`. Collective. (Standard: `shmem_fcollect`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let n = world.n_pes();
    /// let (mut mine, mut all) = (world.alloc::<usize>(2)?, world.alloc::<usize>(2 * n)?);
    /// mine.fill(world.my_pe().number());
    /// world.fcollect(&mut all, &mine)?;
    /// assert!(all.iter().copied().eq((0..n).flat_map(|number| [number, number])));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is too short for all.
    #[track_caller]
    pub fn fcollect<'a, T: Plain>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        enough(dest.len(), source.len().checked_mul(self.n_members()))?;
        self.step(Step::Fcollect, &details(&mut dest, source, NONE));
        let bytes = source.len() * size_of::<T>();
        let (to, from) = (dest.start().cast(), source.start().cast());
        // SAFETY: as in `broadcast`.
        super::done(unsafe { collective::fcollect("Team::fcollect", self.handle(), to, from, bytes) })
    }

    /// Gathers the first `count` elements of every member's `source`, where each member gives as
    /// many as it likes, in the order of their numbers, in every member's `dest`; returns how many
    /// there are in all. Collective. (Standard: `shmem_collect`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (n, number) = (world.n_pes(), world.my_pe().number());
    /// let (mut mine, mut all) = (world.alloc::<usize>(n)?, world.alloc::<usize>(n * n)?);
    /// mine.fill(number);
    /// let total = world.collect(&mut all, &mine, number + 1)?; // one of PE 0, two of PE 1, ...
    /// assert_eq!((total, all[total - 1]), (n * (n + 1) / 2, n - 1));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is too short for all, or a member's `source` for its elements. The same on all
    /// members.
    #[track_caller]
    pub fn collect<'a, T: Plain>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: &Symmetric<'_, T>,
        count: usize,
    ) -> Result<usize, TeamError> {
        let mut dest = dest.into();
        // A member whose source is too short passes this to all, so that all return the error.
        let mine = if count <= source.len() { count as u64 } else { u64::MAX };
        let counts = self.try_gather_value(mine)?;
        let add = |sum: usize, count: &u64| sum.checked_add(usize::try_from(*count).ok()?);
        let total = counts.iter().try_fold(0, add);
        enough(dest.len(), total)?;
        self.step(Step::Collect, &details(&mut dest, source.into(), NONE));
        let bytes = count * size_of::<T>();
        let (to, from) = (dest.start().cast(), source.as_ptr().cast());
        // SAFETY: as in `broadcast`; the destination has room for the elements of all.
        super::done(unsafe { collective::collect("Team::collect", self.handle(), to, from, bytes) })?;
        Ok(total.unwrap_or(0))
    }

    /// Sends block i of `source` to member i, as block j of its `dest` from member j. Arrays are
    /// divided into as many blocks as there are members; what is left over is not sent. Collective.
    /// (Standard: `shmem_alltoall`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (n, number) = (world.n_pes(), world.my_pe().number());
    /// let (mut to, mut from) = (world.alloc::<usize>(n)?, world.alloc::<usize>(n)?);
    /// to.iter_mut().enumerate().for_each(|(pe, item)| *item = 100 * number + pe);
    /// world.alltoall(&mut from, &to)?; // item i goes to PE i
    /// assert!(from.iter().copied().eq((0..n).map(|pe| 100 * pe + number)));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is shorter than the blocks of `source`.
    #[track_caller]
    pub fn alltoall<'a, T: Plain>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        self.alltoall_parts(&mut dest, source)
    }

    /// As [`alltoall`](Self::alltoall), of parts that are still used.
    #[track_caller]
    pub(super) fn alltoall_parts<T: Plain>(
        &self,
        dest: &mut PartMut<'_, T>,
        source: Part<'_, T>,
    ) -> Result<(), TeamError> {
        let block = source.len() / self.n_members();
        enough(dest.len(), Some(block * self.n_members()))?;
        self.step(Step::Alltoall, &details(dest, source, [(What::Length, block as u64), NONE[0]]));
        let bytes = block * size_of::<T>();
        let (to, from) = (dest.start().cast(), source.start().cast());
        // SAFETY: as in `broadcast`.
        super::done(unsafe { collective::alltoall("Team::alltoall", self.handle(), to, from, bytes) })
    }

    /// As [`alltoall`](Self::alltoall), with blocks of `n` elements, which are `strides.1` elements
    /// apart in `source` and `strides.0` in `dest`. (Standard: `shmem_alltoalls`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let n = world.n_pes();
    /// let (source, mut dest) = (world.alloc::<u32>(2 * n)?, world.alloc::<u32>(n)?);
    /// world.alltoalls(&mut dest, &source, (1, 2), 1)?; // every other element of the source
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If one of the arrays is too short, or a stride is 0.
    #[track_caller]
    pub fn alltoalls<'a, T: Plain>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
        strides: (usize, usize),
        n: usize,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        let extent = |stride: usize| {
            let stride = isize::try_from(stride).ok().filter(|stride| *stride > 0)?;
            match n.checked_mul(self.n_members())? {
                0 => Some(0),
                all => (all - 1).checked_mul(stride as usize)?.checked_add(1),
            }
        };
        enough(dest.len(), extent(strides.0))?;
        enough(source.len(), extent(strides.1))?;
        let packed = (strides.0 as u64) << 32 ^ strides.1 as u64;
        self.step(Step::Alltoalls, &details(&mut dest, source, [(What::Strides, packed), (What::Length, n as u64)]));
        let (to, from) = (dest.start().cast(), source.start().cast());
        let (dst, sst) = (strides.0 as isize, strides.1 as isize);
        let size = size_of::<T>();
        // SAFETY: as in `broadcast`.
        super::done(unsafe { collective::alltoalls("Team::alltoalls", self.handle(), to, from, dst, sst, n, size) })
    }
}
