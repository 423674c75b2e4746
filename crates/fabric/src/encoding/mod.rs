//! Active messages as they travel: a header ([`message`]), then items of as few words as they need ([`request`]); and
//! what a context gathers of them for a PE ([`batch`]).

pub(crate) mod batch;
pub(crate) mod message;
pub(crate) mod request;

pub(crate) use batch::ContextBatches;
