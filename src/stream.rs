//! Streams of items between the members of a team (extension).
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::{fmt, iter, ptr, slice, thread};

use ferroshmem_api::record::{self, Operation};
use ferroshmem_api::stream;

use crate::error::TeamError;
use crate::plain::Plain;
use crate::step::{self, Step, What};
use crate::team::Team;
use crate::team::{AsMember, Member};

/// When pushed items are sent.
///
/// As in the examples of [`Stream::flush`] and [`Stream::pull`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// When there are many for a PE, or when [flushed](Stream::flush), waited for or [ended](Stream::end).
    #[default]
    Bursty,
    /// At once: for programs whose PEs wait for single items.
    Steady,
}

/// A stream (extension): its PEs push items to each other, and pull what arrives. The items of a PE to another arrive
/// in their order.
///
/// A PE whose push finds no room pulls what is there, and pushes again: [`push`](Self::push) does so by a closure, so
/// that no PEs wait for each other. [`drain`](Self::drain) ends the stream and yields what still arrives. Views are
/// slices, which `rayon` can divide among threads.
///
/// ```
/// # use ferroshmem::{Pace, World};
/// let world = World::init()?;
/// let (me, n) = (world.my_member().number(), world.n_members());
/// let mut counts = [0u32; 10];
/// let mut stream = world.stream::<u32>(Pace::Bursty)?;
/// for i in 0..1000u32 {
///     let to = world.member(i as usize % n)?;
///     stream.push(to, i % 10, |_from, i| counts[i as usize] += 1)?;
/// }
/// for (_from, i) in stream.drain() {
///     counts[i as usize] += 1;
/// }
/// # let all: u32 = world.reduce_value(counts.iter().sum::<u32>(), ferroshmem::Sum);
/// # assert_eq!(all as usize, 1000 * n);
/// # let _ = me;
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// A stream is used by one thread. Dropping it is collective; what was not pulled is gone.
pub struct Stream<'t, T: Plain> {
    handle: usize,
    team: &'t Team<'t>,
    is_ended: bool,
    items: PhantomData<T>,
}

impl Team<'_> {
    /// A stream of items of type `T` between the members. Collective.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let mut stream = world.stream::<u64>(Pace::Bursty)?;
    /// stream.push(world.my_pe().next(), 5, |_, _| ())?; // there is room for the first
    /// assert!(stream.drain().map(|(_from, item)| item).eq([5])); // until all PEs have ended it
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a PE has no memory left for it, or if the team is that of a group. The same on all members.
    #[track_caller]
    pub fn stream<T: Plain>(&self, pace: Pace) -> Result<Stream<'_, T>, TeamError> {
        const {
            assert!(
                size_of::<T>() > 0 && size_of::<T>() <= stream::LONGEST,
                "an item of a stream has 1 to 32768 bytes"
            );
            assert!(align_of::<T>() <= 8, "items of a stream are aligned to 8 bytes at most");
        }
        self.of_one_job()?;
        let options = match pace {
            Pace::Bursty => 0,
            Pace::Steady => stream::STEADY,
        };
        let details = [(What::Type, size_of::<T>() as u64), (What::Pace, options as u64)];
        self.step(Step::Stream, &details);
        let (size, mut handle) = (size_of::<T>(), 0);
        // SAFETY: the result is a variable.
        let failed = unsafe { stream::create("Team::stream", self.handle(), size, options, &raw mut handle) };
        if failed != 0 {
            return Err(TeamError::Stream);
        }
        Ok(Stream { handle, team: self, is_ended: false, items: PhantomData })
    }
}

impl<'t, T: Plain> Stream<'t, T> {
    /// The team.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let stream = world.stream::<u64>(Pace::Steady)?;
    /// assert_eq!(stream.team().n_members(), world.n_members());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn team(&self) -> &'t Team<'t> {
        self.team
    }

    /// Pushes an item. While there is no room for it, `arrived` gets what has arrived.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let (mut stream, mut sum) = (world.stream::<u64>(Pace::Bursty)?, 0);
    /// for i in 1..=1000 {
    ///     stream.push(world.my_pe().next(), i, |_from, i| sum += i)?;
    /// }
    /// sum += stream.drain().map(|(_from, i)| i).sum::<u64>();
    /// assert_eq!(sum, 500_500);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `to` is a member of another team, or a PE that is not in this one.
    ///
    /// # Panics
    /// If this PE has ended the stream.
    #[inline]
    pub fn push(&mut self, to: impl AsMember, item: T, mut arrived: impl FnMut(Member, T)) -> Result<(), TeamError> {
        let to = self.team.number_of(to)?;
        while self.push_to(to, slice::from_ref(&item)) == 0 {
            self.arrivals().for_each(|(from, item)| arrived(from, item));
        }
        Ok(())
    }

    /// Pushes an item if there is room for it; whether there was. If not, pull what is there before the next try.
    ///
    /// As in the example of [`pull`](Self::pull).
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    ///
    /// # Panics
    /// As for [`push`](Self::push).
    #[inline]
    pub fn try_push(&mut self, to: impl AsMember, item: T) -> Result<bool, TeamError> {
        Ok(self.try_push_slice(to, slice::from_ref(&item))? == 1)
    }

    /// Pushes the first items of a slice, as many as there is room for; how many.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let mut stream = world.stream::<u64>(Pace::Bursty)?;
    /// let (numbers, mut sum) = ([1; 1000], 0);
    /// let mut rest = &numbers[..];
    /// while !rest.is_empty() {
    ///     let n = stream.try_push_slice(world.my_pe().next(), rest)?;
    ///     rest = &rest[n..];
    ///     sum += stream.arrivals().map(|(_from, number)| number).sum::<u64>(); // so that others find room
    /// }
    /// sum += stream.drain().map(|(_from, number)| number).sum::<u64>();
    /// assert_eq!(sum, 1000);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    ///
    /// # Panics
    /// As for [`push`](Self::push).
    #[inline]
    pub fn try_push_slice(&mut self, to: impl AsMember, items: &[T]) -> Result<usize, TeamError> {
        let to = self.team.number_of(to)?;
        Ok(self.push_to(to, items))
    }

    #[inline]
    fn push_to(&mut self, to: usize, items: &[T]) -> usize {
        assert!(!self.is_ended, "this PE has ended the stream: push before, or reset it");
        record::note(Operation::Send);
        let (first, to) = (items.as_ptr().cast(), to as i32);
        // SAFETY: a slice is readable.
        unsafe { stream::push_many("Stream::push", self.handle, first, items.len(), to) }
    }

    /// Pulls an item and its source, if one is there.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let mut stream = world.stream::<u32>(Pace::Steady)?;
    /// assert!(stream.try_push(world.my_pe().next(), 7)?);
    /// stream.wait(); // until one can be pulled
    /// let (from, item) = stream.pull().expect("one can be pulled");
    /// assert_eq!((world.pe_of(from)?, item), (world.my_pe().previous(), 7));
    /// assert!(stream.pull().is_none());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    pub fn pull(&mut self) -> Option<(Member, T)> {
        let (mut item, mut from) = (T::zeroed(), 0);
        let place = (&raw mut item).cast();
        // SAFETY: plain data may be overwritten by any bytes; the source is a variable.
        let is_there = unsafe { stream::pull("Stream::pull", self.handle, place, &raw mut from) };
        record::note(Operation::Receive);
        (is_there != 0).then(|| (self.team.numbered(from as usize), item))
    }

    /// Pulls all items at hand of one PE, where they are: a longest row, so that few calls pull many.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let mut stream = world.stream::<u64>(Pace::Steady)?;
    /// assert!(stream.try_push(world.my_pe().next(), 5)?);
    /// stream.end(); // I push no more
    /// let mut sum = 0;
    /// while stream.wait() {
    ///     while let Some((_from, items)) = stream.view() {
    ///         sum += items.iter().sum::<u64>();
    ///     }
    /// }
    /// assert_eq!(sum, 5);
    /// stream.reset(); // to push again
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    pub fn view(&mut self) -> Option<(Member, &[T])> {
        let (mut first, mut from): (*const c_void, i32) = (ptr::null(), 0);
        // SAFETY: both are variables.
        let n = unsafe { stream::view("Stream::view", self.handle, &raw mut first, &raw mut from) };
        record::note(Operation::Receive);
        if n == 0 {
            return None;
        }
        // SAFETY: so many items stay there until the next call that pulls, which borrows the stream; they are aligned
        // as their type, for which 8 bytes suffice.
        let items = unsafe { slice::from_raw_parts(first.cast(), n) };
        Some((self.team.numbered(from as usize), items))
    }

    /// The items that are there, with their sources.
    ///
    /// As in the example of [`try_push_slice`](Self::try_push_slice).
    pub fn arrivals(&mut self) -> impl Iterator<Item = (Member, T)> + '_ {
        iter::from_fn(|| self.pull())
    }

    /// Ends the stream for this PE, if it has not, and yields what arrives until no more will: it waits for all other
    /// PEs to end it.
    ///
    /// As in the example of [`push`](Self::push).
    pub fn drain(&mut self) -> impl Iterator<Item = (Member, T)> + '_ {
        if !self.is_ended {
            self.end();
        }
        iter::from_fn(|| {
            loop {
                match self.pull() {
                    Some(arrival) => return Some(arrival),
                    None if self.wait() => {}
                    None => return None,
                }
            }
        })
    }

    /// Sends all that was pushed.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let mut stream = world.stream::<u32>(Pace::Bursty)?;
    /// stream.push(world.my_pe().next(), 7, |_, _| ())?; // may wait for others to go with it
    /// stream.flush();
    /// assert!(stream.wait());
    /// assert!(stream.arrivals().map(|(_from, item)| item).eq([7]));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn flush(&mut self) {
        stream::flush("Stream::flush", self.handle);
    }

    /// Says that this PE pushes no more.
    ///
    /// As in the example of [`view`](Self::view).
    ///
    /// # Panics
    /// If it has said so.
    pub fn end(&mut self) {
        assert!(!self.is_ended, "this PE has ended the stream: end it once");
        self.is_ended = true;
        stream::end("Stream::end", self.handle);
    }

    /// Waits until an item can be pulled; false: all PEs have ended the stream, and none will come.
    ///
    /// As in the example of [`pull`](Self::pull).
    pub fn wait(&mut self) -> bool {
        stream::wait("Stream::wait", self.handle) != 0
    }

    /// Whether all PEs have ended the stream, and this one has pulled all that was pushed to it.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let mut stream = world.stream::<u32>(Pace::Bursty)?;
    /// stream.end();
    /// while !stream.is_done() {
    ///     stream.arrivals().for_each(drop);
    /// }
    /// assert!(!stream.wait()); // nothing will come
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn is_done(&mut self) -> bool {
        stream::done("Stream::is_done", self.handle) != 0
    }

    /// Lets all PEs use the stream again; what was not pulled is gone. Collective.
    ///
    /// ```
    /// # use ferroshmem::Pace;
    /// # let world = ferroshmem::World::init()?;
    /// let mut stream = world.stream::<u32>(Pace::Bursty)?;
    /// for round in 0..3 {
    ///     stream.push(world.my_pe().next(), round, |_, _| ())?;
    ///     assert!(stream.drain().all(|(_from, item)| item == round));
    ///     stream.reset(); // all PEs have drained it
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn reset(&mut self) {
        self.team.step(Step::ResetStream, &[]);
        stream::reset("Stream::reset", self.handle);
        self.is_ended = false;
    }
}

impl<T: Plain> Drop for Stream<'_, T> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.team.step(Step::EndStream, &[]);
            if !step::has_diverged() {
                stream::destroy("drop of a Stream", self.handle);
            }
        }
    }
}

impl<T: Plain> fmt::Debug for Stream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("team", &self.team)
            .field("item", &size_of::<T>())
            .field("is_ended", &self.is_ended)
            .finish()
    }
}
