//! Arrays of other jobs.
#![allow(unsafe_code)]

use std::any::type_name;
use std::marker::PhantomData;
use std::panic::Location as Caller;
use std::ptr::{self, NonNull};
use std::{fmt, slice};

use ferroshmem_api::constants::CTX_DEFAULT;
use ferroshmem_api::{amo, exports, handles, setup};

use super::{Group, GroupPe};
use crate::amo::{Amo, AmoInt};
use crate::error::{Error, ImportError, OutOfBounds, TeamError};
use crate::memory::{Atomics, Lend, Location, RawSymmetric, Remote, Shared, Window, load, store};
use crate::memory::{SignalUpdate, Signals};
use crate::plain::Plain;

/// An array that a [`Group`] has exported, made by [`Group::import`]. `A` is the type that it was exported as, which
/// says what this PE may do with the parts of the group's PEs: put and get ([`Window`]), update atomically
/// ([`Atomics`]), signal ([`Signals`]), read in place ([`Shared`]).
///
/// Operations are complete as the same ones of this job's arrays are: after a [`quiet`](crate::Team::quiet), a barrier,
/// or the end of the group. Any thread may use it.
///
/// ```no_run
/// # use ferroshmem::{Atomics, SignalUpdate, Signals, Window};
/// # let world = ferroshmem::World::init()?;
/// # let parents = world.parents().expect("others have started this job");
/// let table = parents.import::<Window<f64>>("table", 100)?;
/// let next = parents.import::<Atomics<u64>>("next row", 1)?;
/// let done = parents.import::<Signals>("done", 1)?;
/// let first = parents.pe(0)?;
/// let row = next.fetch_add(first, 0, 1)? as usize;
/// table.put_signal(first, 10 * row, &[1.0; 10], &done, 0, SignalUpdate::Add(1))?;
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct Imported<'g, A: Lend> {
    /// Where this process loads and stores the part of each PE of the group; none if the group is remote.
    parts: Box<[NonNull<A::Element>]>,
    /// PEs of the group.
    n_pes: usize,
    /// The address and the number of the group's PE 0 by which the runtime is given the parts.
    address: NonNull<A::Element>,
    first_pe: usize,
    len: usize,
    /// Serial number of the group's team.
    group: usize,
    borrowed: PhantomData<&'g Group<'g>>,
}

// SAFETY: it is not collective, and its methods do what those of `A` do, which any thread may call.
unsafe impl<A: Lend> Send for Imported<'_, A> where A::Element: Send + Sync {}
// SAFETY: as above.
unsafe impl<A: Lend> Sync for Imported<'_, A> where A::Element: Send + Sync {}

/// The hash FNV-1a.
pub(super) fn digest(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The name of a type without modules: a module that two programs share has another path in each.
fn without_modules(name: &str) -> String {
    let mut short = String::new();
    for part in name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        short.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    short
}

/// What both groups must know of the elements, and of what may be done with them: 0 for memory.
pub(super) fn tag<A: Lend>() -> u64 {
    if A::KIND == 0 {
        return 0;
    }
    let name = without_modules(type_name::<A::Element>());
    let layout = [size_of::<A::Element>(), align_of::<A::Element>()];
    let layout = layout.into_iter().flat_map(usize::to_le_bytes);
    digest(name.bytes().chain(layout)) << 3 | A::KIND
}

impl<'g, A: Lend> Imported<'g, A> {
    pub(super) fn new(group: &'g Group<'_>, name: &str, len: usize) -> Result<Self, ImportError> {
        const ROUTINE: &str = "Group::import";

        let owned = || name.to_owned();
        // More than the address space has is no array's length.
        let bytes = len.saturating_mul(size_of::<A::Element>());
        let found = exports::import_as(ROUTINE, group.handle, name.as_bytes(), bytes, Some(tag::<A>()));
        let address = found.map_err(|why| match why {
            exports::ImportError::Size { size, asked } => ImportError::Length { name: owned(), bytes: size, asked },
            exports::ImportError::Tag => ImportError::Type { name: owned(), asked: type_name::<A>() },
            exports::ImportError::NotShared => ImportError::NotShared { name: owned() },
            _ => ImportError::Missing { name: owned() },
        })?;
        let not_shared = || ImportError::NotShared { name: owned() };
        let start = NonNull::new(ptr::with_exposed_provenance_mut::<A::Element>(address));
        let number = |pe: GroupPe| handles::pe(ROUTINE, group.handle, pe.number() as i32);
        let part = |pe: GroupPe| {
            let start = start?.as_ptr().cast_const().cast();
            NonNull::new(setup::ptr(ROUTINE, start, number(pe)).cast())
        };
        let parts: Option<Box<[_]>> = match group.is_remote() {
            true if A::IS_IN_PLACE => None,
            true => Some(Box::default()),
            false => group.pes().map(part).collect(),
        };
        let first_pe = group.pes().next().map_or(0, number);
        Ok(Self {
            parts: parts.ok_or_else(not_shared)?,
            n_pes: group.n_pes(),
            address: start.ok_or_else(not_shared)?,
            first_pe: first_pe as usize,
            len,
            group: group.team.serial(),
            borrowed: PhantomData,
        })
    }

    /// Elements of each part.
    ///
    /// As in the example of [`Group::import`].
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: an array without elements cannot be exported.
    ///
    /// As in the example of [`Group::import`].
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The part of a PE.
    #[inline]
    fn part(&self, pe: GroupPe) -> Result<NonNull<A::Element>, TeamError> {
        match self.parts.get(pe.number()) {
            Some(part) if pe.group == self.group => Ok(*part),
            _ => Err(TeamError::OtherGroup),
        }
    }

    /// The place of the first of `n` elements in a part.
    #[inline]
    fn within(&self, start: usize, n: usize) -> Result<usize, OutOfBounds> {
        let array = self.len;
        if start > array || n > array - start {
            let len = n;
            return Err(OutOfBounds { start, len, array });
        }
        Ok(start)
    }

    /// Where the `n` elements from `start` on of a PE's part are.
    #[inline]
    fn elements(&self, pe: GroupPe, start: usize, n: usize) -> Result<Location<A::Element>, Error> {
        let part = match self.parts.is_empty() {
            true => self.remote_part(pe)?,
            false => Location::Local(self.part(pe)?),
        };
        let start = self.within(start, n)?;
        Ok(match part {
            // SAFETY: `start` is at most the part's length, as checked.
            Location::Local(part) => Location::Local(unsafe { part.add(start) }),
            Location::Remote(_) => {
                // An address that stands for the PE's, and is not used as one: there may be no memory here.
                let at = self.address.as_ptr().wrapping_add(start);
                let at = NonNull::new(at).unwrap_or(self.address);
                Location::Remote(Remote::of_number(at, self.first_pe + pe.number()))
            }
        })
    }

    /// The part of a PE of a remote group.
    #[cold]
    #[inline(never)]
    fn remote_part(&self, pe: GroupPe) -> Result<Location<A::Element>, TeamError> {
        if pe.group != self.group || pe.number() >= self.n_pes {
            return Err(TeamError::OtherGroup);
        }
        let number = self.first_pe + pe.number();
        Ok(Location::Remote(Remote::of_number(self.address, number)))
    }
}

impl<T: Plain> Imported<'_, Window<'_, T>> {
    /// As [`Window::put`].
    ///
    /// ```no_run
    /// # use ferroshmem::Window;
    /// # let world = ferroshmem::World::init()?;
    /// # let parents = world.parents().expect("others have started this job");
    /// let table = parents.import::<Window<f64>>("table", 100)?;
    /// let (first, mut last) = (parents.pe(0)?, [0.0]);
    /// table.put(first, 90, &[1.0; 10])?; // elements 90 to 99
    /// world.quiet(); // they are there
    /// table.get(first, 99, &mut last)?;
    /// assert_eq!(last, [1.0]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// For this and the methods below: if the part does not have those elements, or the PE is one of another group.
    #[inline]
    #[track_caller]
    pub fn put(&self, pe: GroupPe, start: usize, source: &[T]) -> Result<(), Error> {
        let call = ("Imported::put", Caller::caller());
        match self.elements(pe, start, source.len())? {
            // SAFETY: `source.len()` elements within the part; no PE has references to elements of a window, which the
            // group does not close before it is disconnected.
            Location::Local(elements) => unsafe {
                store(elements.as_ptr(), source.as_ptr(), source.len());
            },
            // SAFETY: as above.
            Location::Remote(elements) => unsafe { elements.put(call, source) },
        }
        Ok(())
    }

    /// As [`Window::get`].
    ///
    /// As in the example of [`put`](Self::put).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[inline]
    #[track_caller]
    pub fn get(&self, pe: GroupPe, start: usize, dest: &mut [T]) -> Result<(), Error> {
        let call = ("Imported::get", Caller::caller());
        match self.elements(pe, start, dest.len())? {
            // SAFETY: as in `put`; any bytes are elements.
            Location::Local(elements) => unsafe {
                load(dest.as_mut_ptr(), elements.as_ptr(), dest.len());
            },
            // SAFETY: as in `put`.
            Location::Remote(elements) => unsafe { elements.get(call, dest) },
        }
        Ok(())
    }

    /// As [`Window::p`].
    ///
    /// ```no_run
    /// # use ferroshmem::Window;
    /// # let world = ferroshmem::World::init()?;
    /// # let parents = world.parents().expect("others have started this job");
    /// let table = parents.import::<Window<u32>>("table", 100)?;
    /// for pe in parents.pes() {
    ///     table.p(pe, 99, 7)?;
    /// }
    /// world.quiet(); // they are there
    /// assert_eq!(table.g(parents.pe(0)?, 99)?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[inline]
    #[track_caller]
    pub fn p(&self, pe: GroupPe, index: usize, value: T) -> Result<(), Error> {
        self.put(pe, index, slice::from_ref(&value))
    }

    /// As [`Window::g`].
    ///
    /// As in the example of [`p`](Self::p).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[inline]
    #[track_caller]
    pub fn g(&self, pe: GroupPe, index: usize) -> Result<T, Error> {
        let mut value = T::zeroed();
        self.get(pe, index, slice::from_mut(&mut value))?;
        Ok(value)
    }

    /// As [`Window::put_signal`], with a signal of the same PE.
    ///
    /// ```no_run
    /// # use ferroshmem::{SignalUpdate, Signals, Window};
    /// # let world = ferroshmem::World::init()?;
    /// # let parents = world.parents().expect("others have started this job");
    /// let table = parents.import::<Window<f64>>("table", 100)?;
    /// let ready = parents.import::<Signals>("ready", 1)?;
    /// // PE 0 of the parents waits for the signal, and has the elements then.
    /// table.put_signal(parents.pe(0)?, 0, &[1.0; 100], &ready, 0, SignalUpdate::Set(1))?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](Self::put), and if there is no such signal.
    #[inline]
    #[track_caller]
    pub fn put_signal(
        &self,
        pe: GroupPe,
        start: usize,
        source: &[T],
        signals: &Imported<'_, Signals<'_>>,
        signal: usize,
        update: SignalUpdate,
    ) -> Result<(), Error> {
        signals.elements(pe, signal, 1)?;
        self.put(pe, start, source)?;
        signals.update(pe, signal, update)
    }
}

impl Imported<'_, Signals<'_>> {
    /// As [`Signals::update`]: wakes the PE, if it waits for the signal.
    ///
    /// ```no_run
    /// # use ferroshmem::{SignalUpdate, Signals};
    /// # let world = ferroshmem::World::init()?;
    /// # let parents = world.parents().expect("others have started this job");
    /// let done = parents.import::<Signals>("done", 1)?;
    /// done.update(parents.pe(0)?, 0, SignalUpdate::Add(1))?; // it waits for as many as there are PEs here
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index is not that of a signal, or the PE is one of another group.
    #[track_caller]
    pub fn update(&self, pe: GroupPe, index: usize, update: SignalUpdate) -> Result<(), Error> {
        self.elements(pe, index, 1)?;
        // An address that stands for the PE's, and is not used as one: that may not be mapped here.
        let signal = self.address.as_ptr().wrapping_add(index);
        // SAFETY: the group has exported it as a signal, and keeps it until it is disconnected.
        unsafe { update.apply("Imported::update", signal, self.first_pe + pe.number()) };
        Ok(())
    }
}

impl<T: Plain> Imported<'_, Shared<'_, T>> {
    /// As [`Shared::on`]: the part of a PE, in place.
    ///
    /// ```no_run
    /// # use ferroshmem::Shared;
    /// # let world = ferroshmem::World::init()?;
    /// # let parents = world.parents().expect("others have started this job");
    /// let table = parents.import::<Shared<f64>>("table", 100)?;
    /// let of_first: &[f64] = table.on(parents.pe(0)?)?; // in its memory
    /// assert_eq!(of_first.len(), 100);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the PE is one of another group.
    #[inline]
    pub fn on(&self, pe: GroupPe) -> Result<&[T], TeamError> {
        // SAFETY: the part has as many elements, which no PE writes before the group is disconnected.
        Ok(unsafe { slice::from_raw_parts(self.part(pe)?.as_ptr(), self.len) })
    }
}

impl<T: Plain> Imported<'_, RawSymmetric<'_, T>> {
    /// As [`RawSymmetric::remote`]: the part of a PE, until the group is disconnected. What C exports is of this type.
    ///
    /// ```no_run
    /// # use ferroshmem::RawSymmetric;
    /// # let world = ferroshmem::World::init()?;
    /// # let parents = world.parents().expect("others have started this job");
    /// let table = parents.import::<RawSymmetric<u32>>("table", 4)?;
    /// let of_first = table.remote(parents.pe(0)?)?;
    /// // SAFETY: there are 4 elements, and the parents write none before the group ends.
    /// assert_eq!(unsafe { of_first.add(3).read() }, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the PE is one of another group.
    #[inline]
    pub fn remote(&self, pe: GroupPe) -> Result<NonNull<T>, TeamError> {
        self.part(pe)
    }
}

impl<T: Amo> Imported<'_, Atomics<'_, T>> {
    /// Operates on an element of a PE's part: by `local`, given its address, or by `remote`, given the address that
    /// stands for it and the PE's number.
    #[inline]
    fn on<R>(
        &self,
        pe: GroupPe,
        index: usize,
        local: impl FnOnce(*mut T) -> R,
        remote: impl FnOnce(*mut T, i32) -> R,
    ) -> Result<R, Error> {
        Ok(match self.elements(pe, index, 1)? {
            Location::Local(element) => local(element.as_ptr()),
            Location::Remote(element) => remote(element.symmetric(), element.pe()),
        })
    }

    /// As [`Atomics::fetch`].
    ///
    /// ```no_run
    /// # use ferroshmem::Atomics;
    /// # let world = ferroshmem::World::init()?;
    /// # let parents = world.parents().expect("others have started this job");
    /// let counts = parents.import::<Atomics<u64>>("counts", 2)?;
    /// let first = parents.pe(0)?;
    /// counts.set(first, 1, 7)?;
    /// world.quiet(); // it is there
    /// assert_eq!(counts.swap(first, 1, 8)?, 7);
    /// assert_eq!(counts.compare_swap(first, 1, 8, 9)?, 8);
    /// assert_eq!(counts.fetch(first, 1)?, 9);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// For this and the methods below: if the part does not have that element, or the PE is one of another group.
    #[inline]
    pub fn fetch(&self, pe: GroupPe, index: usize) -> Result<T, Error> {
        // SAFETY: an element within the PE's part, aligned, which only atomic operations use until the group is
        // disconnected.
        let local = |at| unsafe { T::fetch(at) };
        // SAFETY: the group has exported it by an address that the runtime finds it by.
        let remote = |at: *mut T, pe| unsafe { amo::fetch("Imported::fetch", CTX_DEFAULT, at, pe) };
        self.on(pe, index, local, remote)
    }
}

/// The other atomic operations, and those that drop the result of one.
macro_rules! operations {
    ($($bound:ident: $name:ident($($value:ident),*) -> $result:ty $(, $plain:ident)?;)*) => {$(
        impl<T: $bound> Imported<'_, Atomics<'_, T>> {
            #[doc = concat!("As [`Atomics::", stringify!($name), "`].")]
            ///
            /// As in the example of [`fetch`](Self::fetch).
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            pub fn $name(&self, pe: GroupPe, index: usize, $($value: T),*) -> Result<$result, Error> {
                // SAFETY: as in `fetch`.
                let local = |at| unsafe { T::$name(at, $($value),*) };
                let name = concat!("Imported::", stringify!($name));
                // SAFETY: as in `fetch`.
                let remote = |at, pe| unsafe { amo::$name(name, CTX_DEFAULT, at, $($value,)* pe) };
                self.on(pe, index, local, remote)
            }

            $(
                #[doc = concat!("As [`Atomics::", stringify!($plain), "`]; as in the example of [`Atomics::",
                    stringify!($name), "`].")]
                ///
                /// # Errors
                /// As for [`fetch`](Self::fetch).
                #[inline]
                pub fn $plain(&self, pe: GroupPe, index: usize, value: T) -> Result<(), Error> {
                    self.$name(pe, index, value).map(drop)
                }
            )?
        }
    )*};
}

operations! {
    Amo: set(value) -> ();
    Amo: swap(value) -> T;
    AmoInt: compare_swap(current, value) -> T;
    AmoInt: fetch_add(value) -> T, add;
    AmoInt: fetch_and(value) -> T, and;
    AmoInt: fetch_or(value) -> T, or;
    AmoInt: fetch_xor(value) -> T, xor;
}

impl<A: Lend> fmt::Debug for Imported<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Imported").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_without_their_modules() {
        assert_eq!(without_modules("u64"), "u64");
        assert_eq!(without_modules("[a::b::Tile; 3]"), "[Tile; 3]");
        assert_eq!(without_modules("farm::Pair<core::num::Wrapping<u8>, x_1::Y>"), "Pair<Wrapping<u8>, Y>");
    }

    #[test]
    fn tags_tell_elements_and_sharing_apart() {
        let tags = [
            tag::<RawSymmetric<'_, u64>>(),
            tag::<Window<'_, u64>>(),
            tag::<Window<'_, f64>>(),
            tag::<Window<'_, [u64; 1]>>(),
            tag::<Atomics<'_, u64>>(),
            tag::<Shared<'_, u64>>(),
            tag::<Signals<'_>>(),
        ];
        for (i, tag) in tags.iter().enumerate() {
            assert!(!tags[..i].contains(tag), "{i}");
        }
        assert_eq!(tag::<RawSymmetric<'_, u8>>(), 0);
    }
}
