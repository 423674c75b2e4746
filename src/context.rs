//! Contexts (standard, "Communication Management Routines").
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::slice;

use ferroshmem_api::constants::{CTX_NOSTORE, CTX_SESSION_BATCH};
use ferroshmem_api::record::Kind;
use ferroshmem_api::{amo, context, team};

use crate::amo::{Amo, AmoInt};
use crate::error::{Error, TeamError};
use crate::memory::{Atomics, Places, Route, Window};
use crate::memory::{SignalUpdate, Signals};
use crate::order;
use crate::plain::Plain;
use crate::team::{AsMember, Team, TeamId};

/// A communication context: operations on the members of a team that are ordered and completed
/// apart from those of other contexts. Made by [`Team::context`](crate::Team::context), also of the world.
///
/// Its methods are those of the arrays, which they get before the target: a member of the team, or a PE that is in
/// it. Any thread may use it, and a thread that has its own completes its own operations alone:
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let (next, window) = (world.my_pe().next(), world.alloc::<u32>(2)?.open());
/// let contexts = [world.context()?, world.context()?];
/// std::thread::scope(|scope| {
///     for (i, context) in contexts.iter().enumerate() {
///         let window = &window;
///         scope.spawn(move || {
///             context.p(window, next, i, 7).expect("the element exists");
///             context.quiet();
///         });
///     }
/// });
/// assert_eq!(window.close()[..], [7, 7]);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// Targets may be members of a team:
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let team = world.split(Some(0), 0)?.expect("every PE has a color");
/// let (context, counts) = (team.context()?, world.atomics::<u64>(1)?);
/// let last = team.members().last().expect("I am one");
/// context.add(&counts, last, 0, 1)?;
/// context.quiet_members(&[last])?; // its updates are complete, others may be under way
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct Context<'t> {
    pub(crate) handle: usize,
    team: TeamId,
    borrowed: PhantomData<&'t ()>,
}

/// Options of a [`Context`]. The standard's `SHMEM_CTX_PRIVATE` and `SHMEM_CTX_SERIALIZED`, which promise that threads
/// do not use it at once, gain nothing in this library.
///
/// ```
/// # use ferroshmem::ContextOptions;
/// # let world = ferroshmem::World::init()?;
/// let context = world.context_with(ContextOptions::new().no_store())?;
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ContextOptions {
    no_store: bool,
}

impl ContextOptions {
    /// None.
    ///
    /// As in the example of [`no_store`](Self::no_store).
    pub fn new() -> Self {
        Self::default()
    }

    /// The context's quiet does not complete this PE's own stores. (Standard: `SHMEM_CTX_NOSTORE`)
    ///
    /// ```
    /// # use ferroshmem::ContextOptions;
    /// # let world = ferroshmem::World::init()?;
    /// let context = world.context_with(ContextOptions::new().no_store())?; // for gets
    /// let window = world.alloc::<u32>(1)?.open();
    /// assert_eq!(context.g(&window, world.my_pe().next(), 0)?, 0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[must_use]
    pub fn no_store(mut self) -> Self {
        self.no_store = true;
        self
    }
}

/// While it lives, a [`Context`]'s short puts to other nodes go together: made by [`Context::session`].
#[derive(Debug)]
pub struct Session<'c> {
    handle: usize,
    context: PhantomData<&'c ()>,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        context::session_stop("drop of a Session", self.handle);
    }
}

impl Team<'_> {
    /// A context, whose operations are ordered and completed apart from those of others.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, window) = (world.context()?, world.alloc::<u32>(1)?.open());
    /// context.p(&window, world.my_pe().next(), 0, 7)?;
    /// context.quiet(); // waits for what this context has put, and for nothing else
    /// assert_eq!(window.close()[0], 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are too many.
    pub fn context(&self) -> Result<Context<'_>, TeamError> {
        self.context_with(ContextOptions::new())
    }

    /// A context with options. (Standard: `shmem_team_create_ctx`)
    ///
    /// As in the example of [`ContextOptions::no_store`].
    ///
    /// # Errors
    /// If there are too many.
    pub fn context_with(&self, options: ContextOptions) -> Result<Context<'_>, TeamError> {
        Context::new(self.id(), options)
    }
}

impl Context<'_> {
    pub(crate) fn new(team: TeamId, options: ContextOptions) -> Result<Self, TeamError> {
        let mut handle = 0;
        let options = if options.no_store { CTX_NOSTORE } else { 0 };
        // SAFETY: the result is a variable.
        let failed = unsafe { team::create_ctx("Team::context", team.handle, options, &raw mut handle) };
        if failed != 0 {
            return Err(TeamError::NoContext);
        }
        Ok(Self { handle, team, borrowed: PhantomData })
    }

    /// The way to a member of the team.
    pub(crate) fn route(&self, to: impl AsMember) -> Result<Route, TeamError> {
        let (pe, number) = to.both_in(self.team)?;
        Ok(Route { pe, context: self.handle, number })
    }

    /// As [`Window::put`].
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, next) = (world.context()?, world.my_pe().next());
    /// let (window, mut last) = (world.alloc::<u32>(8)?.open(), [0; 2]);
    /// context.put(&window, next, 4, &[7; 4])?; // elements 4 to 7
    /// context.quiet(); // they are there
    /// context.get(&window, next, 6, &mut last)?;
    /// assert_eq!(last, [7; 2]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// For this and the methods below: if the part does not have those elements, or the target is not in the context's
    /// team.
    #[track_caller]
    pub fn put<T: Plain>(
        &self,
        window: &Window<'_, T>,
        to: impl AsMember,
        start: usize,
        source: &[T],
    ) -> Result<(), Error> {
        Ok(window.put_on("Context::put", self.route(to)?, start, source)?)
    }

    /// As [`Window::get`].
    ///
    /// As in the example of [`put`](Self::put).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn get<T: Plain>(
        &self,
        window: &Window<'_, T>,
        from: impl AsMember,
        start: usize,
        dest: &mut [T],
    ) -> Result<(), Error> {
        Ok(window.get_on("Context::get", self.route(from)?, start, dest)?)
    }

    /// As [`Window::p`].
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, next) = (world.context()?, world.my_pe().next());
    /// let window = world.alloc::<u32>(8)?.open();
    /// context.p(&window, next, 3, 7)?;
    /// context.quiet();
    /// assert_eq!(context.g(&window, next, 3)?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn p<T: Plain>(&self, window: &Window<'_, T>, to: impl AsMember, index: usize, value: T) -> Result<(), Error> {
        let source = slice::from_ref(&value);
        Ok(window.put_on("Context::p", self.route(to)?, index, source)?)
    }

    /// As [`Window::g`].
    ///
    /// As in the example of [`p`](Self::p).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn g<T: Plain>(&self, window: &Window<'_, T>, from: impl AsMember, index: usize) -> Result<T, Error> {
        let mut value = T::zeroed();
        let dest = slice::from_mut(&mut value);
        window.get_on("Context::g", self.route(from)?, index, dest)?;
        Ok(value)
    }

    /// As [`Window::put_blocks`], and with `block` 1 as [`Window::put_strided`]: `start` and `stride` are those of the
    /// part.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, next) = (world.context()?, world.my_pe().next());
    /// let (matrix, mut column) = (world.alloc::<f64>(4 * 4)?.open(), [0.0; 4]);
    /// context.put_blocks(&matrix, next, (1, 4), &[1.0; 4], 1, 1)?; // column 1
    /// context.quiet();
    /// context.get_blocks(&matrix, next, (1, 4), &mut column, 1, 1)?;
    /// assert_eq!(column, [1.0; 4]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put), and if a stride is less than a block.
    #[track_caller]
    pub fn put_blocks<T: Plain>(
        &self,
        window: &Window<'_, T>,
        to: impl AsMember,
        (start, stride): (usize, usize),
        source: &[T],
        source_stride: usize,
        block: usize,
    ) -> Result<(), Error> {
        let places = Places { start, stride, local_stride: source_stride, block };
        Ok(window.put_places("Context::put_blocks", self.route(to)?, places, source)?)
    }

    /// As [`Window::get_blocks`], and with `block` 1 as [`Window::get_strided`].
    ///
    /// As in the example of [`put_blocks`](Self::put_blocks).
    ///
    /// # Errors
    /// As for [`put_blocks`](Self::put_blocks).
    #[track_caller]
    pub fn get_blocks<T: Plain>(
        &self,
        window: &Window<'_, T>,
        from: impl AsMember,
        (start, stride): (usize, usize),
        dest: &mut [T],
        dest_stride: usize,
        block: usize,
    ) -> Result<(), Error> {
        let places = Places { start, stride, local_stride: dest_stride, block };
        Ok(window.get_places("Context::get_blocks", self.route(from)?, places, dest)?)
    }

    /// As [`Window::put_signal`], with the signal given by its array and index.
    ///
    /// ```
    /// # use ferroshmem::{Compare, SignalUpdate};
    /// # let world = ferroshmem::World::init()?;
    /// let (context, next) = (world.context()?, world.my_pe().next());
    /// let (window, arrived) = (world.alloc::<f64>(8)?.open(), world.signals(1)?);
    /// context.put_signal(&window, next, 0, &[1.0; 8], (&arrived, 0), SignalUpdate::Set(1))?;
    /// arrived.wait_until(0, Compare::Eq(1))?; // by the previous PE
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put), and if there is no such signal.
    #[track_caller]
    pub fn put_signal<T: Plain>(
        &self,
        window: &Window<'_, T>,
        to: impl AsMember,
        start: usize,
        source: &[T],
        signal: (&Signals<'_>, usize),
        update: SignalUpdate,
    ) -> Result<(), Error> {
        signal.0.check(signal.1)?;
        self.put(window, to, start, source)?;
        self.update(signal.0, to, signal.1, update)
    }

    /// As [`Signals::update`].
    ///
    /// ```
    /// # use ferroshmem::{Compare, SignalUpdate};
    /// # let world = ferroshmem::World::init()?;
    /// let (context, done) = (world.context()?, world.signals(1)?);
    /// for pe in world.pes() {
    ///     context.update(&done, pe, 0, SignalUpdate::Add(1))?; // after what this context has put to it
    /// }
    /// done.wait_until(0, Compare::Eq(world.n_pes() as u64))?; // all have updated mine
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index is not that of a signal, or the target not in the context's team.
    #[track_caller]
    pub fn update(
        &self,
        signals: &Signals<'_>,
        to: impl AsMember,
        index: usize,
        update: SignalUpdate,
    ) -> Result<(), Error> {
        let (route, signal) = (self.route(to)?, signals.words().own(index)?);
        // SAFETY: a word of a symmetric array, used by atomics only.
        unsafe { update.apply_on("Context::update", self.handle, signal, route.number) };
        Ok(())
    }

    /// Until what it returns is dropped, short puts to other nodes go together, which takes less time where there are
    /// many and more until each arrives. (Standard: `shmem_ctx_session_start` with `SHMEM_CTX_SESSION_BATCH`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, window) = (world.context()?, world.alloc::<u64>(1000)?.open());
    /// let session = context.session();
    /// for i in 0..1000 {
    ///     context.p(&window, world.my_pe().next(), i, 7)?;
    /// }
    /// drop(session);
    /// context.quiet();
    /// assert_eq!(window.close()[..], [7; 1000]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn session(&self) -> Session<'_> {
        let name = "Context::session";
        context::session_start(name, self.handle, CTX_SESSION_BATCH, std::ptr::null(), 0);
        Session { handle: self.handle, context: PhantomData }
    }

    /// Orders this context's puts to each PE before its later ones.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, next) = (world.context()?, world.my_pe().next());
    /// let window = world.alloc::<u32>(1)?.open();
    /// context.p(&window, next, 0, 1)?;
    /// context.fence(); // the 2 comes after the 1
    /// context.p(&window, next, 0, 2)?;
    /// assert_eq!(window.close()[0], 2);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn fence(&self) {
        let _record = order::record("Context::fence", Kind::Fence, self.handle);
        context::fence("Context::fence", self.handle);
    }

    /// Completes this context's puts.
    ///
    /// As in the example of [`put`](Self::put).
    #[track_caller]
    pub fn quiet(&self) {
        let _record = order::record("Context::quiet", Kind::Quiet, self.handle);
        context::quiet("Context::quiet", self.handle);
    }

    /// As [`quiet`](Self::quiet), for those to some members. (Standard: `shmem_ctx_pe_quiet`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, window) = (world.context()?, world.alloc::<usize>(world.n_pes())?.open());
    /// let (me, first) = (world.my_pe().number(), world.pe(0)?);
    /// for pe in world.pes() {
    ///     context.p(&window, pe, me, 7)?;
    /// }
    /// context.quiet_members(&[first])?; // puts to others may be under way
    /// assert_eq!(context.g(&window, first, me)?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If one of them is not in the context's team.
    #[track_caller]
    pub fn quiet_members(&self, members: &[impl AsMember]) -> Result<(), TeamError> {
        let _record = order::record("Context::quiet_members", Kind::Quiet, self.handle);
        let mut numbers = Vec::with_capacity(members.len());
        for member in members {
            numbers.push(member.number_in(self.team)? as i32);
        }
        let (start, n) = (numbers.as_ptr(), numbers.len());
        // SAFETY: a vector of `n` numbers.
        unsafe { context::pe_quiet("Context::quiet_members", self.handle, start, n) };
        Ok(())
    }
}

/// The atomic operations: how each is done on this node, where updates without a result are those with one. In its
/// example, a call is between two literals and has those values; the element is 0 before it, and `$after` after it.
macro_rules! atomics {
    ($($open:literal $close:literal $result:ty {
        $($bound:ident: $name:ident($($value:ident),*) = $local:expr; $values:literal, $after:literal),* $(,)?
    })*) => {
        impl Context<'_> {$($(
            #[doc = concat!("As [`Atomics::", stringify!($name), "`].")]
            ///
            /// ```
            /// # let world = ferroshmem::World::init()?;
            /// let (context, next) = (world.context()?, world.my_pe().next());
            /// let array = world.atomics::<u64>(1)?; // 0
            #[doc = concat!($open, "context.", stringify!($name), "(&array, next, 0", $values, $close)]
            /// context.quiet();
            #[doc = concat!("assert_eq!(array.fetch(next, 0)?, ", $after, ");")]
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for [`put`](Self::put).
            #[track_caller]
            pub fn $name<T: $bound>(
                &self,
                array: &Atomics<'_, T>,
                to: impl AsMember,
                index: usize,
                $($value: T,)*
            ) -> Result<$result, Error> {
                let route = self.route(to)?;
                let (context, pe) = (self.handle, route.number as i32);
                let name = concat!("Context::", stringify!($name));
                Ok(array.on(
                    name,
                    route.pe,
                    index,
                    // SAFETY: an element within the PE's part, aligned, which only atomic operations use.
                    |at| unsafe { $local(at, $($value),*) },
                    // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
                    |at, _| unsafe { amo::$name(name, context, at, $($value,)* pe) },
                )?)
            }
        )*)*}
    };
}

atomics!(
    "assert_eq!(" ")?, 0);" T {
        Amo: fetch() = T::fetch; "", 0,
        Amo: swap(value) = T::swap; ", 7", 7,
        AmoInt: compare_swap(current, value) = T::compare_swap; ", 0, 7", 7,
        AmoInt: fetch_add(value) = T::fetch_add; ", 7", 7,
        AmoInt: fetch_and(value) = T::fetch_and; ", 7", 0,
        AmoInt: fetch_or(value) = T::fetch_or; ", 7", 7,
        AmoInt: fetch_xor(value) = T::fetch_xor; ", 7", 7,
    }
    "" ")?;" () {
        Amo: set(value) = T::set; ", 7", 7,
        AmoInt: add(value) = |at, value| { T::fetch_add(at, value); }; ", 7", 7,
        AmoInt: and(value) = |at, value| { T::fetch_and(at, value); }; ", 7", 0,
        AmoInt: or(value) = |at, value| { T::fetch_or(at, value); }; ", 7", 7,
        AmoInt: xor(value) = |at, value| { T::fetch_xor(at, value); }; ", 7", 7,
    }
);

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let _record = order::record("drop of a Context", Kind::Quiet, self.handle);
        context::quiet("drop of a Context", self.handle);
        context::destroy("drop of a Context", self.handle);
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("team", &self.team).finish_non_exhaustive()
    }
}
