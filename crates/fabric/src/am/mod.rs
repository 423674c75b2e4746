//! Active messages: requests that a PE sends to another, whose thread that makes progress executes them,
//! and their results.
//!
//! Over sockets, software executes atomics and reads anyway, and libfabric's own cost several completions each: 15 us
//! for a read of 8 bytes, 18 for a fetching atomic, as much for one without a result. So a
//! [`Request`](crate::encoding::request::Request) is appended to a message for its target. The first is sent at once;
//! those that follow before it is acknowledged go together, when the message is full or any thread polls. A single
//! request that a thread waits for goes by a slot instead ([`slots`]). Short puts of contexts that aggregate are in the
//! same messages ([`Put`](crate::requester::Put)), as [items](crate::encoding::request::Item) of as few words as they
//! need, and records, which the target's owner gets ([`append_record`](crate::requester::append_record)).
//!
//! A context of a thread gathers such items itself, in [batches](crate::batches) by target ([`gather`]), which are
//! appended to the message as a whole: so threads with contexts of their own share no lock for each item.
//!
//! # Order
//!
//! The requests of a PE to another are executed in the order in which they were made, of all its threads: request
//! messages, and requests in slots, are numbered, and a target executes them by number. Those of a context with batches
//! are in the order in which the context made them: before a request with a result, its batch for that PE is handed
//! over.
//!
//! # Flow control
//!
//! A PE has at most a window of request messages under way to another: then the next one is filled,
//! and then the thread that has a request waits, and polls meanwhile. Results and
//! acknowledgements need no credit. A target executes requests as they come and never waits while it does, so
//! each request is acknowledged as long as its target polls, whatever the pattern: no cycle of waiting PEs
//! can arise. What a target cannot send yet it keeps: no more than a window of each peer.
//!
//! A message that is received while its target's program polls is often answered at once, by a message that
//! acknowledges it as well. So a message of records alone is not acknowledged by itself, unless a quarter of the window
//! is due, the program waits for completions, or the progress thread looks: after 2 ms at the most where the program
//! polls.
//!
//! # Memory
//!
//! Messages are received into buffers that all peers share, and sent from such. A [`Channel`](channel::Channel) is made
//! when the first message goes or comes, and window and length of messages are such that all channels of 4,096 PEs
//! together take less than 64 MiB.

mod buffers;
pub(crate) mod channel;
mod fault;
mod gather;
pub(crate) mod messages;
mod network;
pub(crate) mod receive;
mod slots;
#[cfg(test)]
mod tests;

use fault::Fault;
pub(crate) use messages::Flush;
pub(crate) use receive::AmEndpoint;
