//! Words in the mailboxes of other PEs.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Transport;
use super::internode::Internode;

impl Transport {
    /// A word in the mailbox of PE `pe`, `at` bytes from its start.
    pub fn read_mailbox(&self, pe: usize, at: usize) -> u64 {
        let internode = self.remote();
        match self.job.placement.index_here(pe) {
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
