//! Memory of this process that operations write from and read into.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::Arc;

use crate::Error;
use crate::endpoint::Endpoint;
use crate::registration::{Cache, Lease, Limits, Monitor, Pool, Registrar, Shape, Slot};
use crate::sys;

/// Memory that is registered until this is dropped.
pub(crate) struct Region(*mut sys::fid_mr);

// SAFETY: registrations may be closed by any thread (FI_THREAD_SAFE).
unsafe impl Send for Region {}
// SAFETY: only what does not change is read.
unsafe impl Sync for Region {}

impl Region {
    /// Memory for a provider that needs no registration.
    pub(crate) const NONE: Region = Region(ptr::null_mut());

    /// Registers memory for `access`, with this key if the provider lets us choose.
    ///
    /// # Safety
    /// The memory stays mapped for as long as the region.
    pub(crate) unsafe fn new(
        endpoint: &Endpoint,
        base: *const u8,
        len: usize,
        access: u32,
        key: u64,
    ) -> Result<Region, i32> {
        let mut mr = ptr::null_mut();
        // SAFETY: an open domain; the caller's promise.
        unsafe {
            let access = u64::from(access);
            let result =
                sys::fi_mr_reg(endpoint.domain, base.cast(), len, access, key, &raw mut mr);
            if result != 0 {
                return Err(result);
            }
            let region = Region(mr);
            if endpoint.info.mr_mode() & sys::FI_MR_ENDPOINT != 0 {
                let fid = &raw mut (*mr).fid;
                let mut result = sys::fi_bind(fid, &raw mut (*endpoint.ep).fid, 0);
                if result == 0 {
                    result = sys::fi_control(fid, sys::FI_ENABLE, ptr::null_mut());
                }
                if result != 0 {
                    return Err(result);
                }
            }
            Ok(region)
        }
    }

    /// What operations name the region by, in this process.
    pub(crate) fn desc(&self) -> *mut c_void {
        if self.0.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: open until drop.
        unsafe { (*self.0).mem_desc }
    }

    /// What peers name the region by.
    pub(crate) fn key(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.0).key }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: open, and its operations are complete.
            unsafe { sys::fi_close(self.0.cast()) };
        }
    }
}

/// Registers local memory where the provider needs that.
#[derive(Clone)]
pub(crate) struct Local(Arc<Endpoint>);

impl Local {
    fn needed(&self) -> bool {
        self.0.registers
    }
}

impl Registrar for Local {
    type Region = Region;

    fn register(&self, start: usize, len: usize) -> io::Result<Region> {
        if !self.needed() {
            return Ok(Region::NONE);
        }
        let local = sys::FI_READ | sys::FI_WRITE;
        let key = random().map_err(io::Error::other)?;
        let base = ptr::with_exposed_provenance(start);
        // SAFETY: whoever asks for a region keeps its memory, or sees to it that none is used
        // after it went.
        let register = |access| unsafe { Region::new(&self.0, base, len, access, key) };
        match register(local) {
            // Soft-RoCE gives all regions without remote access the key 0, and rxm wants every
            // key once: there they must be readable.
            Err(error) if error == -(sys::FI_ENOKEY as i32) => {
                register(local | sys::FI_REMOTE_READ)
            }
            result => result,
        }
        .map_err(|error| io::Error::from_raw_os_error(-error))
    }
}

/// The ways to get at registered memory.
pub(crate) struct Buffers {
    local: Local,
    pool: Pool<Local>,
    cache: Option<Cache<Local>>,
}

/// Local memory as an operation needs it.
pub(crate) enum Place {
    /// Nothing is needed, or it is known to be registered.
    Ready(*mut c_void),
    Leased(Lease<Region>),
    /// It cannot be registered: copy.
    Refused,
}

impl Buffers {
    pub(crate) fn new(endpoint: &Arc<Endpoint>, local_pes: usize) -> Result<Buffers, Error> {
        let local = Local(endpoint.clone());
        let shape = Shape {
            slot: 16 << 10,
            slots: 32,
            slabs: 32,
        };
        let pool = Pool::new(local.clone(), shape)
            .map_err(|e| Error::new(format!("cannot register memory for short transfers: {e}")))?;
        let cache = local.needed().then(|| {
            let limits = Limits::of_machine(local_pes);
            Cache::new(local.clone(), limits, Monitor::of_process())
        });
        Ok(Buffers { local, pool, cache })
    }

    /// Registers memory that is the engine's own.
    pub(crate) fn register(&self, base: *const u8, len: usize) -> Result<Region, Error> {
        let start = base.expose_provenance();
        let mut result = self.local.register(start, len);
        while result
            .as_ref()
            .is_err_and(|e| e.raw_os_error() == Some(libc::ENOMEM))
            && self.give_up(len)
        {
            result = self.local.register(start, len);
        }
        result.map_err(|e| Error::new(format!("cannot register memory for transfers: {e}; raise the limit of locked memory (ulimit -l)")))
    }

    /// Gives up memory that is registered but not in use; false if there is none.
    pub(crate) fn give_up(&self, bytes: usize) -> bool {
        self.cache
            .as_ref()
            .is_some_and(|cache| cache.give_up(bytes))
    }

    /// Gives up what is registered of memory that is gone.
    pub(crate) fn sweep(&self) {
        if let Some(cache) = &self.cache {
            cache.sweep();
        }
    }

    /// Whether local memory must be registered at all.
    pub(crate) fn needed(&self) -> bool {
        self.cache.is_some()
    }

    pub(crate) fn slot(&self) -> Option<Slot<Local>> {
        self.pool.take()
    }

    pub(crate) fn slot_len(&self) -> usize {
        self.pool.slot_len()
    }

    /// The program's memory, to be used where it is.
    pub(crate) fn place(&self, base: *const u8, len: usize) -> Place {
        let Some(cache) = &self.cache else {
            return Place::Ready(ptr::null_mut());
        };
        match cache.acquire(base.expose_provenance(), len) {
            Ok(lease) => Place::Leased(lease),
            Err(_) => Place::Refused,
        }
    }
}

/// A number that nobody can guess.
pub(crate) fn random() -> Result<u64, Error> {
    let mut bytes = [0u8; 8];
    // SAFETY: room for as many bytes as are asked for; so few come at once.
    let n = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if n != bytes.len() as isize {
        let why = io::Error::last_os_error();
        return Err(Error::new(format!("cannot get random numbers: {why}")));
    }
    Ok(u64::from_ne_bytes(bytes))
}
