//! Regions of the program's own, which profiles and traces name.

use std::marker::PhantomData;
use std::panic::Location;

use ferroshmem_api::region;

/// A part of the program with a name, from [`Region::enter`] until it is dropped. `oshrun --profile` and `--trace` show
/// what time it took; otherwise it costs a comparison.
///
/// ```
/// use ferroshmem::Region;
///
/// let _solving = Region::enter("solve");
/// // compute
/// ```
#[derive(Debug)]
#[must_use = "the region ends when this is dropped"]
pub struct Region {
    is_recorded: bool,
    /// Each thread has regions of its own.
    thread: PhantomData<*const ()>,
}

impl Region {
    /// Enters a region, within those that this thread is in.
    ///
    /// ```
    /// use ferroshmem::Region;
    ///
    /// let _step = Region::enter("step");
    /// {
    ///     let _exchange = Region::enter("exchange"); // within the step
    /// } // the step goes on
    /// ```
    #[inline]
    #[track_caller]
    pub fn enter(name: &str) -> Self {
        let is_recorded = region::is_recorded();
        if is_recorded {
            region::begin_at(name, Location::caller());
        }
        Self { is_recorded, thread: PhantomData }
    }
}

impl Drop for Region {
    #[inline]
    fn drop(&mut self) {
        if self.is_recorded {
            region::end("drop of a Region");
        }
    }
}
