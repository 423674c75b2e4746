//! Symmetric spaces: arrays with a kind of memory of their own.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ferroshmem_api::constants::TEAM_WORLD;
use ferroshmem_api::{Memkind, MemoryRequest, space};

use super::Symmetric;
use crate::error::{AllocError, SpaceError};
use crate::plain::Plain;
use crate::step::{self, Step, What};

/// A kind of memory. A PE's own NUMA node is that to which it is bound (`oshrun --bind-to`).
///
/// As in the example of [`SpaceConfig::or_default`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// As the symmetric heap: on the PE's own NUMA node if it has one, else where it is touched first.
    Default,
    /// On the PE's own NUMA node.
    Local,
    /// On this NUMA node. Each PE may give another one.
    Numa(usize),
    /// On all NUMA nodes that have CPUs in turn, page by page.
    Interleaved,
    /// High-bandwidth memory, as Xeon Max and A64FX have it.
    HighBandwidth,
    /// The memory that the PE reads with the least latency.
    LowLatency,
    /// Memory that is slower than the CPUs' own, such as memory behind CXL.
    LargeCapacity,
}

/// What space is asked for ([`World::space`](crate::World::space)).
///
/// ```
/// use ferroshmem::{Memory, SpaceConfig};
///
/// let config = SpaceConfig::new(1 << 20).memory(Memory::Numa(0)).huge_pages().or_default();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpaceConfig {
    bytes: usize,
    memory: Memory,
    huge_pages: bool,
    falls_back: bool,
}

impl SpaceConfig {
    /// A space of `bytes` bytes on each PE, at least 1; rounded up to whole pages.
    ///
    /// ```
    /// # use ferroshmem::{Memory, SpaceConfig};
    /// let config = SpaceConfig::new(1 << 20); // 1 MiB on each PE
    /// assert_eq!(config, config.memory(Memory::Default));
    /// ```
    pub fn new(bytes: usize) -> Self {
        Self { bytes, memory: Memory::Default, huge_pages: false, falls_back: false }
    }

    /// Of this kind of memory.
    ///
    /// As in the example of [`or_default`](Self::or_default).
    #[must_use]
    pub fn memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// On huge pages, which take all of their memory at once.
    ///
    /// ```
    /// # use ferroshmem::SpaceConfig;
    /// # let world = ferroshmem::World::init()?;
    /// if let Ok(space) = world.space(SpaceConfig::new(2 << 20).huge_pages()) {
    ///     let table = space.alloc::<u64>(1000)?; // one entry of the TLB reaches all of it
    ///     assert_eq!(table[999], 0);
    /// } // else a PE has no huge page left
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[must_use]
    pub fn huge_pages(self) -> Self {
        Self { huge_pages: true, ..self }
    }

    /// Of the default kind of memory on PEs that have none of the kind asked for. Without this there is no space
    /// then.
    ///
    /// ```
    /// # use ferroshmem::{Memory, SpaceConfig};
    /// # let world = ferroshmem::World::init()?;
    /// let config = SpaceConfig::new(4096).memory(Memory::HighBandwidth);
    /// let space = world.space(config.or_default())?; // also on machines that have none
    /// assert_eq!(space.alloc::<f64>(8)?[..], [0.0; 8]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[must_use]
    pub fn or_default(self) -> Self {
        Self { falls_back: true, ..self }
    }

    fn request(&self) -> MemoryRequest {
        MemoryRequest {
            kind: match self.memory {
                Memory::Default => Memkind::Default,
                Memory::Local => Memkind::Local,
                Memory::Numa(node) => Memkind::Numa(node),
                Memory::Interleaved => Memkind::Interleaved,
                Memory::HighBandwidth => Memkind::HighBandwidth,
                Memory::LowLatency => Memkind::LowLatency,
                Memory::LargeCapacity => Memkind::LargeCapacity,
            },
            huge_pages: self.huge_pages,
            is_strict: !self.falls_back,
        }
    }
}

/// A symmetric space: a part of each PE's symmetric heap with a kind of memory of its own, in which arrays are
/// allocated. Made by [`World::space`](crate::World::space); ended, collectively, when it is dropped. (Extension:
/// `shmemx_space_create`)
///
/// ```
/// # use ferroshmem::{Memory, SpaceConfig};
/// # let world = ferroshmem::World::init()?;
/// let fast = world.space(SpaceConfig::new(1 << 20).memory(Memory::HighBandwidth).or_default())?;
/// let mut numbers = fast.alloc::<f64>(1000)?;
/// numbers.fill(1.0);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// No array outlives its space:
///
/// ```compile_fail,E0505
/// # use ferroshmem::{SpaceConfig, World};
/// # let world = World::init().unwrap();
/// let space = world.space(SpaceConfig::new(4096)).unwrap();
/// let array = space.alloc::<u64>(8).unwrap();
/// drop(space);
/// println!("{}", array[0]);
/// ```
///
/// and no space its world:
///
/// ```compile_fail,E0505
/// # use ferroshmem::{SpaceConfig, World};
/// # let world = World::init().unwrap();
/// let space = world.space(SpaceConfig::new(4096)).unwrap();
/// drop(world);
/// drop(space);
/// ```
pub struct Space<'w> {
    handle: usize,
    /// Arrays in it that are exported, and those whose export ended while PEs of other jobs might use them.
    lent: AtomicU32,
    world: PhantomData<&'w ()>,
    /// It stays on the thread that makes collective calls.
    thread: PhantomData<*mut ()>,
}

impl Space<'_> {
    #[track_caller]
    pub(crate) fn new(config: &SpaceConfig) -> Result<Self, SpaceError> {
        step::of_world(Step::Space, &[(What::Length, config.bytes as u64)]);
        if config.bytes == 0 {
            return Err(SpaceError::new("a space of 0 bytes: give at least 1"));
        }
        let made = space::create_for("World::space", TEAM_WORLD, config.bytes as u64, &config.request());
        let handle = made.map_err(|why| SpaceError::new(&why.to_string()))?;
        Ok(Self { handle, lent: AtomicU32::new(0), world: PhantomData, thread: PhantomData })
    }

    pub(super) fn handle(&self) -> usize {
        self.handle
    }

    pub(super) fn lent(&self) -> &AtomicU32 {
        &self.lent
    }

    /// Allocates an array of `len` elements on every PE, all bytes zero, as [`World::alloc`](crate::World::alloc) does.
    /// Collective over the world.
    ///
    /// As in the example of [`World::space`](crate::World::space).
    ///
    /// # Errors
    /// If the space has no room. The same on all PEs.
    #[track_caller]
    pub fn alloc<T: Plain>(&self, len: usize) -> Result<Symmetric<'_, T>, AllocError> {
        Symmetric::new(len, Some(self))
    }
}

impl Drop for Space<'_> {
    fn drop(&mut self) {
        // A PE that panics ends the job: it must not wait for the others, which may never come.
        if std::thread::panicking() {
            return;
        }
        step::of_world(Step::EndSpace, &[(What::Array, self.handle as u64)]);
        // Where other jobs may use an array, the memory stays as it is until the world is dropped.
        if !step::has_diverged() && !step::has_failed() && self.lent.load(Relaxed) == 0 {
            // SAFETY: arrays of the space borrow it, and all PEs have entered this step: none uses its memory, and
            // neither does another job.
            unsafe { space::destroy("drop of a Space", self.handle) };
        }
    }
}

impl fmt::Debug for Space<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").finish_non_exhaustive()
    }
}
