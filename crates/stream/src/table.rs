//! The streams of a PE.

use std::sync::atomic::{AtomicUsize, Ordering};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::handle::Table;
use ferroshmem_core::job::StreamAreas;
use ferroshmem_core::node::Node;
use ferroshmem_core::wait::progress;

use super::Stream;

/// The streams of this PE.
#[derive(Debug, Default)]
pub struct Streams {
    pub(super) table: Table<Stream>,
    pub(super) generation: AtomicUsize,
}

impl Streams {
    /// The stream of a handle; another one ends the job.
    #[inline]
    pub fn find(&self, name: &str, handle: usize) -> &Stream {
        let index = (handle & 0xffff_ffff).wrapping_sub(1);
        let stream = self.table.get(index).filter(|s| s.handle == handle);
        stream.unwrap_or_else(|| not_live(name, handle))
    }

    /// Ends a stream that no member uses any more.
    pub fn remove(&self, node: &Node, stream: &Stream) {
        let index = (stream.handle & 0xffff_ffff) - 1;
        let Some(stream) = self.table.remove(index) else {
            return;
        };
        let state = stream.state.into_inner();
        if let Some(internode) = node.transport.internode() {
            internode.fabric().quiet(&state.context);
        }
        let (offset, bytes) = state.part;
        if let Ok(areas) = StreamAreas::of(node.job)
            && !state.has_failed()
        {
            areas.give_back(offset, bytes);
        }
        self.table.give_back(index);
    }

    /// Hands on what has come for other PEs, of streams that no other thread is in.
    pub fn make_progress(&self, node: &Node) {
        if progress::STREAMS.load(Ordering::Relaxed) == 0 {
            return;
        }
        for (_, stream) in self.table.iter() {
            if let Some(mut state) = stream.try_enter() {
                state.progress(node);
            }
        }
    }

    /// The library is finalised: what is still open is forgotten.
    pub fn leave(&self) {
        progress::STREAMS.store(0, Ordering::Relaxed);
    }
}

#[cold]
fn not_live(name: &str, handle: usize) -> ! {
    fatal(name, format_args!("{handle:#x} is not a live stream: was it destroyed?"))
}
