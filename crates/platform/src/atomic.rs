//! Atomic words: those of the standard library, or of the model checker loom.
//!
//! A protocol that is generic over [`Atomics`] is tried by loom as it is, with its own orderings.

use std::fmt::Debug;
use std::sync::atomic::Ordering;

/// A family of atomic words: [`Std`], or one that a test makes by [`atomics!`](crate::atomics).
pub trait Atomics: Sized + 'static {
    /// As `AtomicBool`.
    type Bool: Atomic<bool, Self>;
    /// As `AtomicU32`.
    type U32: AtomicNumber<u32, Self>;
    /// As `AtomicU64`.
    type U64: AtomicNumber<u64, Self>;
    /// As `AtomicUsize`.
    type Usize: AtomicNumber<usize, Self>;

    /// As `std::sync::atomic::fence`.
    fn fence(order: Ordering);
}

/// An atomic word of the family `A`, whose methods are those of the standard library's.
pub trait Atomic<T, A>: Debug + Default + Send + Sync {
    /// Reads the value.
    fn load(&self, order: Ordering) -> T;
    /// Writes a value.
    fn store(&self, value: T, order: Ordering);
    /// Replaces the value; returns the one before.
    fn swap(&self, value: T, order: Ordering) -> T;
    /// Replaces the value by what `f` makes of it; returns the one before, as an error if `f` made none.
    fn fetch_update(&self, set: Ordering, get: Ordering, f: impl FnMut(T) -> Option<T>) -> Result<T, T>;
}

/// An atomic number.
pub trait AtomicNumber<T, A>: Atomic<T, A> {
    /// Adds; returns the value before.
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    /// Subtracts; returns the value before.
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
}

/// What `read` finds with a number that others change before they change that; None if it finds none, or if the number
/// has changed meanwhile.
#[inline]
pub fn read_unchanged<A: Atomics, R>(number: &A::U32, read: impl FnOnce(u32) -> Option<R>) -> Option<R> {
    let before = number.load(Ordering::Acquire);
    let found = read(before)?;
    // The number comes after what was read above.
    A::fence(Ordering::Acquire);
    (number.load(Ordering::Relaxed) == before).then_some(found)
}

/// The words of the standard library.
#[derive(Debug, Default)]
pub struct Std;

/// Makes a type the family of atomic words of a library, `std` or `loom`; without arguments, the type `Loom`, too.
#[doc(hidden)]
#[macro_export]
macro_rules! atomics {
    () => {
        /// The words of loom.
        #[derive(Debug, Default)]
        pub(crate) struct Loom;
        $crate::atomics!(Loom, loom);
    };
    ($family:ident, $library:ident) => {
        impl $crate::atomic::Atomics for $family {
            type Bool = $library::sync::atomic::AtomicBool;
            type U32 = $library::sync::atomic::AtomicU32;
            type U64 = $library::sync::atomic::AtomicU64;
            type Usize = $library::sync::atomic::AtomicUsize;

            #[inline]
            fn fence(order: ::std::sync::atomic::Ordering) {
                $library::sync::atomic::fence(order);
            }
        }

        $crate::atomics!(@word $family, $library::sync::atomic::AtomicBool, bool);
        $crate::atomics!(@number $family, $library::sync::atomic::AtomicU32, u32);
        $crate::atomics!(@number $family, $library::sync::atomic::AtomicU64, u64);
        $crate::atomics!(@number $family, $library::sync::atomic::AtomicUsize, usize);
    };
    (@number $family:ident, $word:path, $value:ty) => {
        $crate::atomics!(@word $family, $word, $value);

        impl $crate::atomic::AtomicNumber<$value, $family> for $word {
            $crate::atomics!(@method fetch_add(value: $value) -> $value);
            $crate::atomics!(@method fetch_sub(value: $value) -> $value);
        }
    };
    (@word $family:ident, $word:path, $value:ty) => {
        impl $crate::atomic::Atomic<$value, $family> for $word {
            $crate::atomics!(@method load() -> $value);
            $crate::atomics!(@method store(value: $value) -> ());
            $crate::atomics!(@method swap(value: $value) -> $value);

            #[inline]
            fn fetch_update(
                &self,
                set: ::std::sync::atomic::Ordering,
                get: ::std::sync::atomic::Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(set, get, f)
            }
        }
    };
    (@method $name:ident($($argument:ident: $type:ty)?) -> $result:ty) => {
        #[inline]
        fn $name(&self, $($argument: $type,)? order: ::std::sync::atomic::Ordering) -> $result {
            self.$name($($argument,)? order)
        }
    };
}

atomics!(Std, std);

#[cfg(test)]
atomics!();
