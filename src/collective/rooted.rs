//! Collectives of arrays whose result one member gets, or each a part of it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use ferroshmem_api::{Operator as CoreOperator, collective};

use super::arrays::{details, enough};
use super::{Operator, Part, PartMut, Reducible, reduction};
use crate::error::TeamError;
use crate::plain::Plain;
use crate::step::{Step, What};
use crate::team::{AsMember, Team};

/// `collective::gather` or `scatter`.
type Routine = unsafe fn(&'static str, usize, *mut c_void, *const c_void, usize, c_int) -> c_int;

/// Collectives with a root.
///
/// ```
/// # use ferroshmem::Sum;
/// # let world = ferroshmem::World::init()?;
/// let (n, root) = (world.n_pes(), world.pe(0)?);
/// let (mut blocks, mut mine) = (world.alloc::<usize>(n)?, world.alloc::<usize>(1)?);
/// blocks.fill(1);
/// world.reduce_scatter(&mut mine, &blocks, Sum)?; // each member the sum of the blocks for it
/// assert_eq!(mine[0], n);
/// world.gather(root, &mut blocks, &mine)?; // the root has them all
/// world.scatter(root, &mut mine, &blocks)?; // and gives them back
/// assert_eq!(mine[0], n);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
impl Team<'_> {
    /// Gathers every member's `source`, all of one length, in the order of their numbers, in the root's `dest`.
    /// Collective. (Extension: `shmemx_gather`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut dest, mut source) = (world.alloc::<usize>(world.n_pes())?, world.alloc::<usize>(1)?);
    /// source[0] = world.my_pe().number();
    /// world.gather(world.pe(0)?, &mut dest, &source)?;
    /// assert!(source[0] != 0 || dest.iter().copied().eq(0..world.n_pes()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is too short for all sources, on every member, or the root is a member of another team.
    #[track_caller]
    pub fn gather<'a, T: Plain>(
        &self,
        root: impl AsMember,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
    ) -> Result<(), TeamError> {
        let (dest, source) = (dest.into(), source.into());
        let lengths = (dest.len(), source.len());
        self.move_blocks(Step::Gather, collective::gather, root, (dest, source), lengths)
    }

    /// Gives member i block i of the root's `source`, in its `dest`, whose length is that of a block. Collective.
    /// (Extension: `shmemx_scatter`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut dest, mut source) = (world.alloc::<usize>(1)?, world.alloc::<usize>(world.n_pes())?);
    /// source.iter_mut().enumerate().for_each(|(pe, item)| *item = 10 * pe);
    /// world.scatter(world.pe(0)?, &mut dest, &source)?;
    /// assert_eq!(dest[0], 10 * world.my_pe().number());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `source` has less than a block for each member, or the root is a member of another team.
    #[track_caller]
    pub fn scatter<'a, T: Plain>(
        &self,
        root: impl AsMember,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
    ) -> Result<(), TeamError> {
        let (dest, source) = (dest.into(), source.into());
        let lengths = (source.len(), dest.len());
        self.move_blocks(Step::Scatter, collective::scatter, root, (dest, source), lengths)
    }

    /// Moves a block of each member to or from the root; with the lengths of the array that has all of them, and of a
    /// block.
    #[track_caller]
    fn move_blocks<T: Plain>(
        &self,
        step: Step,
        routine: Routine,
        root: impl AsMember,
        (mut dest, source): (PartMut<'_, T>, Part<'_, T>),
        (all, block): (usize, usize),
    ) -> Result<(), TeamError> {
        let number = self.number_of(root)? as i32;
        enough(all, block.checked_mul(self.n_members()))?;
        self.step(step, &details(&mut dest, source, [(What::Root, number as u64), (What::Length, block as u64)]));
        let (to, from) = (dest.start().cast(), source.start().cast());
        // SAFETY: as in `broadcast`.
        super::done(unsafe { routine(step.name(), self.handle(), to, from, block * size_of::<T>(), number) })
    }

    /// As [`reduce`](Self::reduce), with the result in the root's `dest` alone. (Extension: `shmemx_reduce_root`)
    ///
    /// ```
    /// # use ferroshmem::Sum;
    /// # let world = ferroshmem::World::init()?;
    /// let (mut sum, mut mine) = (world.alloc::<usize>(1)?, world.alloc::<usize>(1)?);
    /// mine[0] = 1;
    /// world.reduce_root(world.pe(0)?, &mut sum, &mine, Sum)?;
    /// assert_eq!(sum[0], if world.my_pe().number() == 0 { world.n_pes() } else { 0 });
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `dest` is shorter than `source`, or the root is a member of another team.
    #[track_caller]
    pub fn reduce_root<'a, T: Reducible<Op>, Op: Operator>(
        &self,
        root: impl AsMember,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
        _: Op,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        let number = self.number_of(root)? as i32;
        enough(dest.len(), Some(source.len()))?;
        let [ty, operator] = reduction::<T, Op>();
        let [a, b, c, d, ..] = details(&mut dest, source, [ty, operator]);
        self.step(Step::ReduceRoot, &[a, b, c, d, ty, operator, (What::Root, number as u64)]);
        let (to, from, n) = (dest.start().cast(), source.start().cast(), source.len());
        let op = Some(CoreOperator::of::<T::Core, Op::Core>());
        // SAFETY: as in `broadcast`.
        super::done(unsafe { collective::reduce_root("Team::reduce_root", self.handle(), to, from, n, op, number) })
    }

    /// As [`reduce`](Self::reduce), of a block for each member, of which each gets its own: `dest` has the length of a
    /// block. (Extension: `shmemx_reduce_scatter`)
    ///
    /// ```
    /// # use ferroshmem::Max;
    /// # let world = ferroshmem::World::init()?;
    /// let (mut mine, mut blocks) = (world.alloc::<usize>(1)?, world.alloc::<usize>(world.n_pes())?);
    /// blocks.iter_mut().enumerate().for_each(|(pe, item)| *item = 10 * pe + world.my_pe().number());
    /// world.reduce_scatter(&mut mine, &blocks, Max)?;
    /// assert_eq!(mine[0], 10 * world.my_pe().number() + world.n_pes() - 1);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `source` has less than a block for each member.
    #[track_caller]
    pub fn reduce_scatter<'a, T: Reducible<Op>, Op: Operator>(
        &self,
        dest: impl Into<PartMut<'a, T>>,
        source: impl Into<Part<'a, T>>,
        _: Op,
    ) -> Result<(), TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        let block = dest.len();
        enough(source.len(), block.checked_mul(self.n_members()))?;
        self.step(Step::ReduceScatter, &details(&mut dest, source, reduction::<T, Op>()));
        let (to, from) = (dest.start().cast(), source.start().cast());
        let op = Some(CoreOperator::of::<T::Core, Op::Core>());
        // SAFETY: as in `broadcast`.
        super::done(unsafe { collective::reduce_scatter("Team::reduce_scatter", self.handle(), to, from, block, op) })
    }
}
