//! The end of a connection, which all members leave.

use std::sync::atomic::Ordering;

use super::{Connection, calls, leave_group, rendezvous};
use crate::futex;
use crate::wait::record::Recorder;
use ferroshmem_layout::PeState;

impl Connection {
    /// This PE uses the connection no more; the number of the rendezvous in which all do so, for
    /// [`wait_for_end`](Self::wait_for_end).
    pub fn leave(&self, routine: &str) -> u32 {
        match self.groups.own {
            _ if self.has_failed() => {}
            0 => self.calls.lock().unwrap_or_else(|e| e.into_inner()).end(self),
            _ => calls::server::leave(self, routine),
        }
        if let Some(remote) = self.remote() {
            remote.leave();
            return 0;
        }
        let block = self.control.pe_block(self.me);
        block.wait.set_routine(routine);
        block.state.store(PeState::Finalized as u32, Ordering::Release);
        leave_group(&self.control, self.groups.own);
        rendezvous(&self.control).arrive()
    }

    /// Waits until no member uses the connection any more; false if the other group has failed: then until no member
    /// of this group does.
    pub fn wait_for_end(&self, routine: &str, round: u32) -> bool {
        if let Some(remote) = self.remote() {
            let _shown = Recorder::start(&self.wait_reason(routine));
            remote.wait_for_end();
            return !self.has_failed();
        }
        if rendezvous(&self.control).wait(round, &self.wait_reason(routine)) {
            return true;
        }
        let own = self.groups.own;
        let left = &self.control.header().left[own];
        let _shown = Recorder::start(&self.wait_reason(routine));
        loop {
            let seen = left.load(Ordering::Acquire);
            if seen as usize >= self.groups.sizes[own] {
                return false;
            }
            futex::wait(left, seen, futex::ANY, None);
        }
    }
}
