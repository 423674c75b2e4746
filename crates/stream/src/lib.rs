//! Streams of items (extension): PEs push items of one size to each other, and pull what arrives, in no order but that
//! of each pair of PEs (`docs/streams.md`).
//!
//! Within a node items go through rings ([`ring`]), between nodes by links and then through rings ([`shape`],
//! `link`). All that moves items on is done by the PEs' threads in their calls: a push writes to the ring or frame, a
//! pull hands on what has come by links first. Waits of other routines do that, too, while a stream is open in a job of
//! several nodes. The crate knows `ferroshmem-core` and the fabric; `ferroshmem-runtime` holds its state.
//!
//! # The end
//!
//! A PE is *closed* once it has ended the stream, all links to it have brought their last frame, and what came by them
//! is in rings. The members of a node count those that are closed, in the part of the first of them: who has seen all
//! of them there sees all tails, too, and has all that will ever come once its rings are empty.

mod creation;
mod delivery;
mod end;
mod link;
mod local_pe;
mod options;
mod pushing;
pub mod ring;
pub mod shape;
mod state;
mod table;

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::Team;
use ferroshmem_core::wait::{WaitReason, signals};
use ferroshmem_layout::WaitKind;

use self::link::OutgoingLink;
use self::state::State;

pub use self::options::Options;
pub use self::shape::LONGEST;
pub use self::table::Streams;

/// The digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

/// A stream.
#[derive(Debug)]
pub struct Stream {
    /// Its C handle.
    handle: usize,
    /// Its team's.
    pub team: usize,
    is_busy: AtomicBool,
    state: UnsafeCell<State>,
}

// SAFETY: the state is accessed by the thread that has set `is_busy`.
unsafe impl Sync for Stream {}
// SAFETY: the pointers of the state are to memory that stays mapped.
unsafe impl Send for Stream {}

/// The one access to a stream's state.
pub struct Entered<'a>(&'a Stream);

impl Deref for Entered<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        // SAFETY: this is the one access.
        unsafe { &*self.0.state.get() }
    }
}

impl DerefMut for Entered<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: this is the one access.
        unsafe { &mut *self.0.state.get() }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Release);
    }
}

#[cold]
fn in_use(name: &str) -> ! {
    fatal(
        name,
        "another thread is in a call with this stream: initialise by shmem_init_thread with SHMEM_THREAD_MULTIPLE, or \
            let one thread at a time use it",
    )
}

impl Stream {
    fn new(handle: usize, team: &Team, state: State) -> Self {
        Self { handle, team: team.handle(), is_busy: AtomicBool::new(false), state: UnsafeCell::new(state) }
    }

    /// Waits until no other thread is in the stream.
    #[inline]
    pub fn enter(&self, node: &Node, name: &str) -> Entered<'_> {
        if node.job.block().is_threaded() {
            while self.is_busy.swap(true, Ordering::Acquire) {
                std::thread::yield_now();
            }
        } else {
            // One thread at a time calls the library: a second one is a mistake, which this mostly sees.
            if self.is_busy.load(Ordering::Relaxed) {
                in_use(name);
            }
            self.is_busy.store(true, Ordering::Relaxed);
        }
        Entered(self)
    }

    fn try_enter(&self) -> Option<Entered<'_>> {
        (!self.is_busy.swap(true, Ordering::Acquire)).then_some(Entered(self))
    }

    /// Waits until an item can be pulled, or none will ever come; whether one can.
    pub fn wait(&self, node: &Node, name: &str) -> bool {
        let mut state = self.enter(node, name);
        state.flush(node);
        if state.look(node) {
            return true;
        }
        drop(state);
        let reason = WaitReason::at(WaitKind::Stream, name, self.handle);
        node.transport.wait(&reason, signals::NOTIFIED, || {
            let mut state = self.enter(node, name);
            if state.look(node) {
                return Some(true);
            }
            state.is_done(node).then_some(false)
        })
    }

    /// Ends the stream for this PE if it has not, and passes all that comes until nothing will. All members call this.
    pub fn finish(&self, node: &Node, name: &str) {
        let mut state = self.enter(node, name);
        if !state.is_ended {
            state.end(node);
        }
        drop(state);
        while self.wait(node, name) {
            self.enter(node, name).pass_all();
        }
        // Nothing is under way that the next use of the memory would find. After a failure there is none.
        let reason = WaitReason::at(WaitKind::Stream, name, self.handle);
        node.transport.wait(&reason, signals::UNNOTIFIED, || {
            let mut state = self.enter(node, name);
            state.progress(node);
            (state.has_failed() || state.outgoing.iter_mut().all(OutgoingLink::is_idle)).then_some(())
        });
    }
}
