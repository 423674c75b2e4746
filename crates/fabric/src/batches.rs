//! Batches: small operations that threads gather, each in batches of its own by target, until a thread hands them over
//! to what all threads share.
//!
//! A thread that gathers takes the lock of its own batch alone. [`Batches`] lists the targets for which something is
//! gathered, so that whoever completes them finds these without a look at all; the [`Registry`] has the batches of all
//! contexts, for threads that idle and the progress thread.
//!
//! Why nothing stays behind: an item is in a batch whose target is listed, until a thread takes the list; that thread
//! then hands the batch over, or lists the target again. The progress thread goes to sleep by [`Registry::may_rest`]
//! alone: it counts an idle period, then looks at all lists. A thread that has gathered looks at that count after its
//! target is listed ([`Registry::idle_period_after_listing`]). Between write and read there is a fence on both sides,
//! so one of them sees the other's write: the progress thread stays awake, or the thread hands over itself.
//! `tests/model/batches.rs` of the crate core lets loom try every interleaving.
//!
//! Why the order stays: a batch is locked while it is handed over, so items of a target arrive in the order in which
//! they were gathered, whichever threads hand them over; and a thread that has handed over a
//! target's batch knows that all of it is before what it does next.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// What batches need of the system. The real one is the system's; the model checker brings its own.
pub trait Primitives {
    /// An atomic word.
    type Word: Word;
    /// A mutex.
    type Lock<T>: Lock<T>;
    /// Orders all that is before it and all that is behind it, for all threads that call this.
    fn fence();
}

/// An atomic word, at first 0.
pub trait Word: Default {
    /// Reads with acquire order.
    fn load(&self) -> u32;
    /// Writes with release order.
    fn store(&self, value: u32);
}

/// A mutex over a value.
pub trait Lock<T>: From<T> {
    /// Calls `f` with the value, when no other thread has it.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
    /// As [`with`](Self::with); None: another thread has it.
    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R>;
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self) -> u32 {
        self.load(Acquire)
    }

    #[inline]
    fn store(&self, value: u32) {
        self.store(value, Release);
    }
}

/// What is gathered for a target.
pub trait Batch: Default {
    /// Whether it has no items.
    fn is_empty(&self) -> bool;
}

/// The batches of a context, by target, each made when it is first needed.
pub struct Batches<P: Primitives, B> {
    targets: Box<[LazyTarget<P, B>]>,
    /// The targets whose batches have items.
    filled: P::Lock<Vec<usize>>,
    n_filled: P::Word,
}

/// Where a target's batch is, once it is made.
type LazyTarget<P, B> = OnceLock<Box<Target<P, B>>>;

/// Alone on its cache lines: two, which processors fetch together.
#[repr(align(128))]
struct Target<P: Primitives, B>(P::Lock<Listed<B>>);

#[derive(Default)]
struct Listed<B> {
    batch: B,
    is_listed: bool,
}

impl<P: Primitives, B> std::fmt::Debug for Batches<P, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.n_filled.load();
        f.debug_struct("Batches").field("filled", &n).finish()
    }
}

impl<P: Primitives, B: Batch> Batches<P, B> {
    /// Empty ones, for so many targets.
    #[must_use]
    pub fn new(n_targets: usize) -> Self {
        Self {
            targets: (0..n_targets).map(|_| OnceLock::new()).collect(),
            filled: Vec::new().into(),
            n_filled: P::Word::default(),
        }
    }

    /// Calls `f` with the batch of a target, to which it may add items.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn with<R>(&self, target: usize, f: impl FnOnce(&mut B) -> R) -> R {
        let new = || Box::new(Target(Listed::default().into()));
        let Target(lock) = &**self.targets[target].get_or_init(new);
        lock.with(|listed| {
            let result = f(&mut listed.batch);
            self.list(target, listed);
            result
        })
    }

    /// Calls `f` with the batch of a target, if it has items, to which it may add others.
    #[inline]
    pub fn with_filled<R>(&self, target: usize, f: impl FnOnce(&mut B) -> R) -> Option<R> {
        let Target(lock) = &**self.targets.get(target)?.get()?;
        lock.with(|listed| (!listed.batch.is_empty()).then(|| f(&mut listed.batch)))
    }

    fn list(&self, target: usize, listed: &mut Listed<B>) {
        if !listed.batch.is_empty() && !listed.is_listed {
            listed.is_listed = true;
            self.filled.with(|filled| {
                filled.push(target);
                self.n_filled.store(filled.len() as u32);
            });
        }
    }

    /// Whether something is gathered that no thread is handing over.
    #[inline]
    pub fn has_filled(&self) -> bool {
        self.n_filled.load() != 0
    }

    /// Hands the batches that have items over, by `hand_over`, which empties one, or says that it cannot.
    ///
    /// # Errors
    /// That of `hand_over`; what is left then stays where it is.
    pub fn hand_over_filled<E>(&self, mut hand_over: impl FnMut(usize, &mut B) -> Result<bool, E>) -> Result<(), E> {
        if !self.has_filled() {
            return Ok(());
        }
        let all = self.filled.with(|filled| {
            self.n_filled.store(0);
            std::mem::take(filled)
        });
        for target in all {
            let Some(Target(lock)) = self.targets[target].get().map(|target| &**target) else {
                continue;
            };
            lock.with(|listed| {
                listed.is_listed = false;
                if !listed.batch.is_empty() && !hand_over(target, &mut listed.batch)? {
                    self.list(target, listed);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The batches of all contexts: `C` has those of one.
pub struct Registry<P: Primitives, C> {
    contexts: P::Lock<Vec<C>>,
    n_contexts: P::Word,
    /// Counts, from 1 on, how often the progress thread has seen nothing gathered and gone to sleep for long.
    idle_periods: P::Word,
}

impl<P: Primitives, C> std::fmt::Debug for Registry<P, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.n_contexts.load();
        f.debug_struct("Registry").field("contexts", &n).finish()
    }
}

impl<P: Primitives, C> Default for Registry<P, C> {
    fn default() -> Self {
        let idle_periods = P::Word::default();
        idle_periods.store(1);
        Self { contexts: Vec::new().into(), n_contexts: P::Word::default(), idle_periods }
    }
}

impl<P: Primitives, C> Registry<P, C> {
    /// Adds a context, before its first batch has items, and forgets those of which `is_gone` says so.
    pub fn register(&self, context: C, is_gone: impl Fn(&C) -> bool) {
        self.contexts.with(|contexts| {
            contexts.retain(|context| !is_gone(context));
            contexts.push(context);
            self.n_contexts.store(contexts.len() as u32);
        });
    }

    /// Calls `f` with each context until one fails, unless another thread does so.
    ///
    /// # Errors
    /// That of `f`.
    #[inline]
    pub fn each<E>(&self, f: impl FnMut(&C) -> Result<(), E>) -> Result<(), E> {
        if self.n_contexts.load() == 0 {
            return Ok(());
        }
        let all = self.contexts.try_with(|all| all.iter().try_for_each(f));
        all.unwrap_or(Ok(()))
    }

    fn any(&self, is_filled: impl FnMut(&C) -> bool) -> bool {
        self.n_contexts.load() != 0 && self.contexts.with(|all| all.iter().any(is_filled))
    }

    /// The number of idle periods so far.
    #[inline]
    pub fn idle_period(&self) -> u32 {
        self.idle_periods.load()
    }

    /// The number of idle periods, for a thread whose items are listed: if it is not the one it knows, the progress
    /// thread may not have seen them.
    pub fn idle_period_after_listing(&self) -> u32 {
        P::fence();
        self.idle_period()
    }

    /// Whether the progress thread, which alone calls this, may sleep for long, since nothing is listed: the contexts
    /// by `is_filled`, anything else by `is_busy`.
    pub fn may_rest(&self, is_busy: impl Fn() -> bool, is_filled: impl Fn(&C) -> bool) -> bool {
        if is_busy() || self.any(&is_filled) {
            return false;
        }
        self.idle_periods.store(self.idle_period().wrapping_add(1).max(1));
        P::fence();
        !is_busy() && !self.any(is_filled)
    }
}
