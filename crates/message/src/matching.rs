//! Which receive takes which message: receives that no message has matched, and messages that no receive has.
//!
//! `tests/flow.rs` checks the order of matching.

use std::collections::VecDeque;

use ferroshmem_layout::inbox::Envelope;

use super::request::Pattern;

/// What a receiver matches; messages are kept with `D`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Matching<D> {
    /// Receives by pattern and handle, in their order.
    posted: VecDeque<(Pattern, u64)>,
    /// Messages, in the order in which they came.
    unexpected: VecDeque<(Envelope, D)>,
}

impl<D> Default for Matching<D> {
    fn default() -> Self {
        Self { posted: VecDeque::new(), unexpected: VecDeque::new() }
    }
}

impl<D> Matching<D> {
    /// Whether neither a receive nor a message waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    /// Whether a receive waits.
    #[inline]
    pub fn has_posted(&self) -> bool {
        !self.posted.is_empty()
    }

    /// How many messages wait.
    #[inline]
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }

    /// The first message that a pattern takes.
    pub fn find(&self, pattern: &Pattern) -> Option<usize> {
        let mut messages = self.unexpected.iter();
        messages.position(|(envelope, _)| pattern.takes(envelope))
    }

    /// The envelope of the message at `at`.
    pub fn envelope(&self, at: usize) -> &Envelope {
        &self.unexpected[at].0
    }

    /// Takes the message at `at`.
    pub fn remove(&mut self, at: usize) -> Option<(Envelope, D)> {
        self.unexpected.remove(at)
    }

    /// The last message of a team.
    pub fn last_of(&self, team: usize) -> Option<usize> {
        let mut messages = self.unexpected.iter();
        messages.rposition(|(envelope, _)| usize::from(envelope.team) == team)
    }

    /// Adds a receive, which takes none of the messages that wait.
    pub fn post(&mut self, pattern: Pattern, handle: u64) {
        self.posted.push_back((pattern, handle));
    }

    /// Takes a receive back.
    pub fn withdraw(&mut self, handle: u64) {
        let mut posted = self.posted.iter();
        if let Some(at) = posted.position(|(_, posted)| *posted == handle) {
            self.posted.remove(at);
        }
    }

    /// The receive that takes a message which has come, and waits no more.
    pub fn take(&mut self, envelope: &Envelope) -> Option<u64> {
        let mut posted = self.posted.iter();
        let at = posted.position(|(pattern, _)| pattern.takes(envelope))?;
        self.posted.remove(at).map(|(_, handle)| handle)
    }

    /// Adds a message that no receive takes.
    pub fn keep(&mut self, envelope: Envelope, data: D) {
        self.unexpected.push_back((envelope, data));
    }
}
