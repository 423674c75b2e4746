//! Waiting for what only completions bring: room to issue an operation, a bounce buffer.

use std::time::Instant;

use ferroshmem_platform::Backoff;

use super::shared::Shared;

/// Attempts that are repeated until one succeeds. Where nothing completes for
/// [`Config::peer_timeout`](crate::Config::peer_timeout), the peer counts as failed.
///
/// Such a thread does not give up its core after each attempt: a provider may receive one message
/// per poll, and a core that was given up may come back after milliseconds.
pub(crate) struct Retry<'a> {
    shared: &'a Shared,
    /// None: whoever keeps what is waited for.
    pe: Option<usize>,
    /// What is reported where nothing completes.
    reason: &'static str,
    backoff: Backoff,
    /// When something was completed last that shows progress.
    since: Instant,
}

impl<'a> Retry<'a> {
    pub(crate) fn new(shared: &'a Shared, pe: Option<usize>, reason: &'static str) -> Retry<'a> {
        Retry { shared, pe, reason, backoff: shared.backoff(), since: Instant::now() }
    }

    /// An operation has completed: polling pays.
    pub(crate) fn completed(&mut self) {
        self.backoff.reset();
    }

    /// What is waited for has come nearer: the peer has not failed.
    pub(crate) fn progressed(&mut self) {
        self.since = Instant::now();
        self.backoff.reset();
    }

    /// After a poll that found nothing; `done` says that there is no need to sleep.
    pub(crate) fn pause(&mut self, done: &mut dyn FnMut() -> bool) {
        if self.since.elapsed() > self.shared.config.peer_timeout {
            self.shared.peer_failed(self.pe, self.reason);
        }
        self.shared.tick_meanwhile();
        self.shared.pause(&mut self.backoff, done);
    }
}
