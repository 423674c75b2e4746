//! Memory that libfabric sends messages from, and receives them into.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::Mutex;

use super::message::LONGEST;
use crate::endpoint::{Endpoint, Injected, Received, Sent};
use crate::lock::lock;

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

/// Buffers that libfabric receives into, from any peer.
pub(super) struct ReceiveBuffers(Box<[Buffer]>);

impl ReceiveBuffers {
    pub(super) fn new() -> ReceiveBuffers {
        ReceiveBuffers(buffers())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Received> {
        (0..self.0.len()).map(Received)
    }

    /// Lets libfabric receive into a buffer; returns its result.
    ///
    /// # Safety
    /// No thread reads the buffer until libfabric says that a message is in it, and the buffers live until
    /// the endpoint is closed.
    pub(super) unsafe fn post(&self, endpoint: &Endpoint, received: Received) -> isize {
        let to: *mut c_void = self.0[received.0].0.get().cast();
        // SAFETY: the buffer has as many bytes; the caller promises the rest.
        unsafe { endpoint.receive(to, LONGEST, received) }
    }

    /// The message that has been received.
    ///
    /// # Safety
    /// libfabric has said so, and the buffer has not been posted since.
    pub(super) unsafe fn message(&self, Received(index): Received) -> &[u8] {
        // SAFETY: the caller promises that libfabric does not write it.
        unsafe { &*self.0[index].0.get() }
    }
}

/// Buffers that libfabric sends from.
pub(crate) struct SendBuffers {
    buffers: Box<[Buffer]>,
    free: Mutex<Vec<usize>>,
    /// Whom each message goes to.
    sending: Mutex<[Injected; BUFFERS]>,
    /// Bytes of a message at most that needs no buffer, as libfabric copies it.
    pub inject: usize,
}

impl SendBuffers {
    pub(super) fn new(inject: usize) -> SendBuffers {
        let nobody = Injected {
            pe: 0,
            awaited: false,
        };
        SendBuffers {
            buffers: buffers(),
            free: Mutex::new((0..BUFFERS).collect()),
            sending: Mutex::new([nobody; BUFFERS]),
            inject,
        }
    }

    /// A buffer with this message. None: all are in use.
    pub(super) fn take(&self, to: Injected, message: &[u8]) -> Option<(Sent, &[u8])> {
        let index = lock(&self.free).pop()?;
        lock(&self.sending)[index] = to;
        let buffer = self.buffers[index].0.get().cast::<u8>();
        // SAFETY: this thread alone has the buffer, which has room for any message.
        let buffer = unsafe {
            assert!(
                message.len() <= LONGEST,
                "a message of {} bytes",
                message.len()
            );
            buffer.copy_from_nonoverlapping(message.as_ptr(), message.len());
            std::slice::from_raw_parts(buffer, message.len())
        };
        Some((Sent(index), buffer))
    }

    /// Whom the message goes to.
    pub(crate) fn target(&self, Sent(index): Sent) -> Injected {
        lock(&self.sending)[index]
    }

    /// The message has been sent.
    pub(crate) fn give_back(&self, Sent(index): Sent) {
        lock(&self.free).push(index);
    }
}
