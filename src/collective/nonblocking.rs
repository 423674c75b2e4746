//! Collectives that go on while the PE computes.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;

use ferroshmem_api::check::Concerns;
use ferroshmem_api::nonblocking::{self, Agreement, Collective};
use ferroshmem_api::record::{self, Kind, Operation};
use ferroshmem_api::{Operator as CoreOperator, ops};

use super::arrays::{NONE, details, enough, in_place};
use super::{Operator, Part, PartMut, Reducible, Sum, reduction, scan_details};
use crate::error::TeamError;
use crate::plain::Plain;
use crate::step::{Detail, Step, What, word};
use crate::team::{AsMember, Team};

/// Begins collectives that go on while the PE computes: what [`Team::nonblocking`] passes to its closure.
///
/// All members begin the same ones in the same order. They compare them before any of them writes, as for other
/// collectives, but no begin waits for that. Between these and collectives that wait there is no order.
///
/// The arrays are borrowed until the closure has returned, whatever becomes of the request:
///
/// ```compile_fail,E0499
/// # use ferroshmem::Sum;
/// # let world = ferroshmem::World::init().unwrap();
/// let mut sums = world.alloc::<f64>(100).unwrap();
/// world.nonblocking(|collectives| {
///     collectives.reduce_in_place(&mut sums, Sum);
///     sums.fill(0.0); // while it is under way
/// });
/// ```
#[derive(Debug)]
pub struct Collectives<'scope, 'env: 'scope> {
    team: &'env Team<'env>,
    /// The last one that has begun, or 0.
    last: &'scope Cell<usize>,
    /// Makes `'scope` invariant, so that no coercion shortens it.
    scope: PhantomData<&'scope mut &'scope ()>,
}

/// A collective under way. It goes on if this is dropped.
///
/// As in the example of [`Team::nonblocking`].
#[derive(Debug)]
pub struct CollectiveRequest<'scope, D> {
    request: usize,
    dest: D,
    scope: PhantomData<&'scope Cell<()>>,
}

/// Completes the last collective when it is dropped, and with it those before, also if the closure panics: the arrays
/// may be gone after that.
struct Completion<'a>(&'a Cell<usize>);

impl Drop for Completion<'_> {
    fn drop(&mut self) {
        wait("Team::nonblocking", self.0.get());
    }
}

fn wait(name: &'static str, mut request: usize) {
    // SAFETY: the request is a variable here.
    unsafe { nonblocking::wait(name, &raw mut request) };
    record::note(Operation::Receive);
}

impl Team<'_> {
    /// Runs `body`, which may begin collectives, and completes them. (Extension: `shmemx_reduce_nb` and its like)
    ///
    /// ```
    /// # use ferroshmem::Sum;
    /// # let world = ferroshmem::World::init()?;
    /// let (mut parts, mut sums) = (world.alloc::<f64>(1000)?, world.alloc::<f64>(1000)?);
    /// parts.fill(1.0);
    /// world.nonblocking(|collectives| {
    ///     let request = collectives.reduce(&mut sums, &parts, Sum)?;
    ///     let other = (1..100).sum::<u32>(); // what does not need the sums
    ///     let sums = request.wait();
    ///     assert_eq!((sums[999], other), (world.n_pes() as f64, 4950));
    ///     Ok::<(), ferroshmem::Error>(())
    /// })?;
    /// assert_eq!(sums[0], world.n_pes() as f64);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// The team of a group of two jobs has none: a begin ends the job.
    pub fn nonblocking<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Collectives<'scope, 'env>) -> R,
    ) -> R {
        let last = Cell::new(0);
        let _completion = Completion(&last);
        body(&Collectives { team: self, last: &last, scope: PhantomData })
    }
}

impl<'scope, 'env> Collectives<'scope, 'env> {
    #[track_caller]
    fn begin<D>(
        &self,
        (name, step): (&'static str, Step),
        details: &[Detail],
        arrays: (*mut u8, *const u8),
        collective: Collective,
        dest: D,
    ) -> CollectiveRequest<'scope, D> {
        let (team, place) = (self.team.handle(), Location::caller());
        let _record = record::begin((name, place), Kind::Exchange, Concerns::Team(team, 0), 0, 0);
        let agreement = Agreement { word: word(step, self.team.next_nonblocking(), details), place };
        let arrays = (arrays.0.cast(), arrays.1.cast());
        // SAFETY: symmetric memory, which is borrowed for longer than the closure of `Team::nonblocking` runs, after
        // which `Completion` waits. Its lengths are the same on all members, which compare them before.
        let request = unsafe { nonblocking::begin_agreed(name, team, arrays, collective, Some(agreement), false) };
        self.last.set(request);
        CollectiveRequest { request, dest, scope: PhantomData }
    }

    /// Begins to synchronise the team. (Extension: `shmemx_sync_nb`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// world.nonblocking(|collectives| {
    ///     let all_are_here = collectives.sync();
    ///     // compute
    ///     all_are_here.wait();
    /// });
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn sync(&'scope self) -> CollectiveRequest<'scope, ()> {
        let nothing = (ptr::null_mut(), ptr::null());
        self.begin(("Collectives::sync", Step::Barrier), &[], nothing, Collective::Sync, ())
    }

    /// As [`Team::broadcast`]. (Extension: `shmemx_broadcast_nb`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut source, mut dest) = (world.alloc::<usize>(4)?, world.alloc::<usize>(4)?);
    /// source.fill(world.my_pe().number());
    /// let root = world.pe(0)?;
    /// world.nonblocking(|collectives| collectives.broadcast(root, &mut dest, &source).map(drop))?;
    /// assert_eq!(dest[..], [0; 4]); // complete
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Team::broadcast`].
    #[track_caller]
    pub fn broadcast<T: Plain>(
        &'scope self,
        root: impl AsMember,
        dest: impl Into<PartMut<'env, T>>,
        source: impl Into<Part<'env, T>>,
    ) -> Result<CollectiveRequest<'scope, PartMut<'env, T>>, TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        let root = self.team.number_of(root)? as i32;
        enough(dest.len(), Some(source.len()))?;
        let details = details(&mut dest, source, [(What::Root, root as u64), NONE[0]]);
        let bytes = source.len() * size_of::<T>();
        let collective = Collective::Broadcast { bytes, root, to_root: true };
        let arrays = (dest.start().cast(), source.start().cast());
        Ok(self.begin(("Collectives::broadcast", Step::Broadcast), &details, arrays, collective, dest))
    }

    /// As [`Team::reduce`]. (Extension: `shmemx_reduce_nb`)
    ///
    /// As in the example of [`Team::nonblocking`].
    ///
    /// # Errors
    /// As for [`Team::reduce`].
    #[track_caller]
    pub fn reduce<T: Reducible<Op>, Op: Operator>(
        &'scope self,
        dest: impl Into<PartMut<'env, T>>,
        source: impl Into<Part<'env, T>>,
        _: Op,
    ) -> Result<CollectiveRequest<'scope, PartMut<'env, T>>, TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        enough(dest.len(), Some(source.len()))?;
        let details = details(&mut dest, source, reduction::<T, Op>());
        let collective = Collective::Reduce { n: source.len(), op: CoreOperator::of::<T::Core, Op::Core>() };
        let arrays = (dest.start().cast(), source.start().cast());
        Ok(self.begin(("Collectives::reduce", Step::Reduce), &details, arrays, collective, dest))
    }

    /// As [`Team::reduce_in_place`]. (Extension: `shmemx_reduce_nb`)
    ///
    /// ```
    /// # use ferroshmem::Max;
    /// # let world = ferroshmem::World::init()?;
    /// let mut numbers = world.alloc::<usize>(2)?;
    /// numbers.copy_from_slice(&[1, world.my_pe().number()]);
    /// world.nonblocking(|collectives| {
    ///     let request = collectives.reduce_in_place(&mut numbers, Max);
    ///     assert_eq!(request.wait()[..], [1, world.n_pes() - 1]);
    /// });
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce_in_place<T: Reducible<Op>, Op: Operator>(
        &'scope self,
        array: impl Into<PartMut<'env, T>>,
        _: Op,
    ) -> CollectiveRequest<'scope, PartMut<'env, T>> {
        let mut array = array.into();
        let (start, n) = (array.start(), array.len());
        let details = in_place(start.addr(), n, reduction::<T, Op>());
        let collective = Collective::Reduce { n, op: CoreOperator::of::<T::Core, Op::Core>() };
        let arrays = (start.cast(), start.cast_const().cast());
        self.begin(("Collectives::reduce_in_place", Step::Reduce), &details, arrays, collective, array)
    }

    /// As [`Team::inclusive_scan`]. (Extension: `shmemx_scan_nb`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut lengths, mut ends) = (world.alloc::<usize>(1)?, world.alloc::<usize>(1)?);
    /// lengths[0] = 10;
    /// world.nonblocking(|collectives| collectives.inclusive_scan(&mut ends, &lengths).map(drop))?;
    /// assert_eq!(ends[0], 10 * (world.my_pe().number() + 1));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Team::inclusive_scan`].
    #[track_caller]
    pub fn inclusive_scan<T: Reducible<Sum>>(
        &'scope self,
        dest: impl Into<PartMut<'env, T>>,
        source: impl Into<Part<'env, T>>,
    ) -> Result<CollectiveRequest<'scope, PartMut<'env, T>>, TeamError> {
        self.scan("Collectives::inclusive_scan", dest.into(), source.into(), true)
    }

    /// As [`Team::exclusive_scan`]. (Extension: `shmemx_scan_nb`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (mut lengths, mut starts) = (world.alloc::<usize>(1)?, world.alloc::<usize>(1)?);
    /// lengths[0] = 10;
    /// world.nonblocking(|collectives| collectives.exclusive_scan(&mut starts, &lengths).map(drop))?;
    /// assert_eq!(starts[0], 10 * world.my_pe().number());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Team::exclusive_scan`].
    #[track_caller]
    pub fn exclusive_scan<T: Reducible<Sum>>(
        &'scope self,
        dest: impl Into<PartMut<'env, T>>,
        source: impl Into<Part<'env, T>>,
    ) -> Result<CollectiveRequest<'scope, PartMut<'env, T>>, TeamError> {
        self.scan("Collectives::exclusive_scan", dest.into(), source.into(), false)
    }

    #[track_caller]
    fn scan<T: Reducible<Sum>>(
        &self,
        name: &'static str,
        mut dest: PartMut<'env, T>,
        source: Part<'env, T>,
        inclusive: bool,
    ) -> Result<CollectiveRequest<'scope, PartMut<'env, T>>, TeamError> {
        enough(dest.len(), Some(source.len()))?;
        let details = details(&mut dest, source, scan_details::<T>(inclusive));
        let op = CoreOperator::of::<T::Core, ops::Sum>();
        let arrays = (dest.start().cast(), source.start().cast());
        Ok(self.begin((name, Step::Scan), &details, arrays, Collective::Scan { n: source.len(), op, inclusive }, dest))
    }

    /// As [`Team::fcollect`]. (Extension: `shmemx_fcollect_nb`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let n = world.n_pes();
    /// let (mut mine, mut all) = (world.alloc::<usize>(1)?, world.alloc::<usize>(n)?);
    /// mine[0] = world.my_pe().number();
    /// world.nonblocking(|collectives| collectives.fcollect(&mut all, &mine).map(drop))?;
    /// assert!(all.iter().copied().eq(0..n));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Team::fcollect`].
    #[track_caller]
    pub fn fcollect<T: Plain>(
        &'scope self,
        dest: impl Into<PartMut<'env, T>>,
        source: impl Into<Part<'env, T>>,
    ) -> Result<CollectiveRequest<'scope, PartMut<'env, T>>, TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        enough(dest.len(), source.len().checked_mul(self.team.n_members()))?;
        let details = details(&mut dest, source, NONE);
        let collective = Collective::Fcollect { bytes: source.len() * size_of::<T>() };
        let arrays = (dest.start().cast(), source.start().cast());
        Ok(self.begin(("Collectives::fcollect", Step::Fcollect), &details, arrays, collective, dest))
    }

    /// As [`Team::alltoall`]. (Extension: `shmemx_alltoall_nb`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (n, number) = (world.n_pes(), world.my_pe().number());
    /// let (mut to, mut from) = (world.alloc::<usize>(n)?, world.alloc::<usize>(n)?);
    /// to.iter_mut().enumerate().for_each(|(pe, item)| *item = 100 * number + pe);
    /// world.nonblocking(|collectives| collectives.alltoall(&mut from, &to).map(drop))?;
    /// assert!(from.iter().copied().eq((0..n).map(|pe| 100 * pe + number)));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Team::alltoall`].
    #[track_caller]
    pub fn alltoall<T: Plain>(
        &'scope self,
        dest: impl Into<PartMut<'env, T>>,
        source: impl Into<Part<'env, T>>,
    ) -> Result<CollectiveRequest<'scope, PartMut<'env, T>>, TeamError> {
        let (mut dest, source) = (dest.into(), source.into());
        let block = source.len() / self.team.n_members();
        enough(dest.len(), Some(block * self.team.n_members()))?;
        let details = details(&mut dest, source, [(What::Length, block as u64), NONE[0]]);
        let collective = Collective::Alltoall { bytes: block * size_of::<T>() };
        let arrays = (dest.start().cast(), source.start().cast());
        Ok(self.begin(("Collectives::alltoall", Step::Alltoall), &details, arrays, collective, dest))
    }
}

impl<D> CollectiveRequest<'_, D> {
    /// Whether it is complete; makes progress with it. (Extension: `shmemx_req_test`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// world.nonblocking(|collectives| {
    ///     let request = collectives.sync();
    ///     while !request.is_complete() {
    ///         // compute a little
    ///     }
    /// });
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn is_complete(&self) -> bool {
        let mut request = self.request;
        // SAFETY: the request is a variable here.
        let is_complete = unsafe { nonblocking::test("CollectiveRequest::is_complete", &raw mut request) == 0 };
        record::note(Operation::Receive);
        is_complete
    }

    /// Waits until it is complete; returns the array that it has written. (Extension: `shmemx_req_wait`)
    ///
    /// As in the example of [`Team::nonblocking`].
    #[track_caller]
    pub fn wait(self) -> D {
        let name = "CollectiveRequest::wait";
        let _record = record::begin((name, Location::caller()), Kind::Barrier, Concerns::None, 0, 0);
        wait(name, self.request);
        self.dest
    }

    /// Waits until all of several are complete; returns the arrays that they have written, in their order.
    /// (Extension: `shmemx_req_waitall`)
    ///
    /// ```
    /// # use ferroshmem::{CollectiveRequest, Sum};
    /// # let world = ferroshmem::World::init()?;
    /// let (mut a, mut b) = (world.alloc::<u64>(1)?, world.alloc::<u64>(1)?);
    /// (a[0], b[0]) = (1, 2);
    /// world.nonblocking(|collectives| {
    ///     let requests = [&mut a, &mut b].map(|array| collectives.reduce_in_place(array, Sum));
    ///     let sums = CollectiveRequest::wait_all(requests);
    ///     assert_eq!(sums[1][0], 2 * world.n_pes() as u64);
    /// });
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_all(requests: impl IntoIterator<Item = Self>) -> Vec<D> {
        let mut arrays = Vec::new();
        for request in requests {
            arrays.push(request.wait());
        }
        arrays
    }

    /// Waits until one of several is complete, which may be of several teams, and removes it; returns the array that
    /// it has written, or None if there are none. (Extension: `shmemx_req_waitany`)
    ///
    /// ```
    /// # use ferroshmem::{CollectiveRequest, Sum};
    /// # let world = ferroshmem::World::init()?;
    /// let (mut a, mut b) = (world.alloc::<u64>(1)?, world.alloc::<u64>(1)?);
    /// (a[0], b[0]) = (1, 1);
    /// world.nonblocking(|collectives| {
    ///     let mut requests = [&mut a, &mut b].map(|array| collectives.reduce_in_place(array, Sum)).into();
    ///     while let Some(sum) = CollectiveRequest::wait_any(&mut requests) {
    ///         assert_eq!(sum[0], world.n_pes() as u64);
    ///     }
    /// });
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_any(requests: &mut Vec<Self>) -> Option<D> {
        let name = "CollectiveRequest::wait_any";
        let _record = record::begin((name, Location::caller()), Kind::Barrier, Concerns::None, 0, 0);
        let mut handles = Vec::from_iter(requests.iter().map(|request| request.request));
        // SAFETY: there are so many, which no other thread uses.
        let index = unsafe { nonblocking::waitany(name, handles.len(), handles.as_mut_ptr()) };
        (index < requests.len()).then(|| requests.remove(index).dest)
    }
}
