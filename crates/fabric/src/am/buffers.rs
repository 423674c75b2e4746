//! Memory that libfabric sends messages from, and receives them into.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytemuck::Zeroable;

use crate::encoding::message::{LONG, LONGEST};
use crate::endpoint::{BUFFERS, Endpoint, Injected, Received, SENDS, SendContext};
use crate::lock::lock;
use crate::memory::Region;
use crate::{Error, libfabric};

/// A part of a buffer. Not aligned to more: zeroed memory with another alignment than `malloc`'s is written, and pages
/// are there at once.
#[derive(Zeroable)]
#[repr(C, align(16))]
struct Part(UnsafeCell<[u8; PART]>);

const PART: usize = 64;

// SAFETY: one thread alone has a part while libfabric does not.
unsafe impl Sync for Part {}

/// Buffers of one length, each of which belongs to libfabric while it receives or sends a message.
#[derive(Default)]
struct Buffers {
    parts: Box<[Part]>,
    /// Bytes of each.
    len: usize,
}

impl Buffers {
    /// So many buffers of `len` bytes, a multiple of a part. Their pages are there once they are used.
    fn new(n: usize, len: usize) -> Buffers {
        assert!(len.is_multiple_of(PART), "a buffer of {len} bytes");
        let parts = bytemuck::allocation::try_zeroed_slice_box(n * len / PART);
        Buffers { parts: parts.expect("memory for messages"), len }
    }

    fn n(&self) -> usize {
        self.parts.len() * PART / self.len.max(1)
    }

    fn at(&self, index: usize) -> Option<*mut u8> {
        let base = self.parts.as_ptr().cast_mut().cast::<u8>();
        (index < self.n()).then(|| base.wrapping_add(index * self.len))
    }

    /// Registers the buffers, where the provider needs that.
    fn register(&self, endpoint: &Endpoint, access: u32) -> Result<Region, Error> {
        if !endpoint.registers {
            return Ok(Region::NONE);
        }
        let (base, len) = (self.parts.as_ptr().cast(), size_of_val(&*self.parts));
        // SAFETY: the buffers live as long as the region, which lies before them.
        let region = unsafe { Region::for_process(endpoint, base, len, access) };
        region.map_err(|result| Error::SegmentRegistration {
            provider: endpoint.info.provider(),
            bytes: len,
            reason: endpoint.library.strerror(result as isize),
        })
    }
}

/// Buffers that libfabric receives into, from any peer.
pub(super) struct ReceiveBuffers {
    /// Dropped before the buffers.
    region: Region,
    buffers: Buffers,
    /// Those that libfabric had no room to receive into.
    refused: Mutex<Vec<Received>>,
    has_refused: AtomicBool,
}

impl ReceiveBuffers {
    pub(super) fn new(endpoint: &Endpoint) -> Result<ReceiveBuffers, Error> {
        let len = match endpoint.is_tcp_alone() {
            true => LONG,
            false => LONGEST,
        };
        let buffers = Buffers::new(BUFFERS, len);
        let region = buffers.register(endpoint, libfabric::FI_RECV)?;
        Ok(ReceiveBuffers { region, buffers, refused: Mutex::default(), has_refused: AtomicBool::new(false) })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Received> {
        (0..self.buffers.n()).map(Received)
    }

    fn at(&self, Received(index): Received) -> *mut u8 {
        self.buffers.at(index).expect("the number of a buffer")
    }

    /// Lets libfabric receive into a buffer, or [later](Self::post_refused) if it has no room; returns its result.
    ///
    /// # Safety
    /// No thread reads the buffer until libfabric says that a message is in it, and the buffers live until
    /// the endpoint is closed.
    pub(super) unsafe fn post(&self, endpoint: &Endpoint, received: Received) -> isize {
        let to = self.at(received).cast::<c_void>();
        // SAFETY: the buffer has as many bytes; the caller promises the rest.
        let result = unsafe { endpoint.receive((to, self.region.desc()), self.buffers.len, received) };
        self.outcome(received, result)
    }

    fn outcome(&self, received: Received, result: isize) -> isize {
        if result != -(libfabric::FI_EAGAIN as isize) {
            return result;
        }
        let mut refused = lock(&self.refused);
        refused.push(received);
        self.has_refused.store(true, Relaxed);
        0
    }

    /// Tries again with those that libfabric had no room for; returns its result.
    #[inline]
    pub(super) fn post_refused(&self, endpoint: &Endpoint) -> isize {
        match self.has_refused.load(Relaxed) {
            // SAFETY: who posted them has promised the same.
            true => self.post_by(|received| unsafe { self.post(endpoint, received) }),
            false => 0,
        }
    }

    #[cold]
    fn post_by(&self, post: impl Fn(Received) -> isize) -> isize {
        let all = {
            let mut refused = lock(&self.refused);
            self.has_refused.store(false, Relaxed);
            std::mem::take(&mut *refused)
        };
        // Errors are negative.
        all.into_iter().map(post).min().unwrap_or(0)
    }

    /// The message that has been received.
    ///
    /// # Safety
    /// libfabric has said so, and the buffer has not been posted since.
    pub(super) unsafe fn message(&self, received: Received) -> &[u8] {
        // SAFETY: the buffer has as many bytes; the caller promises that libfabric does not write it.
        unsafe { std::slice::from_raw_parts(self.at(received), self.buffers.len) }
    }
}

/// Memory that libfabric sends from: that of the messages themselves, or buffers where that has to be registered.
pub(crate) struct SendBuffers {
    /// Dropped before the buffers.
    region: Region,
    /// Empty where no memory has to be registered.
    buffers: Buffers,
    slots: Mutex<Slots>,
    /// Bytes of a message at most that needs no buffer, as libfabric copies it.
    pub inject: usize,
}

/// Messages that libfabric sends.
struct Slots {
    free: Vec<usize>,
    all: Vec<Slot>,
}

struct Slot {
    /// Whom the message goes to. None: it has been sent.
    to: Option<Injected>,
    /// Another slot is used in its place, since libfabric may never send this one.
    is_abandoned: bool,
    /// The message, or what was left of one that has been sent. Not used with `buffers`.
    message: Vec<u8>,
}

impl Slots {
    /// So many more.
    fn grow(&mut self, n: usize) {
        let first = self.all.len();
        self.all.extend((0..n).map(|_| Slot { to: None, is_abandoned: false, message: Vec::new() }));
        self.free.extend(first..first + n);
    }
}

impl SendBuffers {
    pub(super) fn new(endpoint: &Endpoint, inject: usize) -> Result<SendBuffers, Error> {
        let mut slots = Slots { free: Vec::new(), all: Vec::new() };
        slots.grow(BUFFERS);
        let buffers = match endpoint.registers {
            true => Buffers::new(BUFFERS, LONGEST),
            false => Buffers::default(),
        };
        Ok(SendBuffers {
            region: buffers.register(endpoint, libfabric::FI_SEND)?,
            buffers,
            slots: Mutex::new(slots),
            inject,
        })
    }

    /// What operations name the buffers by.
    pub(super) fn desc(&self) -> *mut c_void {
        self.region.desc()
    }

    /// Takes a message, for which the vector gets another content, or copies it to a buffer. None: as many as may be
    /// are being sent.
    pub(super) fn take(&self, to: Injected, message: &mut Vec<u8>) -> Option<(SendContext, &[u8])> {
        let mut slots = lock(&self.slots);
        let index = slots.free.pop()?;
        slots.all[index].to = Some(to);
        let len = message.len();
        let from = match self.buffers.at(index) {
            None => {
                std::mem::swap(&mut slots.all[index].message, message);
                slots.all[index].message.as_ptr()
            }
            Some(to) => {
                assert!(len <= self.buffers.len, "a message of {len} bytes");
                // SAFETY: this thread alone has the buffer, which has room for any message.
                unsafe { to.copy_from_nonoverlapping(message.as_ptr(), len) };
                to.cast_const()
            }
        };
        // SAFETY: no thread changes the message, or the buffer, until it is given back.
        let message = unsafe { std::slice::from_raw_parts(from, len) };
        Some((SendContext(index), message))
    }

    /// libfabric has not taken the message, which the vector gets back.
    pub(super) fn take_back(&self, SendContext(index): SendContext, message: &mut Vec<u8>) {
        let mut slots = lock(&self.slots);
        if self.buffers.n() == 0 {
            std::mem::swap(&mut slots.all[index].message, message);
        }
        slots.all[index].to = None;
        slots.free.push(index);
    }

    /// The message has been sent, or has failed: whom it went to.
    pub(crate) fn give_back(&self, SendContext(index): SendContext) -> Option<Injected> {
        let mut slots = lock(&self.slots);
        slots.free.push(index);
        slots.all[index].is_abandoned = false;
        slots.all[index].to.take()
    }

    /// Messages to a PE that was lost a while ago take no slots from others.
    pub(crate) fn abandon(&self, pe: usize) {
        if self.buffers.n() > 0 {
            return; // of devices, which give up a peer by themselves
        }
        let mut slots = lock(&self.slots);
        let room = SENDS - slots.all.len();
        let is_to_it = |slot: &&mut Slot| slot.to.is_some_and(|to| to.pe == pe) && !slot.is_abandoned;
        let abandoned = slots.all.iter_mut().filter(is_to_it).take(room);
        let n = abandoned.map(|slot| slot.is_abandoned = true).count();
        slots.grow(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_posted_again_when_libfabric_had_no_room() {
        const NO_ROOM: isize = -(libfabric::FI_EAGAIN as isize);

        let buffers = Buffers::new(3, PART);
        let (refused, has_refused) = (Mutex::default(), AtomicBool::new(false));
        let receives = ReceiveBuffers { region: Region::NONE, buffers, refused, has_refused };
        let posted = |index, result| receives.outcome(Received(index), result);
        assert_eq!([posted(0, NO_ROOM), posted(1, -5), posted(2, NO_ROOM)], [0, -5, 0]);
        let again = |results: [isize; 3]| receives.post_by(|Received(index)| posted(index, results[index]));
        assert_eq!(again([NO_ROOM, -1, 0]), 0);
        assert_eq!(again([-7, -1, -1]), -7);
        assert_eq!(again([-1, -1, -1]), 0);
    }
}
