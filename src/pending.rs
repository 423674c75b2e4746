//! Non-blocking puts, gets and fetches.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use ferroshmem_api::amo;
use ferroshmem_api::constants::CTX_DEFAULT;
use ferroshmem_api::record;

use crate::amo::{Amo, AmoInt};
use crate::context::Context;
use crate::error::{Error, OutOfBounds};
use crate::memory::{Atomics, Route, Window};
use crate::memory::{SignalUpdate, Signals};
use crate::order;
use crate::pe::Pe;
use crate::plain::Plain;
use crate::team::AsMember;

/// Puts and gets under way, whose buffers are in use until the operations are complete: what
/// [`Window::nonblocking`] passes to its closure.
///
/// A buffer that does not live long enough is refused:
///
/// ```compile_fail,E0597
/// # let world = ferroshmem::World::init().unwrap();
/// let window = world.alloc::<f64>(100).unwrap().open();
/// window.nonblocking(|pending| {
///     let data = [1.0; 50];
///     pending.put(world.my_pe().next(), 0, &data).unwrap();
/// }); // completed here, after `data` is gone
/// ```
#[derive(Debug)]
pub struct Pending<'scope, 'env: 'scope, T: Plain> {
    window: &'env Window<'env, T>,
    /// Makes `'scope` invariant, so that no coercion shortens it.
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'env, T: Plain> Pending<'_, 'env, T> {
    pub(crate) fn new(window: &'env Window<'_, T>) -> Self {
        Self { window, scope: PhantomData }
    }

    /// Begins to copy `source` to the elements from `start` on of a PE's part. (Standard:
    /// `shmem_put_nbi`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (window, data) = (world.alloc::<u32>(8)?.open(), [7; 8]);
    /// window.nonblocking(|pending| pending.put(world.my_pe().next(), 0, &data))?; // now complete
    /// assert_eq!(window.close()[..], data);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    #[track_caller]
    pub fn put(&self, pe: Pe, start: usize, source: &'env [T]) -> Result<(), OutOfBounds> {
        // SAFETY: `source` is borrowed for longer than the closure runs, and `Completion` completes the
        // put when the closure ends.
        unsafe { self.window.begin_put(Route::to(pe), start, source) }
    }

    /// Begins to copy the elements from `start` on of a PE's part to `dest`. (Standard:
    /// `shmem_get_nbi`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (window, mut edge) = (world.alloc::<u32>(8)?.open(), [1; 2]);
    /// window.nonblocking(|pending| pending.get(world.my_pe().next(), 6, &mut edge))?;
    /// assert_eq!(edge, [0; 2]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    #[track_caller]
    pub fn get(&self, pe: Pe, start: usize, dest: &'env mut [T]) -> Result<(), OutOfBounds> {
        // SAFETY: `dest` is borrowed mutably for longer than the closure runs, and `Completion`
        // completes the get when the closure ends.
        unsafe { self.window.begin_get(Route::to(pe), start, dest) }
    }

    /// Begins a put, and the update of a signal of the same PE after it. (Standard: `shmem_put_signal_nbi`)
    ///
    /// ```
    /// # use ferroshmem::{Compare, SignalUpdate};
    /// # let world = ferroshmem::World::init()?;
    /// let (window, arrived) = (world.alloc::<u32>(50)?.open(), world.signals(1)?);
    /// let (next, row) = (world.my_pe().next(), [7; 50]);
    /// window.nonblocking(|pending| {
    ///     pending.put_signal(next, 0, &row, &arrived, 0, SignalUpdate::Set(1))?;
    ///     arrived.wait_until(0, Compare::Eq(1)) // from the previous PE
    /// })?;
    /// assert_eq!(window.close()[..], [7; 50]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements, or there is no such signal.
    #[track_caller]
    pub fn put_signal(
        &self,
        pe: Pe,
        start: usize,
        source: &'env [T],
        signals: &Signals<'_>,
        signal: usize,
        update: SignalUpdate,
    ) -> Result<(), OutOfBounds> {
        let (window, route) = (self.window, Route::to(pe));
        // SAFETY: as in `put`.
        unsafe { window.begin_put_signal(route, start, source, (signals, signal), update) }
    }
}

impl<T: Plain> Window<'_, T> {
    /// Runs `body`, which may begin puts and gets, and completes them. Their buffers are in use until
    /// then.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.alloc::<f64>(100)?.open();
    /// let (data, mut edge) = ([1.0; 50], [0.0; 2]);
    /// window.nonblocking(|pending| {
    ///     pending.put(world.my_pe().next(), 0, &data)?;
    ///     pending.get(world.my_pe().previous(), 98, &mut edge)
    ///     // compute something that uses neither
    /// })?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// A buffer can be neither changed nor dropped before:
    ///
    /// ```compile_fail,E0506
    /// # let world = ferroshmem::World::init().unwrap();
    /// let window = world.alloc::<f64>(100).unwrap().open();
    /// let mut data = [1.0; 50];
    /// window.nonblocking(|pending| {
    ///     pending.put(world.my_pe().next(), 0, &data).unwrap();
    ///     data[0] = 2.0;
    /// });
    /// ```
    pub fn nonblocking<'env, R>(&'env self, body: impl for<'scope> FnOnce(&'scope Pending<'scope, 'env, T>) -> R) -> R {
        let _completion = Completion { name: "Window::nonblocking", context: CTX_DEFAULT };
        body(&Pending::new(self))
    }
}

/// Fetches under way, whose results are there when they are complete: what [`Atomics::nonblocking`] passes to its
/// closure.
#[derive(Debug)]
pub struct Fetches<'scope, 'env: 'scope, T: Amo> {
    array: &'env Atomics<'env, T>,
    /// Makes `'scope` invariant, so that no coercion shortens it.
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'env, T: Amo> Fetches<'_, 'env, T> {
    pub(crate) fn new(array: &'env Atomics<'_, T>) -> Self {
        Self { array, scope: PhantomData }
    }
}

impl<T: Amo> Atomics<'_, T> {
    /// Runs `body`, which may begin fetches, and completes them. The variables that they write are in use until then.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let counters = world.atomics::<u64>(1)?;
    /// let mut seen = vec![0; world.n_pes()];
    /// counters.nonblocking(|pending| {
    ///     for (pe, seen) in world.pes().zip(&mut seen) {
    ///         pending.fetch_add(pe, 0, 1, seen)?;
    ///     }
    ///     Ok::<(), ferroshmem::OutOfBounds>(())
    /// })?;
    /// assert!(seen.iter().all(|before| *before < world.n_pes() as u64));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// They cannot be read before:
    ///
    /// ```compile_fail,E0502
    /// # let world = ferroshmem::World::init().unwrap();
    /// let counters = world.atomics::<u64>(1).unwrap();
    /// let mut seen = 0;
    /// counters.nonblocking(|pending| {
    ///     pending.fetch(world.my_pe(), 0, &mut seen).unwrap();
    ///     println!("{seen}");
    /// });
    /// ```
    pub fn nonblocking<'env, R>(&'env self, body: impl for<'scope> FnOnce(&'scope Fetches<'scope, 'env, T>) -> R) -> R {
        let _completion = Completion { name: "Atomics::nonblocking", context: CTX_DEFAULT };
        body(&Fetches::new(self))
    }
}

/// Puts, gets and fetches of a [`Context`] under way: what [`Context::nonblocking`] passes to its closure.
#[derive(Debug)]
pub struct Transfers<'scope, 'env: 'scope> {
    context: &'env Context<'env>,
    /// Makes `'scope` invariant, so that no coercion shortens it.
    scope: PhantomData<&'scope mut &'scope ()>,
}

impl<'env> Transfers<'_, 'env> {
    pub(crate) fn new(context: &'env Context<'_>) -> Self {
        Self { context, scope: PhantomData }
    }

    /// As [`Pending::put`].
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, next) = (world.context()?, world.my_pe().next());
    /// let (window, data, mut edge) = (world.alloc::<u32>(8)?.open(), [7; 4], [1; 2]);
    /// context.nonblocking(|pending| {
    ///     pending.put(&window, next, 0, &data)?;
    ///     pending.get(&window, next, 6, &mut edge)
    /// })?;
    /// assert_eq!((edge, &window.close()[..4]), ([0; 2], &data[..]));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// For this and the methods below: if the part does not have those elements, or `to` is not in the context's team.
    #[track_caller]
    pub fn put<T: Plain>(
        &self,
        window: &'env Window<'_, T>,
        to: impl AsMember,
        start: usize,
        source: &'env [T],
    ) -> Result<(), Error> {
        let route = self.context.route(to)?;
        // SAFETY: `source` is borrowed for longer than the closure runs, and `Completion` completes the
        // put when the closure ends.
        Ok(unsafe { window.begin_put(route, start, source) }?)
    }

    /// As [`Pending::get`].
    ///
    /// As in the example of [`put`](Self::put).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn get<T: Plain>(
        &self,
        window: &'env Window<'_, T>,
        from: impl AsMember,
        start: usize,
        dest: &'env mut [T],
    ) -> Result<(), Error> {
        let route = self.context.route(from)?;
        // SAFETY: `dest` is borrowed mutably for longer than the closure runs, and `Completion`
        // completes the get when the closure ends.
        Ok(unsafe { window.begin_get(route, start, dest) }?)
    }

    /// As [`Pending::put_signal`], with the signal given by its array and index.
    ///
    /// As in the example of [`Pending::put_signal`].
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn put_signal<T: Plain>(
        &self,
        window: &'env Window<'_, T>,
        to: impl AsMember,
        start: usize,
        source: &'env [T],
        signal: (&Signals<'_>, usize),
        update: SignalUpdate,
    ) -> Result<(), Error> {
        let route = self.context.route(to)?;
        // SAFETY: as in `put`.
        Ok(unsafe { window.begin_put_signal(route, start, source, signal, update) }?)
    }
}

impl Context<'_> {
    /// Runs `body`, which may begin puts, gets and fetches on this context, and completes them. Their buffers are in
    /// use until then.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (context, next) = (world.context()?, world.my_pe().next());
    /// let (window, counter) = (world.alloc::<f64>(100)?.open(), world.atomics::<u64>(1)?);
    /// let (data, mut ticket) = ([1.0; 100], 0);
    /// context.nonblocking(|pending| {
    ///     pending.put(&window, next, 0, &data)?;
    ///     pending.fetch_add(&counter, next, 0, 1, &mut ticket)
    /// })?;
    /// assert_eq!(ticket, 0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// A buffer can be neither changed nor dropped before:
    ///
    /// ```compile_fail,E0506
    /// # let world = ferroshmem::World::init().unwrap();
    /// let (context, next) = (world.context().unwrap(), world.my_pe().next());
    /// let window = world.alloc::<f64>(100).unwrap().open();
    /// let mut data = [1.0; 50];
    /// context.nonblocking(|pending| {
    ///     pending.put(&window, next, 0, &data).unwrap();
    ///     data[0] = 2.0;
    /// });
    /// ```
    pub fn nonblocking<'env, R>(&'env self, body: impl for<'scope> FnOnce(&'scope Transfers<'scope, 'env>) -> R) -> R {
        let _completion = Completion { name: "Context::nonblocking", context: self.handle };
        body(&Transfers::new(self))
    }
}

macro_rules! fetches {
    ($bound:ident: $($name:ident($($value:ident),*): $c:literal, $values:literal;)*) => {
        impl<'env, T: $bound> Fetches<'_, 'env, T> {$(
            #[doc = concat!("Begins what [`Atomics::", stringify!($name), "`] does; its result is at `result` later. \
                (Standard: `", $c, "`)")]
            ///
            /// ```
            /// # let world = ferroshmem::World::init()?;
            /// let (next, array) = (world.my_pe().next(), world.atomics::<u64>(1)?); // 0
            /// let mut old = 1;
            #[doc = concat!("array.nonblocking(|pending| pending.", stringify!($name), "(next, 0, ", $values,
                "&mut old))?;")]
            /// assert_eq!(old, 0);
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// If the part does not have that element.
            #[inline]
            #[track_caller]
            pub fn $name(&self, pe: Pe, index: usize, $($value: T,)* result: &'env mut T) -> Result<(), OutOfBounds> {
                // SAFETY: `result` is borrowed mutably for longer than the closure runs, and `Completion`
                // completes the fetch when the closure ends.
                unsafe { begin::$name(self.array, Route::to(pe), index, $($value,)* result) }
            }
        )*}

        impl<'env> Transfers<'_, 'env> {$(
            #[doc = concat!("As in the example of [`Fetches::", stringify!($name), "`].")]
            ///
            /// # Errors
            /// As for [`put`](Self::put).
            #[track_caller]
            pub fn $name<T: $bound>(
                &self,
                array: &'env Atomics<'_, T>,
                to: impl AsMember,
                index: usize,
                $($value: T,)*
                result: &'env mut T,
            ) -> Result<(), Error> {
                let route = self.context.route(to)?;
                // SAFETY: as in `Fetches`.
                Ok(unsafe { begin::$name(array, route, index, $($value,)* result) }?)
            }
        )*}
    };
}

fetches!(
    Amo:
    fetch(): "shmem_atomic_fetch_nbi", "";
    swap(value): "shmem_atomic_swap_nbi", "7, ";
);
fetches!(
    AmoInt:
    compare_swap(current, value): "shmem_atomic_compare_swap_nbi", "0, 7, ";
    fetch_add(value): "shmem_atomic_fetch_add_nbi", "7, ";
    fetch_and(value): "shmem_atomic_fetch_and_nbi", "7, ";
    fetch_or(value): "shmem_atomic_fetch_or_nbi", "7, ";
    fetch_xor(value): "shmem_atomic_fetch_xor_nbi", "7, ";
);

mod begin {
    //! What both kinds of fetches begin.

    use super::{Amo, AmoInt, Atomics, OutOfBounds, Route, amo};

    macro_rules! begin {
        ($($bound:ident: $name:ident($($value:ident),*) as $nbi:ident),* $(,)?) => {$(
            /// # Safety
            /// `result` lives, and is neither read nor written, until a quiet of the route's context.
            #[inline]
            #[track_caller]
            pub(super) unsafe fn $name<T: $bound>(
                array: &Atomics<'_, T>,
                route: Route,
                index: usize,
                $($value: T,)*
                result: &mut T,
            ) -> Result<(), OutOfBounds> {
                let (name, result) = (concat!("Fetches::", stringify!($name)), &raw mut *result);
                let (context, pe) = (route.context, route.number as i32);
                array.on(
                    name,
                    route.pe,
                    index,
                    // SAFETY: an element within the PE's part, aligned, which only atomic operations use; the caller
                    // promises that `result` can be written.
                    |at| unsafe { result.write(T::$name(at, $($value),*)) },
                    // SAFETY: the same element of this PE's part, so the runtime finds the PE's; the caller promises
                    // that `result` lives until a quiet.
                    |at, _| unsafe { amo::$nbi(name, context, result, at, $($value,)* pe) },
                )
            }
        )*};
    }

    begin!(
        Amo: fetch() as fetch_nbi,
        Amo: swap(value) as swap_nbi,
        AmoInt: compare_swap(current, value) as compare_swap_nbi,
        AmoInt: fetch_add(value) as fetch_add_nbi,
        AmoInt: fetch_and(value) as fetch_and_nbi,
        AmoInt: fetch_or(value) as fetch_or_nbi,
        AmoInt: fetch_xor(value) as fetch_xor_nbi,
    );
}

/// Completes all operations of a context under way when it is dropped, also if the closure panics: the buffers may
/// be gone after that.
struct Completion {
    name: &'static str,
    context: usize,
}

impl Drop for Completion {
    fn drop(&mut self) {
        record::completes(self.context);
        order::quiet(self.name, self.context);
    }
}
