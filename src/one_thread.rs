//! Types that stay on the thread of their world, and what the compiler says where they would leave it.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use crate::amo::Amo;
use crate::handle::Handle;
use crate::lock::{Guard, Locked};
use crate::memory::{Atomics, RawSymmetric, Shared, Signals, Space, Symmetric, Window};
use crate::message::{Receiving, Sending};
use crate::plain::Plain;
use crate::stream::Stream;
use crate::team::Team;
use crate::world::World;

/// Holds of no `T` that this module names below: an error names `T`, and has these notes.
#[diagnostic::on_unimplemented(
    message = "`{T}` stays on the thread that made the `World`",
    label = "another thread would have it",
    note = "threads may borrow a `Window`, `Atomics`, `Signals`, `Shared` or `Locked`: to a `move` closure, give a \
            reference that was made before it, such as `let window = &window;`",
    note = "of a `World` and its teams, threads may have `world.handle()` and a `Context` each; of a `Symmetric`, \
            slices such as `&mut array[..]`",
    note = "the guide says more: docs/rust.md#threads"
)]
trait AnyThread<T: ?Sized> {}

impl AnyThread<Handle<'_>> for () {}

/// Stands between `T` and the trait, because of a trait of `T` itself the compiler would say what it says of `Send`.
struct Moved<T: ?Sized>(PhantomData<*const T>);

// SAFETY: it has no value.
unsafe impl<T: ?Sized> Send for Moved<T> where (): AnyThread<T> {}

macro_rules! stays {
    ($($auto:ident for $t:ty $([$element:ident: $bound:ident])?),* $(,)?) => {$(
        /// Never: it stays on the thread that made its world.
        // SAFETY: the condition does not hold.
        unsafe impl$(<$element: $bound>)? $auto for $t where for<'a> Moved<Self>: Send {}
    )*};
}

stays!(
    Send for World, Sync for World,
    Send for Team<'_>, Sync for Team<'_>,
    Send for Symmetric<'_, T> [T: Plain], Sync for Symmetric<'_, T> [T: Plain],
    Send for Window<'_, T> [T: Plain],
    Send for Shared<'_, T> [T: Plain],
    Send for RawSymmetric<'_, T> [T: Plain],
    Send for Atomics<'_, T> [T: Amo],
    Send for Signals<'_>,
    Send for Locked<'_, T> [T: Plain],
    Send for Guard<'_, T> [T: Plain],
    Send for Space<'_>,
    Send for Stream<'_, T> [T: Plain],
    Send for Sending<'_, T> [T: Plain],
    Send for Receiving<'_, T> [T: Plain],
);
