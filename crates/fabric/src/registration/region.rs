//! A registered region, shared by the cache that keeps it and the transfers that use it.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::monitor::Watch;
use super::span::Span;

/// What all regions of a cache come to.
#[derive(Default)]
pub(super) struct Account {
    pub bytes: AtomicUsize,
    pub regions: AtomicUsize,
}

/// A region's part of the account, given back when the region is gone.
pub(super) struct Share {
    account: Arc<Account>,
    bytes: usize,
}

impl Share {
    pub(super) fn take(account: &Arc<Account>, bytes: usize) -> Share {
        account.bytes.fetch_add(bytes, Relaxed);
        account.regions.fetch_add(1, Relaxed);
        Share { account: account.clone(), bytes }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.account.bytes.fetch_sub(self.bytes, Relaxed);
        self.account.regions.fetch_sub(1, Relaxed);
    }
}

/// A region and what is known of it. Fields are dropped in this order: the account must not
/// say that there is room before the region is deregistered.
pub(super) struct Entry<G> {
    pub span: Span,
    /// None: the monitor would not notice if the memory went away, so this serves one transfer only.
    pub watch: Option<Watch>,
    pub region: G,
    /// When this was used last, in uses of the cache.
    pub used: AtomicU64,
    pub _share: Share,
}

impl<G> Entry<G> {
    /// Whether the region leads to the pages that have been at its addresses since it was
    /// registered, as far as the monitor has noticed.
    pub(super) fn intact(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::intact)
    }
}

/// A region in use by a transfer: it is not deregistered before this is dropped, whatever
/// becomes of the memory.
pub struct RegionRef<G>(pub(super) Arc<Entry<G>>);

impl<G> RegionRef<G> {
    /// The first address that the region covers: at most a page before the one asked for.
    pub fn start(&self) -> usize {
        self.0.span.start
    }

    /// Length of the region in bytes, whole pages.
    pub fn region_len(&self) -> usize {
        self.0.span.len()
    }
}

impl<G> Clone for RegionRef<G> {
    /// For the parts of a transfer that are under way at the same time.
    fn clone(&self) -> Self {
        RegionRef(self.0.clone())
    }
}

impl<G> Deref for RegionRef<G> {
    type Target = G;

    fn deref(&self) -> &G {
        &self.0.region
    }
}
