//! Regions of local memory, kept for the next transfer.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Registrar;
use super::limits::Limits;
use super::monitor::{Kind, Monitor, Watch};
use super::region::{Account, Entry, RegionRef, Share};
use super::span::Span;
use super::table::Table;

/// Keeps registered what was transferred from or into, least recently used given up first.
///
/// A region covers the pages asked for and no other: never the neighbourhood, never the union
/// with what is there already. Memory beyond a transfer's buffer may be discarded by its owner
/// at that moment, and a region made just before would keep pages that are no longer there.
/// So regions may overlap; one that a newer one covers whole is given up.
///
/// A child made by `fork` must not use it.
pub struct Cache<R: Registrar> {
    registrar: R,
    monitor: Monitor,
    limits: Limits,
    account: Arc<Account>,
    table: Mutex<Table<R::Region>>,
    /// What `Monitor::losses` was when the table was last searched for what is lost.
    swept: AtomicU64,
    events: CacheCounters,
}

#[derive(Default)]
struct CacheCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    uncached: AtomicU64,
    evicted: AtomicU64,
    lost: AtomicU64,
}

/// What a cache has done so far, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Acquired without registering.
    pub hits: u64,
    /// Registered, and kept.
    pub misses: u64,
    /// Registered for one transfer: the monitor would not notice if this memory were unmapped.
    pub uncached: u64,
    /// Given up to make room.
    pub evicted: u64,
    /// Given up because memory was unmapped, moved or discarded.
    pub lost: u64,
    /// Bytes registered now, those in use included.
    pub bytes: usize,
    /// Regions registered now, those in use included.
    pub regions: usize,
}

impl<R: Registrar> Cache<R> {
    /// An empty cache of regions that `registrar` makes, kept within `limits`, from which `monitor`
    /// removes what is unmapped.
    pub fn new(registrar: R, limits: Limits, monitor: Monitor) -> Self {
        Cache {
            registrar,
            monitor,
            limits,
            account: Arc::default(),
            table: Mutex::default(),
            swept: AtomicU64::new(0),
            events: CacheCounters::default(),
        }
    }

    /// How the cache notices that memory is unmapped; if it does not, nothing is kept.
    pub fn kind(&self) -> Kind {
        self.monitor.kind()
    }

    /// A region that covers the `len` bytes from address `start`. The caller keeps the memory
    /// mapped until this returns, as for any routine that reads or writes it.
    ///
    /// `ENOMEM`: there is no room beside what other transfers hold, or at all; other errors
    /// are the registrar's. A copy through a [`Pool`](super::Pool) works in every case.
    pub fn acquire(&self, start: usize, len: usize) -> io::Result<RegionRef<R::Region>> {
        let span = Span::of(start, len)?;
        // This comes before the look into the table: what was unmapped before the call is
        // marked there once it has returned true.
        let drained = self.monitor.drain();
        if drained && let Some(region_ref) = self.look_up(span) {
            self.events.hits.fetch_add(1, Relaxed);
            return Ok(region_ref);
        }
        self.sweep();
        let share = self.make_room(span.len())?;
        // Watched first: what is unmapped while it is being registered is noticed.
        let watch = drained.then(|| self.watch(span)).flatten();
        let count = if watch.is_some() { &self.events.misses } else { &self.events.uncached };
        let region = self.register(span)?;
        count.fetch_add(1, Relaxed);
        let entry = Arc::new(Entry { span, watch, region, used: AtomicU64::new(0), _share: share });
        if entry.intact() {
            self.keep(&entry);
        }
        Ok(RegionRef(entry))
    }

    /// Gives up the regions whose memory is gone: until then its pages stay in use. A miss
    /// does this too; call it now and then where there may be none for long. It costs one
    /// load if nothing is gone.
    pub fn sweep(&self) {
        let losses = self.monitor.losses();
        if self.swept.swap(losses, Relaxed) == losses {
            return;
        }
        // Dropped after the table is unlocked: deregistering takes long.
        let gone = self.table().take_lost();
        self.events.lost.fetch_add(gone.len() as u64, Relaxed);
    }

    /// Gives up regions that are in no use, least recently used first, until they come to
    /// `bytes`. False if there are none. For memory that must be registered by others and finds
    /// no room beside what is kept here.
    pub fn give_up(&self, bytes: usize) -> bool {
        let mut freed = 0;
        while freed < bytes {
            let Some(victim) = self.table().take_oldest() else {
                break;
            };
            freed += victim.span.len();
            self.events.evicted.fetch_add(1, Relaxed);
        }
        freed > 0
    }

    /// What the cache has done since it was made, and what it holds now.
    pub fn counts(&self) -> Counts {
        let events = &self.events;
        Counts {
            hits: events.hits.load(Relaxed),
            misses: events.misses.load(Relaxed),
            uncached: events.uncached.load(Relaxed),
            evicted: events.evicted.load(Relaxed),
            lost: events.lost.load(Relaxed),
            bytes: self.account.bytes.load(Relaxed),
            regions: self.account.regions.load(Relaxed),
        }
    }
}

impl<R: Registrar> Cache<R> {
    fn table(&self) -> MutexGuard<'_, Table<R::Region>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self, span: Span) -> Option<Watch> {
        self.monitor.watch(span)
    }

    fn look_up(&self, span: Span) -> Option<RegionRef<R::Region>> {
        let mut table = self.table();
        table.uses += 1;
        let entry = table.covering(span).find(|entry| entry.intact())?;
        entry.used.store(table.uses, Relaxed);
        Some(RegionRef(entry.clone()))
    }

    /// Reserves `bytes` of the account, giving up what was not used for longest.
    fn make_room(&self, bytes: usize) -> io::Result<Share> {
        loop {
            let mut table = self.table();
            let fits = self.account.regions.load(Relaxed) < self.limits.regions
                && self.account.bytes.load(Relaxed).saturating_add(bytes) <= self.limits.bytes;
            if fits {
                return Ok(Share::take(&self.account, bytes));
            }
            let possible = bytes <= self.limits.bytes;
            let victim = possible.then(|| table.take_oldest()).flatten();
            drop(table);
            drop(victim.ok_or_else(out_of_memory)?);
            self.events.evicted.fetch_add(1, Relaxed);
        }
    }

    fn register(&self, span: Span) -> io::Result<R::Region> {
        loop {
            match self.registrar.register(span.start, span.len()) {
                Err(error) if error.raw_os_error() == Some(libc::ENOMEM) && self.give_up(span.len()) => {}
                outcome => return outcome,
            }
        }
    }

    fn keep(&self, entry: &Arc<Entry<R::Region>>) {
        // Declared before the table is locked, so dropped after it is unlocked.
        let _replaced;
        let mut table = self.table();
        // Another thread may have registered the same in the meantime.
        if table.covering(entry.span).any(|other| other.intact()) {
            return;
        }
        _replaced = table.take_related(entry.span);
        table.uses += 1;
        entry.used.store(table.uses, Relaxed);
        table.regions.insert(entry.span.start, entry.clone());
    }
}

/// The error of a limit, the same as that of the kernel's limit.
fn out_of_memory() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOMEM)
}
