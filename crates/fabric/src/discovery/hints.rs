//! `fi_getinfo`: what is asked of providers, and what they say of themselves.

use std::ffi::{CStr, c_char};
use std::net::IpAddr;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::interfaces::address_in;
use crate::libfabric::{self, Library, fi_info};

/// What a provider says of itself, owned.
pub struct Info {
    library: Arc<Library>,
    raw: NonNull<fi_info>,
}

// SAFETY: a tree of plain data, which this owns.
unsafe impl Send for Info {}
// SAFETY: it is only read after it was made.
unsafe impl Sync for Info {}

impl Info {
    /// A copy of `raw`; of null: one without any demands.
    ///
    /// # Safety
    /// Null, or an info of this library.
    unsafe fn copy(library: &Arc<Library>, raw: *const fi_info) -> Option<Info> {
        // SAFETY: the caller promises null or an info of this library.
        let raw = NonNull::new(unsafe { (library.dupinfo)(raw) })?;
        Some(Info { library: library.clone(), raw })
    }

    /// A copy, for another endpoint. None: there is no memory.
    pub(crate) fn duplicate(&self) -> Option<Info> {
        // SAFETY: an info of this library.
        unsafe { Info::copy(&self.library, self.raw.as_ptr()) }
    }

    /// For libfabric.
    pub fn as_ptr(&self) -> *mut fi_info {
        self.raw.as_ptr()
    }

    /// Name of the provider: "verbs;ofi_rxm".
    pub fn provider(&self) -> String {
        // SAFETY: libfabric fills in all parts of an info.
        unsafe { text((*(*self.as_ptr()).fabric_attr).prov_name) }
    }

    /// libfabric's name of the network.
    pub fn fabric(&self) -> String {
        // SAFETY: as above.
        unsafe { text((*(*self.as_ptr()).fabric_attr).name) }
    }

    /// libfabric's name of the device.
    pub fn domain(&self) -> String {
        // SAFETY: as above.
        unsafe { text((*self.domain_attr()).name) }
    }

    /// The capabilities, `FI_RMA` and others.
    pub fn caps(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).caps }
    }

    /// Attributes of the domain.
    pub fn domain_attr(&self) -> *mut libfabric::fi_domain_attr {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).domain_attr }
    }

    /// Attributes of what is sent.
    pub fn tx_attr(&self) -> *mut libfabric::fi_tx_attr {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).tx_attr }
    }

    /// Attributes of the endpoint.
    pub fn ep_attr(&self) -> *mut libfabric::fi_ep_attr {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).ep_attr }
    }

    /// What registering memory takes, `FI_MR_LOCAL` and others.
    pub fn mr_mode(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.domain_attr()).mr_mode as u32 }
    }

    /// The form of addresses, `FI_SOCKADDR_IN` and others.
    pub fn format(&self) -> u32 {
        // SAFETY: as above.
        unsafe { (*self.as_ptr()).addr_format }
    }

    /// The address that an endpoint of this provider would have, if it is one of the Internet.
    pub fn address(&self) -> Option<IpAddr> {
        // SAFETY: as above.
        let (base, len) = unsafe { ((*self.as_ptr()).src_addr, (*self.as_ptr()).src_addrlen) };
        if base.is_null() {
            return None;
        }
        // SAFETY: libfabric gives the length of the address with it.
        let name = unsafe { std::slice::from_raw_parts(base.cast::<u8>(), len) };
        address_in(self.format(), name)
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: `copy` made it, and this owns it.
        unsafe { (self.library.freeinfo)(self.as_ptr()) }
    }
}

/// What is asked of a provider.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hints {
    /// All that is needed.
    All,
    /// The same without atomics.
    Messages,
    /// Without messages, too: some providers state only then in what order writes arrive.
    Transfers,
    /// Anything that goes by the name of reliable transfers.
    Any,
}

/// The providers that satisfy the hints, in libfabric's order: the fastest first.
pub(crate) fn get_info(library: &Arc<Library>, hints: Hints) -> Vec<Info> {
    // SAFETY: null makes an empty one.
    let Some(wanted) = (unsafe { Info::copy(library, ptr::null()) }) else {
        return Vec::new();
    };
    let transfers = u64::from(
        libfabric::FI_RMA
            | libfabric::FI_READ
            | libfabric::FI_WRITE
            | libfabric::FI_REMOTE_READ
            | libfabric::FI_REMOTE_WRITE,
    );
    let messages = u64::from(libfabric::FI_MSG | libfabric::FI_SEND | libfabric::FI_RECV);
    // SAFETY: an info has all its parts, and these are only ours.
    unsafe {
        let info = &mut *wanted.as_ptr();
        (*info.ep_attr).type_ = libfabric::FI_EP_RDM;
        (*info.domain_attr).mr_mode = (libfabric::FI_MR_LOCAL
            | libfabric::FI_MR_VIRT_ADDR
            | libfabric::FI_MR_ALLOCATED
            | libfabric::FI_MR_PROV_KEY
            | libfabric::FI_MR_ENDPOINT) as _;
        info.mode = libfabric::FI_CONTEXT | libfabric::FI_CONTEXT2;
        match hints {
            Hints::All => info.caps = transfers | u64::from(libfabric::FI_ATOMIC) | messages,
            Hints::Messages => info.caps = transfers | messages,
            Hints::Transfers => info.caps = transfers,
            Hints::Any => {}
        }
        if hints != Hints::Any {
            (*info.domain_attr).threading = libfabric::FI_THREAD_SAFE;
            (*info.tx_attr).op_flags = u64::from(libfabric::FI_DELIVERY_COMPLETE);
        }
    }
    let mut list = ptr::null_mut();
    // SAFETY: hints of this library, a place for the list.
    let result =
        unsafe { (library.getinfo)(libfabric::API, ptr::null(), ptr::null(), 0, wanted.as_ptr(), &raw mut list) };
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
        // SAFETY: the list that `getinfo` made.
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
    // SAFETY: the caller promises a NUL-terminated string.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}
