//! What any thread may know and do of a job.

use std::fmt;
use std::marker::PhantomData;

use ferroshmem_api::constants::CTX_DEFAULT;
use ferroshmem_api::record::Kind;
use ferroshmem_api::setup;

use crate::error::PeOutOfRange;
use crate::init;
use crate::order;
use crate::pe::{Pe, Pes};

/// A handle of the [`World`](crate::World) for threads, made by [`World::handle`](crate::World::handle): it is `Copy`,
/// `Send` and `Sync`, has the world's PEs, and completes and orders the puts and updates of this PE. Collective calls
/// stay with the world and its thread.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let (job, window) = (world.handle(), world.alloc::<u64>(4)?.open());
/// std::thread::scope(|scope| {
///     for i in 0..4 {
///         let window = &window;
///         scope.spawn(move || {
///             window.p(job.my_pe().next(), i, i as u64).expect("there are 4 elements");
///             job.quiet(); // all PEs see it
///         });
///     }
/// });
/// assert_eq!(window.close()[..], [0, 1, 2, 3]);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// It does not outlive the world:
///
/// ```compile_fail,E0505
/// # let world = ferroshmem::World::init().unwrap();
/// let job = world.handle();
/// drop(world);
/// job.quiet();
/// ```
#[derive(Clone, Copy)]
pub struct Handle<'w> {
    world: PhantomData<&'w ()>,
}

impl Handle<'_> {
    /// Of a world that lives for `'w`.
    pub(crate) fn new() -> Self {
        Self { world: PhantomData }
    }

    /// This PE.
    ///
    /// As in the example of [`World::my_pe`](crate::World::my_pe).
    #[inline]
    pub fn my_pe(self) -> Pe {
        Pe::new(init::me())
    }

    /// Number of PEs.
    ///
    /// As in the example of [`World::my_pe`](crate::World::my_pe).
    #[inline]
    pub fn n_pes(self) -> usize {
        init::n_pes()
    }

    /// The PE of that number.
    ///
    /// As in the example of [`World::pe`](crate::World::pe).
    ///
    /// # Errors
    /// If the job has no such PE.
    pub fn pe(self, number: usize) -> Result<Pe, PeOutOfRange> {
        let n_pes = self.n_pes();
        if number >= n_pes {
            return Err(PeOutOfRange { number, n_pes });
        }
        Ok(Pe::new(number))
    }

    /// All PEs.
    ///
    /// As in the example of [`World::pes`](crate::World::pes).
    pub fn pes(self) -> Pes {
        Pes::all(self.n_pes())
    }

    /// All PEs but this one, beginning with the next and wrapping around, so that not all PEs access
    /// PE 0 first.
    ///
    /// As in the example of [`World::others`](crate::World::others).
    pub fn others(self) -> impl ExactSizeIterator<Item = Pe> + use<> {
        let (me, n_pes) = (self.my_pe().number(), self.n_pes());
        (1..n_pes).map(move |i| Pe::new((me + i) % n_pes))
    }

    /// Whether a PE is local: on this node, so that loads and stores reach its memory.
    ///
    /// As in the example of [`World::is_here`](crate::World::is_here).
    pub fn is_here(self, pe: Pe) -> bool {
        init::windows().views.index(pe.number()).is_some()
    }

    /// Completes the puts and updates of this PE, of all its threads: all PEs see them. (Standard: `shmem_quiet`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (job, next, window) = (world.handle(), world.my_pe().next(), world.alloc::<u32>(1)?.open());
    /// window.p(next, 0, 7)?;
    /// job.quiet(); // what any thread of this PE has put is there
    /// assert_eq!(window.g(next, 0)?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn quiet(self) {
        let _record = order::record("Handle::quiet", Kind::Quiet, CTX_DEFAULT);
        order::quiet("Handle::quiet", CTX_DEFAULT);
    }

    /// As [`quiet`](Self::quiet), for those to some PEs. (Standard: `shmem_pe_quiet`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (job, window) = (world.handle(), world.alloc::<usize>(world.n_pes())?.open());
    /// for pe in world.pes() {
    ///     window.p(pe, world.my_pe().number(), 7)?;
    /// }
    /// job.quiet_pes(&[world.pe(0)?]); // puts to others may be under way
    /// assert_eq!(window.g(world.pe(0)?, world.my_pe().number())?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn quiet_pes(self, pes: &[Pe]) {
        let _record = order::record("Handle::quiet_pes", Kind::Quiet, CTX_DEFAULT);
        order::quiet_pes(pes);
    }

    /// Orders this PE's puts, signals and atomics to each PE before its later ones. (Standard:
    /// `shmem_fence`)
    ///
    /// As in the example of [`Team::fence`](crate::Team::fence).
    #[track_caller]
    pub fn fence(self) {
        let _record = order::record("Handle::fence", Kind::Fence, CTX_DEFAULT);
        order::fence("Handle::fence");
    }

    /// Ends the whole job at once, with an exit status. (Standard: `shmem_global_exit`)
    ///
    /// As in the example of [`World::global_exit`](crate::World::global_exit).
    pub fn global_exit(self, status: i32) -> ! {
        setup::global_exit("Handle::global_exit", status)
    }
}

impl fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("my_pe", &self.my_pe().number()).field("n_pes", &self.n_pes()).finish()
    }
}
