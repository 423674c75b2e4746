//! The way of short messages between PEs of the world team on one node, while nothing else is under way: a send writes
//! one line, and a receive takes the next one. Few instructions, none of which needs a stack frame; whatever is
//! different goes the long way ([`Messages::send`], [`Messages::receive_now`]).

use std::sync::atomic::Ordering;

use ferroshmem_core::node::Node;
use ferroshmem_core::team::{WORLD, health};
use ferroshmem_core::wait::{POLICY, signals};
use ferroshmem_layout::inbox::{Envelope, Inbox, Kind};

use super::local_inbox::{of_local_pe, room};
use super::request::Status;
use super::{KEPT, Messages};

/// Most bytes: what fits the first line of a record.
const FIRST_LINE: usize = 32;

impl Messages {
    /// The inbox of the PE of this node with a number there.
    #[inline(always)]
    pub(super) fn inbox_of(&self, node: &Node, index: usize) -> &'static Inbox {
        // SAFETY: the inboxes of a node's PEs are an array, in which each is at its number on the node.
        unsafe { of_local_pe(self.inbox, node.job.index, index) }
    }

    /// Writes the record of an eager message that fits a cell, by [`Inbox::push_line`], to the inbox of the PE of this
    /// node with a number there, and wakes it; false if it has no room now, or keeps much already, or the job is
    /// resilient, where writers are counted.
    #[inline(always)]
    pub(super) fn push_line(&self, node: &Node, index: usize, envelope: Envelope, write: impl FnOnce(*mut u8)) -> bool {
        let inbox = self.inbox_of(node, index);
        if inbox.kept() >= KEPT || health::is_on() {
            return false;
        }
        if !inbox.push_line(envelope, write) {
            return false;
        }
        // SAFETY: the blocks of a node's PEs are an array, in which each is at its number on the node.
        let block = unsafe { of_local_pe(self.block, node.job.index, index) };
        signals::notify(&block.signals);
        inbox.prepare(0);
        true
    }

    /// Sends a message; false if it goes the long way, which also says what is wrong.
    ///
    /// # Safety
    /// `buffer` is readable for `bytes` bytes.
    #[inline(always)]
    pub unsafe fn send_short(&self, node: &Node, pe: i32, tag: i32, buffer: *const u8, bytes: usize) -> bool {
        if bytes > FIRST_LINE || tag < 0 || pe as u32 as usize >= node.n_pes || !self.queued.is_empty() {
            return false;
        }
        let Some(index) = node.job.placement.local_index(pe as usize) else {
            return false;
        };
        let envelope = Envelope {
            kind: Kind::Eager,
            team: WORLD as u16,
            source: node.me as u32,
            tag,
            len: bytes as u32,
            bytes: bytes as u64,
        };
        // SAFETY: the caller promises that the buffer is readable; `copy` is for so few bytes.
        self.push_line(node, index, envelope, |to| unsafe {
            copy(to, buffer, bytes);
        })
    }

    /// Receives the next message, if it is the one that is asked for and comes within the time of a short wait; its
    /// error. None: the receive goes the long way.
    ///
    /// # Safety
    /// `buffer` is writable for `bytes` bytes; `status` is null or can be written.
    #[inline(always)]
    pub unsafe fn receive_short(
        &self,
        node: &Node,
        (pe, tag): (i32, i32),
        buffer: *mut u8,
        bytes: usize,
        status: *mut Status,
    ) -> Option<i32> {
        if self.block.is_threaded()
            || tag < -1
            || (pe != -1 && pe as u32 as usize >= node.n_pes)
            || node.transport.internode().is_some()
            || !self.queued.is_empty()
        {
            return None;
        }
        // SAFETY: the program promises that one thread at a time calls the library; this function lends the state to no
        // other.
        let state = unsafe { self.state.alone() }?;
        if !state.matching.is_empty() {
            return None;
        }
        let inbox = self.inbox;
        let mut spins = POLICY.spins();
        let cell = state.reader.poll(inbox, || spins.again())?;
        // SAFETY: the reader has found a record there, which is released below.
        let (envelope, data) = unsafe { inbox.envelope(cell) };
        let len = envelope.len as usize;
        let is_it = envelope.kind == Kind::Eager
            && usize::from(envelope.team) == WORLD
            && (pe < 0 || pe as u32 == envelope.source)
            && (tag < 0 || tag == envelope.tag);
        if !is_it || len > FIRST_LINE || len > bytes {
            return None;
        }
        // SAFETY: the receive's buffer has room; the record has as many bytes of data.
        unsafe { copy(buffer, data, len) };
        if state.reader.release_cell(inbox) {
            room(node, inbox);
        }
        self.position.store(state.reader.position(), Ordering::Relaxed);
        if !status.is_null() {
            // SAFETY: the caller promises that it can be written.
            unsafe { status.write(Status::of(&envelope, bytes as u64)) };
        }
        Some(0)
    }
}

/// Copies at most [`FIRST_LINE`] bytes, without a call.
///
/// # Safety
/// `source` is readable and `dest` writable for `n` bytes.
#[inline(always)]
unsafe fn copy(dest: *mut u8, source: *const u8, n: usize) {
    /// Copies the first and the last `T` of `n` bytes, which may overlap.
    #[inline(always)]
    unsafe fn ends<T: Copy>(dest: *mut u8, source: *const u8, n: usize) {
        let last = n - size_of::<T>();
        // SAFETY: the caller promises `n` bytes, which are no fewer than those of a `T`.
        unsafe {
            let (a, b) = (source.cast::<T>().read_unaligned(), source.add(last).cast::<T>().read_unaligned());
            dest.cast::<T>().write_unaligned(a);
            dest.add(last).cast::<T>().write_unaligned(b);
        }
    }
    // SAFETY: the caller promises `n` bytes.
    unsafe {
        match n {
            8 => {
                let word = source.cast::<u64>().read_unaligned();
                dest.cast::<u64>().write_unaligned(word);
            }
            0 => {}
            1 => dest.write(source.read()),
            2..4 => ends::<u16>(dest, source, n),
            4..8 => ends::<u32>(dest, source, n),
            9..16 => ends::<u64>(dest, source, n),
            _ => ends::<[u64; 2]>(dest, source, n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_all_lengths() {
        let source: [u8; FIRST_LINE] = std::array::from_fn(|i| i as u8 + 1);
        for n in 0..=FIRST_LINE {
            let mut dest = [0; FIRST_LINE + 1];
            // SAFETY: both have `n` bytes.
            unsafe { copy(dest.as_mut_ptr(), source.as_ptr(), n) };
            assert_eq!(dest[..n], source[..n], "{n}");
            assert!(dest[n..].iter().all(|byte| *byte == 0), "{n}");
        }
    }
}
