//! What this PE knows of its job and its node: the part of the library's state that lower modules use.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use ferroshmem_config::Settings;
use ferroshmem_tuning::Selection;

use crate::job::{Attachment, Localities, StreamAreas};
use crate::transport::Transport;

/// This PE on its node.
#[derive(Debug)]
pub struct Node {
    /// This PE's number.
    pub me: usize,
    /// Number of PEs.
    pub n_pes: usize,
    /// The job's memory and this PE's place in it.
    pub job: &'static Attachment,
    /// How other PEs' memory is reached.
    pub transport: Transport,
    /// On which sockets the node's PEs run.
    pub localities: Localities,
    /// Which algorithms collectives use.
    pub selection: Selection,
    /// What the environment says.
    pub settings: Settings,
}

static NODE: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// This process's, while the library is initialised.
pub fn current() -> Option<&'static Node> {
    // SAFETY: null, or a reference without an end.
    unsafe { NODE.load(Ordering::Acquire).as_ref() }
}

/// Makes it this process's.
pub fn set(node: Option<&'static Node>) {
    let node = node.map_or(ptr::null(), ptr::from_ref);
    NODE.store(node.cast_mut(), Ordering::Release);
}

impl Node {
    /// Gives the memory of bytes of this PE's heap that are in no use back, so that it is taken anew from where a
    /// policy says: true if the bytes read as zero after. What a device may have registered stays the same memory.
    pub fn empty_heap(&self, range: &Range<u64>) -> bool {
        let is_registered = self.transport.has_remote();
        !is_registered && self.transport.memory.space.empty_heap(self.job, range)
    }

    /// Makes bytes that are in no use ordinary memory of this PE's heap: true if they read as zero after.
    pub fn replace_heap(&self, range: &Range<u64>) -> bool {
        let is_zero = self.empty_heap(range);
        self.transport.memory.space.replace_heap(range);
        is_zero
    }

    /// Takes bytes of this PE's area, which PEs of other nodes may access then: their offset.
    pub fn take_stream_memory(&self, areas: &StreamAreas, bytes: usize) -> Option<usize> {
        let (offset, used) = areas.take(bytes)?;
        let internode = self.transport.internode();
        if internode.is_some_and(|internode| internode.open_streams(used).is_err()) {
            areas.give_back(offset, bytes);
            return None;
        }
        Some(offset)
    }

    /// Ends the symmetric spaces of a team (None: all), which no PE uses any more.
    pub fn end_spaces(&self, team: Option<usize>) {
        let next = || self.transport.memory.spaces().of_team(team);
        while let Some(start) = next() {
            self.end_space(start);
        }
    }

    /// Ends the symmetric space that begins at `start`.
    pub fn end_space(&self, start: u64) {
        let mut heap = self.transport.memory.heap();
        let mut spaces = self.transport.memory.spaces();
        let Some(space) = spaces.remove(start) else {
            return;
        };
        let is_zero = self.replace_heap(&space.range);
        if space.is_of_all {
            heap.release(start);
        } else if !is_zero {
            // The heap has never had these bytes, and takes them for zero.
            let bytes = space.range.end - start;
            // SAFETY: the caller promises that no PE uses the space any more.
            unsafe { self.transport.memory.space.clear_heap(self.job, start, bytes) };
        }
        heap.set_ceiling(spaces.lowest());
    }
}
