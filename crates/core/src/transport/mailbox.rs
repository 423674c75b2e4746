//! Words, messages and rendezvous buffers in the mailboxes of other PEs.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_fabric::TaggedMessage;

use super::Transport;
use crate::internode::Internode;
use crate::job::mailboxes;
use ferroshmem_layout::{MailboxPage, TaggedLine, TeamMailbox};

/// What a revoked team's word is.
const REVOKED: u32 = 1;

impl Transport {
    /// Writes a message to a line of the mailbox of PE `pe`, `at` bytes from its start, after all puts
    /// to that PE, and wakes the PE if it is local.
    ///
    /// # Safety
    /// A [`TaggedLine`] is at `at`, and PE `pe` has read its last message.
    pub unsafe fn send_message(&self, pe: usize, at: usize, message: &TaggedMessage) {
        let internode = self.remote();
        match self.job.placement.local_index(pe) {
            Some(index) => {
                // SAFETY: the caller promises a line there; mailboxes stay mapped, and lines are atomic.
                let line = unsafe { &*internode.mailboxes.of(index).add(at).cast::<TaggedLine>() };
                message.store(&line.words);
                self.notify(pe);
            }
            None => {
                let to = Internode::mailbox(pe, at);
                let words = message.words();
                let len = size_of_val(words);
                let fabric = internode.fabric();
                // SAFETY: `words` lives until the call returns; the caller promises a line, which has room
                // for a message; the program has no references to mailboxes.
                unsafe { fabric.inject(&internode.context, to, words.as_ptr().cast(), len) };
            }
        }
    }

    /// Copies `bytes` bytes to the mailbox of PE `pe`, `at` bytes from its start. The source must not
    /// change until a quiet of the connection's context.
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes until then; the mailbox has as many bytes at `at`, which PE
    /// `pe` does not read before it has received a later message.
    pub unsafe fn put_to_mailbox(&self, pe: usize, at: usize, from: *const u8, bytes: usize) {
        let internode = self.remote();
        // SAFETY: the caller promises both places.
        unsafe {
            match self.job.placement.local_index(pe) {
                Some(index) => {
                    let to = internode.mailboxes.of(index).add(at);
                    to.copy_from_nonoverlapping(from, bytes);
                }
                None => {
                    let there = Internode::mailbox(pe, at);
                    internode.fabric().put_local_completion(&internode.context, there, from, bytes);
                }
            }
        }
    }

    /// Has a team fail for PE `pe` of it, an id or a shadow's number.
    pub fn revoke(&self, pe: usize, team: usize) {
        let internode = self.remote();
        match self.job.placement.local_index(pe) {
            Some(index) => {
                internode.mailboxes.team_mailbox(index, team).all.revoked.store(REVOKED, Ordering::Release);
            }
            None => {
                let page = offset_of!(TeamMailbox, all) + offset_of!(MailboxPage, revoked);
                let at = Internode::mailbox(pe, mailboxes::team_mailbox_offset(team) + page);
                let (context, word) = (&internode.context, REVOKED.to_ne_bytes());
                // SAFETY: the word there is the library's, and these bytes may be used again on return.
                unsafe { internode.fabric().put(context, at, word.as_ptr(), word.len()) };
            }
        }
    }

    /// A word in the mailbox of PE `pe`, `at` bytes from its start.
    pub fn read_mailbox(&self, pe: usize, at: usize) -> u64 {
        let internode = self.remote();
        match self.job.placement.local_index(pe) {
            Some(index) => {
                // SAFETY: an aligned word of a mailbox, all of which is mapped and atomic.
                let word = unsafe { &*internode.mailboxes.of(index).add(at).cast::<AtomicU64>() };
                word.load(Ordering::Acquire)
            }
            None => {
                let mut word = 0u64;
                let from = Internode::mailbox(pe, at);
                let to = (&raw mut word).cast();
                let fabric = internode.fabric();
                // SAFETY: `word` lives until the get, which is complete on return, has written it.
                unsafe { fabric.get(&internode.context, to, from, size_of::<u64>()) };
                word
            }
        }
    }
}
