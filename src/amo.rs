//! Types that are updated atomically.

use crate::plain::Plain;

/// A number that PEs fetch, set and swap atomically: `i32`, `i64`, `isize`, their unsigned
/// counterparts, `f32` and `f64` (standard, "Extended AMO Types").
pub trait Amo: Plain + Sync + sealed::Amo {}

/// An integer that PEs update atomically in all ways (standard, "Standard AMO Types").
///
/// ```
/// # use ferroshmem::{AmoInt, Atomics, Error, World};
/// fn count<T: AmoInt + From<u8>>(world: &World, counts: &Atomics<'_, T>) -> Result<T, Error> {
///     Ok(counts.fetch_add(world.pe(0)?, 0, T::from(1))?)
/// }
/// ```
pub trait AmoInt: Amo + Ord + sealed::AmoInt {
    /// The standard library's atomic of this type.
    type Std: Sync;
}

/// What the runtime can do with them, which is no part of the interface.
mod sealed {
    use ferroshmem_api::amo::{Atomic, AtomicInt};

    pub trait Amo: Atomic {}
    pub trait AmoInt: AtomicInt {}
}

macro_rules! amo {
    ($($t:ty $(= $atomic:ident)?),*) => {$(
        impl sealed::Amo for $t {}
        impl Amo for $t {}
        $(
            impl sealed::AmoInt for $t {}
            impl AmoInt for $t {
                type Std = std::sync::atomic::$atomic;
            }
        )?
    )*};
}

amo!(
    i32 = AtomicI32,
    u32 = AtomicU32,
    i64 = AtomicI64,
    u64 = AtomicU64,
    isize = AtomicIsize,
    usize = AtomicUsize,
    f32,
    f64
);
