//! Initialising and finalising the library, by ownership.

use std::cell::Cell;
#[cfg(feature = "rayon")]
use std::cell::OnceCell;
use std::fmt;
use std::io::Write;
use std::ops::Deref;
use std::panic::Location;
use std::process;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use ferroshmem_api::constants::{TEAM_WORLD, THREAD_MULTIPLE};
use ferroshmem_api::record::{self, Operation};
use ferroshmem_api::{resilience, setup};
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
    /// ```
    /// # use ferroshmem::{InitError, World};
    /// let world = World::init()?; // waits for all PEs
    /// assert_eq!(World::init().err(), Some(InitError::Twice));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
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
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let me = world.my_pe();
    /// assert!(me.number() < world.n_pes());
    /// assert_eq!(world.pe(me.number())?, me);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    pub fn my_pe(&self) -> Pe {
        Pe::new(init::me())
    }

    /// Number of PEs.
    ///
    /// As in the example of [`my_pe`](Self::my_pe).
    #[inline]
    pub fn n_pes(&self) -> usize {
        init::n_pes()
    }

    /// A handle of the job that threads may have.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let job = world.handle(); // for any number of threads
    /// let me = std::thread::scope(|scope| scope.spawn(|| job.my_pe()).join().expect("it does not panic"));
    /// assert_eq!(me, world.my_pe());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn handle(&self) -> Handle<'_> {
        Handle::new()
    }

    /// The PE of that number.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// assert_eq!(world.pe(0)?.number(), 0);
    /// let error = world.pe(world.n_pes()).expect_err("numbers are from 0 on");
    /// assert_eq!(error.n_pes, world.n_pes());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the job has no such PE.
    pub fn pe(&self, number: usize) -> Result<Pe, PeOutOfRange> {
        self.handle().pe(number)
    }

    /// Whether a PE is local: on this node, so that loads and stores reach its memory.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (here, elsewhere): (Vec<_>, Vec<_>) = world.pes().partition(|pe| world.is_here(*pe));
    /// assert!(here.contains(&world.my_pe()) && elsewhere.len() < world.n_pes());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn is_here(&self, pe: Pe) -> bool {
        self.handle().is_here(pe)
    }

    /// All PEs.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// assert!(world.pes().map(|pe| pe.number()).eq(0..world.n_pes()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn pes(&self) -> Pes {
        self.handle().pes()
    }

    /// All PEs but this one, beginning with the next and wrapping around, so that not all PEs access
    /// PE 0 first.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let me = world.my_pe();
    /// assert_eq!(world.others().len(), world.n_pes() - 1);
    /// assert!(world.others().all(|pe| pe != me));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn others(&self) -> impl ExactSizeIterator<Item = Pe> + use<> {
        self.handle().others()
    }

    /// Allocates an array of `len` elements on every PE, all bytes zero. Collective, with the same
    /// length on all PEs; dropping the array frees it and is collective, too.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut array = world.alloc::<u32>(4)?; // 4 elements on each PE
    /// assert_eq!(array[..], [0; 4]);
    /// array[3] = 7; // of my part
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the symmetric heap has no room. The same on all PEs.
    #[track_caller]
    pub fn alloc<T: Plain>(&self, len: usize) -> Result<Symmetric<'_, T>, AllocError> {
        Symmetric::new(len, None)
    }

    /// Allocates an array like [`alloc`](Self::alloc), whose elements all PEs update atomically; zero
    /// at first.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let counts = world.atomics::<u64>(4)?;
    /// counts.add(world.my_pe().next(), 3, 1)?;
    /// world.barrier();
    /// assert_eq!(counts.fetch(world.my_pe(), 3)?, 1); // from the previous PE
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    #[track_caller]
    pub fn atomics<T: Amo>(&self, len: usize) -> Result<Atomics<'_, T>, AllocError> {
        Ok(self.alloc(len)?.into_atomics())
    }

    /// Allocates `len` signals on every PE, zero at first.
    ///
    /// ```
    /// # use ferroshmem::{Compare, SignalUpdate};
    /// # let world = ferroshmem::World::init()?;
    /// let ready = world.signals(2)?;
    /// ready.update(world.my_pe().next(), 1, SignalUpdate::Set(5))?;
    /// assert_eq!(ready.wait_until(1, Compare::Ne(0))?, 5); // from the previous PE
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`alloc`](Self::alloc).
    #[track_caller]
    pub fn signals(&self, len: usize) -> Result<Signals<'_>, AllocError> {
        Ok(Signals::over(self.atomics(len)?))
    }

    /// Allocates one value for all PEs, with a lock; PE 0's `value` at first. Collective.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let least = world.locked(100)?; // one value for all PEs
    /// let mine = 5;
    /// {
    ///     let mut least = least.lock(); // others wait
    ///     *least = mine.min(*least);
    /// }
    /// assert_eq!(*least.lock(), 5);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
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
    /// ```
    /// # use ferroshmem::SpaceConfig;
    /// # let world = ferroshmem::World::init()?;
    /// let space = world.space(SpaceConfig::new(1 << 16))?; // 64 KiB on each PE
    /// let array = space.alloc::<u64>(1000)?;
    /// assert_eq!(array[999], 0);
    /// assert!(space.alloc::<u64>(1 << 20).is_err()); // though the heap may have room
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a PE has no such memory, or the symmetric heap no room. On all PEs.
    #[track_caller]
    pub fn space(&self, config: SpaceConfig) -> Result<Space<'_>, SpaceError> {
        Space::new(&config)
    }

    /// Ends the whole job at once, with an exit status. (Standard: `shmem_global_exit`)
    ///
    /// ```no_run
    /// # let world = ferroshmem::World::init()?;
    /// let Ok(input) = std::fs::read("input") else {
    ///     world.global_exit(2); // all PEs end, and oshrun returns 2
    /// };
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
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
            if resilience::is_on() {
                // The others go on.
                process::exit(PANICKED);
            }
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
        let _record = record::check(("drop of World", Location::caller()), Operation::Finalize, 0, 0);
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
