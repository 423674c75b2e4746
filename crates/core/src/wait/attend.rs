//! What waits of all routines attend to: messages and streams need their PE, also while it waits for something else.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroshmem_layout::WaitKind;

/// Requests that are under way.
pub static PENDING: AtomicU32 = AtomicU32::new(0);
/// Streams whose items this PE may have to hand on to others.
pub static STREAMS: AtomicU32 = AtomicU32::new(0);

/// What makes progress with them.
#[derive(Debug, Clone, Copy)]
pub struct Attended {
    /// With requests under way.
    pub messages: fn(),
    /// With streams.
    pub streams: fn(),
}

static ATTENDED: OnceLock<Attended> = OnceLock::new();

/// Sets what makes progress; only the first call counts.
pub fn set(attended: Attended) {
    // A second initialisation brings the same.
    let _ = ATTENDED.set(attended);
}

/// For a wait or a test of a kind: makes progress with requests that are under way, and with streams that are open;
/// whether there are any.
#[inline]
pub fn attend(kind: WaitKind) -> bool {
    // One for a message makes progress with messages itself.
    let has_messages = kind != WaitKind::Message && PENDING.load(Ordering::Relaxed) != 0;
    let has_streams = STREAMS.load(Ordering::Relaxed) != 0;
    if (has_messages || has_streams)
        && let Some(attended) = ATTENDED.get()
    {
        if has_messages {
            (attended.messages)();
        }
        if has_streams {
            (attended.streams)();
        }
    }
    has_messages || has_streams
}
