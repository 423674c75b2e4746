//! Non-blocking puts and gets.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use crate::error::OutOfBounds;
use crate::memory::Window;
use crate::pe::Pe;
use crate::plain::Plain;

/// Puts and gets under way, whose buffers are in use until the operations are complete: what
/// [`Window::nonblocking`] passes to its closure.
///
/// A buffer that does not live long enough is refused:
///
/// ```compile_fail,E0597
/// # use ferroshmem::World;
/// # let world = World::init().unwrap();
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
        Self {
            window,
            scope: PhantomData,
        }
    }

    /// Begins to copy `source` to the elements from `start` on of a PE's part. (Standard:
    /// `shmem_put_nbi`)
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    pub fn put(&self, pe: Pe, start: usize, source: &'env [T]) -> Result<(), OutOfBounds> {
        // SAFETY: `source` is borrowed for longer than the closure runs, and `Completion` completes the
        // put when the closure ends.
        unsafe { self.window.begin_put(pe, start, source) }
    }

    /// Begins to copy the elements from `start` on of a PE's part to `dest`. (Standard:
    /// `shmem_get_nbi`)
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    pub fn get(&self, pe: Pe, start: usize, dest: &'env mut [T]) -> Result<(), OutOfBounds> {
        // SAFETY: `dest` is borrowed mutably for longer than the closure runs, and `Completion`
        // completes the get when the closure ends.
        unsafe { self.window.begin_get(pe, start, dest) }
    }
}

/// Completes all operations under way when it is dropped, also if the closure panics: the buffers may
/// be gone after that.
pub(crate) struct Completion;

impl Drop for Completion {
    fn drop(&mut self) {
        crate::team::quiet();
    }
}
