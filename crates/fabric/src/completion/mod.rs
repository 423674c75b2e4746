//! What completes operations: the [`CompletionQueue`](crate::queue::CompletionQueue) reads what libfabric has
//! completed, and counts down the [`Context`] or the thread that each [`WorkRequest`] names.

mod context;
mod losses;
mod request;
mod retry;
mod shared;
mod shutdown;
mod ticks;
mod tracked;

pub use context::Context;
pub(crate) use context::{Aggregation, ContextCounters, LAST, PeerCounters};
pub(crate) use request::{CompletionCounter, CopyOut, INLINE, Pending, WorkRequest, WorkRequests};
pub(crate) use retry::Retry;
pub(crate) use shared::Shared;
pub use tracked::Tracked;
