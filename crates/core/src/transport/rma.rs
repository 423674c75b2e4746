//! Where a PE's copy of something symmetric is, and copies to it and from it.
//!
//! Here, and here alone, it is decided whether a PE is *local*, so that its memory is mapped and an
//! operation is a copy or a CPU atomic, or *remote*, so that the operation travels over the fabric.
//! [`Transport::resolve`] makes that decision and resolves the address, once.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use ferroshmem_fabric::{Context, Fabric, Remote};

use super::atomic::Operation;
use super::{Call, Transport};
use crate::failure::fatal::fatal;
use crate::internode;
use crate::memory::MemoryKind;
use crate::offload::{self, Signal};

/// Memory of a PE of another node, and by what it is reached.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) context: &'a Context,
    /// Where there.
    pub at: Remote,
}

/// Where a PE's copy of something symmetric is.
#[derive(Debug, Clone, Copy)]
pub enum Location<'a> {
    /// In memory that this process has mapped.
    Local(*mut u8),
    /// On another node.
    Remote(Target<'a>),
}

/// A get is complete when it returns: what this PE does next comes after what it has read.
#[inline(always)]
pub(super) fn complete_loads() {
    fence(Ordering::Acquire);
}

impl Call<'_> {
    /// Gets from another node, which is a wait.
    ///
    /// # Safety
    /// `dest` is writable for `bytes` bytes.
    #[inline(never)] // once for all routines
    pub(super) unsafe fn get(&self, from: &Target<'_>, dest: *mut u8, bytes: usize) {
        let _shown = self.show_wait();
        // SAFETY: the caller promises that `dest` is writable for `bytes` bytes.
        unsafe { from.fabric.get(from.context, dest, from.at, bytes) };
    }
}

impl Transport {
    /// Where PE `call.pe`'s copy of the `len` bytes at `addr` is. An address that is not symmetric ends
    /// the job; `argument` is its name in the prototype.
    #[inline(always)] // a third of what a small put costs
    pub fn locate<'a>(&'a self, call: &Call<'a>, argument: &str, addr: *const c_void, len: usize) -> Location<'a> {
        match self.locate_on_only_node(call, addr, len) {
            Some(copy) => Location::Local(copy),
            None => self.locate_anywhere(call, argument, addr, len, false),
        }
    }

    /// As [`locate`](Self::locate), in a job of one node; None: PEs may be on several or of other jobs, or the address
    /// is not symmetric.
    #[inline(always)] // as `locate`
    pub(super) fn locate_on_only_node(&self, call: &Call<'_>, addr: *const c_void, len: usize) -> Option<*mut u8> {
        let placement = &self.job.placement;
        if call.pe >= placement.n_pes() || placement.spans_nodes() {
            return None;
        }
        self.memory.space.translate(addr.expose_provenance(), len, call.pe)
    }

    /// As [`resolve`](Self::resolve), out of line, as it is in every operation of every type.
    #[inline(never)]
    pub(super) fn locate_anywhere<'a>(
        &'a self,
        call: &Call<'a>,
        argument: &str,
        addr: *const c_void,
        len: usize,
        by_fabric: bool,
    ) -> Location<'a> {
        self.resolve(call, argument, addr, len, by_fabric)
    }

    /// As [`locate`](Self::locate), of any job; `by_fabric`: PEs of this node are reached by the fabric, too.
    #[inline(always)] // so that nothing of it goes through memory where words are put and posted
    pub(super) fn resolve<'a>(
        &'a self,
        call: &Call<'a>,
        argument: &str,
        addr: *const c_void,
        len: usize,
        by_fabric: bool,
    ) -> Location<'a> {
        let (placement, pe) = (&self.job.placement, call.pe);
        if pe >= placement.n_pes() {
            return self.locate_connected(call, argument, addr, len);
        }
        if let Some(index) = placement.local_index(pe).filter(|_| !by_fabric) {
            return Location::Local(self.memory.of_node_peer(call.argument(argument), addr, len, (index, pe)));
        }
        let internode = self.remote();
        let (kind, offset) = self.memory.space.position(addr.addr(), len);
        let segment = match kind {
            MemoryKind::Heap => internode::HEAP,
            MemoryKind::Globals if !internode.runs_other_program(pe) => internode::GLOBALS,
            _ => {
                let other_program = internode.runs_other_program(pe).then_some(pe);
                self.memory.not_symmetric(call.argument(argument), addr.addr(), len, other_program)
            }
        };
        let at = Remote { pe, segment, offset };
        Location::Remote(Target { fabric: internode.fabric(), context: call.context, at })
    }

    /// As [`locate`](Self::locate), for an atomic operation.
    #[inline(always)] // as `locate`
    pub fn locate_atomic<'a>(
        &'a self,
        call: &Call<'a>,
        argument: &str,
        addr: *const c_void,
        len: usize,
    ) -> Location<'a> {
        match self.locate(call, argument, addr, len) {
            Location::Local(_) if self.atomics_by_fabric() => self.locate_anywhere(call, argument, addr, len, true),
            location => location,
        }
    }

    /// PE 0's copy of the word at `addr`, if the job has one node and the word is symmetric.
    #[inline]
    pub fn first_local_word(&self, addr: *const u64) -> Option<&AtomicU64> {
        if self.internode.is_some() {
            return None;
        }
        let space = self.memory.space;
        let word = space.translate(addr.expose_provenance(), size_of::<u64>(), 0)?;
        // SAFETY: eight bytes of symmetric memory, which is mapped; as C requires, they are aligned.
        Some(unsafe { AtomicU64::from_ptr(word.cast()) })
    }

    /// Where the copy is that a PE of a connection has.
    #[cold]
    #[inline(never)]
    fn locate_connected<'a>(&'a self, call: &Call<'a>, name: &str, addr: *const c_void, len: usize) -> Location<'a> {
        let (pe, space) = (call.pe, self.memory.space);
        let address = addr.expose_provenance();
        let found = self.connections.find(pe).and_then(|(c, member)| match (c.pe_of_job(member), c.remote()) {
            (Some(pe), Some(_)) => Some(self.locate_anywhere(&Call { pe, ..*call }, name, addr, len, false)),
            (_, Some(remote)) if !c.is_mapped(member) => {
                let (segment, offset) = remote.position(space.heap_base(), address, len)?;
                let at = Remote { pe: member, segment, offset };
                Some(Location::Remote(Target { fabric: remote.fabric(), context: remote.context(), at }))
            }
            _ => c.translate(space, address, len, member).map(Location::Local),
        });
        found.unwrap_or_else(|| {
            fatal(
                call.routine,
                format_args!(
                    "{name} = {address:#x}: PE {pe}, which is of another job, has no such memory of {len} bytes: give \
                        a global variable of one program for both, memory of a heap as large as its own, or what \
                        shmemx_import returns"
                ),
            )
        })
    }

    /// Where PE `pe`'s copy of `addr` can be loaded and stored; null if it is not symmetric, or the
    /// PE is on another node.
    pub fn pointer(&self, addr: *const c_void, pe: usize) -> *mut c_void {
        if let Some((connection, member)) = self.connections.find(pe) {
            if let (Some(pe), Some(_)) = (connection.pe_of_job(member), connection.remote()) {
                return self.pointer(addr, pe);
            }
            let addr = addr.expose_provenance();
            let copy = connection.translate(self.memory.space, addr, 1, member);
            return copy.map_or(ptr::null_mut(), |copy| copy.cast());
        }
        let index = self.job.placement.local_index(pe);
        let space = self.memory.space;
        let copy = index.and_then(|i| space.translate(addr.expose_provenance(), 1, i));
        copy.map_or(ptr::null_mut(), |copy| copy.cast())
    }

    /// Copies `bytes` bytes from `source` to PE `call.pe`'s copy of `dest`; `source` may be changed on
    /// return.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes; no PE relies on what `dest` holds until it is
    /// synchronised with this one.
    #[inline]
    pub unsafe fn put(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, bytes: usize) {
        if bytes == 0 {
            return;
        }
        match self.locate_on_only_node(call, dest, bytes) {
            // SAFETY: `bytes` bytes that are mapped; the caller promises that `source` is readable.
            Some(dest) => unsafe { offload::copy(dest, source.cast(), bytes) },
            // SAFETY: the caller promises that `source` is readable.
            None => unsafe { self.put_anywhere(call, dest, source, bytes) },
        }
    }

    /// As [`put`](Self::put), where PEs may be on several nodes or of other jobs.
    ///
    /// # Safety
    /// As [`put`](Self::put).
    #[inline(never)] // once for all routines
    unsafe fn put_anywhere(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, bytes: usize) {
        match self.resolve(call, "dest", dest, bytes, false) {
            // SAFETY: `resolve` has found `bytes` bytes mapped; the caller promises that `source` is readable.
            Location::Local(dest) => unsafe { offload::copy(dest, source.cast(), bytes) },
            // SAFETY: the caller promises that `source` is readable.
            Location::Remote(to) => unsafe { to.fabric.put(to.context, to.at, source.cast(), bytes) },
        }
    }

    /// As [`put`](Self::put), but complete after a quiet.
    ///
    /// # Safety
    /// As [`put`](Self::put), and `source` is not changed before the quiet.
    #[inline]
    pub unsafe fn put_nbi(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, bytes: usize) {
        if bytes == 0 {
            return;
        }
        match self.locate(call, "dest", dest, bytes) {
            // SAFETY: as in `put`.
            Location::Local(dest) => unsafe {
                offload::copy_nbi(call.putting(), dest, source.cast(), bytes);
            },
            // SAFETY: the caller promises that `source` is readable, and unchanged until a quiet.
            Location::Remote(to) => unsafe { to.fabric.put_nbi(to.context, to.at, source.cast(), bytes) },
        }
    }

    /// As [`put`](Self::put), or if `is_nbi` as [`put_nbi`](Self::put_nbi), of bytes that a signal in the
    /// same call follows.
    ///
    /// # Safety
    /// As [`put`](Self::put) or [`put_nbi`](Self::put_nbi).
    pub unsafe fn put_signalled(
        &self,
        call: &Call<'_>,
        dest: *mut c_void,
        source: *const c_void,
        bytes: usize,
        is_nbi: bool,
    ) {
        if bytes == 0 {
            return;
        }
        match self.locate(call, "dest", dest, bytes) {
            // SAFETY: as in `put`.
            Location::Local(dest) => unsafe { offload::copy(dest, source.cast(), bytes) },
            // SAFETY: the caller promises that `source` is readable, and if `is_nbi` unchanged until a quiet.
            Location::Remote(to) => unsafe { to.fabric.put_signalled(to.context, to.at, source.cast(), bytes, is_nbi) },
        }
    }

    /// Begins a put to this node, and the update of a signal after it, which helpers do. False: nothing is done.
    ///
    /// # Safety
    /// As [`put_nbi`](Self::put_nbi); the signal is aligned.
    #[cold]
    pub unsafe fn queue_signalled(
        &self,
        call: &Call<'_>,
        dest: *mut c_void,
        source: *const c_void,
        bytes: usize,
        signal: (*mut u64, Operation<u64>),
    ) -> bool {
        let to = self.locate(call, "dest", dest, bytes);
        let (Location::Local(dest), Some(signal)) = (to, self.signal_of_helpers(call, signal)) else {
            return false;
        };
        // SAFETY: `locate` has found `dest` mapped; the caller promises the rest.
        unsafe { offload::queue(call.putting(), dest, source.cast(), bytes, Some(signal)) }
    }

    /// The update of a signal of PE `call.pe` that helpers make; None: they cannot.
    pub(super) fn signal_of_helpers(
        &self,
        call: &Call<'_>,
        (signal, operation): (*mut u64, Operation<u64>),
    ) -> Option<Signal> {
        let sleepers = self.signals_of(call.pe)?;
        let Location::Local(word) = self.locate_atomic(call, "sig_addr", signal.cast(), size_of::<u64>()) else {
            return None;
        };
        Some(Signal { word: word.cast(), value: operation.operand(), adds: operation.adds(), sleepers })
    }

    /// Copies `bytes` bytes from PE `call.pe`'s copy of `source` to `dest`, complete on return.
    ///
    /// # Safety
    /// `dest` is writable for `bytes` bytes.
    #[inline]
    pub unsafe fn get(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, bytes: usize) {
        if bytes == 0 {
            return;
        }
        match self.locate(call, "source", source, bytes) {
            // SAFETY: `locate` has found `bytes` bytes mapped; the caller promises that `dest` is
            // writable.
            Location::Local(source) => unsafe {
                offload::copy(dest.cast(), source, bytes);
                complete_loads();
            },
            // SAFETY: the caller promises that `dest` is writable for `bytes` bytes.
            Location::Remote(from) => unsafe { call.get(&from, dest.cast(), bytes) },
        }
    }

    /// As [`get`](Self::get), but complete after a quiet.
    ///
    /// # Safety
    /// As [`get`](Self::get), until the quiet.
    #[inline]
    pub unsafe fn get_nbi(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, bytes: usize) {
        if bytes == 0 {
            return;
        }
        match self.locate(call, "source", source, bytes) {
            // SAFETY: as in `get`.
            Location::Local(source) => unsafe {
                offload::copy_nbi(call.owner(), dest.cast(), source, bytes);
            },
            // SAFETY: the caller promises that `dest` is writable until a quiet.
            Location::Remote(from) => unsafe { from.fabric.get_nbi(from.context, dest.cast(), from.at, bytes) },
        }
    }

    /// Stores `value` to PE `call.pe`'s copy of `dest`.
    ///
    /// # Safety
    /// `dest` is aligned for a `T`.
    #[inline]
    pub unsafe fn store<T: Copy>(&self, call: &Call<'_>, dest: *mut T, value: T) {
        match self.locate_on_only_node(call, dest.cast(), size_of::<T>()) {
            // SAFETY: a `T` that is mapped, which the caller promises to be aligned. Volatile: another PE may poll it.
            Some(dest) => unsafe { dest.cast::<T>().write_volatile(value) },
            // SAFETY: the caller promises that `dest` is aligned.
            None => unsafe { self.store_anywhere(call, dest, value) },
        }
    }

    /// As [`store`](Self::store), where PEs may be on several nodes or of other jobs.
    ///
    /// # Safety
    /// As [`store`](Self::store).
    #[inline(never)] // once for all routines of a type
    unsafe fn store_anywhere<T: Copy>(&self, call: &Call<'_>, dest: *mut T, value: T) {
        match self.resolve(call, "dest", dest.cast(), size_of::<T>(), false) {
            // SAFETY: `resolve` has found a `T` mapped, which the caller promises to be aligned. Volatile: another PE
            // may poll it.
            Location::Local(dest) => unsafe { dest.cast::<T>().write_volatile(value) },
            // SAFETY: `value` is live, and may be reused on return.
            Location::Remote(to) => unsafe {
                to.fabric.put(to.context, to.at, (&raw const value).cast(), size_of::<T>());
            },
        }
    }

    /// Loads PE `call.pe`'s copy of `source`.
    ///
    /// # Safety
    /// `source` is aligned for a `T`, and holds one on that PE.
    #[inline]
    pub unsafe fn load<T: Copy>(&self, call: &Call<'_>, source: *const T) -> T {
        match self.locate(call, "source", source.cast(), size_of::<T>()) {
            // SAFETY: `locate` has found a `T` mapped, which the caller promises to be aligned.
            // Volatile: another PE may change it.
            Location::Local(source) => unsafe {
                let value = source.cast::<T>().read_volatile();
                complete_loads();
                value
            },
            Location::Remote(from) => {
                let mut value = MaybeUninit::<T>::uninit();
                // SAFETY: all bytes of `value` are written, from a `T`.
                unsafe {
                    let to = value.as_mut_ptr().cast();
                    call.get(&from, to, size_of::<T>());
                    value.assume_init()
                }
            }
        }
    }
}
