//! What makes progress: threads of the program that wait ([`Progress::wait`]), and the
//! [`ProgressThread`] while they compute.

mod thread;

use crate::completion::{CompletionQueue, Retry, Shared};
use crate::issue::{Issuer, WriteCoalescer};
use crate::libfabric;
use crate::memory::LocalBuffer;

pub(crate) use thread::ProgressThread;

/// Issues what is kept, completes what is complete, and waits for it.
pub(crate) struct Progress {
    pub issuer: Issuer,
    pub coalescer: WriteCoalescer,
}

impl Drop for Progress {
    fn drop(&mut self) {
        let endpoint = &self.shared().endpoint;
        if endpoint.info.mr_mode() & libfabric::FI_MR_ENDPOINT == 0 {
            // Operations that no thread waited for must not go on in work requests that are freed.
            // SAFETY: the progress thread has ended, and no thread of the program uses the fabric.
            unsafe { endpoint.stop() };
        }
    }
}

impl Progress {
    pub(crate) fn new(issuer: Issuer) -> Progress {
        Progress {
            issuer,
            coalescer: WriteCoalescer::default(),
        }
    }

    #[inline]
    pub(crate) fn completions(&self) -> &CompletionQueue {
        &self.issuer.completions
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        &self.issuer.completions.shared
    }

    /// Makes progress once, for a thread that waits; returns how many operations were completed and
    /// active messages served.
    pub(crate) fn poll(&self) -> usize {
        self.coalescer.flush(&self.issuer);
        self.completions().poll()
    }

    /// Returns when `done`, or when the fabric is shut down.
    #[inline]
    pub(crate) fn wait(&self, mut done: impl FnMut() -> bool) {
        self.wait_polling(&mut done, |this| {
            this.coalescer.flush(&this.issuer);
            this.completions().poll_waiting()
        });
    }

    /// As [`wait`](Self::wait), for room in a message.
    #[inline]
    pub(crate) fn wait_for_room(&self, mut done: impl FnMut() -> bool) {
        self.wait_polling(&mut done, |this| this.completions().poll_for_room());
    }

    fn wait_polling(&self, done: &mut dyn FnMut() -> bool, poll: fn(&Self) -> usize) {
        let shared = self.shared();
        let mut backoff = shared.backoff();
        while !done() && !shared.shutdown.is_done() {
            if poll(self) > 0 {
                backoff.reset();
            } else {
                shared.pause(&mut backoff, done);
            }
        }
    }

    /// A bounce buffer for an operation to `pe`.
    pub(crate) fn bounce(&self, pe: usize) -> LocalBuffer {
        match self.shared().buffers.bounce() {
            Some(buffer) => buffer,
            None => self.wait_for_bounce(pe),
        }
    }

    /// Memory in place of a bounce buffer, for the operation that a thread has begun as the fabric was shut down.
    fn unused_bounce(&self) -> LocalBuffer {
        let room = vec![0u8; self.shared().buffers.bounce_len()];
        LocalBuffer::registered(room.leak().as_mut_ptr(), std::ptr::null_mut())
    }

    #[cold]
    fn wait_for_bounce(&self, pe: usize) -> LocalBuffer {
        const REASON: &str = "no operation completes, and all buffers are in use";

        let shared = self.shared();
        let mut retry = Retry::new(shared, pe, REASON);
        loop {
            let completed = self.poll() > 0;
            if let Some(buffer) = shared.buffers.bounce() {
                return buffer;
            }
            if shared.shutdown.is_done() {
                return self.unused_bounce();
            }
            if completed {
                retry.progressed();
            } else {
                retry.pause(&mut || false);
            }
        }
    }
}
