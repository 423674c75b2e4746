//! Progress of messages, streams and non-blocking collectives, which need their PE also while it waits for something
//! else.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroshmem_layout::WaitKind;

use super::POLICY;

/// Requests that are under way.
pub static PENDING: AtomicU32 = AtomicU32::new(0);
/// Streams whose items this PE may have to hand on to others.
pub static STREAMS: AtomicU32 = AtomicU32::new(0);

/// Teams that have had non-blocking collectives.
pub static COLLECTIVES: AtomicU32 = AtomicU32::new(0);

/// What makes progress with them.
#[derive(Debug, Clone, Copy)]
pub struct Progressed {
    /// With requests under way.
    pub messages: fn(),
    /// With streams.
    pub streams: fn(),
    /// With non-blocking collectives.
    pub collectives: fn() -> Advance,
}

/// What comes of making progress with non-blocking collectives that no thread waits for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Advance {
    /// Whether any has gone on.
    pub has_advanced: bool,
    /// Whether any is under way.
    pub is_under_way: bool,
}

static PROGRESSED: OnceLock<Progressed> = OnceLock::new();

/// Sets what makes progress; only the first call counts.
pub fn set(progressed: Progressed) {
    // A second initialisation brings the same.
    let _ = PROGRESSED.set(progressed);
}

/// For a wait or a test of a kind: makes progress with requests and collectives that are under way, and with streams
/// that are open; whether there are any.
#[inline]
pub fn make_progress(kind: WaitKind) -> bool {
    // One for a message makes progress with messages itself.
    let has_messages = kind != WaitKind::Message && PENDING.load(Ordering::Relaxed) != 0;
    let has_streams = STREAMS.load(Ordering::Relaxed) != 0;
    let has_collectives = COLLECTIVES.load(Ordering::Relaxed) != 0;
    let mut has_any = has_messages || has_streams;
    if (has_any || has_collectives)
        && let Some(progressed) = PROGRESSED.get()
    {
        if has_messages {
            (progressed.messages)();
        }
        if has_streams {
            (progressed.streams)();
        }
        if has_collectives {
            has_any |= (progressed.collectives)().is_under_way;
        }
    }
    has_any
}

/// Makes progress with non-blocking collectives alone, in a thread of the library's.
pub(crate) fn advance_collectives() -> Advance {
    PROGRESSED.get().map(|progressed| (progressed.collectives)()).unwrap_or_default()
}

/// After a test of a kind that has found nothing: does for other PEs what a wait does, and gives up the core where PEs
/// outnumber cores. Programs test in loops that would otherwise keep the core from the PE they wait for.
pub fn after_idle_test(kind: WaitKind) {
    make_progress(kind);
    if POLICY.oversubscribed() {
        std::thread::yield_now();
    }
}
