//! An endpoint and what belongs to it: fabric, domain, address vector, completion queue.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;

use crate::Error;
use crate::discovery::{self, Info};
use crate::libfabric::{self, Library};

/// Completions read at once.
pub const BATCH: usize = 32;

/// An operation that failed.
pub struct Failure {
    /// The operation's context; null if libfabric does not know it.
    pub context: *mut c_void,
    /// What libfabric and the provider say.
    pub reason: String,
}

/// An injected write, which no work request stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected {
    /// The PE that it goes to.
    pub pe: usize,
    /// A thread waits for what the PE does next.
    pub awaited: bool,
}

impl Injected {
    /// Work requests are aligned, so that an odd number is none.
    pub(crate) fn context(self) -> *mut c_void {
        ptr::without_provenance_mut(self.pe << 2 | usize::from(self.awaited) << 1 | 1)
    }

    /// That of a completion, if it is one of an injected write.
    pub fn of(context: *mut c_void) -> Option<Self> {
        let word = context.addr();
        (word & 1 != 0).then_some(Self { pe: word >> 2, awaited: word & 2 != 0 })
    }
}

/// The number of the buffer that a message is received into, which no work request stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received(pub usize);

/// The number of the buffer that a message is sent from, which no work request stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendContext(pub usize);

/// Buffers to receive messages into at most, and to send them from.
pub(crate) const BUFFERS: usize = 64;
/// Messages that libfabric sends at most: those in buffers, and those to lost PEs, which it may keep for ever.
pub(crate) const SENDS: usize = 512;

/// The contexts of messages, those of received ones first: memory that a provider which asks for it (`FI_CONTEXT`) uses
/// while a message is under way.
struct MessageContexts(Box<[MessageContext]>);

/// As large as the provider's structure, and aligned as pointers are.
#[derive(Zeroable)]
#[repr(C)]
struct MessageContext(UnsafeCell<[usize; size_of::<libfabric::fi_context2>() / size_of::<usize>()]>);

impl Default for MessageContexts {
    fn default() -> Self {
        // Pages are there once they are used.
        Self(bytemuck::allocation::zeroed_slice_box(BUFFERS + SENDS))
    }
}

impl MessageContexts {
    fn at(&self, number: usize) -> *mut c_void {
        self.0[number].0.get().cast()
    }

    /// The number of a context, if it is one of these.
    #[inline]
    fn number(&self, context: *mut c_void) -> Option<usize> {
        let at = context.addr().wrapping_sub(self.0.as_ptr().addr()) / size_of::<libfabric::fi_context2>();
        (at < self.0.len()).then_some(at)
    }
}

/// What reading the completion queue gave.
pub enum Completed {
    /// The number of contexts in the buffer.
    Some(usize),
    /// No operation has completed.
    Nothing,
    /// An operation has failed.
    Failed(Failure),
}

/// An endpoint, opened and enabled.
pub struct Endpoint {
    /// The library that it is of.
    pub library: Arc<Library>,
    /// What the provider said of itself.
    pub info: Info,
    stopped: AtomicBool,
    /// Registering pins memory: only what is there may be registered.
    pub pins: bool,
    /// Local buffers must be registered.
    pub registers: bool,
    /// Injected writes must have a context.
    names_injected: bool,
    fabric: *mut libfabric::fid_fabric,
    /// The domain.
    pub domain: *mut libfabric::fid_domain,
    av: *mut libfabric::fid_av,
    cq: *mut libfabric::fid_cq,
    /// Another one of the domain, which operations never complete to; null: `cq` has the descriptor to wait for.
    waiting: *mut libfabric::fid_cq,
    /// The endpoint itself.
    pub ep: *mut libfabric::fid_ep,
    /// Readable when there is something to do; -1: the provider has nothing to wait for.
    ready: c_int,
    messages: MessageContexts,
}

// SAFETY: the domain is opened as FI_THREAD_SAFE: all of its objects may be used by any thread.
unsafe impl Send for Endpoint {}
// SAFETY: as above.
unsafe impl Sync for Endpoint {}

impl Endpoint {
    /// Opens and enables an endpoint of a provider. `pinned`: registers memory as if that pinned it.
    ///
    /// # Errors
    /// The provider refuses.
    pub fn open(library: Arc<Library>, info: Info, pinned: bool) -> Result<Endpoint, Error> {
        let mode = info.mr_mode();
        let mut this = Endpoint {
            library,
            info,
            stopped: AtomicBool::new(false),
            pins: pinned || mode & libfabric::FI_MR_ALLOCATED != 0,
            registers: pinned || mode & libfabric::FI_MR_LOCAL != 0,
            names_injected: false,
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            av: ptr::null_mut(),
            cq: ptr::null_mut(),
            waiting: ptr::null_mut(),
            ep: ptr::null_mut(),
            ready: -1,
            messages: MessageContexts::default(),
        };
        // The tcp provider reports an injected write that fails, without a context, as it does not mark it as
        // injected (tcpx_rma_inject_common of libfabric 1.17, xnet_rma_inject_common of 2.0); rxm follows the
        // context of what failed. So where a peer's connection breaks, injecting by rxm over tcp crashes.
        // Without rxm, what reports it is an error of no operation.
        this.names_injected = this.is_by_tcp();
        let raw = this.info.as_ptr();
        // SAFETY: infos have all their parts; the objects are opened in the order in which they
        // need each other, and closed by drop in the other.
        unsafe {
            (*this.info.tx_attr()).op_flags = u64::from(libfabric::FI_DELIVERY_COMPLETE);
            let attr = (*raw).fabric_attr;
            let result = (this.library.fabric)(attr, &raw mut this.fabric, ptr::null_mut());
            this.check(result, "open the fabric")?;
            let result = libfabric::fi_domain(this.fabric, raw, &raw mut this.domain);
            this.check(result, "open the domain")?;
            let mut attr: libfabric::fi_av_attr = std::mem::zeroed();
            attr.type_ = (*this.info.domain_attr()).av_type;
            let result = libfabric::fi_av_open(this.domain, &raw mut attr, &raw mut this.av);
            this.check(result, "open an address vector")?;
            let mut attr: libfabric::fi_cq_attr = std::mem::zeroed();
            attr.size = (*this.info.tx_attr()).size;
            attr.format = libfabric::FI_CQ_FORMAT_CONTEXT;
            this.open_queues(&mut attr)?;
            let result = libfabric::fi_endpoint(this.domain, raw, &raw mut this.ep);
            this.check(result, "open an endpoint")?;
            let fid = &raw mut (*this.ep).fid;
            let result = libfabric::fi_bind(fid, &raw mut (*this.av).fid, 0);
            this.check(result, "bind the address vector")?;
            let flags = u64::from(libfabric::FI_TRANSMIT | libfabric::FI_RECV);
            let result = libfabric::fi_bind(fid, &raw mut (*this.cq).fid, flags);
            this.check(result, "bind the completion queue")?;
            let result = libfabric::fi_control(fid, libfabric::FI_ENABLE, ptr::null_mut());
            this.check(result, "enable the endpoint")?;
            let fd = (&raw mut this.ready).cast();
            let waiting = &raw mut (*this.queue_to_wait_for()).fid;
            if libfabric::fi_control(waiting, libfabric::FI_GETWAIT, fd) != 0 {
                this.ready = -1;
            }
        }
        Ok(this)
    }

    /// Opens the completion queue, and what a thread may wait for.
    ///
    /// # Safety
    /// The domain is open; the attributes are those of the queue, but for what to wait for.
    unsafe fn open_queues(&mut self, attr: &mut libfabric::fi_cq_attr) -> Result<(), Error> {
        let domain = self.domain;
        // SAFETY: the caller promises that the domain is open.
        let open = |attr: &mut libfabric::fi_cq_attr, wait_obj, cq| unsafe {
            attr.wait_obj = wait_obj;
            libfabric::fi_cq_open(domain, &raw mut *attr, cq)
        };
        // For each completion, tcp makes a queue's descriptor readable, and version 1.17 leaves it so. The descriptor
        // of a queue that no operation completes to is readable as long as a socket of the domain has something.
        if self.is_tcp_alone() && open(attr, libfabric::FI_WAIT_FD, &raw mut self.waiting) == 0 {
            let result = open(attr, libfabric::FI_WAIT_NONE, &raw mut self.cq);
            return self.check(result, "open a completion queue");
        }
        let mut result = open(attr, libfabric::FI_WAIT_FD, &raw mut self.cq);
        if result != 0 {
            result = open(attr, libfabric::FI_WAIT_NONE, &raw mut self.cq);
        }
        self.check(result, "open a completion queue")
    }

    fn queue_to_wait_for(&self) -> *mut libfabric::fid_cq {
        if self.waiting.is_null() { self.cq } else { self.waiting }
    }

    /// An error if libfabric refused a step.
    ///
    /// # Errors
    /// `result` is not 0.
    pub fn check(&self, result: c_int, step: &'static str) -> Result<(), Error> {
        if result == 0 {
            return Ok(());
        }
        Err(Error::Endpoint {
            provider: self.info.provider(),
            domain: self.info.domain(),
            step,
            reason: self.library.strerror(result as isize),
        })
    }

    /// Readable when there is something to do. None: the provider has nothing to wait for.
    pub fn ready(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the completion queue's descriptor, which is open as long as the queue.
        (self.ready >= 0).then(|| unsafe { BorrowedFd::borrow_raw(self.ready) })
    }

    /// Whether the provider's name has this part: "tcp;ofi_rxm" has "tcp" and "ofi_rxm".
    pub fn has_layer(&self, name: &str) -> bool {
        self.info.provider().split(';').any(|part| part == name)
    }

    /// Whether the provider is TCP's, with rxm or without.
    pub fn is_by_tcp(&self) -> bool {
        self.is_tcp_alone() || self.info.provider() == "tcp;ofi_rxm"
    }

    /// Whether the provider is TCP's own one for reliable datagrams, without rxm.
    pub fn is_tcp_alone(&self) -> bool {
        discovery::is_tcp_alone(&self.info.provider())
    }

    /// Whether writes of peers make [`ready`](Self::ready) readable.
    pub fn notifies_writes(&self) -> bool {
        self.is_by_tcp()
    }

    /// Peers name memory by virtual addresses, not by offsets.
    pub fn virtual_addresses(&self) -> bool {
        self.info.mr_mode() & libfabric::FI_MR_VIRT_ADDR != 0
    }

    /// What peers call the first byte of memory that is registered from `base` on.
    pub fn address_of(&self, base: *const u8) -> u64 {
        if self.virtual_addresses() { base.expose_provenance() as u64 } else { 0 }
    }

    /// What peers need to find this endpoint.
    pub fn name(&self) -> Result<Vec<u8>, Error> {
        let mut name = vec![0u8; 256];
        let mut len = name.len();
        // SAFETY: an open endpoint and room for its name.
        let result = unsafe { libfabric::fi_getname(self.ep, name.as_mut_ptr().cast(), &raw mut len) };
        self.check(result, "name its address")?;
        name.truncate(len);
        Ok(name)
    }

    /// Makes a peer known by its name.
    pub fn insert(&self, name: &[u8]) -> Option<libfabric::fi_addr_t> {
        let mut address = libfabric::ADDR_NOTAVAIL;
        // SAFETY: a name of an endpoint of the same format.
        let n = unsafe { libfabric::fi_av_insert(self.av, name.as_ptr().cast(), 1, &raw mut address) };
        (n == 1 && address != libfabric::ADDR_NOTAVAIL).then_some(address)
    }

    /// The name by which a peer was made known. None: the provider does not keep it.
    pub(crate) fn lookup(&self, address: libfabric::fi_addr_t) -> Option<Vec<u8>> {
        let mut name = vec![0u8; 256];
        let mut len = name.len();
        // SAFETY: an open address vector and room for the name.
        let result = unsafe { libfabric::fi_av_lookup(self.av, address, name.as_mut_ptr().cast(), &raw mut len) };
        let is_whole = result == 0 && len <= name.len();
        name.truncate(len);
        is_whole.then_some(name)
    }

    /// Writes bytes that may be changed on return; returns libfabric's result. The write is not complete
    /// at any time, but [`Injected::of`] may find it among what has failed.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes, those that the provider injects at most.
    pub unsafe fn inject(
        &self,
        peer: libfabric::fi_addr_t,
        injected: Injected,
        to: libfabric::fi_rma_iov,
        from: *const c_void,
    ) -> isize {
        let libfabric::fi_rma_iov { addr, len, key } = to;
        if !self.names_injected {
            // SAFETY: the caller promises that `from` is readable for `len` bytes.
            return unsafe { libfabric::fi_inject_write(self.ep, from, len, peer, addr, key) };
        }
        let iov = libc::iovec { iov_base: from.cast_mut(), iov_len: len };
        let message = libfabric::fi_msg_rma {
            msg_iov: &raw const iov,
            desc: ptr::null_mut(),
            iov_count: 1,
            addr: peer,
            rma_iov: &raw const to,
            rma_iov_count: 1,
            context: injected.context(),
            data: 0,
        };
        let flags = libfabric::FI_INJECT | libfabric::FI_INJECT_COMPLETE | libfabric::FI_COMPLETION;
        // SAFETY: the message and what it points to are read during the call; the caller promises that
        // `from` is readable.
        unsafe { libfabric::fi_writemsg(self.ep, &raw const message, flags.into()) }
    }

    /// Sends a message, and what names its memory if that is registered; returns libfabric's result. That the context
    /// has completed tells that the message may be changed, not that it has arrived.
    ///
    /// # Safety
    /// With the flag `FI_INJECT`, the message is no longer than what the provider injects; without, it stays
    /// as it is until the context has completed.
    pub unsafe fn send(
        &self,
        peer: libfabric::fi_addr_t,
        context: *mut c_void,
        (message, mut desc): (&[u8], *mut c_void),
        flags: u32,
    ) -> isize {
        let iov = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
        let message = libfabric::fi_msg {
            msg_iov: &raw const iov,
            desc: &raw mut desc,
            iov_count: 1,
            addr: peer,
            context,
            data: 0,
        };
        let flags = flags | libfabric::FI_INJECT_COMPLETE | libfabric::FI_COMPLETION;
        // SAFETY: the message is read during the call; the caller promises that its bytes stay as long as
        // they are needed.
        unsafe { libfabric::fi_sendmsg(self.ep, &raw const message, flags.into()) }
    }

    /// The context of a message that is sent from a buffer.
    pub(crate) fn context(&self, SendContext(index): SendContext) -> *mut c_void {
        self.messages.at(BUFFERS + index)
    }

    /// The message received that has this context, if it is one.
    #[inline]
    pub(crate) fn received(&self, context: *mut c_void) -> Option<Received> {
        self.messages.number(context).filter(|index| *index < BUFFERS).map(Received)
    }

    /// The message sent that has this context, if it is one.
    #[inline]
    pub(crate) fn sent(&self, context: *mut c_void) -> Option<SendContext> {
        self.messages.number(context)?.checked_sub(BUFFERS).map(SendContext)
    }

    /// Lets libfabric receive a message, from any peer; returns libfabric's result.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes until `received` finds this among what has completed, or the
    /// endpoint is closed.
    pub unsafe fn receive(&self, (to, desc): (*mut c_void, *mut c_void), len: usize, received: Received) -> isize {
        let (any, context) = (libfabric::ADDR_NOTAVAIL, self.messages.at(received.0));
        // SAFETY: the caller promises that the memory is writable.
        unsafe { libfabric::fi_recv(self.ep, to, len, desc, any, context) }
    }

    /// Lets the provider work, and reads what has completed.
    pub fn read(&self, contexts: &mut [*mut c_void; BATCH]) -> Completed {
        // SAFETY: with FI_CQ_FORMAT_CONTEXT an entry is the context alone.
        let n = unsafe { libfabric::fi_cq_read(self.cq, contexts.as_mut_ptr().cast(), BATCH) };
        if n > 0 {
            Completed::Some(n as usize)
        } else if n == 0 || n == -(libfabric::FI_EAGAIN as isize) {
            Completed::Nothing
        } else if n == -(libfabric::FI_EAVAIL as isize) {
            self.failure()
        } else {
            Completed::Failed(Failure {
                context: ptr::null_mut(),
                reason: format!("the completion queue is broken: {}", self.library.strerror(n)),
            })
        }
    }

    fn failure(&self) -> Completed {
        // Later versions write more than the bindings know.
        #[repr(C)]
        struct ErrorEntry {
            known: libfabric::fi_cq_err_entry,
            more: [u64; 8],
        }
        // SAFETY: plain data, for which zeros are valid.
        let mut entry: ErrorEntry = unsafe { std::mem::zeroed() };
        // SAFETY: an open queue; the entry has room for what later versions write, too.
        let n = unsafe { libfabric::fi_cq_readerr(self.cq, &raw mut entry.known) };
        if n <= 0 {
            return Completed::Nothing; // another thread has read it
        }
        let known = &entry.known;
        let mut reason = self.library.strerror(known.err as isize);
        let provider = self.library.strerror(known.prov_errno as isize);
        if known.prov_errno != 0 && provider != reason {
            reason = format!("{reason} ({provider})");
        }
        Completed::Failed(Failure { context: known.op_context, reason })
    }

    /// Whether it is right to sleep until [`ready`](Self::ready) is readable.
    pub fn may_sleep(&self) -> bool {
        // SAFETY: an open queue of this fabric.
        unsafe {
            let mut fid = &raw mut (*self.queue_to_wait_for()).fid;
            libfabric::fi_trywait(self.fabric, &raw mut fid, 1) == 0
        }
    }
}

impl Endpoint {
    /// Ends what is under way, so that nothing more is written into memory of this process by
    /// its operations. Memory that is bound to the endpoint must be deregistered before.
    ///
    /// # Safety
    /// No thread uses the endpoint any more.
    pub unsafe fn stop(&self) {
        if !self.stopped.swap(true, Ordering::Relaxed) && !self.ep.is_null() {
            // SAFETY: open, and the caller promises that no thread uses it.
            unsafe { libfabric::fi_close(self.ep.cast()) };
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // SAFETY: no other thread has it, as it is being dropped.
        unsafe { self.stop() };
        let close = |fid: *mut libfabric::fid| {
            if !fid.is_null() {
                // SAFETY: open, and what depends on it is closed.
                unsafe { libfabric::fi_close(fid) };
            }
        };
        // Each object begins with its fid.
        close(self.cq.cast());
        close(self.waiting.cast());
        close(self.av.cast());
        close(self.domain.cast());
        close(self.fabric.cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_of_messages_are_memory_of_their_own() {
        let contexts = MessageContexts::default();
        let all = || (0..BUFFERS + SENDS).map(|number| contexts.at(number));
        // SAFETY: no provider uses it.
        all().for_each(|context| unsafe { context.write_bytes(0xff, size_of::<libfabric::fi_context2>()) });
        assert!(all().map(|context| contexts.number(context)).eq((0..BUFFERS + SENDS).map(Some)));
        let beyond = contexts.at(BUFFERS + SENDS - 1).wrapping_add(size_of::<libfabric::fi_context2>());
        assert_eq!([ptr::null_mut(), beyond].map(|context| contexts.number(context)), [None; 2]);
    }
}
