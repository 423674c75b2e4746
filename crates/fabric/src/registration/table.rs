//! Which regions are kept, and for which addresses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::region::Entry;
use super::span::Span;

/// Regions by first address. None covers another, so the last addresses rise as well: if a
/// span is covered at all, then by the last region that begins no later.
pub(super) struct Table<G> {
    pub regions: BTreeMap<usize, Arc<Entry<G>>>,
    /// Uses of the cache so far.
    pub uses: u64,
}

impl<G> Default for Table<G> {
    fn default() -> Self {
        Table { regions: BTreeMap::new(), uses: 0 }
    }
}

impl<G> Table<G> {
    /// The regions that cover `span`.
    pub(super) fn covering(&self, span: Span) -> impl Iterator<Item = &Arc<Entry<G>>> {
        let before = self.regions.range(..=span.start).rev().map(|(_, entry)| entry);
        before.take_while(move |entry| entry.span.covers(span))
    }

    /// Takes out those that cover `span` and those that it covers.
    pub(super) fn take_related(&mut self, span: Span) -> Vec<Arc<Entry<G>>> {
        let within = self.regions.range(span.start..span.end).map(|(_, entry)| entry);
        let within = within.take_while(|entry| span.covers(entry.span));
        let starts: Vec<_> = self.covering(span).chain(within).map(|entry| entry.span.start).collect();
        starts.iter().filter_map(|start| self.regions.remove(start)).collect()
    }

    pub(super) fn take_lost(&mut self) -> Vec<Arc<Entry<G>>> {
        let mut lost = Vec::new();
        self.regions.retain(|_, entry| {
            let intact = entry.intact();
            if !intact {
                lost.push(entry.clone());
            }
            intact
        });
        lost
    }

    /// Takes out the region that is in no use and was not used for longest. Only the
    /// table gives out references, so a count of one is not about to rise.
    pub(super) fn take_oldest(&mut self) -> Option<Arc<Entry<G>>> {
        let idle = self.regions.values().filter(|entry| Arc::strong_count(entry) == 1);
        let start = idle.min_by_key(|entry| entry.used.load(Relaxed))?.span.start;
        self.regions.remove(&start)
    }
}
