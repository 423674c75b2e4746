//! What completes operations: the [`CompletionQueue`] reads what libfabric has completed, and counts
//! down the [`Context`] or the thread that each [`WorkRequest`] names.

mod context;
mod queue;
mod request;
mod retry;
mod shared;
mod shutdown;

pub use context::Context;
pub(crate) use context::{Aggregation, ContextCounters, PeerCounters};
pub(crate) use queue::CompletionQueue;
pub(crate) use request::{CompletionCounter, CopyOut, INLINE, Pending, WorkRequest};
pub(crate) use retry::Retry;
pub(crate) use shared::Shared;
