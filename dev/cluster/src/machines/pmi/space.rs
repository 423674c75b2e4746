//! The key-value space of a job, and its barrier.

use std::collections::HashMap;
use std::mem;

/// Keys and values, and a barrier whose members are reached through `S`.
pub(super) struct Space<S> {
    size: usize,
    pairs: HashMap<String, String>,
    waiting: Vec<S>,
}

/// Result of entering the barrier.
pub(super) enum Entered<S> {
    /// Other members have not arrived yet.
    Waits,
    /// All members have arrived and may go on.
    Last(Vec<S>),
}

impl<S> Space<S> {
    pub(super) fn new(size: usize) -> Self {
        Self { size, pairs: HashMap::new(), waiting: Vec::new() }
    }

    /// Keeps a value; false if the key has one, which it keeps.
    pub(super) fn put(&mut self, key: &str, value: &str) -> bool {
        let new = !self.pairs.contains_key(key);
        if new {
            self.pairs.insert(key.to_owned(), value.to_owned());
        }
        new
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.get(key).map(String::as_str)
    }

    pub(super) fn enter(&mut self, member: S) -> Entered<S> {
        self.waiting.push(member);
        match self.waiting.len() == self.size {
            true => Entered::Last(mem::take(&mut self.waiting)),
            false => Entered::Waits,
        }
    }
}
