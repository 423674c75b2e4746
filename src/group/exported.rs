//! Arrays that this job lends to others.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::Ordering::Relaxed;
use std::{fmt, thread};

use ferroshmem_api::{exports, handles};

use super::imported::{digest, tag};
use crate::collective::Max;
use crate::error::ExportError;
use crate::memory::{Lend, sealed};
use crate::step::{self, Step, What};
use crate::world::World;

/// An array that PEs of other jobs import by a name; made by [`World::export`]. This job uses it as before.
///
/// The export ends when it is dropped, collectively. While a PE of this job is in a [`Group`](super::Group), PEs of
/// that may use the array: then its memory is not freed before the world is dropped, and neither is that of the
/// [`Space`](crate::Space) that it is in. So drop it after the groups.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let table = world.export("table", world.alloc::<f64>(8)?.open())?;
/// table.p(world.my_pe(), 0, 1.0)?; // as before
/// let array = table.unexport()?.close();
/// assert_eq!(array[0], 1.0);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct Exported<'w, A: Lend> {
    world: &'w World,
    name: String,
    /// None once the export has ended.
    array: Option<ManuallyDrop<A>>,
}

impl<'w, A: Lend> Exported<'w, A> {
    #[track_caller]
    pub(crate) fn new(world: &'w World, name: &str, array: A) -> Result<Self, ExportError> {
        let (start, len) = sealed::Lend::mine(&array);
        let details =
            [(What::Array, start.addr().get() as u64), (What::Name, digest(name.bytes())), (What::Type, tag::<A>())];
        step::of_world(Step::Export, &details);
        if len == 0 {
            return Err(ExportError::Empty);
        }
        let bytes = len * size_of::<A::Element>();
        let start = start.as_ptr().cast_const().cast();
        let made = exports::export_as("World::export", name.as_bytes(), start, bytes, tag::<A>());
        made.map_err(|why| match why {
            exports::ExportError::Name => ExportError::Name,
            exports::ExportError::Taken => ExportError::Taken,
            exports::ExportError::Full => ExportError::Full,
        })?;
        if let Some(lent) = sealed::Lend::lent(&array) {
            lent.fetch_add(1, Relaxed);
        }
        Ok(Self { world, name: name.to_owned(), array: Some(ManuallyDrop::new(array)) })
    }

    /// Ends the export and gives the array back. Collective over the world.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let lent = world.export("sums", world.atomics::<u64>(1)?)?;
    /// lent.add(world.my_pe(), 0, 7)?;
    /// let sums = lent.unexport()?; // no other job can import it any more
    /// assert_eq!(sums.into_inner()[0], 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a PE of this job is in a group, whose PEs may use the array; on all PEs. Its memory is not freed before the
    /// world is dropped then.
    #[track_caller]
    pub fn unexport(mut self) -> Result<A, ExportError> {
        self.end().ok_or(ExportError::InUse)
    }

    /// Ends the export; the array, if no PE of another job can have it any more.
    #[track_caller]
    fn end(&mut self) -> Option<A> {
        let array = self.array.take()?;
        let name = digest(self.name.bytes());
        step::of_world(Step::EndExport, &[(What::Name, name)]);
        if step::has_diverged() {
            return None;
        }
        exports::end_export(Step::EndExport.name(), self.name.as_bytes());
        // Others of this job may have groups that this PE has not. Those that come cannot import it.
        let has_groups = u32::from(handles::has_groups(Step::EndExport.name()));
        let used = self.world.reduce_value(has_groups, Max);
        if used != 0 {
            return None;
        }
        if let Some(lent) = sealed::Lend::lent(&*array) {
            lent.fetch_sub(1, Relaxed);
        }
        Some(ManuallyDrop::into_inner(array))
    }
}

impl<A: Lend> Deref for Exported<'_, A> {
    type Target = A;

    #[inline]
    fn deref(&self) -> &A {
        self.array.as_ref().expect("it is there until the drop or `unexport`, which take `self`")
    }
}

impl<A: Lend> Drop for Exported<'_, A> {
    fn drop(&mut self) {
        // A PE that panics ends the job: it must not wait for the others, which may never come.
        if !thread::panicking() {
            drop(self.end());
        }
    }
}

impl<A: Lend + fmt::Debug> fmt::Debug for Exported<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exported").field("name", &self.name).field("array", &**self).finish_non_exhaustive()
    }
}

impl World {
    /// Lends an array to PEs of other jobs, by a name of 1 to 40 bytes: those import it as the same type, with which
    /// they may do what PEs of this job may. This job goes on to use it. Collective, with the same name on all PEs.
    ///
    /// PEs that are started find what was exported before. (Extension: `shmemx_export`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let next = world.export("next tile", world.atomics::<u64>(1)?)?;
    /// let tile = next.fetch_add(world.pe(0)?, 0, 1)?; // and so may PEs of other jobs
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// The array cannot change its type while it is lent:
    ///
    /// ```compile_fail,E0382
    /// # let world = ferroshmem::World::init().unwrap();
    /// let window = world.alloc::<f64>(8).unwrap().open();
    /// let lent = world.export("table", window).unwrap();
    /// let array = window.close();
    /// ```
    ///
    /// and what only its owner may touch is not lent:
    ///
    /// ```compile_fail,E0277
    /// # let world = ferroshmem::World::init().unwrap();
    /// let array = world.alloc::<f64>(8).unwrap();
    /// let lent = world.export("table", array).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the name is no name or stands for another array, the array has no elements, or the job exports 1,024 arrays
    /// already. The same on all PEs; the array is dropped then.
    #[track_caller]
    pub fn export<'w, A: Lend + 'w>(&'w self, name: &str, array: A) -> Result<Exported<'w, A>, ExportError> {
        Exported::new(self, name, array)
    }
}
