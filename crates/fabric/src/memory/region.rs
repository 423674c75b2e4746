//! Registered memory.

use std::ffi::c_void;
use std::ptr;

use crate::Error;
use crate::endpoint::Endpoint;
use crate::libfabric;

/// Registered memory, as operations of peers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RmaAddress {
    /// What peers call the first byte.
    pub address: u64,
    /// Key of the registration.
    pub key: u64,
}

/// Memory that is registered until this is dropped.
pub(crate) struct Region(*mut libfabric::fid_mr);

// SAFETY: any thread may close a registration (FI_THREAD_SAFE).
unsafe impl Send for Region {}
// SAFETY: only what does not change is read.
unsafe impl Sync for Region {}

/// Deregisters as many bytes of other memory; false if there is nothing to deregister.
pub(crate) type MakeRoom<'a> = &'a dyn Fn(usize) -> bool;

impl Region {
    /// Memory for a provider that needs no registration.
    pub(crate) const NONE: Region = Region(ptr::null_mut());

    /// Registers memory for `access`, with this key if the provider lets its user choose. The error
    /// is libfabric's.
    ///
    /// # Safety
    /// The `len` bytes at `base` stay mapped for as long as the region.
    pub(crate) unsafe fn new(
        endpoint: &Endpoint,
        base: *const u8,
        len: usize,
        access: u32,
        key: u64,
    ) -> Result<Region, i32> {
        let mut mr = ptr::null_mut();
        // SAFETY: the domain is open; the caller promises that the memory stays mapped.
        unsafe {
            let (domain, access) = (endpoint.domain, u64::from(access));
            let result = libfabric::fi_mr_reg(domain, base.cast(), len, access, key, &raw mut mr);
            if result != 0 {
                return Err(result);
            }
            let region = Region(mr);
            if endpoint.info.mr_mode() & libfabric::FI_MR_ENDPOINT != 0 {
                let fid = &raw mut (*mr).fid;
                let mut result = libfabric::fi_bind(fid, &raw mut (*endpoint.ep).fid, 0);
                if result == 0 {
                    result = libfabric::fi_control(fid, libfabric::FI_ENABLE, ptr::null_mut());
                }
                if result != 0 {
                    return Err(result);
                }
            }
            Ok(region)
        }
    }

    /// Registers memory that peers read and, with `writable`, write.
    ///
    /// # Errors
    /// The provider refuses.
    ///
    /// # Safety
    /// The `len` bytes at `base` stay mapped for as long as the region.
    pub(crate) unsafe fn for_peers(
        endpoint: &Endpoint,
        base: *const u8,
        len: usize,
        writable: bool,
        make_room: MakeRoom,
    ) -> Result<Region, Error> {
        let remote =
            if writable { libfabric::FI_REMOTE_READ | libfabric::FI_REMOTE_WRITE } else { libfabric::FI_REMOTE_READ };
        let access = remote | libfabric::FI_READ | libfabric::FI_WRITE;
        loop {
            // SAFETY: the caller promises that the memory stays mapped for as long as the region.
            match unsafe { Region::with_key(endpoint, base, len, access) } {
                Ok(region) => return Ok(region),
                Err(error) if error == -libc::ENOMEM && make_room(len) => {}
                Err(error) => {
                    return Err(Error::SegmentRegistration {
                        provider: endpoint.info.provider(),
                        bytes: len,
                        reason: endpoint.library.strerror(error as isize),
                    });
                }
            }
        }
    }

    /// Registers memory for `access` of peers, by a key that is not in use. The error is libfabric's.
    ///
    /// # Safety
    /// The `len` bytes at `base` stay mapped for as long as the region.
    pub(crate) unsafe fn with_key(
        endpoint: &Endpoint,
        base: *const u8,
        len: usize,
        access: u32,
    ) -> Result<Region, i32> {
        /// Chosen keys may collide; there are 2^64 of them (fewer where keys are shorter).
        const TRIES: u32 = 10;

        // SAFETY: infos have all their parts.
        let key_size = unsafe { (*endpoint.info.domain_attr()).mr_key_size };
        let mut tries = 0;
        loop {
            let mut key = random().map_err(|_| -libc::EIO)?;
            if key_size < 8 {
                key &= (1 << (8 * key_size)) - 1;
            }
            // SAFETY: the caller promises that the memory stays mapped for as long as the region.
            match unsafe { Region::new(endpoint, base, len, access, key) } {
                Err(error) if error == -(libfabric::FI_ENOKEY as i32) && tries < TRIES => {
                    tries += 1;
                }
                result => return result,
            }
        }
    }

    /// Registers memory that operations of this process use. The error is libfabric's.
    ///
    /// # Safety
    /// The `len` bytes at `base` stay mapped for as long as the region.
    pub(crate) unsafe fn for_process(
        endpoint: &Endpoint,
        base: *const u8,
        len: usize,
        access: u32,
    ) -> Result<Region, i32> {
        let key = random().map_err(|_| -libc::EIO)?;
        // SAFETY: the caller promises that the `len` bytes at `base` stay mapped while the region
        // is registered.
        let register = |access| unsafe { Region::new(endpoint, base, len, access, key) };
        match register(access) {
            // Soft-RoCE gives all regions without remote access the key 0, and rxm wants every
            // key once: there they must be readable.
            Err(error) if error == -(libfabric::FI_ENOKEY as i32) => register(access | libfabric::FI_REMOTE_READ),
            result => result,
        }
    }

    /// What operations of this process name the region by.
    pub(crate) fn desc(&self) -> *mut c_void {
        if self.0.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: open until drop.
        unsafe { (*self.0).mem_desc }
    }

    /// What operations of peers name the region by.
    pub(crate) fn key(&self) -> u64 {
        // SAFETY: open until drop.
        unsafe { (*self.0).key }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: open, and its operations are complete.
            unsafe { libfabric::fi_close(self.0.cast()) };
        }
    }
}

/// A number that no other process can guess.
pub(super) fn random() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| Error::Random { reason: error.to_string() })
}
