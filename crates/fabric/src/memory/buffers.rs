//! Local memory that operations write from and read into: bounce buffers, or the program's own.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::Arc;

use super::region::{Region, RmaAddress};
use crate::Error;
use crate::endpoint::Endpoint;
use crate::libfabric;
use crate::registration::{Cache, Limits, Monitor, Pool, RegionRef, Registrar, Shape, Slot};

/// What this process's operations do with memory.
const LOCAL: u32 = libfabric::FI_READ | libfabric::FI_WRITE;

/// Registers local memory where the provider needs that.
#[derive(Clone)]
pub(crate) struct LocalRegistrar {
    endpoint: Arc<Endpoint>,
    /// Peers may read it, too: one registration of the program's memory serves its operations and [`Buffers::expose`].
    is_readable: bool,
}

impl Registrar for LocalRegistrar {
    type Region = Region;

    fn register(&self, start: usize, len: usize) -> io::Result<Region> {
        let endpoint = &self.endpoint;
        if !endpoint.registers {
            return Ok(Region::NONE);
        }
        let base = ptr::with_exposed_provenance(start);
        // SAFETY: pool and work requests keep the memory that they register; the cache sees to it
        // that no operation uses a region whose memory was unmapped.
        let result = unsafe {
            if self.is_readable {
                Region::with_key(endpoint, base, len, LOCAL | libfabric::FI_REMOTE_READ)
            } else {
                Region::for_process(endpoint, base, len, LOCAL)
            }
        };
        result.map_err(|error| io::Error::from_raw_os_error(-error))
    }
}

/// What keeps local memory registered until operations are complete: this process's, or those of peers.
#[derive(Default)]
pub(crate) enum BufferGuard {
    #[default]
    Nothing,
    Exposed(#[expect(dead_code, reason = "kept, not read")] Region),
    Bounce(#[expect(dead_code, reason = "kept, not read")] Slot<LocalRegistrar>),
    Registered(#[expect(dead_code, reason = "kept, not read")] RegionRef<Region>),
    Owned(#[expect(dead_code, reason = "kept, not read")] Box<[u8]>),
}

/// Local memory of an operation, and what keeps it registered.
pub(crate) struct LocalBuffer {
    pub base: *mut u8,
    pub desc: *mut c_void,
    pub guard: BufferGuard,
}

impl LocalBuffer {
    /// Memory that stays registered, or needs no registration.
    pub(crate) fn registered(base: *mut u8, desc: *mut c_void) -> LocalBuffer {
        LocalBuffer { base, desc, guard: BufferGuard::Nothing }
    }

    /// Memory of its own, which is not registered.
    pub(crate) fn owned(len: usize) -> LocalBuffer {
        let mut room = vec![0; len].into_boxed_slice();
        LocalBuffer { base: room.as_mut_ptr(), desc: ptr::null_mut(), guard: BufferGuard::Owned(room) }
    }
}

/// The ways to get at registered memory.
pub(crate) struct Buffers {
    registrar: LocalRegistrar,
    pool: Pool<LocalRegistrar>,
    cache: Option<Cache<LocalRegistrar>>,
}

impl Buffers {
    pub(crate) fn new(endpoint: &Arc<Endpoint>, local_pes: usize) -> Result<Buffers, Error> {
        let registrar = LocalRegistrar { endpoint: endpoint.clone(), is_readable: false };
        let shape = Shape { slot: 16 << 10, slots: 32, slabs: 32 };
        let pool = Pool::new(registrar.clone(), shape)
            .map_err(|error| Error::BufferRegistration { purpose: "short transfers", reason: error.to_string() })?;
        let cache = endpoint.registers.then(|| {
            let limits = Limits::of_machine(local_pes);
            let registrar = LocalRegistrar { is_readable: true, ..registrar.clone() };
            Cache::new(registrar, limits, Monitor::of_process())
        });
        Ok(Buffers { registrar, pool, cache })
    }

    /// Registers memory that is the fabric's own.
    pub(crate) fn register(&self, base: *const u8, len: usize) -> Result<Region, Error> {
        let start = base.expose_provenance();
        let mut result = self.registrar.register(start, len);
        while result.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ENOMEM)) && self.give_up(len) {
            result = self.registrar.register(start, len);
        }
        result.map_err(|error| Error::BufferRegistration { purpose: "transfers", reason: error.to_string() })
    }

    /// Gives up memory that is registered but not in use; false if there is none.
    pub(crate) fn give_up(&self, bytes: usize) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.give_up(bytes))
    }

    /// Gives up what is registered of memory that is gone.
    pub(crate) fn sweep(&self) {
        if let Some(cache) = &self.cache {
            cache.sweep();
        }
    }

    /// Whether local memory must be registered at all.
    pub(crate) fn must_register(&self) -> bool {
        self.cache.is_some()
    }

    /// A bounce buffer of [`bounce_len`](Self::bounce_len) bytes; None if all are in use.
    pub(crate) fn bounce(&self) -> Option<LocalBuffer> {
        let slot = self.pool.take()?;
        Some(LocalBuffer { base: slot.as_ptr(), desc: slot.region().desc(), guard: BufferGuard::Bounce(slot) })
    }

    /// So many operations may never end, and keep what they have.
    pub(crate) fn lose_bounce(&self, n: usize) {
        if !self.must_register() {
            self.pool.lose(n); // devices give up by themselves
        }
    }

    /// Length of a bounce buffer in bytes.
    pub(crate) fn bounce_len(&self) -> usize {
        self.pool.slot_len()
    }

    /// The program's memory, where it is. None: it cannot be registered, and must be copied.
    pub(crate) fn direct(&self, base: *mut u8, len: usize) -> Option<LocalBuffer> {
        let Some(cache) = &self.cache else {
            return Some(LocalBuffer::registered(base, ptr::null_mut()));
        };
        let region = cache.acquire(base.expose_provenance(), len).ok()?;
        Some(LocalBuffer { base, desc: region.desc(), guard: BufferGuard::Registered(region) })
    }

    /// Registers the program's memory for peers, which read it, and says what they call it. None: it cannot be
    /// registered.
    ///
    /// # Safety
    /// The `len` bytes at `base` are readable until the guard is dropped.
    pub(crate) unsafe fn expose(&self, base: *const u8, len: usize) -> Option<(BufferGuard, RmaAddress)> {
        let endpoint = &self.registrar.endpoint;
        let Some(cache) = &self.cache else {
            let access = LOCAL | libfabric::FI_REMOTE_READ;
            // SAFETY: the caller promises that the memory is readable for as long as the region.
            let region = unsafe { Region::with_key(endpoint, base, len, access) }.ok()?;
            let address = endpoint.address_of(base);
            let key = region.key();
            return Some((BufferGuard::Exposed(region), RmaAddress { address, key }));
        };
        let region = cache.acquire(base.expose_provenance(), len).ok()?;
        // The region begins with the page.
        let start = ptr::with_exposed_provenance(region.start());
        let before = base.addr() - region.start();
        let address = endpoint.address_of(start) + before as u64;
        let key = region.key();
        Some((BufferGuard::Registered(region), RmaAddress { address, key }))
    }
}
