//! Initialising and finalising the library, by ownership.

use std::cell::Cell;
#[cfg(feature = "rayon")]
use std::cell::OnceCell;
use std::fmt;
use std::io::Write;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use ferroshmem_api::constants::{SPACE_INVALID, TEAM_WORLD, THREAD_MULTIPLE};
use ferroshmem_api::setup;
#[cfg(feature = "rayon")]
use ferroshmem_core::offload::LentPool;

use crate::amo::Amo;
use crate::error::{AllocError, InitError, PeOutOfRange, SpaceError};
use crate::handle::Handle;
use crate::init::{self, LIVES};
use crate::lock::Locked;
use crate::memory::Signals;
use crate::memory::{Atomics, Space, SpaceConfig, Symmetric};
use crate::pe::{Pe, Pes};
use crate::plain::Plain;
use crate::scratch::Scratch;
use crate::step;
use crate::team::Team;

/// Exit status of a Rust program that panicked.
const PANICKED: i32 = 101;

/// All PEs of the job, from [`init`](Self::init) until it is dropped. A process has one `World` at a
/// time; it is passed on by reference, and arrays and teams cannot outlive it. It is also the [`Team`]
/// of all PEs.
///
/// ```
/// # use ferroshmem::World;
/// let world = World::init()?;
/// let (me, n) = (world.my_pe(), world.n_pes());
/// let counts = world.atomics::<u64>(1)?;
/// for pe in world.others() {
///     counts.add(pe, 0, 1)?; // the next PE first
/// }
/// world.barrier();
/// assert_eq!(counts.fetch(me, 0)?, n as u64 - 1);
/// println!("{me} of {n}; PE 0 is {}", if world.is_here(world.pe(0)?) { "here" } else { "on another node" });
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// It stays on the thread that made it, which makes the collective calls:
///
/// ```compile_fail,E0277
/// # use ferroshmem::World;
/// let world = World::init().unwrap();
/// std::thread::spawn(move || world.barrier());
/// ```
///
/// Any thread may put, get and update atomically, on arrays that it borrows, and have a [`Handle`] of the job.
pub struct World {
    team: Team<'static>,
    /// Whether the parents have been asked for.
    knows_parents: Cell<bool>,
    /// Rayon's global pool, if it is lent.
    #[cfg(feature = "rayon")]
    pub(crate) global_pool: OnceCell<LentPool>,
}

impl World {
    /// Joins the job that `oshrun` started, or makes a job of this process alone, and waits for all
    /// PEs. (Standard: `shmem_init_thread` with `SHMEM_THREAD_MULTIPLE`)
    ///
    /// An error of the job or its environment ends the job with a line that describes it.
    ///
    /// # Errors
    /// If the process has a world already.
    pub fn init() -> Result<Self, InitError> {
        if LIVES.swap(true, Ordering::AcqRel) {
            return Err(InitError::Twice);
        }
        init::start(THREAD_MULTIPLE);
        let scratch = Rc::new(Scratch::new());
        Ok(Self {
            team: Team::of_handle(TEAM_WORLD, scratch),
            knows_parents: Cell::new(false),
            #[cfg(feature = "rayon")]
            global_pool: OnceCell::new(),
        })
    }

    /// This PE.
    #[inline]
    pub fn my_pe(&self) -> Pe {
        Pe::new(init::me())
    }

    /// Number of PEs.
    #[inline]
    pub fn n_pes(&self) -> usize {
        init::n_pes()
    }

    /// A handle of the job that threads may have.
    pub fn handle(&self) -> Handle<'_> {
        Handle::new()
    }

    /// The PE of that number.
    ///
    /// # Errors
    /// If the job has no such PE.
    pub fn pe(&self, number: usize) -> Result<Pe, PeOutOfRange> {
        self.handle().pe(number)
    }

    /// Whether a PE is local: on this node, so that loads and stores reach its memory.
    pub fn is_here(&self, pe: Pe) -> bool {
        self.handle().is_here(pe)
    }

    /// All PEs.
    pub fn pes(&self) -> Pes {
        self.handle().pes()
    }

    /// All PEs but this one, beginning with the next and wrapping around, so that not all PEs access
    /// PE 0 first.
    pub fn others(&self) -> impl ExactSizeIterator<Item = Pe> + use<> {
        self.handle().others()
    }

    /// Allocates an array of `len` elements on every PE, all bytes zero. Collective, with the same
    /// length on all PEs; dropping the array frees it and is collective, too.
    ///
    /// # Errors
    /// If the symmetric heap has no room. The same on all PEs.
    #[track_caller]
    pub fn alloc<T: Plain>(&self, len: usize) -> Result<Symmetric<'_, T>, AllocError> {
        Symmetric::new(len, SPACE_INVALID)
    }

    /// Allocates an array like [`alloc`](Self::alloc), whose elements all PEs update atomically; zero
    /// at first.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    #[track_caller]
    pub fn atomics<T: Amo>(&self, len: usize) -> Result<Atomics<'_, T>, AllocError> {
        Ok(self.alloc(len)?.into_atomics())
    }

    /// Allocates `len` signals on every PE, zero at first.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    #[track_caller]
    pub fn signals(&self, len: usize) -> Result<Signals<'_>, AllocError> {
        Ok(Signals::over(self.atomics(len)?))
    }

    /// Allocates one value for all PEs, with a lock; PE 0's `value` at first. Collective.
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    #[track_caller]
    pub fn locked<T: Plain>(&self, value: T) -> Result<Locked<'_, T>, AllocError> {
        Locked::new(value)
    }

    /// Makes a symmetric space, in which arrays have a kind of memory of their own. Collective, with the same
    /// configuration on all PEs but for the number of a NUMA node; dropping the space ends it, and is collective,
    /// too. (Extension: `shmemx_space_create`)
    ///
    /// # Errors
    /// If a PE has no such memory, or the symmetric heap no room. On all PEs.
    #[track_caller]
    pub fn space(&self, config: SpaceConfig) -> Result<Space<'_>, SpaceError> {
        Space::new(&config)
    }

    /// Ends the whole job at once, with an exit status. (Standard: `shmem_global_exit`)
    pub fn global_exit(&self, status: i32) -> ! {
        setup::global_exit("World::global_exit", status)
    }

    /// Whether nothing has asked for the group of the parents before.
    pub(crate) fn asks_for_parents_first(&self) -> bool {
        !self.knows_parents.replace(true)
    }
}

impl Deref for World {
    type Target = Team<'static>;

    fn deref(&self) -> &Self::Target {
        &self.team
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if self.n_pes() > 1 {
                // The message of the panic names a thread. In one write, so that lines of several PEs do not mix.
                let pe = self.my_pe().number();
                let line = format!("ferroshmem: PE {pe} has panicked; ends the job\n");
                let _ = std::io::stderr().write_all(line.as_bytes());
            }
            // The other PEs would wait for this one for ever.
            setup::global_exit("World", PANICKED);
        }
        if step::has_diverged() {
            step::report_at_exit();
            return;
        }
        // All arrays have been dropped or forgotten: the heap is released as a whole.
        setup::finalize("drop of World");
        LIVES.store(false, Ordering::Release);
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("my_pe", &self.my_pe().number())
            .field("n_pes", &self.n_pes())
            .finish_non_exhaustive()
    }
}
