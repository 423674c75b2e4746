//! Memory that libfabric sends messages from, and receives them into.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::Mutex;

use super::message::LONGEST;
use crate::endpoint::{Endpoint, Injected, Received, Sent};
use crate::lock::lock;
use crate::memory::Region;
use crate::{Error, libfabric};

/// Messages that libfabric may receive before a thread looks at them, and that it may be sending.
const BUFFERS: usize = 64;

/// Memory for a message, which belongs to libfabric while it receives or sends it.
#[repr(C, align(64))]
struct Buffer(UnsafeCell<[u8; LONGEST]>);

// SAFETY: one thread alone has a buffer while libfabric does not.
unsafe impl Sync for Buffer {}

fn buffers() -> Box<[Buffer]> {
    let buffer = || Buffer(UnsafeCell::new([0; LONGEST]));
    (0..BUFFERS).map(|_| buffer()).collect()
}

/// Registers buffers, where the provider needs that.
fn register(endpoint: &Endpoint, buffers: &[Buffer], access: u32) -> Result<Region, Error> {
    if !endpoint.registers {
        return Ok(Region::NONE);
    }
    let (base, len) = (buffers.as_ptr().cast(), size_of_val(buffers));
    // SAFETY: the buffers live as long as the region, which lies before them.
    let region = unsafe { Region::for_process(endpoint, base, len, access) };
    region.map_err(|result| Error::SegmentRegistration {
        provider: endpoint.info.provider(),
        bytes: len,
        reason: endpoint.library.strerror(result as isize),
    })
}

/// Buffers that libfabric receives into, from any peer.
pub(super) struct ReceiveBuffers {
    /// Dropped before the buffers.
    region: Region,
    buffers: Box<[Buffer]>,
}

impl ReceiveBuffers {
    pub(super) fn new(endpoint: &Endpoint) -> Result<ReceiveBuffers, Error> {
        let buffers = buffers();
        let region = register(endpoint, &buffers, libfabric::FI_RECV)?;
        Ok(ReceiveBuffers { region, buffers })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Received> {
        (0..self.buffers.len()).map(Received)
    }

    /// Lets libfabric receive into a buffer; returns its result.
    ///
    /// # Safety
    /// No thread reads the buffer until libfabric says that a message is in it, and the buffers live until
    /// the endpoint is closed.
    pub(super) unsafe fn post(&self, endpoint: &Endpoint, received: Received) -> isize {
        let to: *mut c_void = self.buffers[received.0].0.get().cast();
        // SAFETY: the buffer has as many bytes; the caller promises the rest.
        unsafe { endpoint.receive((to, self.region.desc()), LONGEST, received) }
    }

    /// The message that has been received.
    ///
    /// # Safety
    /// libfabric has said so, and the buffer has not been posted since.
    pub(super) unsafe fn message(&self, Received(index): Received) -> &[u8] {
        // SAFETY: the caller promises that libfabric does not write it.
        unsafe { &*self.buffers[index].0.get() }
    }
}

/// Memory that libfabric sends from: that of the messages themselves, or buffers where that has to be registered.
pub(crate) struct SendBuffers {
    /// Dropped before the buffers.
    region: Region,
    /// Empty where no memory has to be registered.
    buffers: Box<[Buffer]>,
    slots: Mutex<Slots>,
    /// Bytes of a message at most that needs no buffer, as libfabric copies it.
    pub inject: usize,
}

/// Messages that libfabric sends.
struct Slots {
    free: Vec<usize>,
    /// Whom each goes to.
    targets: [Injected; BUFFERS],
    /// Each message, or what was left of one that has been sent. Not used with `buffers`.
    messages: [Vec<u8>; BUFFERS],
}

impl SendBuffers {
    pub(super) fn new(endpoint: &Endpoint, inject: usize) -> Result<SendBuffers, Error> {
        let empty = Injected {
            pe: 0,
            awaited: false,
        };
        let buffers = match endpoint.registers {
            true => buffers(),
            false => Box::default(),
        };
        Ok(SendBuffers {
            region: register(endpoint, &buffers, libfabric::FI_SEND)?,
            buffers,
            slots: Mutex::new(Slots {
                free: (0..BUFFERS).collect(),
                targets: [empty; BUFFERS],
                messages: [const { Vec::new() }; BUFFERS],
            }),
            inject,
        })
    }

    /// What operations name the buffers by.
    pub(super) fn desc(&self) -> *mut c_void {
        self.region.desc()
    }

    /// Takes a message, for which the vector gets another content, or copies it to a buffer. None: as many as may be are being
    /// sent.
    pub(super) fn take(&self, to: Injected, message: &mut Vec<u8>) -> Option<(Sent, &[u8])> {
        let mut slots = lock(&self.slots);
        let index = slots.free.pop()?;
        slots.targets[index] = to;
        let len = message.len();
        let from = match self.buffers.get(index) {
            None => {
                std::mem::swap(&mut slots.messages[index], message);
                slots.messages[index].as_ptr()
            }
            Some(buffer) => {
                assert!(len <= LONGEST, "a message of {len} bytes");
                let to = buffer.0.get().cast::<u8>();
                // SAFETY: this thread alone has the buffer, which has room for any message.
                unsafe { to.copy_from_nonoverlapping(message.as_ptr(), len) };
                to.cast_const()
            }
        };
        // SAFETY: no thread changes the message, or the buffer, until it is given back.
        let message = unsafe { std::slice::from_raw_parts(from, len) };
        Some((Sent(index), message))
    }

    /// libfabric has not taken the message, which the vector gets back.
    pub(super) fn take_back(&self, Sent(index): Sent, message: &mut Vec<u8>) {
        let mut slots = lock(&self.slots);
        if self.buffers.is_empty() {
            std::mem::swap(&mut slots.messages[index], message);
        }
        slots.free.push(index);
    }

    /// Whom the message goes to.
    pub(crate) fn target(&self, Sent(index): Sent) -> Injected {
        lock(&self.slots).targets[index]
    }

    /// The message has been sent.
    pub(crate) fn give_back(&self, Sent(index): Sent) {
        lock(&self.slots).free.push(index);
    }
}
