//! The counters of a PE: calls, bytes and time of each kind of routine, where `oshrun` reads them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::profile::Kind;

/// What was counted of a kind of routine.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counter {
    /// Calls that have ended.
    pub operations: AtomicU64,
    /// Bytes that this PE moved by them.
    pub bytes: AtomicU64,
    /// Nanoseconds in them.
    pub ns: AtomicU64,
}

/// The counters of a PE, by [`Kind`].
#[derive(Debug)]
#[repr(C)]
pub struct Counters {
    /// 1 while calls are counted.
    pub are_on: AtomicU64,
    /// Each kind's.
    pub kinds: [Counter; Kind::ALL.len()],
}

/// Values of a counter, or sums of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Calls.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds.
    pub ns: u64,
}

impl Counters {
    /// Adds calls that have ended.
    pub fn add(&self, kind: Kind, operations: u64, bytes: u64, ns: u64) {
        let counter = &self.kinds[kind as usize];
        counter.operations.fetch_add(operations, Ordering::Relaxed);
        counter.bytes.fetch_add(bytes, Ordering::Relaxed);
        counter.ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// What was counted of `kind`. Of a call that ends meanwhile some numbers may be in it and others not.
    pub fn of(&self, kind: Kind) -> Count {
        let counter = &self.kinds[kind as usize];
        Count {
            operations: counter.operations.load(Ordering::Relaxed),
            bytes: counter.bytes.load(Ordering::Relaxed),
            ns: counter.ns.load(Ordering::Relaxed),
        }
    }

    /// Begins again at zero.
    pub fn reset(&self) {
        for counter in &self.kinds {
            for word in [&counter.operations, &counter.bytes, &counter.ns] {
                word.store(0, Ordering::Relaxed);
            }
        }
    }
}
