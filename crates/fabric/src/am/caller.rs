//! Requesting something of a peer.

use std::sync::Mutex;
use std::sync::atomic::Ordering::*;

use super::request::{Reply, Request};
use crate::progress::Progress;
use crate::rma::Rma;
use crate::{Remote, TaggedMessage};

/// Sends requests, one at a time to each PE.
pub(crate) struct Caller {
    /// The sequence number of the last request to each PE; the thread that calls holds its lock.
    last: Box<[Mutex<u32>]>,
}

impl Caller {
    pub(crate) fn new(n_pes: usize) -> Caller {
        Caller {
            last: (0..n_pes).map(|_| Mutex::new(0)).collect(),
        }
    }

    /// Requests something of the target and waits for its reply. None: libfabric is to do it.
    pub(crate) fn call(&self, rma: &Rma, at: Remote, request: Request) -> Option<Reply> {
        let progress: &Progress = &rma.progress;
        let handler = progress.completions().handler.as_ref()?;
        let len = request.len();
        let is_aligned = matches!(request, Request::Read(_)) || at.offset.is_multiple_of(len);
        if len > Request::LONGEST || !is_aligned {
            return None;
        }
        let shared = progress.shared();
        let peer = shared.peer(at.pe);
        let slots = peer.message_slots?;
        if rma.resolve(at).usable < len {
            return None;
        }
        // A thread at a time; others need not wait for it.
        let mut last = self.last.get(at.pe)?.try_lock().ok()?;
        let sequence = last.wrapping_add(1);
        *last = sequence;
        let message = TaggedMessage::new(sequence, &request.to_frame(at.segment, at.offset));
        peer.issued.fetch_add(1, Relaxed);
        progress.issuer.submit(at.pe, || {
            handler.send_request(&shared.endpoint, (at.pe, peer), slots, &message)
        });
        let mut reply = None;
        progress.wait(|| {
            reply = handler.reply(at.pe, sequence);
            reply.is_some()
        });
        peer.completed.fetch_add(1, Relaxed);
        reply
    }
}
