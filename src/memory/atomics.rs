//! An array whose elements all PEs update atomically.
#![allow(unsafe_code)]

use std::panic::Location as Caller;

use ferroshmem_api::amo::{self, Atomic, AtomicInt};
use ferroshmem_api::constants::CTX_DEFAULT;
use ferroshmem_api::record::Kind;
use ferroshmem_api::setup::misuse;

use super::block::array;
use super::remote::{Location, out_of_line};
use super::{Block, Symmetric};
use crate::amo::{Amo, AmoInt};
use crate::error::OutOfBounds;
use crate::pe::Pe;
use crate::step::{self, Step, What};

/// A symmetric array whose elements every PE reads and updates atomically, on all PEs: made by
/// [`World::atomics`](crate::World::atomics) or [`Symmetric::into_atomics`]. (Standard, "Atomic Memory Operations")
///
/// Operations that read and write are sequentially consistent with each other, whichever PE issues
/// them, and with those of [`mine`](Self::mine). [`set`](Self::set) is a release and
/// [`fetch`](Self::fetch) an acquire: a PE that fetches the value of a set sees all that the setting PE
/// did before. Where a set must be visible to all PEs before the setting PE fetches another element, it
/// calls [`quiet`](crate::Team::quiet) between the two. Methods take `&self` and may be called by
/// several threads.
///
/// "All that the PE did before" means stores, and puts and updates to PEs of its node. Puts to other
/// nodes, and updates there that return nothing, complete later: where they must be visible together
/// with an update, [`quiet`](crate::Team::quiet) completes them first, or
/// [`fence`](crate::Team::fence) orders them if both go to the same PE.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let counter = world.atomics::<u64>(1)?;
/// let ticket = counter.fetch_add(world.pe(0)?, 0, 1)?;
/// assert!(ticket < world.n_pes() as u64);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct Atomics<'w, T: Amo> {
    block: Block<'w, T>,
}

// SAFETY: threads that share it use atomic operations only. Collective methods take it by value, and
// it cannot be sent.
unsafe impl<T: Amo> Sync for Atomics<'_, T> {}

impl<'w, T: Amo> Atomics<'w, T> {
    /// Elements of `block` are used by atomic operations only.
    pub(super) fn over(block: Block<'w, T>) -> Self {
        Self { block: block.for_atomics() }
    }

    /// Ends the updates: each PE has its own part to itself. Collective over the world, and a
    /// barrier.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let counts = world.atomics::<u32>(1)?;
    /// counts.add(world.my_pe().next(), 0, 1)?;
    /// let counts = counts.into_inner(); // all PEs have added
    /// assert_eq!(counts[0], 1); // a slice
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn into_inner(self) -> Symmetric<'w, T> {
        step::of_world(Step::IntoInner, &[(What::Array, self.block.id())]);
        Symmetric::over(self.block.for_all())
    }

    /// Operates on an element of a PE's part, by the method `name`: by `local`, given its address, or if the PE is on
    /// another node by `remote`, given the address of the same element of this PE and the PE's number.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn on<R>(
        &self,
        name: &'static str,
        pe: Pe,
        index: usize,
        local: impl FnOnce(*mut T) -> R,
        remote: impl FnOnce(*mut T, i32) -> R,
    ) -> Result<R, OutOfBounds> {
        Ok(match self.block.elements(pe, index, 1)? {
            Location::Local(element) => local(element.as_ptr()),
            Location::Remote(element) => {
                let call = (name, Caller::caller());
                out_of_line(move || {
                    let _record = element.record(call, Kind::Atomic, size_of::<T>());
                    remote(element.symmetric(), element.pe())
                })
            }
        })
    }

    /// The address of an element of mine.
    #[inline]
    pub(crate) fn own(&self, index: usize) -> Result<*mut T, OutOfBounds> {
        if index >= self.len() {
            return Err(self.block.out_of_bounds(index, 1));
        }
        // SAFETY: within the part.
        Ok(unsafe { self.block.mine().add(index) }.as_ptr())
    }

    /// Reads an element of a PE's part.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let flags = world.atomics::<u32>(1)?;
    /// flags.set(world.my_pe().next(), 0, 7)?;
    /// world.barrier();
    /// assert_eq!(flags.fetch(world.my_pe(), 0)?, 7); // from the previous PE
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// For this and the methods below: if the part does not have that element.
    #[inline]
    #[track_caller]
    pub fn fetch(&self, pe: Pe, index: usize) -> Result<T, OutOfBounds> {
        // SAFETY: an element within the PE's part, aligned, which only atomic operations use.
        let local = |at| unsafe { T::fetch(at) };
        // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
        let remote = |at: *mut T, pe| unsafe { amo::fetch("Atomics::fetch", CTX_DEFAULT, at, pe) };
        self.on("Atomics::fetch", pe, index, local, remote)
    }

    /// Writes an element of a PE's part: on another node, by the next [`quiet`](crate::Team::quiet) or
    /// barrier.
    ///
    /// As in the example of [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    #[track_caller]
    pub fn set(&self, pe: Pe, index: usize, value: T) -> Result<(), OutOfBounds> {
        // SAFETY: as in `fetch`.
        let local = |at| unsafe { T::set(at, value) };
        // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
        let remote = move |at, pe| unsafe { amo::set("Atomics::set", CTX_DEFAULT, at, value, pe) };
        self.on("Atomics::set", pe, index, local, remote)
    }

    /// Writes an element of a PE's part; returns the element's old value.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (next, token) = (world.my_pe().next(), world.atomics::<u32>(1)?);
    /// assert_eq!(token.swap(next, 0, 7)?, 0);
    /// assert_eq!(token.swap(next, 0, 8)?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    #[track_caller]
    pub fn swap(&self, pe: Pe, index: usize, value: T) -> Result<T, OutOfBounds> {
        // SAFETY: as in `fetch`.
        let local = |at| unsafe { T::swap(at, value) };
        // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
        let remote = move |at, pe| unsafe { amo::swap("Atomics::swap", CTX_DEFAULT, at, value, pe) };
        self.on("Atomics::swap", pe, index, local, remote)
    }
}

impl<T: AmoInt> Atomics<'_, T> {
    /// My own part, as the standard library's atomics.
    ///
    /// In a job on several nodes joined by a fabric whose atomics are not atomic with a CPU's
    /// (`oshmem_info --fabric` shows it) there is no such view: the call ends the job with a line that
    /// names the remedy.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// use std::sync::atomic::Ordering;
    ///
    /// let counts = world.atomics::<u32>(4)?;
    /// counts.mine()[3].fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(counts.fetch(world.my_pe(), 3)?, 1);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn mine(&self) -> &[T::Std] {
        if !self.block.is_for_cpu_atomics() {
            misuse(
                "Atomics::mine",
                "this fabric's atomics are not atomic with a CPU's: use the methods that name a PE",
            );
        }
        let start = self.block.mine().as_ptr().cast();
        // SAFETY: this PE's part, which only atomic operations use; std's atomics have the layout of
        // their integers.
        unsafe { std::slice::from_raw_parts(start, self.len()) }
    }

    /// Writes `value` to an element of a PE's part if its value is `current`; returns its old value.
    ///
    /// ```
    /// # use ferroshmem::Sum;
    /// # let world = ferroshmem::World::init()?;
    /// let owner = world.atomics::<u64>(1)?; // 0: of nobody
    /// let mine = world.my_pe().number() as u64 + 1;
    /// let is_mine = owner.compare_swap(world.pe(0)?, 0, 0, mine)? == 0; // on one PE alone
    /// assert_eq!(world.reduce_value(u32::from(is_mine), Sum), 1);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    #[track_caller]
    pub fn compare_swap(&self, pe: Pe, index: usize, current: T, value: T) -> Result<T, OutOfBounds> {
        // SAFETY: as in `fetch`.
        let local = |at| unsafe { T::compare_swap(at, current, value) };
        // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
        let remote =
            move |at, pe| unsafe { amo::compare_swap("Atomics::compare_swap", CTX_DEFAULT, at, current, value, pe) };
        self.on("Atomics::compare_swap", pe, index, local, remote)
    }
}

macro_rules! operations {
    ($($fetching:ident, $plain:ident: $does:literal, $after:literal),*) => {
        impl<T: AmoInt> Atomics<'_, T> {$(
            #[doc = concat!($does, " an element of a PE's part; returns the element's old value.")]
            ///
            /// ```
            /// # let world = ferroshmem::World::init()?;
            /// let (me, array) = (world.my_pe(), world.atomics::<u64>(1)?);
            /// array.set(me, 0, 0b1100)?;
            #[doc = concat!("assert_eq!(array.", stringify!($fetching), "(me, 0, 0b1010)?, 0b1100);")]
            #[doc = concat!("assert_eq!(array.fetch(me, 0)?, ", $after, ");")]
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            #[track_caller]
            pub fn $fetching(&self, pe: Pe, index: usize, value: T) -> Result<T, OutOfBounds> {
                // SAFETY: as in `fetch`.
                let local = |at| unsafe { T::$fetching(at, value) };
                let name = concat!("Atomics::", stringify!($fetching));
                // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
                let remote = move |at, pe| unsafe { amo::$fetching(name, CTX_DEFAULT, at, value, pe) };
                self.on(name, pe, index, local, remote)
            }

            #[doc = concat!($does, " an element of a PE's part: on another node, by the next \
                [`quiet`](crate::Team::quiet) or barrier.")]
            ///
            #[doc = concat!("As in the example of [`", stringify!($fetching), "`](Self::", stringify!($fetching), ").")]
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            #[track_caller]
            pub fn $plain(&self, pe: Pe, index: usize, value: T) -> Result<(), OutOfBounds> {
                // SAFETY: as in `fetch`.
                let local = |at| unsafe {
                    T::$fetching(at, value);
                };
                let name = concat!("Atomics::", stringify!($plain));
                // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
                let remote = move |at, pe| unsafe { amo::$plain(name, CTX_DEFAULT, at, value, pe) };
                self.on(name, pe, index, local, remote)
            }
        )*}
    };
}

operations!(
    fetch_add, add: "Adds to (wrapping)", "0b10110",
    fetch_and, and: "Ands into", "0b1000",
    fetch_or, or: "Ors into", "0b1110",
    fetch_xor, xor: "Exclusive-ors into", "0b0110"
);

/// Additions to floating-point numbers, which no processor has: the number is exchanged for the sum until no other PE
/// has written it in between.
macro_rules! additions {
    ($($float:ty as $bits:ty),*) => {$(
        impl Atomics<'_, $float> {
            /// Adds to an element of a PE's part; returns the element's old value. It is repeated while other PEs write
            /// the element, and on another node each time takes a round trip.
            ///
            /// ```
            /// # let world = ferroshmem::World::init()?;
            #[doc = concat!("let energy = world.atomics::<", stringify!($float), ">(1)?;")]
            /// energy.add(world.pe(0)?, 0, 0.5)?;
            /// world.barrier();
            #[doc = concat!("assert_eq!(energy.fetch(world.pe(0)?, 0)?, 0.5 * world.n_pes() \
                as ", stringify!($float), ");")]
            /// # Ok::<(), ferroshmem::Error>(())
            /// ```
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            #[track_caller]
            pub fn fetch_add(&self, pe: Pe, index: usize, value: $float) -> Result<$float, OutOfBounds> {
                self.fetch_update(pe, index, CTX_DEFAULT, pe.number() as i32, |old| old + value)
            }

            /// As [`fetch_add`](Self::fetch_add), without the old value; it is complete on return.
            ///
            /// As in the example of [`fetch_add`](Self::fetch_add).
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            #[track_caller]
            pub fn add(&self, pe: Pe, index: usize, value: $float) -> Result<(), OutOfBounds> {
                self.fetch_add(pe, index, value).map(drop)
            }

            /// Exchanges an element for what `new` makes of it, by a context in whose team the PE has the number
            /// `number`.
            #[inline]
            #[track_caller]
            pub(crate) fn fetch_update(
                &self,
                pe: Pe,
                index: usize,
                context: usize,
                number: i32,
                new: impl Fn($float) -> $float,
            ) -> Result<$float, OutOfBounds> {
                /// Exchanges until `exchange`, given the bits expected and those to write, finds the first there.
                #[inline(always)]
                fn repeat(mut seen: $bits, mut exchange: impl FnMut($bits) -> $bits) -> $float {
                    loop {
                        let found = exchange(seen);
                        if found == seen {
                            return <$float>::from_bits(seen);
                        }
                        seen = found;
                    }
                }

                let after = |bits: $bits| new(<$float>::from_bits(bits)).to_bits();
                let local = |at: *mut $float| {
                    let at: *mut $bits = at.cast();
                    // SAFETY: an element within the PE's part, of the same size and alignment as its bits, which only
                    // atomic operations use.
                    unsafe {
                        repeat(<$bits>::fetch(at), |seen| <$bits>::compare_swap(at, seen, after(seen)))
                    }
                };
                let name = "Atomics::fetch_add";
                let remote = |at: *mut $float, _| {
                    let at: *mut $bits = at.cast();
                    // SAFETY: the same element of this PE's part, so the runtime finds the PE's.
                    unsafe {
                        repeat(amo::fetch(name, context, at, number), |seen| {
                            amo::compare_swap(name, context, at, seen, after(seen), number)
                        })
                    }
                };
                self.on(name, pe, index, local, remote)
            }
        }
    )*};
}

additions!(f32 as u32, f64 as u64);

array!(Atomics, Amo);
