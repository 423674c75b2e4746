//! Active messages: atomic operations with a result and short reads, where the target's software
//! executes them anyway.
//!
//! Over sockets, libfabric's own cost several completions: 15 us for a read of 8 bytes and 18 for a
//! fetching atomic, where a write there and a write back that nothing acknowledges take 13.5 (the
//! `direct` benchmark). So a thread that waits for the result writes a [`Request`] to a slot of the
//! target ([`Caller`]); the target's thread that lets its provider progress executes it, and writes the reply to a
//! slot of the caller ([`Handler`]).
//!
//! A request or reply is a [`TaggedMessage`](crate::TaggedMessage). Each PE has two slots for each
//! other, one for its requests and one for its replies; a thread that calls waits for the reply
//! before the next one may, so a slot never holds more than one message that is under way.

mod caller;
mod handler;
mod request;

pub(crate) use caller::Caller;
pub(crate) use handler::Handler;
pub(crate) use request::Request;
