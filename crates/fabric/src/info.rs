//! What libfabric offers, as it says it: `fi_getinfo` and its results.

use std::ffi::{CStr, c_char};
use std::net::IpAddr;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::interface::address_in;
use crate::sys::{self, Library, fi_info};

/// One offer of libfabric, owned.
pub struct Info {
    library: Arc<Library>,
    raw: NonNull<fi_info>,
}

// SAFETY: a tree of plain data that nobody else has.
unsafe impl Send for Info {}
// SAFETY: it is only read after it was made.
unsafe impl Sync for Info {}

impl Info {
    /// A copy of `raw`; of null: one without any demands.
    ///
    /// # Safety
    /// Null, or an info of this library.
    unsafe fn copy(library: &Arc<Library>, raw: *const fi_info) -> Option<Info> {
        // SAFETY: the caller's promise.
        let raw = NonNull::new(unsafe { (library.dupinfo)(raw) })?;
        Some(Info {
            library: library.clone(),
            raw,
        })
    }

    pub fn as_ptr(&self) -> *mut fi_info {
        self.raw.as_ptr()
    }

    pub fn provider(&self) -> String {
        // SAFETY: libfabric fills in all parts of an info.
        unsafe { text((*(*self.as_ptr()).fabric_attr).prov_name) }
    }

    pub fn fabric(&self) -> String {
        // SAFETY: as above.
        unsafe { text((*(*self.as_ptr()).fabric_attr).name) }
    }

    pub fn domain(&self) -> String {
        // SAFETY: as above.
        unsafe { text((*self.domain_attr()).name) }
    }

    pub fn caps(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).caps }
    }

    pub fn domain_attr(&self) -> *mut sys::fi_domain_attr {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).domain_attr }
    }

    pub fn tx_attr(&self) -> *mut sys::fi_tx_attr {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).tx_attr }
    }

    pub fn ep_attr(&self) -> *mut sys::fi_ep_attr {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).ep_attr }
    }

    pub fn mr_mode(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.domain_attr()).mr_mode as u32 }
    }

    pub fn format(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).addr_format }
    }

    /// The address that an endpoint of this offer would have, if it is one of the Internet.
    pub fn address(&self) -> Option<IpAddr> {
        // SAFETY: as above.
        let (base, len) = unsafe { ((*self.as_ptr()).src_addr, (*self.as_ptr()).src_addrlen) };
        if base.is_null() {
            return None;
        }
        // SAFETY: libfabric says so.
        let name = unsafe { std::slice::from_raw_parts(base.cast::<u8>(), len) };
        address_in(self.format(), name)
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: ours.
        unsafe { (self.library.freeinfo)(self.as_ptr()) }
    }
}

/// What is asked of a provider.
pub(crate) enum Wish {
    /// All that is needed.
    All,
    /// The same without atomics: some providers tell only so in what order writes arrive.
    Transfers,
    /// Anything that goes by the name of reliable transfers.
    Any,
}

/// libfabric's offers, in its order: the fastest first.
pub(crate) fn ask(library: &Arc<Library>, wish: &Wish) -> Vec<Info> {
    // SAFETY: null makes an empty one.
    let Some(hints) = (unsafe { Info::copy(library, ptr::null()) }) else {
        return Vec::new();
    };
    let transfers = u64::from(
        sys::FI_RMA | sys::FI_READ | sys::FI_WRITE | sys::FI_REMOTE_READ | sys::FI_REMOTE_WRITE,
    );
    // SAFETY: an info has all its parts, and these are only ours.
    unsafe {
        let info = &mut *hints.as_ptr();
        (*info.ep_attr).type_ = sys::FI_EP_RDM;
        (*info.domain_attr).mr_mode = (sys::FI_MR_LOCAL
            | sys::FI_MR_VIRT_ADDR
            | sys::FI_MR_ALLOCATED
            | sys::FI_MR_PROV_KEY
            | sys::FI_MR_ENDPOINT) as _;
        info.mode = sys::FI_CONTEXT | sys::FI_CONTEXT2;
        match wish {
            Wish::All => info.caps = transfers | u64::from(sys::FI_ATOMIC),
            Wish::Transfers => info.caps = transfers,
            Wish::Any => {}
        }
        if !matches!(wish, Wish::Any) {
            (*info.domain_attr).threading = sys::FI_THREAD_SAFE;
            (*info.tx_attr).op_flags = u64::from(sys::FI_DELIVERY_COMPLETE);
        }
    }
    let mut list = ptr::null_mut();
    // SAFETY: hints of this library, a place for the list.
    let result = unsafe {
        (library.getinfo)(
            sys::API,
            ptr::null(),
            ptr::null(),
            0,
            hints.as_ptr(),
            &raw mut list,
        )
    };
    if result != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next: *const fi_info = list;
    while !next.is_null() {
        // SAFETY: an info of the list.
        found.extend(unsafe { Info::copy(library, next) });
        // SAFETY: as above.
        next = unsafe { (*next).next };
    }
    if !list.is_null() {
        // SAFETY: the list of above.
        unsafe { (library.freeinfo)(list) };
    }
    found
}

/// # Safety
/// Null, or a string that ends.
unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}
